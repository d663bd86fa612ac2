"""Results made by hand: what every section must say of them is known in advance."""

from dataclasses import asdict, replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from tabtap.config import AugmentConfig, CommitConfig, PolicyConfig
from tabtap.domain import (
    Action,
    Alternative,
    Bound,
    Candidates,
    Certificate,
    Feedback,
    Figure,
    GroupEffect,
    LearnerState,
    Measured,
    StepRecord,
    Template,
)
from tabtap.loop import Stop
from tabtap.report import report_html
from tabtap.result import AugmentResult, RunAbout
from tabtap.table import read_frame


def figure(name, best_alone, without, with_rows, *, larger_is_better=True):
    """Return a figure with bars of a tenth of their values, its change ± 0.02."""
    values = [Measured(v, abs(v) / 10) for v in (best_alone, without, with_rows)]
    change = Measured(with_rows - best_alone, 0.02)
    return Figure(name, larger_is_better, *values, change)


ACCURACY = figure("accuracy", 0.86, 0.84, 0.89)
LOG_LOSS = figure("log loss", 0.50, 0.60, 0.45, larger_is_better=False)
RMSE = figure("RMSE", 52.1, 52.1, 49.0, larger_is_better=False)

EFFECTS = {"linear": Bound(-0.04, 0.01, 0.95), "forest": Bound(0.08, 0.05, 0.95)}
"""A linear model is harmed, and a forest is helped."""

LEARNERS = {
    "linear": "LogisticRegression(max_iter=1000), scikit-learn 1.6.0",
    "forest": "RandomForestClassifier(n_jobs=1), scikit-learn 1.6.0",
}

ALONE = Alternative(
    name="linear alone",
    words="Train logistic regression on your rows alone.",
    figure="accuracy",
    value=Measured(0.86, 0.05),
    score=Measured(0.70, 0.04),
    is_enough=True,
)
WITH_ROWS = Alternative(
    name="forest with new rows",
    words="Train a random forest on the bigger table.",
    figure="accuracy",
    value=Measured(0.89, 0.04),
    score=Measured(0.75, 0.04),
    is_enough=True,
)
FETCH = Alternative(
    name="tabpfn-v1", words="Use TabPFN v1.", note="Its weights are to be fetched."
)


def certificate(window=0, **claims):
    """Return a check of 24 rows whose scores went from 0.70 to 0.75, at least 0.72.

    A forest with the rows is held against a linear model without them.
    """
    real, after = np.full(24, 0.70), np.full(24, 0.75)
    settings = {
        "protocol": "crossfit",
        "scorer": "best",
        "pool_sha256": "0" * 64,
        "n_rows": 6,
        "n_judged": 30,
        "score_real": 0.70,
        "score_before": 0.70,
        "score_after": 0.75,
        "over_incumbent": Bound(0.05, 0.0, 0.5),
        "over_real": Bound(0.05, 0.0251, 0.9),
        "shown": True,
        "n_folds": 5,
        "look": 1,
        "committed": True,
        "reason": "it is enough",
        "learner": "forest",
        "best_alone": "linear",
        "figures": (ACCURACY, LOG_LOSS),
        "effects": EFFECTS,
        "copies": Bound(0.01, 0.02, 0.95),
        "over_copies": Bound(0.04, 0.01, 0.95),
        "learners": LEARNERS,
        "evidence": {"real": real, "before": real, "after": after},
        "learners_before": {"linear": 0.72, "forest": 0.68},
        "learners_after": {"linear": 0.68, "forest": 0.76},
    }
    return Certificate(window=window, **{**settings, **claims})


NEW_FIELDS = {
    "n_folds": 0,
    "learner": "",
    "best_alone": "",
    "figures": (),
    "effects": {},
    "copies": None,
    "over_copies": None,
    "learners": {},
}
"""As a file that was saved before these fields is read."""


def refusal(window=0, **claims):
    """Return a check whose gain of 0.01 may be chance."""
    settings = {
        "score_after": 0.71,
        "over_incumbent": Bound(0.01, 0.0, 0.5),
        "over_real": Bound(0.01, 0.03, 0.9),
        "shown": False,
        "committed": False,
    }
    return certificate(window, **{**settings, **claims})


def paper_certificate(window=0, **claims):
    settings = {
        "protocol": "paper",
        "scorer": "tabpfn-v1",
        "score_real": float("nan"),
        "score_before": -0.9,
        "score_after": -0.6,
        "over_incumbent": Bound(0.3, 0.1, 0.95),
        "over_real": None,
        "evidence": {"fold_gains": np.full(5, 0.3)},
        "learners_before": {},
        "learners_after": {},
    }
    return certificate(window, **{**NEW_FIELDS, **settings, **claims})


