import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GroupKFold

from tabtap.domain import Candidates, Lineages
from tabtap.domain.judgement import table_sha256
from tabtap.loop import Outcome, Progress, Stop
from tabtap.result import AugmentResult
from tabtap.table import read_frame, write_frame


def test_real_rows_come_first_and_unchanged_then_the_synthetic_ones(result, frame):
    X, y = result.augmented()

    pd.testing.assert_frame_equal(X.head(12), frame, check_freq=False)
    assert len(X) == len(y) == 21
    assert X.index[12:].tolist() == [f"synthetic {k}" for k in range(9)]
    assert X.index.name == "patient"
    pd.testing.assert_frame_equal(X.tail(9), result.synthetic)
    pd.testing.assert_series_equal(y.tail(9), result.synthetic_target)
    assert y.index.equals(X.index)
    assert X["ill"].tolist() == y.tolist()


def test_a_target_given_apart_stays_apart(make_result, numbers, frame):
    result = make_result(numbers, index=frame.index)

    X, y = result.augmented()

    assert list(X.columns) == list(frame.columns)
    assert y.name == "cost"
    assert y.dtype == np.float64
    assert y.tolist()[:12] == [k * 1.5 for k in range(12)]


def test_polars_and_numpy_come_back_as_themselves(make_result):
    rng = np.random.default_rng(0)
    array, labels = rng.normal(size=(12, 2)).astype(np.float32), [0, 1] * 6
    plain = make_result(read_frame(array, y=np.array(labels)))
    polars = make_result(
        read_frame(pl.DataFrame({"a": array[:, 0]}), y=pl.Series("y", labels))
    )

    X, y = plain.augmented()
    frame, series = polars.augmented()

    assert (X.dtype, X.shape, y.shape) == (np.float32, (21, 2), (21,))
    assert X[:12].tobytes() == array.tobytes()
    assert isinstance(frame, pl.DataFrame)
    assert series[:12].to_list() == labels
    assert polars.provenance["target"].tolist() == series[12:].to_list()


def test_without_labels_pandas_rows_are_counted_on(make_result, classes):
    result = make_result(classes)

    assert result.augmented()[0].index.equals(pd.RangeIndex(21))


def test_no_synthetic_row_gives_the_table_back(make_result, classes, frame):
    result = make_result(classes, gain=-0.01, index=frame.index)

    X, _ = result.augmented()

    assert result.verdict == "no_gain"
    pd.testing.assert_frame_equal(X, frame, check_freq=False)
    assert len(result.synthetic) == len(result.provenance) == 0
    assert list(result.synthetic.columns) == list(frame.columns)
    assert result.synthetic_mask.tolist() == [False] * 12
    assert result.groups.tolist() == list(range(12))
    assert result.waterfall.delivered == 0


def test_only_delivered_rows_are_held_and_windows_are_those_certified(result):
    window = result.provenance["window"]

    assert result.delivered.rows.unseen_fold.tolist() != [0] * 9
    assert window.is_monotonic_increasing
    for certificate in result.certificates:
        rows = result.delivered.rows.take((window == certificate.window).to_numpy())
        assert table_sha256(rows) == certificate.pool_sha256


def test_mask_parents_and_groups_tell_rows_apart_and_families_together(result):
    everything = np.concatenate([np.arange(12), result.parent_indices])

    assert result.synthetic_mask.tolist() == [False] * 12 + [True] * 9
    assert result.parent_indices.tolist() == result.delivered.rows.origin.tolist()
    assert result.groups.tolist() == everything.tolist()
    for train, test in GroupKFold(3).split(everything, groups=result.groups):
        assert set(everything[train]).isdisjoint(everything[test])


def test_descendants_carry_the_groups_that_were_given(make_result, classes):
    mice = np.array(["ann", "bob", "cat", "dan"] * 3)

    result = make_result(classes, groups=mice, gain=0.03)

    assert result.groups[:12].tolist() == mice.tolist()
    assert result.groups[12:].tolist() == mice[result.parent_indices].tolist()
    assert len(result.delivered) == 9


def test_provenance_says_how_every_row_was_made(result, classes):
    provenance = result.provenance

    names = np.array([column.name for column in classes.schema.features])
    first = result.delivered.regenerate[0]
    assert provenance["redrawn"][0] == tuple(names[first])
    assert provenance["anchor_row"].tolist() == result.parent_indices.tolist()
    assert provenance["target"].tolist() == result.synthetic_target.tolist()
    assert set(provenance["template"]) <= {"explore", "conservative"}
    assert provenance["fold"].tolist() == result.delivered.rows.unseen_fold.tolist()
    step = result.steps[provenance["step"][0]]
    assert provenance["exploration"][0] == step.action.exploration
    assert provenance["score: distance"].between(1, 2).all()


def test_the_trace_has_one_row_per_step_with_labels_instead_of_codes(result):
    trace = result.trace

    assert trace["step"].tolist() == list(range(len(result.steps)))
    assert set(trace["target"]) <= {"maybe", "no", "yes"}
    assert trace["refused: copies"].tolist() == [3] * len(trace)
    assert trace["committed"].all()
    assert (trace["n_proposed"] - trace["n_admitted"]).tolist() == [3] * len(trace)


def test_a_regression_trace_names_ranges_of_the_target(make_result, numbers):
    result = make_result(numbers)

    assert result.trace["target"].str.match(r"(up to|above) \S+|\S+ to \S+").all()


def test_the_waterfall_adds_up(result):
    fall = result.waterfall

    assert fall.proposed == 6 * len(result.steps)
    assert dict(fall.refused) == {"range": 0, "copies": 3 * len(result.steps)}
    assert fall.admitted == fall.proposed - sum(fall.refused.values())
    # Of three lineages every third row is delivered; the last pool was cut.
    assert (
        fall.admitted >= fall.committed == sum(c.n_judged for c in result.certificates)
    )
    assert fall.delivered == len(result.delivered) == 9


def test_certificates_are_json_that_any_program_reads(make_result, classes):
    result = make_result(classes, protocol="paper")  # which has no score_real

    shown = json.loads(
        result.certificates_json(), parse_constant=lambda name: pytest.fail(name)
    )

    first = shown["certificates"][0]
    assert first["score_real"] is None
    assert first["over_real"] is None
    assert first["pool_sha256"] == result.certificates[0].pool_sha256
    bound = result.certificates[0].over_incumbent
    assert first["over_incumbent"]["lower"] == bound.lower
    assert len(first["evidence"]["fold_gains"]) == 3


def test_an_ancestor_that_is_no_real_row_is_a_mistake_of_ours(classes):
    orphan = replace(classes.take(np.array([0])), origin=np.array([-1]))
    rows = Candidates(orphan, orphan.missing < 0, np.zeros(1, np.int64))
    progress = Progress(committed=rows, steering=None)
    lineages = Lineages(np.arange(12) % 3, crossfit=False)

    with pytest.raises(AssertionError, match="descends from no real row"):
        AugmentResult.of(classes, Outcome(progress, Stop.STEPS), lineages, None)


def test_a_short_text_says_what_it_is(result):
    text = "AugmentResult(augment, 9 synthetic rows beside 12 real rows)"

    assert repr(result) == text
    assert write_frame(result.real).shape == (12, 6)
