"""Tables of more rows than are learned, with the limits brought down to a few rows."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.tree import DecisionTreeClassifier
from stand_ins import Listener, MoreIsBetter, StopAfter

import tabtap
from tabtap.api import TabularAugmenter
from tabtap.api.large import LARGE_PANEL, Whole
from tabtap.config import PRESETS, GateConfig, SizeConfig
from tabtap.domain import GateContext, Lineages
from tabtap.errors import LargeTableWarning, RunInterrupted, UserInputError
from tabtap.gates import standard_gates
from tabtap.gates.gates import NoCopy, row_keys
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


def test_a_table_too_large_to_be_judged_is_refused_before_dear_looks(
    tiny, frauds, monkeypatch
):
    sizes = SizeConfig(max_learned_rows=N_LEARNED, max_judged_cells=100)
    looked = []
    monkeypatch.setattr("tabtap.api.choices.copy_groups", looked.append)
    monkeypatch.setattr(
        "tabtap.table.computed._Scan.of", lambda table: looked.append(table)
    )

    result = run(replace(tiny, sizes=sizes), frauds, MoreIsBetter())

    assert result.stop is Stop.SIZE
    assert looked == []


def test_a_computed_column_that_is_named_is_checked_though_no_row_is_added(
    tiny, frauds
):
    sizes = SizeConfig(max_learned_rows=N_LEARNED, max_judged_cells=100)

    with pytest.raises(UserInputError, match="computed"):
        run(replace(tiny, sizes=sizes), frauds, MoreIsBetter(), computed=["hour"])


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


def test_a_copy_of_a_real_row_that_was_not_learned_is_refused(sized, frauds):
    real = read_frame(frauds, "label")
    whole = Whole.of(real, None, sized, seed=0)
    unknown = np.setdiff1d(np.arange(N_ROWS), whole.learned)
    changed = real.take(unknown).cells[0] + 0.25
    new = replace(real.take(unknown), cells=(changed, real.cells[1][unknown]))
    context = GateContext(whole.sample, kept=real.empty(), prediction=None)
    gate = next(g for g in standard_gates(GateConfig(), every=real) if "keys" in dir(g))

    assert not gate.passes(real.take(unknown), context).any()
    assert gate.passes(new, context).all()


def test_where_real_rows_repeat_each_other_a_repeat_proves_nothing(frauds):
    real = read_frame(frauds[["hour", "label"]], "label")  # 24 hours for 200 rows

    assert NoCopy.of(real).passes(real, GateContext(real, real.empty(), None)).all()


def test_rows_are_told_apart_by_every_cell_and_hole_but_identifiers():
    frame = pd.DataFrame({"a": [0.0, -0.0, 1.0, np.nan, 0.0], "b": [*"xxxxy"]})
    frame["key"] = [f"p{i}" for i in range(5)]
    frame["y"] = [*"nnnyn"]
    frame = pd.concat([frame] * 3)

    keys = row_keys(read_frame(frame, "y", kinds={"key": "category"}))
    of_cells = row_keys(read_frame(frame, "y", kinds={"key": "identifier"}))

    assert len(set(keys.tolist())) == 5
    assert len(set(of_cells.tolist())) == 4
    assert of_cells[0] == of_cells[1]  # 0.0 and -0.0


class Tired(MoreIsBetter):
    """A learner that takes long, and longer the more rows it is trained on."""

    def predict(self, contexts, queries):
        for context in contexts:
            time.sleep(1e-4 * len(context))
        return super().predict(contexts, queries)


def test_how_long_a_named_learner_takes_is_told_before_the_run(sized, frauds):
    judge = Listener(Tired())
    whole = Whole.of(read_frame(frauds, "label"), None, sized, seed=0)

    whole = whole.timed(judge, 3, None)
    with pytest.warns(LargeTableWarning, match="seconds for each") as caught:
        whole.tell(judge.name)

    # 3 x 3 fits on two thirds of 200 rows, in about 0.013 s each.
    assert 0.08 < whole.check_seconds < 3.0
    assert max(len(context) for context, _ in judge.asked) <= N_LEARNED
    assert judge.name in str(caught[0].message)


def test_a_learner_too_slow_for_the_time_budget_is_not_begun(sized, frauds):
    judge = Listener(Tired())

    with pytest.warns(LargeTableWarning, match="time_budget is 1 s"):
        result = run(sized, frauds, judge, time_budget=0.01)

    assert result.stop is Stop.SIZE
    assert max(len(context) for context, _ in judge.asked) <= N_LEARNED
    assert_frame_equal(result.augmented()[0], frauds)


def test_the_more_rows_the_fewer_pools_are_judged_but_one_at_least(tiny, frauds):
    judged = []
    for most in (1, 2 * frauds.shape[0] * 2, 10**9):
        sizes = SizeConfig(max_learned_rows=N_LEARNED, max_checked_cells=most)
        preset = replace(tiny, sizes=sizes)
        whole = Whole.of(read_frame(frauds, "label"), None, preset, seed=0)
        config = whole.shortened(tiny.augment)
        judged.append(config.n_steps / config.commit.window_length)

    n_windows = tiny.augment.n_steps / tiny.augment.commit.window_length
    assert judged == [1, 2, n_windows]


def test_a_run_on_many_rows_ends_after_its_last_check(tiny, frauds):
    sizes = SizeConfig(max_learned_rows=N_LEARNED, max_checked_cells=1)

    result = run(replace(tiny, sizes=sizes), frauds, MoreIsBetter(), budget=500)

    assert len(result.certificates) == 1
    assert result.stop is Stop.STEPS


def test_no_check_is_begun_that_would_not_end_in_time(sized, frauds):
    whole = Whole.of(read_frame(frauds, "label"), None, sized, seed=0)

    timed = replace(whole, check_seconds=40.0, time_budget=100.0)

    assert timed.seconds_to_begin == 60.0
    assert not timed.is_too_large
    assert replace(timed, time_budget=30.0).is_too_large


@pytest.mark.parametrize("scoring", ["average_precision", "roc_auc"])
def test_a_rare_class_has_yardsticks_of_its_own(sized, frauds, scoring):
    result = run(sized, frauds, "linear", scoring=scoring)

    assert result.certificates[0].scorer == f"linear by {scoring}"
    assert 0.0 < result.certificates[0].score_real <= 1.0


@pytest.mark.slow
def test_rows_learned_from_a_sample_can_help_a_learner_of_all_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    frame["label"] = np.where(frame["a"] + frame["b"] > 0, "above", "below")
    preset = replace(PRESETS["fast"], sizes=SizeConfig(max_learned_rows=150))
    # With 240 rows it has at most four leaves for a slope.
    coarse = DecisionTreeClassifier(min_samples_leaf=60, random_state=0)

    result = tabtap.augment(
        frame, "label", preset=preset, learner=coarse, random_state=0
    )

    bigger, _ = result.augmented()
    assert result.verdict == "augment"
    assert verify(result) == []
    assert_frame_equal(bigger.iloc[:300], frame)
    real = set(map(tuple, frame[["a", "b", "c"]].to_numpy()))
    new = set(map(tuple, bigger[["a", "b", "c"]].to_numpy()[300:]))
    assert new
    assert not real & new
