import json

import numpy as np
import pandas as pd
import pytest
from answers_cell import (
    Truth,
    load,
    obstacle,
    plain_change,
    predictor_names,
    read_together,
    split_frames,
)

from tabtap.errors import UserInputError
from tabtap.evaluate.evaluators import PANEL, panel_learners
from tabtap.study.sources import SourceTable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder of tables with one more table in ``more``."""
    more = tmp_path / "more"
    more.mkdir()
    entry = {"name": "boats", "target": "speed", "task": "regression"}
    text = json.dumps({"datasets": [entry]})
    (more / "datasets.json").write_text(text, encoding="utf-8")
    speed = [*np.arange(40.0), np.nan]
    frame = pd.DataFrame({"sail": np.arange(41.0), "speed": speed})
    frame.to_parquet(more / "boats.parquet")
    monkeypatch.setenv("TABTAP_DATA", str(tmp_path))
    load.cache_clear()
    yield tmp_path
    load.cache_clear()


@pytest.mark.usefixtures("folder")
def test_a_table_of_the_folder_more_is_found_and_rows_without_target_are_left_out():
    boats = load("boats")

    assert (boats.target, boats.task) == ("speed", "regression")
    assert len(boats.frame) == 40


def test_built_in_tables_know_their_task():
    assert load("friedman2").task == load("diabetes").task == "regression"
    assert load("digits").task == "classification"


@pytest.mark.usefixtures("folder")
def test_an_unknown_table_is_an_obstacle_and_an_error():
    with pytest.raises(UserInputError, match="TABTAP_DATA"):
        load("ships")
    assert "ships" in obstacle("ships", 20)


@pytest.mark.usefixtures("folder")
def test_half_of_a_small_table_is_kept_for_testing():
    real, test = split_frames("boats", 20, 0)

    assert (len(real), len(test)) == (20, 20)
    assert not set(real["sail"]) & set(test["sail"])
    assert obstacle("boats", 20) is None
    assert obstacle("boats", 21) == "20 rows are left beside those that test"


def test_points_gained_have_the_error_of_paired_rows():
    old, new = np.repeat([1.0, 0.0], 50), np.zeros(100)

    gained, error = plain_change([new], [old], "classification")

    assert gained == 50.0
    assert error == pytest.approx(100 * old.std(ddof=1) / 10)


def test_the_error_of_a_change_of_rmse_is_that_of_the_jackknife():
    rng = np.random.default_rng(0)
    old = rng.chisquare(3, size=400)
    new = 0.5 * old + 0.3 * rng.chisquare(3, size=400)

    gained, error = plain_change([new], [old], "regression")

    def ratio(rows):
        return -100 * np.sqrt(new[rows].mean() / old[rows].mean())

    left = [ratio(np.delete(np.arange(400), row)) for row in range(400)]
    assert gained == pytest.approx(100 + ratio(np.arange(400)))
    assert error == pytest.approx(np.sqrt(399) * np.std(left), rel=0.02)


def test_of_several_learners_the_mean_of_their_rmse_counts():
    one, two = np.array([1.0, 1.0]), np.array([9.0, 9.0])

    gained, _ = plain_change([one, one], [one, two], "regression")

    assert gained == pytest.approx(50.0)  # from (1 + 3) / 2 to 1


@pytest.fixture
def truth(birds):
    learners = {
        name: learner
        for name, learner in panel_learners("classification").items()
        if name in ("linear", "neighbors")
    }
    rows = np.random.default_rng(0).permutation(len(birds))
    return Truth(birds.take(rows[:40]), birds.take(rows[40:140]), learners)


def test_without_rows_nothing_changes(truth):
    same = truth.ask(truth.real.empty(), ("linear",))

    found = truth.change(same, ("linear",), ("linear",))

    assert found == dict.fromkeys(
        ("change", "error", "score", "score_error", "share", "share_error"), 0.0
    )


def test_following_compares_one_learner_with_rows_to_another_without(truth):
    new = truth.ask(truth.real.empty(), ("linear",))

    found = truth.change(new, ("linear",), ("neighbors",))

    level = truth.levels(truth.alone)
    rise = level["linear"]["plain"] - level["neighbors"]["plain"]
    assert found["change"] == pytest.approx(100 * rise)
    rise = level["linear"]["score"] - level["neighbors"]["score"]
    assert found["score"] == pytest.approx(rise, abs=1e-4)


def test_predictors_have_an_accuracy_and_no_yardstick(truth):
    level = truth.levels(truth.alone)

    assert set(level) == {"linear", "neighbors", *predictor_names("classification")}
    assert set(level["LR"]) == {"plain"}
    assert 0.8 < level["LR"]["plain"] <= 1.0


def test_the_panel_has_the_names_that_the_promise_uses():
    assert set(panel_learners("regression")) == set(PANEL)


def test_frames_are_read_as_parts_of_one_table():
    parts = [pd.DataFrame({"c": list(text), "y": [0, 1] * 10}) for text in (
        "ab" * 10, "bc" * 10)]  # fmt: skip
    source = SourceTable("toy", parts[0], "y", "classification", ())

    one, other = read_together(parts, source)

    assert one.schema.features[0].levels == ("a", "b", "c")
    assert (len(one), len(other)) == (20, 20)
    assert other.schema == one.schema
