"""Scores by class, against independent computations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tabtap.report.blocks import Figure, TableBlock, Text
from tabtap.report.evidence import class_blocks, class_parts


def texts(blocks):
    return " ".join(p for b in blocks if isinstance(b, Text) for p in b.paragraphs)


def test_classes_have_their_own_means_and_t_intervals(make_result, good):
    rng = np.random.default_rng(0)
    before, after = rng.random(24), rng.random(24)
    evidence = {"real": before, "before": before, "after": after}
    check = replace(good.certificates[1], evidence=evidence, n_folds=0)

    parts = class_parts(make_result([check], rows=(0,)), check)

    for part, own in zip(parts, [slice(0, 16), slice(16, 24)], strict=True):
        difference = after[own] - before[own]
        low, high = stats.t.interval(
            0.9, len(difference) - 1, difference.mean(), stats.sem(difference)
        )
        assert part.before == pytest.approx(before[own].mean())
        assert part.after == pytest.approx(after[own].mean())
        assert part.bound.lower == pytest.approx(low)
        assert part.bound.gain + part.bound.margin == pytest.approx(high)


def test_learners_that_share_rows_make_the_bars_wider(make_result, good):
    after = np.random.default_rng(0).random(24)
    evidence = {"real": np.zeros(24), "before": np.zeros(24), "after": after}
    check = replace(good.certificates[1], evidence=evidence)
    plain, wider = (replace(check, n_folds=n) for n in (0, 5))
    result = make_result([check], rows=(0,))

    margins = [class_parts(result, c)[0].bound.margin for c in (plain, wider)]

    # Nadeau and Bengio: the square root of 1 + 5 / 4.
    assert margins[1] == pytest.approx(1.5 * margins[0])


def test_rows_that_were_forgotten_are_left_out(make_result, good):
    after = np.arange(24.0)
    evidence = {"real": np.zeros(24), "before": np.zeros(24), "after": after}
    check = replace(good.certificates[1], evidence=evidence)
    result = make_result([check], rows=(5, 16)).forget([0, 23])

    healthy, ill = class_parts(result, check)

    assert (healthy.n_rows, healthy.after) == (15, np.arange(1, 16).mean())
    assert (ill.n_rows, ill.after) == (7, np.arange(16, 23).mean())


def test_rows_of_one_group_count_once(make_result, good):
    # Eight ill rows of four patients, whose two rows each say the same.
    after = np.repeat([0.1, 0.4, 0.2, 0.3], 2)
    evidence = {
        "real": np.zeros(24),
        "after": np.concatenate([np.zeros(16), after]),
        "clusters": np.repeat(np.arange(12.0), 2),
    }
    check = replace(good.certificates[1], evidence=evidence, n_folds=0)

    ill = class_parts(make_result([check], rows=(0,)), check)[1]

    margin = stats.t.ppf(0.95, 3) * stats.sem([0.1, 0.4, 0.2, 0.3])
    assert ill.bound.margin == pytest.approx(margin)


def test_the_papers_rule_keeps_no_scores_of_rows_and_says_so(every_case):
    blocks = class_blocks(every_case["paper"])

    assert "rule keeps no scores of single rows" in texts(blocks)
    assert not any(isinstance(block, TableBlock) for block in blocks)


def test_an_older_result_with_a_score_per_fold_has_no_classes(every_case):
    assert class_blocks(every_case["by folds"]) == []


def test_titles_count_who_gained(good):
    found = [b.title for b in class_blocks(good) if isinstance(b, Figure)]

    assert found == ["Both classes score higher with the new rows"]


def test_titles_of_a_refusal_say_that_the_rows_were_not_added(refused):
    found = [b.title for b in class_blocks(refused) if isinstance(b, Figure)]

    assert found == [
        "2 of 2 classes are shown to score higher with rows that were not added"
    ]


def test_a_refusal_counts_no_class_that_may_have_gained_by_chance(make_result, refused):
    real = np.full(24, 0.70)
    noise = np.where(np.arange(24) % 2, 0.9, -0.7)
    evidence = {"real": real, "before": real, "after": real + noise}
    check = replace(refused.certificates[0], evidence=evidence)

    figure, _ = class_blocks(make_result([check]))

    wanted = "None of 2 classes is shown to score higher with rows that were not added"
    assert figure.title == wanted


def test_the_heading_says_for_how_many_classes_it_is_shown(make_result, good):
    ill = np.arange(24) >= 16
    noise = np.where(ill, np.where(np.arange(24) % 2, 0.9, -0.7), 0.05)
    real = np.full(24, 0.70)
    evidence = {"real": real, "before": real, "after": real + noise}
    check = replace(good.certificates[1], evidence=evidence)

    figure, _ = class_blocks(make_result([check], rows=(0,)))

    wanted = "Both classes score higher with the new rows, shown for 1"
    assert figure.title == wanted
