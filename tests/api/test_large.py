"""Tables of more rows than are learned, with the limits brought down to a few rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from stand_ins import Listener, MoreIsBetter, StopAfter

from tabtap.api import TabularAugmenter
from tabtap.api.large import LARGE_PANEL, Whole
from tabtap.config import SizeConfig
from tabtap.domain import Lineages
from tabtap.errors import LargeTableWarning, RunInterrupted
from tabtap.loop import Stop
from tabtap.result import load_result, verify
from tabtap.table import read_frame

pytestmark = pytest.mark.filterwarnings("ignore::tabtap.errors.LargeTableWarning")

N_ROWS, N_RARE, N_LEARNED = 200, 12, 40


@pytest.fixture
def sized(tiny):
    return replace(tiny, sizes=SizeConfig(max_learned_rows=N_LEARNED))


@pytest.fixture
def frauds():
    """A frame of few rare rows among many, with its target."""
    rng = np.random.default_rng(0)
    label = np.repeat(["fraud", "ok"], [N_RARE, N_ROWS - N_RARE])
    amount = rng.normal(np.where(label == "fraud", 2.0, 0.0))
    hour = rng.integers(0, 24, N_ROWS)
    frame = pd.DataFrame({"amount": amount, "hour": hour, "label": label})
    return frame.sample(frac=1.0, random_state=0, ignore_index=True)


def run(preset, frame, referee, **settings):
    settings = {"budget": 20, "random_state": 0, "evaluator": "linear", **settings}
    augmenter = TabularAugmenter(preset=preset, referee=referee, **settings)
    return augmenter.fit_table(frame, "label")


def test_new_rows_come_after_all_rows_of_the_table_which_are_unchanged(sized, frauds):
    result = run(sized, frauds, MoreIsBetter())

    bigger, _ = result.augmented()
    assert result.verdict == "augment"
    assert_frame_equal(bigger.iloc[:N_ROWS], frauds)
    assert len(bigger) == N_ROWS + len(result.delivered)


def test_only_some_rows_are_learned_and_all_of_a_rare_class(sized, frauds):
    whole = Whole.of(read_frame(frauds, "label"), None, sized, seed=0)

    assert len(whole.learned) == N_LEARNED
    assert (whole.sample.condition == 0).sum() == N_RARE
    result = run(sized, frauds, MoreIsBetter())
    assert set(result.provenance["anchor_row"]) <= set(whole.learned.tolist())


def test_learners_that_judge_are_trained_on_all_rows_and_asked_about_all(sized, frauds):
    judge = Listener(MoreIsBetter())
    result = run(sized, frauds, judge)

    alone = [c for c, _ in judge.asked if N_LEARNED < len(c) < N_ROWS]
    assert sum(len(context) for context in alone[:3]) == 2 * N_ROWS  # of three folds
    scores = result.certificates[0].evidence["real"]
    assert scores.shape == (N_ROWS,)


def test_a_rows_generator_has_not_seen_the_fold_that_it_helps_to_judge(sized, frauds):
    whole = Whole.of(read_frame(frauds, "label"), None, sized, seed=0)
    of_sample = Lineages(np.arange(N_LEARNED) % 3, crossfit=True)

    lineages = whole.lineages(of_sample, seed=0)

    assert lineages.fold[0, whole.learned].tolist() == of_sample.fold.tolist()
    assert len(np.unique(lineages.fold)) == 3


def test_rows_of_a_group_stay_in_one_fold_learned_or_not(sized, frauds):
    groups = np.arange(N_ROWS) // 5
    whole = Whole.of(read_frame(frauds, "label"), groups, sized, seed=0)
    own = whole.sample_groups
    of_sample = Lineages(own % 3, crossfit=True)

    fold = whole.lineages(of_sample, seed=0).fold[0]

    assert all(len(set(fold[groups == group])) == 1 for group in np.unique(groups))


def test_what_is_learned_and_what_is_judged_is_told_beforehand(sized, frauds):
    with pytest.warns(LargeTableWarning, match="200 rows 40 are learned") as caught:
        result = run(sized, frauds, "auto")

    told = str(caught[0].message)
    assert "(all 12 of 'fraud', 28 of 'ok')" in told
    assert "promised of the whole table" in told
    assert told in result.about.notes


def test_without_a_named_learner_the_quickest_of_the_panel_judge(sized, frauds):
    result = run(sized, frauds, "auto")

    assert tuple(result.certificates[0].learners_before) == LARGE_PANEL


def test_a_table_of_few_enough_rows_is_learned_as_it_is(tiny, frauds):
    assert Whole.of(read_frame(frauds, "label"), None, tiny, seed=0) is None


def test_the_papers_protocol_learns_every_row(tiny_paper, frauds):
    preset = replace(tiny_paper, sizes=SizeConfig(max_learned_rows=N_LEARNED))

    assert Whole.of(read_frame(frauds, "label"), None, preset, seed=0) is None


def test_a_table_too_large_to_be_judged_gets_no_rows_and_hears_why(tiny, frauds):
    sizes = SizeConfig(max_learned_rows=N_LEARNED, max_judged_cells=100)

    with pytest.warns(LargeTableWarning, match="at most 50 rows, all of the rare"):
        result = run(replace(tiny, sizes=sizes), frauds, MoreIsBetter())

    assert result.verdict == "no_gain"
    assert result.stop is Stop.SIZE
    assert "more rows than can be judged" in result.why
    assert any("no rows are added" in note for note in result.about.notes)
    assert_frame_equal(result.augmented()[0], frauds)


def test_an_interrupted_run_on_a_sample_resumes_with_the_same_result(
    sized, frauds, tmp_path
):
    judge = MoreIsBetter()
    whole = run(sized, frauds, judge)
    settings = {"budget": 20, "random_state": 0, "evaluator": "linear"}
    augmenter = TabularAugmenter(
        preset=sized, referee=judge, checkpoint=tmp_path, **settings
    )

    with pytest.raises(RunInterrupted):
        augmenter.fit_table(frauds, "label", observer=StopAfter(n_windows=1))
    resumed = augmenter.fit_table(frauds, "label")

    assert_frame_equal(resumed.augmented()[0], whole.augmented()[0])


def test_a_result_of_a_sample_is_saved_and_verified(sized, frauds, tmp_path):
    run(sized, frauds, MoreIsBetter()).save(tmp_path / "frauds.tap")

    found = load_result(tmp_path / "frauds.tap")

    assert len(found.real) == N_ROWS
    assert verify(found) == []


@pytest.mark.parametrize("scoring", ["average_precision", "roc_auc"])
def test_a_rare_class_has_yardsticks_of_its_own(sized, frauds, scoring):
    result = run(sized, frauds, "linear", scoring=scoring)

    assert result.certificates[0].scorer == f"linear by {scoring}"
    assert 0.0 < result.certificates[0].score_real <= 1.0
