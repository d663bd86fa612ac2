"""What slow settings and slow teachers cost is said before a run begins."""

import warnings
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from tabtap.api import PRESETS, TabularAugmenter
from tabtap.api.choices import warn_of_cost
from tabtap.api.run import TeachingTime, teaching_time
from tabtap.datasets import load_penguins
from tabtap.domain import ClassPrediction, Lineages
from tabtap.errors import LongRunWarning
from tabtap.evaluate.teachers import AnswerTime, ChosenTeacher, Teacher


def test_the_paper_s_preset_is_said_to_take_an_hour():
    with pytest.warns(LongRunWarning, match=r"8,000 steps, .* 200 actions: half an"):
        warn_of_cost(PRESETS["paper"])


@pytest.mark.parametrize("name", ["default", "fast"])
def test_nothing_is_said_of_the_others(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_cost(PRESETS[name])


def test_a_run_says_so_before_it_begins_and_keeps_it_as_a_note(monkeypatch):
    def no_run(_request, options):
        raise KeyboardInterrupt(*options.notes)

    monkeypatch.setattr("tabtap.api.augmenter.run", no_run)
    birds = load_penguins().dropna().iloc[::8]
    augmenter = TabularAugmenter(preset="paper", evaluator="linear", random_state=0)

    with (
        pytest.warns(LongRunWarning, match="checkpoint="),
        pytest.raises(KeyboardInterrupt) as stopped,
    ):
        augmenter.fit_table(birds, "species")

    assert any("half an hour" in note for note in stopped.value.args)


class CoinFlip:
    """A model that says of every row that both classes are as likely."""

    name = "coin"

    def predict(self, contexts, queries):
        n_classes = contexts[0].schema.n_conditions
        shares = [np.full((len(rows), n_classes), 1 / n_classes) for rows in queries]
        return [ClassPrediction(part) for part in shares]


class Plans:
    def __init__(self):
        self.teacher = ""

    def on_plan(self, plan):
        self.teacher = plan.teacher

    def on_step(self, record):
        pass

    def on_window(self, record):
        pass


def taught_by(monkeypatch, tiny, patients, per_row, **settings):
    """Run with a model whose answers are said to take so many seconds for a row."""
    X, y, _ = patients
    timed = AnswerTime(per_call=0.5, per_row=per_row)
    monkeypatch.setattr("tabtap.api.run.time_answers", lambda *_: timed)
    augmenter = TabularAugmenter(
        preset=tiny, evaluator="linear", referee="linear", teacher=CoinFlip(),
        random_state=0, **settings,
    )  # fmt: skip
    plans = Plans()
    augmenter.fit_table(X, y=y, observer=plans)
    return augmenter.result_, plans.teacher


def test_a_slow_teacher_s_time_is_told_before_the_run_and_noted(
    monkeypatch, tiny, patients
):
    with pytest.warns(LongRunWarning, match="coin teaches") as told:
        result, plan = taught_by(monkeypatch, tiny, patients, per_row=1.0, budget=16)

    (warning,) = [w for w in told if w.category is LongRunWarning]
    assert warning.filename == __file__
    assert "for each pool of new rows" in str(warning.message)
    assert str(warning.message) in result.about.notes
    assert plan.startswith("coin: the evaluator that was passed. Its answers take")


def test_a_quick_one_is_told_in_the_plan_alone(monkeypatch, tiny, patients):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongRunWarning)
        result, plan = taught_by(monkeypatch, tiny, patients, per_row=1e-4, budget=16)

    assert "Its answers take about" in plan
    assert "answers take" not in result.about.teacher_why  # the same on every machine


def test_where_no_rows_are_wanted_nobody_is_timed(monkeypatch, tiny, patients):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongRunWarning)
        taught_by(monkeypatch, tiny, patients, per_row=1.0, budget=0)


@pytest.mark.parametrize(
    ("n_pools", "words"), [((1, 12), "there are 1 to 12,"), ((3, 3), "there are 3,")]
)
def test_teaching_time_is_told_in_words(n_pools, words):
    told = TeachingTime(pool_seconds=100.0, once_seconds=7.0, n_pools=n_pools)

    assert "about 1 min 40 s for each pool of new rows" in told.sentence
    assert words in told.sentence
    assert told.least_seconds == 7.0 + n_pools[0] * 100.0


def test_answers_are_counted_for_every_lineage_batch_and_weighing():
    members = MappingProxyType({"one": None})
    teacher = Teacher("both", members, (CoinFlip(),), is_weighted=True)
    timed = AnswerTime(per_call=1.0, per_row=0.0)
    fast = PRESETS["fast"]
    asked = SimpleNamespace(
        teacher=ChosenTeacher(teacher, "", answer_time=timed),
        config=fast.augment,
        preset=fast,
        real=range(50),
    )
    fold = np.arange(50) % 5
    ten = Lineages(np.stack([fold, fold]), crossfit=True)

    found = teaching_time(asked, ten, 700)

    assert found.pool_seconds == 10.0  # all 32 actions of a window in one batch
    assert found.once_seconds == 50.0  # four weighings and the advice
    assert found.n_pools == (2, 12)  # a pool has at most 640 rows
