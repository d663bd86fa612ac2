import time

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score

from tabtap.config import ProposalConfig
from tabtap.proposal import (
    _levels,
    important_by_lineage,
    important_columns,
    information,
    learned_columns,
    stability,
)
from tabtap.table import read_frame


def planted(n_rows=60, seed=0):
    """Build a frame of which two columns, a number and a level, tell the label."""
    rng = np.random.default_rng(seed)
    sick = np.resize([True, False], n_rows)
    frame = pd.DataFrame({f"noise {k}": rng.normal(size=n_rows) for k in range(5)})
    frame["telling number"] = sick * 2.0 + rng.normal(size=n_rows)
    kind = np.where(rng.random(n_rows) < 0.9, sick, ~sick)
    frame["telling level"] = np.where(kind, "a", "b")
    frame["other level"] = rng.choice(["x", "y", "z"], n_rows)
    frame["label"] = np.where(sick, "sick", "well")
    return frame


def names_of(table, chosen):
    pairs = zip(table.schema.features, chosen, strict=True)
    return {column.name for column, is_chosen in pairs if is_chosen}


def important(table, share=0.25, seed=0):
    config = ProposalConfig(important_share=share)
    return important_columns(table, config, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(5))
def test_the_columns_that_tell_the_target_are_important(seed):
    table = read_frame(planted(seed=seed), "label")

    found = names_of(table, important(table))

    assert found == {"telling number", "telling level"}


@pytest.mark.parametrize("seed", range(5))
def test_the_same_names_are_important_in_any_order_of_the_columns(seed):
    frame = planted(n_rows=20, seed=seed)
    frame["twin"] = frame["noise 0"]  # a tie, which the name must settle
    order = np.random.default_rng(seed).permutation(frame.columns)
    table, shuffled = (read_frame(f, "label") for f in (frame, frame[order]))

    for share in (0.1, 0.3, 0.5, 0.8):
        found = names_of(table, important(table, share))
        assert names_of(shuffled, important(shuffled, share)) == found


def test_a_regression_target_is_told_by_the_column_it_follows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 6)), columns=list("abcdef"))
    frame["y"] = frame["d"] * 3 + rng.normal(size=50)
    table = read_frame(frame, "y")

    assert names_of(table, important(table, share=0.2)) == {"d"}


def test_information_is_that_of_scikit_learn_on_the_same_levels():
    table = read_frame(planted(), "label")
    levels = _levels(table, np.flatnonzero(learned_columns(table.schema)))

    found = information(levels, table.condition)

    reference = [mutual_info_score(c, table.condition) for c in levels.codes.T]
    assert found == pytest.approx(reference, abs=1e-12)


def resampled_agreement(code, label, rng):
    """Return one correlation of class frequencies with those of a resample."""

    def differences(code):
        shares = [[(code[label == k] == v).mean() for k in range(3)] for v in range(3)]
        return np.array(shares) - np.mean(shares, axis=1, keepdims=True)

    rows = np.concatenate([rng.choice(np.flatnonzero(label == k), 8) for k in range(3)])
    both = differences(code), differences(code[rows])
    return np.corrcoef(*(part.ravel() for part in both))[0, 1]


def test_stability_is_the_correlation_with_resamples_within_classes(build_table):
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 2], 8)
    code = rng.integers(0, 3, 24)
    table = build_table(label, code, label * 1.0, np.zeros(24))
    levels = _levels(table, np.arange(3))

    middling, same, flat = stability(levels, label, 400, rng)

    agreement = [resampled_agreement(code, label, rng) for _ in range(200)]
    assert middling == pytest.approx(np.mean(agreement), abs=0.05)
    assert 0.3 < middling < 0.95
    assert (same, flat) == (pytest.approx(1.0), 0.0)


def test_many_levels_that_mean_nothing_are_not_important():
    rng = np.random.default_rng(0)
    frame = planted(n_rows=200)
    frame["town"] = pd.Categorical([f"town {k}" for k in rng.integers(0, 120, 200)])
    table = read_frame(frame, "label", kinds={"town": "category"})

    assert "town" not in names_of(table, important(table, share=0.3))


def test_constants_and_identifiers_are_never_important(people):
    chosen = important(people, share=1.0)

    assert names_of(people, chosen).isdisjoint({"patient_id", "site"})


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_the_share_is_kept_and_one_column_stays_free(people, share):
    n_able = 7

    chosen = important(people, share)

    assert chosen.sum() == min(int(share * n_able + 0.5), n_able - 1)


def test_an_only_column_stays_free(build_table):
    table = build_table([0, 1, 0, 1], np.arange(4.0))

    assert important(table, share=1.0).tolist() == [False]


@pytest.mark.parametrize(
    "columns",
    [
        [np.array([0, 1, -1, 1, 0, 0, 1, -1]), np.array([0, 0, 1, 1, 0, 1, 0, 1])],
        [np.array([np.nan] * 7 + [1.0]), np.arange(8.0)],
        [np.full(8, np.nan), np.arange(8.0)],
        [np.array([1e308, -1e308] * 4), np.zeros(8)],
    ],
    ids=["only levels", "one number", "no number", "huge"],
)
@pytest.mark.parametrize(
    "label",
    [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 2, 3, 4, 5, 6], [0] * 8],
    ids=["two classes", "lonely classes", "one class"],
)
def test_eight_rows_of_any_sort_give_one_important_column(build_table, columns, label):
    table = build_table(label, *columns)

    assert important(table, share=0.5).sum() == 1


def test_that_a_number_is_missing_may_be_what_matters(build_table):
    rng = np.random.default_rng(0)
    label = np.resize([0, 1], 40)
    gaps = np.where(label == 1, np.nan, 0.0)  # always 0 where it was measured
    table = build_table(label, rng.normal(size=40), gaps, rng.normal(size=40))

    assert important(table, share=0.3).tolist() == [False, True, False]


def test_three_hundred_columns_take_less_than_a_second(build_table):
    rng = np.random.default_rng(0)
    table = build_table(rng.integers(0, 8, 400), *rng.normal(size=(300, 400)))
    began = time.process_time()

    important(table)

    assert time.process_time() - began < 1.0


def test_the_same_generator_gives_the_same_columns():
    table = read_frame(planted(n_rows=12), "label")

    first, again = important(table, 0.5, seed=3), important(table, 0.5, seed=3)

    assert first.tolist() == again.tolist()


def test_a_lineage_judges_by_the_rows_it_has_seen(crossfit):
    frame = planted()
    table, lineages = read_frame(frame, "label"), crossfit(60)
    other = frame.copy()
    other.loc[lineages.fold == 1, "noise 3"] = np.where(
        frame["label"] == "sick", 9, -9
    )[lineages.fold == 1]
    config = ProposalConfig(important_share=0.4)

    found, changed = (
        important_by_lineage(t, lineages, config, np.random.default_rng(0))
        for t in (table, read_frame(other, "label"))
    )

    assert tuple(found) == lineages.members
    assert changed[1].tolist() == found[1].tolist()
    assert "noise 3" in names_of(table, changed[0])
    assert "noise 3" not in names_of(table, found[0])