def step(number, window, target, *, exploration=0.5, template=Template.EXPLORE):
    """Return a step that proposed ten rows, two of which were too near to others."""
    even = np.full(2, 0.5)
    return StepRecord(
        number,
        window,
        LearnerState(even, even, even, 0.5, even > 0),
        Action(target, template, exploration, exploration),
        10,
        {"types": 0, "diversity": 2},
        8,
        float("nan"),
        float("nan"),
        Feedback.NONE,
    )


@pytest.fixture(scope="session")
def frame():
    """Return 24 rows, 16 of them healthy."""
    return pd.DataFrame(
        {
            "dose": np.linspace(0.0, 2.3, 24),
            "place": ["north", "south", "east"] * 8,
            "state": ["healthy"] * 16 + ["ill"] * 8,
        }
    )


@pytest.fixture(scope="session")
def classes(frame):
    return read_frame(frame, "state")


@pytest.fixture(scope="session")
def numbers(frame):
    return read_frame(frame.assign(cost=np.arange(24) * 10.0), "cost")


@pytest.fixture(scope="session")
def make_result(classes):
    """Return a result of some checks; ``rows`` are those that were copied."""

    def make(certificates=(), *, real=None, rows=(), steps=(), **claims):
        real = classes if real is None else real
        copied = real.take(np.asarray(rows, dtype=np.int64))
        about = {
            "seed": 7,
            "budget": claims.pop("budget", 6),
            "settings": {"augment": asdict(claims.pop("config", AugmentConfig()))},
            "evaluator": "linear",
            "evaluator_why": "linear: asked for by name.",
            "referee": "best",
            "referee_why": "best: no learner was named.",
            "versions": {"python": "3.12.1", "tabtap": "0.1.0"},
            "seconds": {"backbones": 65.0, "gates": 1.0},
        }
        kept = {name: claims.pop(name) for name in list(claims) if name in _ABOUT}
        return AugmentResult(
            real=real,
            delivered=Candidates(
                copied, copied.missing < 0, np.zeros(len(copied), np.int64)
            ),
            certificates=tuple(certificates),
            steps=tuple(steps),
            stop=claims.pop("stop", Stop.BUDGET),
            about=RunAbout(**{**about, **kept}),
            **claims,
        )

    return make


_ABOUT = (
    "settings",
    "advice",
    "referee",
    "groups",
    "rules",
    "licences",
    "notes",
    "versions",
)
ROWS = (0, 3, 5, 16, 17, 20)
"""Three healthy and three ill."""

STEPS = (
    *(step(k, 0, 0, exploration=0.4) for k in range(3)),
    step(3, 0, 1, exploration=0.4, template=Template.CONSERVATIVE),
    *(step(k, 1, 1, exploration=0.9) for k in range(4, 8)),
)
"""Two windows: first mostly healthy rows, then ill ones only."""

LEARNS_NOTHING = AugmentConfig(policy=PolicyConfig(updates_per_step=0))
BY_PAPER = AugmentConfig(commit=CommitConfig(protocol="paper"))


@pytest.fixture(scope="session")
def good(make_result):
    """Six rows in one of two checks."""
    checks = [refusal(0), certificate(1, look=2)]
    return make_result(checks, rows=ROWS, steps=STEPS, advice=(WITH_ROWS, FETCH))


@pytest.fixture(scope="session")
def refused(make_result):
    """Two checks, none of them passed."""
    checks = [refusal(0), refusal(1, over_real=Bound(-0.01, 0.03, 0.967), look=2)]
    return make_result(checks, steps=STEPS, stop=Stop.PATIENCE, advice=(ALONE, FETCH))


@pytest.fixture(scope="session")
def named(make_result):
    """A learner that the user named, which gains."""
    check = certificate(**BY_LIGHTGBM)
    advice = (ALONE, replace(WITH_ROWS, name="lightgbm with new rows"))
    return make_result([check], rows=ROWS, referee="lightgbm", advice=advice)


BY_LIGHTGBM = {
    "scorer": "lightgbm",
    "learner": "lightgbm",
    "best_alone": "lightgbm",
    "figures": (figure("accuracy", 0.84, 0.84, 0.89),),
    "effects": {"lightgbm": Bound(0.05, 0.03, 0.95)},
    "learners": {"lightgbm": "LGBMClassifier(), lightgbm 4.6.0"},
    "learners_before": {"lightgbm": 0.70},
    "learners_after": {"lightgbm": 0.75},
}


@pytest.fixture(scope="session")
def too_small(make_result):
    """A gain that was shown, of less than is worth having."""
    small = {"over_real": Bound(0.004, 0.001, 0.9), "score_after": 0.704}
    check = certificate(committed=False, **small)
    return make_result([check], steps=STEPS, advice=(ALONE,))


