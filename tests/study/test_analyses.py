"""Studies of rows and of estimates: learnability, buckets, calibration and theory."""

from dataclasses import replace

import numpy as np
import pytest

from tabtap.compare.predictors import mean_losses
from tabtap.compare.store import Cell, Terms
from tabtap.study import buckets, calibration, learnability, sensitivity, theory
from tabtap.study.cell import repetition_of
from tabtap.study.learnability import bucket_of, equal_bins, percentiles, tail_mean
from tabtap.study.studies import StudyOptions, measure_cell
from tabtap.table import concat

pytestmark = pytest.mark.usefixtures("birds")

TERMS = Terms(budget=20, predictors=("KNN",), seed=3)
QUICK = {"diffusion": {"n_steps": 20, "n_sample_steps": 4, "width": 32}}


def cell_of(study, method, dataset="credit-g", split=0, **settings):
    return Cell(
        dataset=dataset,
        n_real=24,
        split=split,
        method=method,
        settings=settings,
        terms=TERMS,
        study=study,
    )


# ---- Percentiles and bins.


def test_a_percentile_is_the_share_of_reference_values_below():
    reference = np.random.default_rng(0).normal(size=999)
    values = np.array([-9.0, np.median(reference), 9.0])

    assert percentiles(values, reference) == pytest.approx([0.0, 50.0, 100.0])


def test_buckets_cover_all_percentiles_evenly():
    percentile = np.linspace(0, 100, 1001)

    counts = np.bincount(bucket_of(percentile, 5))

    assert len(counts) == 5
    assert counts.max() - counts.min() <= 1


def test_bins_hold_as_many_each_and_rise():
    values = np.random.default_rng(1).normal(size=103)

    bins = equal_bins(values, 5)

    counts = np.bincount(bins)
    assert counts.max() - counts.min() <= 1
    for low in range(4):
        assert values[bins == low].max() <= values[bins == low + 1].min()


def test_the_tail_is_the_largest_fifth():
    assert tail_mean(np.arange(100.0)) == pytest.approx(np.arange(80, 100).mean())


# ---- Learnability.


def test_rows_with_wrong_labels_are_the_less_learnable():
    part = repetition_of(cell_of("learnability", "Copies"))
    swapped = replace(part.real, target=np.roll(part.real.target, 7))

    good = learnability._profile(part.real, part, part.real, part.test)
    bad = learnability._profile(swapped, part, part.real, part.test)

    assert bad["tail_risk"] > good["tail_risk"] + 10
    assert bad["inconsistency"] > good["inconsistency"] + 10


@pytest.mark.parametrize("dataset", ["credit-g", "insurance"])
def test_every_row_that_a_method_made_is_in_one_bucket(dataset):
    record = measure_cell(cell_of("learnability", "Jitter", dataset))

    assert record["n_rows"] == 20
    for judge in learnability.JUDGES:
        assert sum(record["judges"][judge]["n"]) == 20


def test_a_method_that_makes_no_rows_has_nothing_to_judge():
    record = measure_cell(cell_of("learnability", "Real"))

    assert record["n_rows"] == 0
    assert learnability.bucket_frame([record], "learner").empty


def learnability_records(of_tap, of_other):
    def record(method, split, value):
        found = {
            "n": [4] * 5,
            "learnability": [value + split] * 5,
            "informativeness": 50.0,
            "inconsistency": 50.0,
            "tail_risk": 60.0,
            "harmful": 0.1,
        }
        judges = dict.fromkeys(learnability.JUDGES, found)
        written = cell_of("learnability", method, split=split).written()
        return {"cell": written, "n_rows": 20, "judges": judges}

    return [
        record(method, split, value)
        for method, value in (("SMOTE", of_other), ("TAP", of_tap))
        for split in range(3)
    ]


@pytest.mark.parametrize(
    ("of_tap", "of_other", "said"),
    [
        (60, 40, "**Found.** rows of TAP are more learnable than those of SMOTE"),
        (40, 60, "those of any other; it is the other way round of SMOTE"),
    ],
)
def test_the_page_says_whether_tap_is_the_more_learnable(of_tap, of_other, said):
    records = learnability_records(of_tap, of_other)

    text = learnability.page(records)

    assert said in text
    assert "nan" not in text
    assert list(learnability.figures(records)) == ["learnability.svg"]


# ---- Buckets.


@pytest.mark.parametrize("dataset", ["credit-g", "insurance"])
def test_candidates_are_cut_into_five_bins_by_how_they_surprise(dataset):
    cells = [cell_of("buckets", kind, dataset, **QUICK) for kind in buckets.KINDS]

    records = [measure_cell(cell) for cell in cells]

    for record in records:
        bins = record["bins"]
        surprise = [bins[str(k)]["surprise"] for k in range(5)]
        assert surprise == sorted(surprise)
        assert sum(bins[str(k)]["n"] for k in range(5)) == record["n_candidates"]
        assert bins["mixed"]["n"] == 20
    text = buckets.page(records)
    assert "Found" in text or "Not found" in text
    assert "nan" not in text


