from dataclasses import replace
from types import MappingProxyType
from xml.etree import ElementTree

import numpy as np
import pytest
from calibration import (
    Count,
    Panel,
    Point,
    clustered_share,
    committed,
    confidence_table,
    coverage,
    decided_at,
    decisions,
    harmful_committed,
    least_safe_confidence,
    limits_of,
    lower_bound,
    preferred,
    promise,
    ranked_above,
    scatter_svg,
    total,
)

from tabtap.config import CommitConfig
from tabtap.domain import Baseline, CommitRequest, Lineages, RefereeScores, ScoresToBeat
from tabtap.loop import CrossfitCommitment


@pytest.fixture
def make_check():
    """Build a commitment check; only what a test is about need be given."""

    def make(**other):
        record = {
            **{"table": "credit-g", "n_real": 50, "split": 0, "seed": 0},
            **{"protocol": "crossfit", "look": 1, "first": True, "committed": True},
            "over_real": {"gain": 0.2, "margin": 0.1, "confidence": 0.95},
            "over_incumbent": {"gain": 0.2, "margin": 0.0, "confidence": 0.5},
            "truth": {
                "over_real": {"score": 0.15, "loss": 0.3},
                "over_incumbent": {"score": 0.15, "loss": 0.3},
            },
            "evidence": {
                "real": [0.0, 0.0, 0.0],
                "before": [0.0, 0.0, 0.0],
                "after": [0.1, 0.2, 0.3],
            },
        }
        return {**record, **other}

    return make


def truth_of(over_real, over_incumbent):
    return {
        "over_real": {"score": over_real, "loss": 0.0},
        "over_incumbent": {"score": over_incumbent, "loss": 0.0},
    }


def test_a_promise_holds_when_the_truth_is_not_below_the_bound(make_check):
    made = promise(make_check())

    assert (made.estimate, made.nominal, made.truth) == (0.2, 0.95, 0.15)
    assert made.lower == pytest.approx(0.1)
    assert made.kept


def test_a_promise_at_another_level_comes_from_the_evidence(make_check):
    made = promise(make_check(), 0.9)

    # t(2) at 0.9 is 1.8856; the three differences deviate by 0.1.
    assert made.lower == pytest.approx(0.2 - 1.8856 * 0.1 / np.sqrt(3), abs=1e-5)
    assert made.nominal == 0.9


def test_the_papers_promise_is_a_loss_and_its_interval_two_sided(make_check):
    check = make_check(
        protocol="paper",
        over_real=None,
        over_incumbent={"gain": 0.5, "margin": 0.1, "confidence": 0.95},
        evidence={"fold_gains": [0.4, 0.6]},
    )

    made = promise(check)

    assert made.nominal == pytest.approx(0.975)
    assert made.truth == 0.3
    assert not made.kept


def test_coverage_leaves_out_what_could_not_be_estimated(make_check):
    unknown = {"gain": float("nan"), "margin": 0.0, "confidence": 0.95}
    checks = [
        make_check(split=0),
        make_check(split=1, truth=truth_of(0.05, 0.05)),
        make_check(split=2, over_real=unknown),
    ]

    found = coverage(checks)

    assert (found.share, found.n, found.n_cells) == (0.5, 2, 2)


def test_equal_cases_of_one_cell_count_once_in_the_error():
    once = clustered_share([True, False, True], ["a", "b", "c"])
    thrice = clustered_share([True, False, True] * 3, ["a", "b", "c"] * 3)

    # Cells of one case each: the deviation over the root of their number.
    assert once.error == pytest.approx(np.std([1, 0, 1], ddof=1) / np.sqrt(3))
    assert thrice.error == pytest.approx(once.error)
    assert (thrice.n, thrice.n_cells) == (9, 3)


def test_one_cell_tells_nothing_of_the_error():
    assert np.isnan(clustered_share([True, False], ["a", "a"]).error)


