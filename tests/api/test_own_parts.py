"""A gate, a judge or a generator of the user's own is asked, and held to its word."""

# ruff: noqa: ARG005

from dataclasses import replace

import numpy as np
import pytest
from pandas.testing import assert_frame_equal
from sklearn.base import clone

import tabtap
from tabtap.api import TabularAugmenter
from tabtap.domain import ClassPrediction
from tabtap.errors import EvaluatorError, PartNotComparedWarning, UserInputError
from tabtap.table import write_frame


class Refusing:
    """Refuses every row, or none."""

    name = "mine"

    def __init__(self, *, passing=False):
        self.passing = passing

    def passes(self, candidates, context):  # noqa: ARG002
        return np.full(len(candidates), self.passing)


class Donors:
    """Takes redrawn cells from another row of the same target that it has learned."""

    def fit(self, rows, rng):  # noqa: ARG002
        self.rows = rows
        return self

    def inpaint(self, anchors, regenerate, rng):
        same = [np.flatnonzero(self.rows.condition == c) for c in anchors.condition]
        drawn = self.rows.take(np.array([rng.choice(rows) for rows in same]))
        return anchors.redrawn(regenerate, drawn.numeric, drawn.categorical)


class Shares:
    """Answers every query with the classes' shares in the context."""

    name = "shares"

    def predict(self, contexts, queries):
        pairs = zip(contexts, queries, strict=True)
        return [ClassPrediction(self.answer(c, q)) for c, q in pairs]

    def answer(self, context, asked):
        shares = np.bincount(context.target, minlength=context.schema.n_conditions)
        return np.tile(shares / len(context), (len(asked), 1))


@pytest.fixture
def run(tiny, helpful, patients):
    X, y, cost = patients

    def run(*, numbers=False, **settings):
        told = {"budget": 20, "random_state": 0, "evaluator": "linear", **settings}
        augmenter = TabularAugmenter(preset=tiny, **{"referee": helpful, **told})
        return augmenter.fit_table(X, y=cost if numbers else y)

    return run


def test_a_gate_that_refuses_everything_leaves_no_row(run):
    result = run(gates=[Refusing()])

    counts = result.waterfall
    assert len(result.delivered) == 0
    assert list(counts.refused)[-1] == "mine"
    assert sum(counts.refused.values()) == counts.proposed
    assert result.about.settings["own_parts"] == {"gates": ["mine"]}


def test_a_gate_that_refuses_nothing_changes_no_row(run):
    without, none, idle = run(), run(gates=[]), run(gates=[Refusing(passing=True)])

    first = without.augmented()[0]
    assert len(first) == 60
    assert_frame_equal(none.augmented()[0], first)
    assert_frame_equal(idle.augmented()[0], first)
    assert idle.waterfall.refused == {**without.waterfall.refused, "mine": 0}
    assert "own_parts" not in without.about.settings


def test_a_gate_is_told_a_prediction_if_it_asks_for_one(run):
    class Sure(Refusing):
        needs_prediction = True

        def passes(self, candidates, context):
            assert len(context.residuals) == len(context.real)
            return context.prediction.of_label(candidates) > 0.5

    assert run(gates=[Sure()]).waterfall.refused["mine"] > 0


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
def test_an_inpainter_makes_every_row(run, patients, numbers):
    result = run(inpainter=Donors(), numbers=numbers)

    real, rows = patients[0], write_frame(result.delivered.rows)
    assert len(rows) > 10
    for column in real:
        assert set(rows[column].dropna()) <= set(real[column].dropna())
    assert result.about.settings["own_parts"] == {"inpainter": "Donors"}


def test_an_inpainter_that_copies_makes_copies_which_are_no_new_rows(run):
    class Copying(Donors):
        def inpaint(self, anchors, regenerate, rng):  # noqa: ARG002
            return anchors

    counts = run(inpainter=Copying()).waterfall

    assert counts.refused["diversity"] == counts.proposed > 0


def test_no_lineage_learns_the_fold_it_is_judged_by(run, patients):
    learned = []

    class Watched(Donors):
        def fit(self, rows, rng):
            learned.append(rows.origin.tolist())
            return super().fit(rows, rng)

    own = Watched()
    result = run(inpainter=own)

    lineages = learned[-3:]  # tiny has three folds; before them it was tried
    everyone = set(range(len(patients[0])))
    unseen = [everyone - set(rows) for rows in lineages]
    assert set.union(*unseen) == everyone
    assert sum(map(len, unseen)) == len(everyone)
    made = result.delivered.rows
    for origin, fold in zip(made.origin, made.unseen_fold, strict=True):
        assert origin in lineages[fold]
    assert not hasattr(own, "rows")  # copies learn, the user's object does not


@pytest.mark.parametrize("role", ["evaluator", "referee"])
def test_a_judge_of_ones_own_is_asked_and_named(run, role):
    asked = []

    class Counting(Shares):
        def answer(self, context, asked_rows):
            asked.append(len(asked_rows))
            return super().answer(context, asked_rows)

    result = run(**{role: Counting()})

    assert len(asked) > 12  # more often than it was tried
    assert getattr(result.about, role) == "shares"


def gate(passes):
    return type("Own", (Refusing,), {"passes": lambda _, c, x: passes(c, x)})()


def judge(make):
    return type("Own", (Shares,), {"answer": lambda _, c, q: make(c, q)})()


def generator(inpaint):
    return type("Own", (Donors,), {"inpaint": lambda s, *given: inpaint(s, *given)})()


def spoil(rows):
    rows.missing[:] = 1
    return np.ones(len(rows), dtype=bool)


def other_alone(context, asked):
    stated = Shares().answer(context, asked)
    return stated if len(asked) > 1 else stated[:, ::-1]