def bucket_record(split, gains):
    scores = [{"KNN": {"accuracy": 0.5 + gain}} for gain in gains]
    named = zip([*map(str, range(5)), "mixed"], [*scores, scores[2]], strict=True)
    bins = {n: {"n": 20, "surprise": 50.0, "scores": s, "shares": []} for n, s in named}
    return {
        "cell": cell_of("buckets", "One shot", split=split).written(),
        "n_candidates": 100,
        "harmful": 0.1,
        "real": {"KNN": {"accuracy": 0.5}},
        "bins": bins,
    }


def test_the_paper_s_pattern_is_found_where_it_is():
    there = [(s / 900, 0.05, 0.06, 0.04, -0.03 - s / 900) for s in range(4)]
    not_there = [(0.08 + s / 900, 0.05, 0.03, 0.02, 0.01) for s in range(4)]
    found = {}
    for name, gains in (("there", there), ("not there", not_there)):
        records = [bucket_record(split, part) for split, part in enumerate(gains)]
        frame = buckets.gain_frame(records)
        found[name] = buckets.findings(frame, records)

    assert [s.startswith("**Found.**") for s in found["there"]] == [True] * 3
    assert found["not there"][0].startswith("**Not found.**")
    assert found["not there"][2].startswith("**Not found.**")


# ---- Calibration.


def test_realised_utility_is_the_mean_fall_of_the_predictors_loss():
    part = repetition_of(cell_of("calibration", "ours"))
    more = part.validation
    names = ("KNN", "RF")

    found = calibration.realised_utility(part, more.empty(), more, part.test, names)

    falls = []
    for name in names:
        before, after = (
            mean_losses(train, [part.test], [name], reference=part.real)[0][name]
            for train in (part.real, concat([part.real, more]))
        )
        falls.append(before - after)
    assert found == pytest.approx(np.mean(falls))
    assert found != 0


def test_both_rules_are_held_to_what_they_say(tiny_cells):
    records = [measure_cell(cell) for cell in tiny_cells("calibration")]

    text = calibration.page(records)

    assert {record["protocol"] for record in records} == {"paper", "ours"}
    for record in records:
        for check in record["checks"]:
            assert ("lower" in check) == (record["protocol"] == "ours")
    assert "The paper's rule in the paper's terms" in text
    assert "nan" not in text


def test_coverage_counts_estimates_within_their_bars():
    checks = [
        {"gain": 0.1, "margin": 0.05, "validation": 0.12, "test": 0.0},
        {"gain": 0.1, "margin": 0.05, "validation": 0.2, "test": 0.11},
        {"gain": 0.1, "margin": 0.05, "validation": 0.06, "test": 0.1},
        {"gain": 0.1, "margin": 0.05, "validation": -0.2, "test": 0.1},
    ]
    written = cell_of("calibration", "the paper's loop").written()
    record = {
        "cell": written,
        "protocol": "paper",
        "evaluator": "linear",
        "checks": [{**check, "committed": False} for check in checks],
    }

    text = calibration.page([record])

    row = next(line for line in text.splitlines() if line.startswith("| credit-g"))
    assert [cell.strip() for cell in row.split("|")][2:6] == ["4", "50", "88.7", "75"]
    assert "holds in 50 % of 4 checks; the paper prints 91.8 %" in text


# ---- Theory.


def test_the_page_of_the_theory_holds_what_every_part_found(tiny_cells):
    cells = tiny_cells("theory")
    kinds = {cell.method: cell for cell in reversed(cells)}

    records = [measure_cell(cell) for cell in kinds.values()]
    text = theory.page(records)

    assert set(kinds) == {theory.RUN, theory.THEOREM, theory.INFLUENCE}
    (run,) = [record for record in records if record["part"] == theory.RUN]
    assert run["gap"] < 1e-9
    assert run["holds"]
    for heading in ("Telescoping", "The plug-in bound", "Theorem 3.1", "influence"):
        assert heading in text
    assert "nan" not in text


def test_the_theory_is_planned_on_runs_models_and_one_simulation():
    cells = list(theory.plan(StudyOptions()))

    methods = [cell.method for cell in cells]
    assert methods.count(theory.RUN) == 7
    assert methods.count(theory.THEOREM) == 1
    assert methods.count(theory.INFLUENCE) == 3 * 5 * 5


# ---- The window and the threshold.


def sensitivity_record(method, accuracy, split=0):
    cell = cell_of("sensitivity", method, split=split).written()
    return {"cell": cell, "scores": {"KNN": {"accuracy": accuracy}}}


def test_values_of_a_setting_are_shown_from_the_smallest_on():
    records = [
        sensitivity_record(name, 0.7) for name in ("K=10", "K=5", "default", "K=1")
    ]

    text = sensitivity.page(records)

    assert "1, 5, 10" in text
    assert text.index("| K=5 ") < text.index("| K=10 ")


def test_of_one_split_no_chance_is_told_and_of_two_it_is():
    one = [sensitivity_record("default", 0.7), sensitivity_record("K=5", 0.6)]
    other = [
        sensitivity_record("default", 0.7, split=1),
        sensitivity_record("K=5", 0.64, split=1),
    ]

    # Drops of 0.10 and 0.06 have a standard error of 0.02 around their mean.
    assert "of one split nobody can say" in sensitivity.page(one)
    assert "over splits is 0.020" in sensitivity.page([*one, *other])