GAINS = GroupEffect(
    column="place",
    value="north",
    n_rows=12,
    allowed_loss=0.02,
    change=Bound(0.09, 0.03, 0.95),
)
LOSES = replace(GAINS, value="south", n_rows=11, change=Bound(-0.041, 0.05, 0.95))
FEW = replace(GAINS, value="east", n_rows=1, change=None)


@pytest.fixture(scope="session")
def harmful(make_result):
    """A gain that was shown, for which one of three named groups would pay."""
    check = certificate(committed=False, groups=(GAINS, LOSES, FEW))
    return make_result([check], steps=STEPS, advice=(ALONE,))


@pytest.fixture(scope="session")
def harmless(make_result):
    """A gain that no named group would pay for."""
    check = certificate(groups=(GAINS, FEW))
    return make_result([check], rows=ROWS, steps=STEPS, advice=(WITH_ROWS,))


@pytest.fixture(scope="session")
def mean(make_result):
    """The promise of a panel's mean, as the paper has it."""
    check = certificate(scorer="panel", learner="panel", best_alone="panel")
    return make_result([check], rows=ROWS, referee="panel", advice=(ALONE,))


@pytest.fixture(scope="session")
def older(make_result):
    """A result that was saved before there were figures, effects and advice."""
    checks = [refusal(0, **NEW_FIELDS), certificate(1, look=2, **NEW_FIELDS)]
    return make_result(checks, rows=ROWS, steps=STEPS, referee="panel")


@pytest.fixture(scope="session")
def every_case(make_result, good, refused, numbers, request):
    """One result of every kind, by name."""
    barren = refusal(n_rows=0, n_judged=0)
    nan = Bound(float("nan"), float("nan"), 0.9)
    unmeasured = refusal(score_after=float("nan"), over_real=nan)
    by_paper = {"steps": STEPS, "config": BY_PAPER}
    few = {"real": np.full(5, 0.7), "before": np.full(5, 0.7), "after": np.full(5, 0.8)}
    folds = certificate(scorer="panel by roc_auc", evidence=few, **NEW_FIELDS)
    ridge = certificate(best_alone="forest", figures=(RMSE,))
    return {
        "good": good,
        "named": request.getfixturevalue("named"),
        "too small": request.getfixturevalue("too_small"),
        "harmful": request.getfixturevalue("harmful"),
        "harmless": request.getfixturevalue("harmless"),
        "mean": request.getfixturevalue("mean"),
        "older": request.getfixturevalue("older"),
        "regression": make_result([ridge], real=numbers, rows=ROWS),
        "forgotten": good.forget([0, 1]),
        "all forgotten": good.forget(list(ROWS)),
        "interrupted": make_result(
            [certificate()], rows=ROWS, steps=STEPS, stop=Stop.INTERRUPT
        ),
        "by folds": make_result([folds], rows=ROWS, steps=STEPS, referee="panel"),
        "paper": make_result([paper_certificate()], rows=ROWS, **by_paper),
        "paper refused": make_result([paper_certificate(committed=False)], **by_paper),
        "unproven": make_result(rows=ROWS, settings={}, versions={}),
        "refused": refused,
        "barren": make_result([barren], steps=STEPS),
        "unmeasured": make_result([unmeasured], steps=STEPS),
        "unchecked": make_result(stop=Stop.INTERRUPT),
        "out of time": make_result(stop=Stop.TIME),
        "budget 0": make_result(budget=0),
    }


VOID = {"meta", "link", "br", "hr", "img", "input"}


class PageReader(HTMLParser):
    """Collects what tests ask about a page, and every tag that does not match."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open_tags, self.mistakes = [], []
        self.elements, self.ids, self.headings, self.texts = [], [], [], []
        self.feed(page)
        self.close()
        self.mistakes += [f"<{tag}> is never closed" for tag in self.open_tags]

    def handle_starttag(self, tag, attrs):
        self._note(tag, attrs)
        if tag not in VOID:
            self.open_tags.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._note(tag, attrs)

    def handle_endtag(self, tag):
        if not self.open_tags or self.open_tags.pop() != tag:
            self.mistakes.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        if "style" not in self.open_tags:
            self.texts.append(data)

    def _note(self, tag, attrs):
        found = dict(attrs)
        if len(found) != len(attrs):
            self.mistakes.append(f"<{tag}> has an attribute twice")
        self.elements.append((tag, found))
        if "id" in found:
            self.ids.append(found["id"])
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append(int(tag[1]))

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


@pytest.fixture(scope="session")
def read_page():
    """Return what reads a page: its elements, ids, headings, text and mistakes."""
    return PageReader


@pytest.fixture(scope="session")
def page_of(every_case):
    """Return the page of each kind of result, made once."""
    return cache(lambda name: report_html(every_case[name]))