def test_harm_is_counted_among_the_committed_and_power_among_the_helpful(make_check):
    checks = [
        make_check(truth=truth_of(0.05, 0.02), committed=True),
        make_check(truth=truth_of(0.05, -0.02), committed=True),
        make_check(truth=truth_of(-0.05, -0.02), committed=True),
        make_check(truth=truth_of(0.05, 0.005), committed=False),
        make_check(truth=truth_of(-0.05, -0.02), committed=False),
    ]

    found = decisions(checks)

    assert (found.n, found.n_committed) == (5, 3)
    assert found.harmful == pytest.approx(1 / 3)
    assert found.harmful_step == pytest.approx(2 / 3)
    assert found.power == pytest.approx(2 / 3)
    assert found.power_step == 1.0


def test_other_decisions_can_be_judged_by_the_same_truth(make_check):
    checks = [make_check(truth=truth_of(-0.1, -0.1), committed=True)]

    found = decisions(checks, [False])

    assert found.n_committed == 0
    assert np.isnan(found.harmful)


class Scores:
    """A referee who says what a test wants to hear."""

    name = "stand-in"
    learners = MappingProxyType({})

    def __init__(self, after):
        self.after = after

    def scores(self, synthetic, only=None):
        del synthetic, only
        return RefereeScores({"one": self.after})


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("first", [True, False])
def test_a_replayed_decision_is_the_rules_own(birds, make_check, seed, first):
    rng = np.random.default_rng(seed)
    n = 12
    real, before, after = rng.normal(size=(3, n)) * 0.06 + [[0], [0.09], [0.1]]
    before = real if first else before
    rows = birds.take(np.arange(n))
    lineages = Lineages(np.arange(n) % 2, crossfit=True)
    held = replace(rows, unseen_fold=lineages.fold)
    nothing = np.zeros(n)
    trial = CommitRequest(
        0,
        lineages,
        rows.empty() if first else held,
        held,
        Baseline((), (), (), nothing, nothing),
        ScoresToBeat(
            RefereeScores({"one": real}), RefereeScores({"one": before}), before, "one"
        ),
        n_attempts_used=1,
    )
    config = CommitConfig(confidence=0.8, min_gain=0.1)
    certificate = (
        CrossfitCommitment(rows, Scores(after), config).check(trial).certificate
    )
    step = {"confidence": certificate.over_incumbent.confidence}
    evidence = {"real": real, "before": before, "after": after}
    check = make_check(
        **{"look": 2, "first": first, "n_folds": 2, "min_gain": 0.1},
        **{"over_incumbent": step, "evidence": evidence},
    )

    assert decided_at(check, 0.8) == certificate.committed


def test_a_pool_whose_plain_figure_falls_is_refused_at_any_confidence(make_check):
    assert decided_at(make_check(), 0.5)
    assert not decided_at(make_check(plain_falls=True), 0.5)


def test_a_cross_fitted_promise_minds_the_folds(make_check):
    plain, wider = (promise(make_check(n_folds=n), 0.9) for n in (0, 5))

    # Nadeau and Bengio: the root of 1 + 5 / 4.
    assert wider.estimate - wider.lower == pytest.approx(
        1.5 * (plain.estimate - plain.lower)
    )


def table_lines(checks):
    return confidence_table(checks).splitlines()[2:]


def test_a_confidence_is_safe_when_it_and_all_above_keep_harm_rare(make_check):
    bad = {"score": -0.1, "loss": -0.1}
    harmful = {"truth": {"over_real": bad, "over_incumbent": bad}}
    nothing = {"real": [0, 0], "before": [0, 0]}
    checks = [
        # Differences of 0.1 and 0.3: twice their error above 0.
        make_check(**harmful, evidence=nothing | {"after": [0.1, 0.3]}),
        make_check(evidence=nothing | {"after": [0.2, 0.21]}),  # sure, and it helps
    ]

    safe = least_safe_confidence(checks)

    assert safe == 0.85  # at 0.8, 3/4 of 0.2 are spent: t(1) at 0.85 is 1.96, under 2
    shares = [line.split("|")[4].strip() for line in table_lines(checks)]
    assert shares == ["50", "50", "50", "50", "0", "0", "0", "-"]


