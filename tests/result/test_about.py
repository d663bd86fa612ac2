import json
from dataclasses import asdict

import numpy as np
import pandas as pd

import tabtap
from tabtap.config import AugmentConfig
from tabtap.domain import Template
from tabtap.result import RunAbout, installed_versions


def test_settings_are_what_json_gives_back():
    about = RunAbout(
        seed=0,
        budget="auto",
        settings={
            "augment": asdict(AugmentConfig()),
            "odd": (np.float64(0.5), Template.EXPLORE, None, {1: pd.Timestamp("2024")}),
        },
    )

    assert json.loads(json.dumps(about.settings)) == about.settings
    assert about.settings["odd"] == [
        0.5, "explore", None, {"1": "2024-01-01 00:00:00"}
    ]  # fmt: skip


def test_groups_become_an_array():
    about = RunAbout(seed=0, budget=1, settings={}, groups=pd.Series(["a", "b"]))

    assert isinstance(about.groups, np.ndarray)
    assert about.groups.tolist() == ["a", "b"]


def test_versions_name_what_a_run_rests_on():
    versions = installed_versions()

    assert versions["numpy"] == np.__version__
    assert versions["tabtap"] in (tabtap.__version__, "unknown")
    assert versions["python"].count(".") == 2
