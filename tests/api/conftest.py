"""A preset that runs in a second, and judges whose answers are known in advance."""

import numpy as np
import pandas as pd
import pytest
from stand_ins import Listener, MoreIsBetter

from tabtap.api import Preset, run
from tabtap.api.own_parts import check_own_judge
from tabtap.config import (
    AugmentConfig,
    CommitConfig,
    DiffusionConfig,
    PolicyConfig,
    ProposalConfig,
    UtilityConfig,
)


def tiny_preset(**commit):
    return Preset(
        augment=AugmentConfig(
            n_steps=12,
            actions_per_batch=2,
            policy=PolicyConfig(exploration=0.9),
            proposal=ProposalConfig(candidates_per_step=4),
            utility=UtilityConfig(n_folds=3, n_partitions=1),
            commit=CommitConfig(window_length=4, **{"min_gain": 0.0, **commit}),
        ),
        diffusion=DiffusionConfig(n_steps=25, n_sample_steps=4, width=32),
        evaluators={"classification": "linear", "regression": "linear"},
        teacher="none",
    )


@pytest.fixture(autouse=True)
def oracles_may_judge(monkeypatch):
    """Let a judge of these tests read the truth, which a run refuses of any other."""

    def check(judge, *given):
        oracle = judge.inner if isinstance(judge, Listener) else judge
        if not isinstance(oracle, MoreIsBetter):
            check_own_judge(judge, *given)

    monkeypatch.setattr(run, "check_own_judge", check)


@pytest.fixture(autouse=True)
def no_advice(request, monkeypatch):
    """Score nothing else that could be done, which takes seconds, unless asked to."""
    if "advice" not in request.node.name:
        monkeypatch.setattr(run, "alternatives", lambda *_: ())


@pytest.fixture
def tiny():
    return tiny_preset()


@pytest.fixture
def tiny_paper():
    return tiny_preset(protocol="paper")


@pytest.fixture
def helpful():
    return MoreIsBetter()


@pytest.fixture
def harmful():
    return MoreIsBetter(sign=-1.0)


@pytest.fixture
def patients():
    """A frame of mixed columns with holes, its classes and numbers to predict."""
    rng = np.random.default_rng(0)
    n = 40
    age = rng.integers(20, 80, n)
    frame = pd.DataFrame(
        {
            "age": age,
            "dose": np.round(rng.normal(5, 2, n), 1),
            "clinic": pd.Categorical(rng.choice(["north", "south"], n)),
            "smoker": rng.random(n) < 0.3,
        },
        index=[f"p{i}" for i in range(n)],
    )
    frame.loc["p3", "dose"] = np.nan
    sick = np.where(age + rng.normal(0, 10, n) > 50, "yes", "no")
    cost = age * 10.0 + rng.normal(0, 20, n)
    return (
        frame,
        pd.Series(sick, index=frame.index, name="sick"),
        pd.Series(cost, index=frame.index, name="cost"),
    )