def test_where_nothing_is_committed_no_confidence_is_shown_to_be_safe(make_check):
    nothing = {"real": [0, 0], "before": [0, 0], "after": [0.2, -0.2]}

    found = least_safe_confidence([make_check(evidence=nothing)])

    assert found is None


@pytest.fixture
def make_offer():
    """Build a record of a pool that was offered."""

    def make(pool, gain=0.1, *, truth=0.1, let_in=True, split=0, protocol="crossfit"):
        bound = {"gain": gain, "margin": 0.05, "confidence": 0.9}
        crossfit = protocol == "crossfit"
        score = {"score": truth, "loss": 0.0}
        return {
            **{"table": "credit-g", "n_real": 50, "split": split, "seed": 0},
            **{"pool": pool, "protocol": protocol, "committed": let_in},
            "over_real": bound if crossfit else None,
            "over_incumbent": bound | {"gain": gain if not crossfit else 9.0},
            "truth": {"over_real": score, "over_incumbent": score},
        }

    return make


@pytest.mark.parametrize("protocol", ["crossfit", "paper"])
def test_a_pool_is_worth_what_its_rule_can_promise(make_offer, protocol):
    assert lower_bound(make_offer("clean", 0.3, protocol=protocol)) == pytest.approx(
        0.25
    )


def test_harmful_pools_are_those_that_truly_lose(make_offer):
    offers = [
        make_offer("noise", truth=-0.1, let_in=True),
        make_offer("noise", truth=-0.1, let_in=False, split=1),
        make_offer("noise", truth=0.1, let_in=True, split=2),
    ]

    assert harmful_committed(offers) == (1, 2)
    assert committed(offers) == (2, 3)
    assert str(harmful_committed(offers)) == "1 of 2 (50 %)"
    assert str(committed([])) == "0 of 0"


def test_a_poisoned_pool_is_compared_with_the_twin_of_its_own_cell(make_offer):
    offers = [
        make_offer("clean", 0.3, split=0),
        make_offer("noise", 0.2, split=0),
        make_offer("clean", 0.1, split=1),
        make_offer("noise", 0.2, split=1),
        make_offer("noise", 0.9, split=2),  # no twin
    ]

    assert ranked_above(offers, "noise") == (1, 2)


def test_a_pool_is_preferred_only_if_it_is_let_in(make_offer):
    offers = [
        make_offer("clean", 0.1, split=0),
        make_offer("noise", 0.2, let_in=False, split=0),
        make_offer("clean", 0.1, split=1),
        make_offer("noise", 0.2, let_in=True, split=1),
        make_offer("clean", 0.3, split=2),
        make_offer("noise", 0.2, let_in=True, split=2),
    ]

    assert preferred(offers, "noise") == (1, 3)
    assert ranked_above(offers, "noise") == (2, 3)
    assert total([Count(1, 2), Count(2, 5)]) == (3, 7)


SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_svg_with_a_dot_for_each_estimate():
    points = [
        Point(0.1, 0.2, 0.05, committed=True),
        Point(0.0, -0.1, -0.3, committed=False),
        Point(0.0, float("nan"), float("nan"), committed=False),
    ]

    root = ElementTree.fromstring(scatter_svg([Panel("a < b", "truth", points)] * 2))

    dots = root.findall(f".//{SVG}circle")
    assert [dot.get("fill") for dot in dots] == ["#1b7837", "#999999"] * 2


def test_bounds_far_away_are_cut_at_the_edge_of_the_plot():
    points = [Point(0.1, 0.2, float("-inf"), committed=True)]

    text = scatter_svg([Panel("one", "truth", points)])

    assert "inf" not in text
    assert "nan" not in text


def test_the_axes_hold_zero_and_all_but_the_farthest_points():
    points = [Point(1.0, 2.0, 0.0, committed=True)] * 200 + [
        Point(1.0, 100.0, 0.0, committed=True)
    ]

    low, high = limits_of(points)

    assert low < 0
    assert 2.0 < high < 3.0


def test_without_points_there_are_axes_still():
    assert limits_of([]) == pytest.approx((-1.0, 1.0))
