"""A comparison on one's own table, with losses whose meaning is known."""

import numpy as np
import pytest

from tabtap.compare.advice import advice, recommend
from tabtap.compare.contest import MethodComparison, summarise
from tabtap.compare.store import Cell, Terms
from tabtap.datasets import load_penguins
from tabtap.table import read_frame


def record(method, losses, *, split=0, asked=None, seconds=1.0, failure=None):
    return {
        "cell": {"method": method, "split": split},
        "asked": list(range(len(losses))) if asked is None else asked,
        "losses": {"LR": list(map(float, losses))},
        "n_rows": 10,
        "failure": failure,
        "costs": {"cpu_seconds": {"method": seconds}},
    }


def flipped(wrong, n_mended):
    """Return losses with some wrong answers mended."""
    mended = np.array(wrong, dtype=float)
    mended[np.flatnonzero(mended)[:n_mended]] = 0.0
    return mended


WRONG = [1.0] * 40 + [0.0] * 60


@pytest.fixture(scope="module")
def birds():
    frame = load_penguins().dropna().iloc[::4]
    return read_frame(frame, target="species")


def test_every_row_is_tested_once_and_never_trained_on(birds):
    contest = MethodComparison.of(birds, 4)

    asked = np.concatenate([contest.asked(repeat) for repeat in range(4)])

    assert sorted(asked) == list(range(len(birds)))
    for repeat in range(4):
        train, test = contest.parts(repeat)
        assert len(train) + len(test) == len(birds)
        assert train.origin.tolist() == list(range(len(train)))


def test_groups_stay_on_one_side(birds):
    groups = np.arange(len(birds)) // 5

    contest = MethodComparison.of(birds, 3, groups=groups)

    for repeat in range(3):
        inside = set(groups[contest.asked(repeat)])
        outside = set(
            groups[np.setdiff1d(np.arange(len(birds)), contest.asked(repeat))]
        )
        assert inside.isdisjoint(outside)


def test_copies_of_a_row_are_tested_together_and_count_once(birds):
    rows = np.arange(30)
    contest = MethodComparison.of(birds.take(np.concatenate([rows, rows])), 3)

    assert all(
        set(contest.asked(repeat) % 30).isdisjoint(contest.taught(repeat) % 30)
        for repeat in range(3)
    )
    assert len(np.unique(contest.asked_groups)) == 30


def test_groups_follow_their_rows_to_a_method_that_minds_them(birds, monkeypatch):
    seen = []

    class Spy:
        def make(self, *_):
            raise AssertionError("it minds groups")

        def make_for_groups(self, train, n, _rng, _watch, groups):
            seen.append((train, groups))
            return train.take(np.zeros(n, dtype=int))

    monkeypatch.setattr("tabtap.compare.contest.method_named", lambda *_: Spy())
    groups = np.arange(len(birds)) // 5
    contest = MethodComparison.of(birds, 3, groups=groups, predictors=["KNN"])

    contest.record(Cell(dataset="own", n_real=84, split=2, method="TAP"))

    ((train, told),) = seen
    assert len(train) == len(told)
    assert told.tolist() == groups[contest.taught(2)].tolist()


def test_groups_of_a_test_file_come_after_those_of_the_table(birds):
    table, test = birds.take(np.arange(60)), birds.take(np.arange(60, len(birds)))
    groups = np.arange(len(birds)) // 2

    contest = MethodComparison.of(table, 2, test=test, groups=groups)

    assert contest.groups.tolist() == groups[:60].tolist()
    assert contest.asked_groups.tolist() == groups[60:].tolist()


def test_rows_of_a_group_count_once():
    records = [record("Real", WRONG), record("SMOTE", flipped(WRONG, 10))]

    alone = summarise(records, "classification").of("SMOTE")
    tens = summarise(records, "classification", np.arange(100) // 10).of("SMOTE")

    assert alone.low > 0
    assert tens.gain == alone.gain
    assert tens.low < 0  # one group of ten is better, which may be chance


def test_a_cell_is_worked_with_the_users_rows(birds):
    contest = MethodComparison.of(birds, 3, predictors=["LR", "KNN"])
    cell = Cell(
        dataset="own", n_real=56, split=1, method="Copies", terms=Terms(budget=30)
    )

    told = contest.work()(cell)

    assert told["n_rows"] == 30
    assert told["failure"] is None
    assert set(told["losses"]) == {"LR", "KNN"}
    assert len(told["losses"]["LR"]) == len(told["asked"]) == len(contest.asked(1))
    assert set(told["losses"]["LR"]) <= {0.0, 1.0}


def test_a_test_file_is_asked_in_every_repeat_and_counts_once(birds):
    train, test = birds.take(np.arange(0, 60)), birds.take(np.arange(60, len(birds)))
    contest = MethodComparison.of(train, 2, test=test, predictors=["KNN"])
    cells = [Cell(dataset="own", n_real=60, split=i, method="Real") for i in range(2)]

    comparison = summarise([contest.record(cell) for cell in cells], "classification")

    assert comparison.n_test == len(test)


def test_repeats_of_one_row_are_averaged():
    records = [
        record("Real", [1.0, 0.0]),
        record("Real", [1.0, 0.0], split=1),
        record("SMOTE", [0.0, 0.0]),
        record("SMOTE", [1.0, 0.0], split=1),
    ]

    comparison = summarise(records, "classification")

    assert comparison.pairs["SMOTE"].tolist() == [0.5, 0.0]
    assert comparison.of("SMOTE").gain == pytest.approx(0.25)


def test_nothing_helps_if_nothing_is_better():
    comparison = summarise(
        [record("Real", WRONG), record("SMOTE", [1.0] * 100)], "classification"
    )

    assert recommend(comparison) is None
    assert advice(comparison).startswith("Nothing helps")


def test_a_gain_that_may_be_chance_is_not_recommended():
    comparison = summarise(
        [record("Real", WRONG), record("TAP", flipped(WRONG, 1))], "classification"
    )

    assert recommend(comparison) is None
    assert "+1.0 points of accuracy" in advice(comparison)
    assert "may be chance" in advice(comparison)


def test_the_cheapest_of_equals_is_enough():
    comparison = summarise(
        [
            record("Real", WRONG),
            record("SMOTE", flipped(WRONG, 20), seconds=0.1),
            record("TAP", flipped(WRONG, 21), seconds=30.0),
        ],
        "classification",
    )

    assert recommend(comparison).method == "SMOTE"
    assert advice(comparison).startswith("SMOTE is enough: a gain of +20.0 points")
    assert "TAP did best" in advice(comparison)


def test_a_method_that_is_shown_to_be_better_is_worth_its_price():
    comparison = summarise(
        [
            record("Real", WRONG),
            record("SMOTE", flipped(WRONG, 10), seconds=0.1),
            record("TAP", flipped(WRONG, 35), seconds=30.0),
        ],
        "classification",
    )

    assert advice(comparison).startswith("Use TAP: a gain of +35.0 points")


def test_a_gain_in_regression_is_told_in_percent_of_the_squared_error():
    rng = np.random.default_rng(0)
    real = 2.0 + rng.random(200)
    comparison = summarise(
        [record("Real", real), record("TAP", 0.75 * real)], "regression"
    )

    assert "+25 % of the squared error" in advice(comparison)


def test_a_method_whose_worker_died_added_nothing():
    dead = {
        "cell": {"method": "CTGAN", "split": 0},
        "failure": {"reason": "the worker died"},
    }

    comparison = summarise([record("Real", WRONG), dead], "classification")

    assert comparison.of("CTGAN").gain == 0.0
    assert comparison.of("CTGAN").failures == ("the worker died",)