def other_ages(anchors):
    return replace(anchors, cells=(anchors.cells[0] + 1, *anchors.cells[1:]))


class Shared(Donors):
    def fit(self, rows, rng):  # noqa: ARG002
        Shared.rows = rows
        return self


class Mute:
    def fit(self, rows, rng):  # noqa: ARG002
        return None


RNG = np.random.default_rng(0)
tell = Shares().answer
GATES = {
    "one verdict for all": (lambda c, x: np.array([True]), "one bool per row"),
    "numbers": (lambda c, x: np.ones(len(c)), "one bool per row"),
    "raises": (lambda c, x: c.wings, "'mine' raised AttributeError"),
    "unasked": (lambda c, x: x.prediction.of_label(c) > 0, "raised AttributeError"),
    "spoils rows": (lambda c, x: spoil(c), "changes the rows"),
    "spoils real rows": (lambda c, x: spoil(x.real)[: len(c)], "changes the rows"),
    "chance": (lambda c, x: RNG.random(len(c)) < 0.5, "asked again"),
    "company": (lambda c, x: np.arange(len(c)) == 0, "others stand beside it"),
}
JUDGES = {
    "nan": (lambda c, q: tell(c, q) * np.nan, "NaN as a probability"),
    "shape": (lambda c, q: tell(c, q)[:, :1], "each needs a column"),
    "too few": (lambda c, q: tell(c, q)[1:], "queries when it was asked"),
    "peeks": (lambda c, q: np.eye(2)[q.target], "reads the targets"),
    "chance": (lambda c, q: RNG.dirichlet([1, 1], len(q)), "asked again"),
    "company": (other_alone, "others stand beside it"),
    "spoils": (lambda c, q: tell(c, q) * spoil(q)[:, None], "changes the rows"),
}
GENERATORS = {
    "kept cells": (generator(lambda s, a, *_: other_ages(a)), "cells of column 'age'"),
    "too few": (generator(lambda s, a, *_: a.take([0])), "1 rows for 6 anchors"),
    "frame": (generator(lambda s, a, *_: write_frame(a)), "a DataFrame, no Table"),
    "target": (generator(lambda s, a, *_: replace(a, target=1 - a.target)), "target"),
    "chance": (generator(lambda s, a, r, _: Donors.inpaint(s, a, r, RNG)), "an equal"),
    "raises": (generator(lambda s, a, *_: a.wings), "raised AttributeError"),
    "shared": (Shared(), "of one lineage changes when that of another"),
    "no inpaint": (Mute(), "returned a NoneType"),
}
NO_PARTS = {
    "a gate alone": ({"gates": Refusing()}, "be a list of gates"),
    "a class": ({"gates": [Refusing]}, r"Pass an object: Refusing\(\)"),
    "no gate": ({"gates": ["age > 3"]}, "a name and passes"),
    "a name twice": ({"gates": [Refusing(), Refusing()]}, "text of its own"),
    "no generator": ({"inpainter": Shares()}, r"fit\(rows, rng\)"),
    "a class of judges": ({"evaluator": Shares}, r"Pass an object: Shares\(\)"),
}
BROKEN = {
    **NO_PARTS,
    **{f"gate: {k}": ({"gates": [gate(f)]}, said) for k, (f, said) in GATES.items()},
    **{f"judge: {k}": ({"evaluator": judge(f)}, t) for k, (f, t) in JUDGES.items()},
    **{f"referee: {k}": ({"referee": judge(f)}, t) for k, (f, t) in JUDGES.items()},
    **{f"generator: {k}": ({"inpainter": g}, t) for k, (g, t) in GENERATORS.items()},
}


@pytest.mark.parametrize(("settings", "said"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_part_or_breaks_a_promise_is_refused_before_learning(
    run, monkeypatch, settings, said
):
    monkeypatch.setattr("tabtap.api.run.fit_stack", None)  # not callable: never reached

    with pytest.raises((UserInputError, EvaluatorError), match=said):
        run(**settings)


def test_parts_are_settings_like_any_other():
    gates, own = [Refusing()], Donors()
    augmenter = TabularAugmenter(gates=gates, inpainter=own)

    copied = clone(augmenter).set_params(evaluator=Shares())

    assert augmenter.get_params()["gates"] is gates
    assert augmenter.get_params()["inpainter"] is own
    assert isinstance(copied.gates[0], Refusing)
    assert isinstance(copied.inpainter, Donors)
    assert isinstance(copied.evaluator, Shares)


def test_the_function_takes_them_too(tiny, helpful, patients):
    frame = patients[0].assign(sick=patients[1])

    result = tabtap.augment(
        frame, "sick", preset=tiny, evaluator="linear", referee=helpful,
        gates=[Refusing()], inpainter=Donors(), budget=20, random_state=0,
    )  # fmt: skip

    assert result.waterfall.refused["mine"] > 0


def test_a_kept_run_goes_on_with_equal_parts_only(run, tmp_path):
    kept = {"checkpoint": tmp_path, "inpainter": Donors()}
    run(**kept, gates=[Refusing(passing=True)])

    run(**kept, gates=[Refusing(passing=True)])
    same = len(list(tmp_path.iterdir()))
    run(**kept, gates=[Refusing()])

    assert same == 1  # the progress alone: a generator of one's own is fitted anew
    assert len(list(tmp_path.iterdir())) == 2


def test_a_part_whose_settings_cannot_be_told_is_named(run, tmp_path):
    gate = Refusing(passing=True)
    gate.opener = lambda: None

    with pytest.warns(PartNotComparedWarning, match="gate 'mine' cannot be compared"):
        result = run(gates=[gate], checkpoint=tmp_path)

    assert any("cannot be compared" in note for note in result.about.notes)
