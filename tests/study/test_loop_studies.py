"""Studies that run the loop: what they change of it, and what their pages say."""

from dataclasses import replace

import numpy as np
import pytest

from tabtap.compare.store import ROWS
from tabtap.domain import Template
from tabtap.policy.learned import LearnedPolicy
from tabtap.study import ablation, cost, dynamics, ladder, safety
from tabtap.study.runs import prepare, run_tap
from tabtap.study.studies import measure_cell, study_named

pytestmark = pytest.mark.usefixtures("birds")


@pytest.fixture
def ground(tiny_cells):
    return prepare(tiny_cells("ladder")[0])


def records_of(cells):
    return [measure_cell(cell) for cell in cells]


# ---- Every page, from records of seconds.


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("ladder", "ours"),
        ("safety", "paper"),
        ("dynamics", "ours"),
        ("sensitivity", "ours"),
        ("cost", "paper"),
        ("ablation", "ours"),
    ],
)
def test_a_study_measures_its_cells_and_says_what_was_found(tiny_cells, name, protocol):
    cells = tiny_cells(name, protocol)
    kept = cells if name == "sensitivity" else cells[: 2 + 4 * (name == "ablation")]
    study = study_named(name)

    records = records_of(kept)
    text = study.page(records)
    figures = study.figures(records)

    assert "**Found.**" in text or "**Not found.**" in text
    assert "nan" not in text
    assert all(f"({file})" in text for file in figures)
    assert text == study.page(records)


def test_equal_cells_have_equal_records(tiny_cells):
    cell = tiny_cells("safety")[0]

    first, again = records_of([cell, cell])

    assert first["utility"] == again["utility"]
    assert first["tail_risk"] == again["tail_risk"]
    assert first["runs"] == again["runs"]


# ---- The ladder.


def test_all_rungs_are_drawn_from_one_backbone_within_the_budget(ground):
    rows = ladder.draw_rungs(ground, 20)

    assert list(rows) == list(ladder.RUNGS[:3])
    assert len(rows["Global sampling"]) == len(rows["Random inpainting"]) == 20
    assert len(rows["Hard inpainting"]) <= 20


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [((0.1, 0.2, 0.3, 0.4), "**Found.**"), ((0.4, 0.3, 0.2, 0.1), "**Not found.**")],
    ids=["as in the paper", "the other way round"],
)
def test_the_order_of_the_rungs_is_computed(gains, verdict):
    losses = {"Real": 1.0}
    losses |= {n: 1.0 - g for n, g in zip(ladder.RUNGS, gains, strict=True)}
    scores = {name: {"KNN": {"accuracy": 0.5, "macro_f1": 0.5}} for name in losses}
    where = {"dataset": "credit-g", "n_real": 20, "split": 0}
    record = {"cell": where, "losses": losses, "scores": scores}

    text = ladder.page([record, {**record, "cell": {**where, "split": 1}}])

    assert f"- {verdict} From the lowest mean utility" in text
    found = "Utility, TAP over Hard inpainting: +0.100" in text
    assert found == (verdict == "**Found.**")


# ---- Safety.


def test_without_gates_every_candidate_is_admitted(ground):
    strict = replace(ground.request.preset.augment.gates, range_quantiles=(0.45, 0.55))
    augment = replace(ground.request.preset.augment, gates=strict)
    preset = replace(ground.request.preset, augment=augment)
    picky = replace(ground, request=replace(ground.request, preset=preset))

    whole = run_tap(picky).about
    open_ = run_tap(picky, safety.without_gates).about

    assert whole["n_admitted"] < whole["n_proposed"]
    assert open_["n_admitted"] == open_["n_proposed"]


def test_without_commitment_every_batch_is_let_in_until_the_budget(ground):
    run = run_tap(ground, safety.without_commitment)

    assert all(c.committed for c in run.outcome.progress.certificates)
    assert 0 < len(run.rows) <= 20


def test_tail_risk_is_of_the_least_learnable_fifth(tiny_cells):
    record = measure_cell(tiny_cells("safety")[0])

    for name, risk in record["tail_risk"].items():
        added = record["runs"][name]["n_rows"]
        assert (risk is None) == (added == 0)
        assert risk is None or 0 <= risk <= 100
    assert set(record[ROWS]) == set(safety.PUBLISHED)


# ---- Dynamics.


def test_a_frozen_policy_stays_at_the_reference(ground):
    kept = []

    def change(context, progress):
        assert isinstance(progress.steering.policy, LearnedPolicy)
        kept.append(dynamics.freeze(progress))
        return context, kept[0]

    run = run_tap(ground, change)

    assert run.outcome.progress.steering.policy is kept[0].steering.policy
    assert not isinstance(kept[0].steering.policy, LearnedPolicy)
    assert all(np.isfinite(s.gain) for s in run.outcome.progress.steps if s.n_admitted)


def test_every_step_of_both_runs_has_a_reward(tiny_cells):
    record = measure_cell(tiny_cells("dynamics")[0])

    for name in (dynamics.TAP, dynamics.NO_LEARN):
        assert {len(window) for window in record["rewards"][name]} == {4}


def test_windows_that_one_run_lacks_are_left_out():
    where = {"dataset": "credit-g", "n_real": 50, "split": 0}
    rewards = {"TAP": [[1.0, -1.0], [1.0, 1.0]], "No-Learn": [[-1.0, 0.0]]}

    frame = dynamics.desirable_frame([{"cell": where, "rewards": rewards}])

    assert frame[["method", "window", "share"]].to_numpy().tolist() == [
        ["TAP", 0, 0.5],
        ["No-Learn", 0, 0.0],
    ]


# ---- Cost.


def test_forwards_are_bounded_as_the_paper_counts_them():
    assert cost.forward_bound(5, 50, 20) == 5 * (50 + 3)


def test_what_is_asked_of_evaluator_and_referee_is_counted(tiny_cells):
    record = measure_cell(tiny_cells("cost")[0])

    # Three folds, a baseline for each of two windows, and every step with rows.
    assert record["forwards"] >= 3 * (2 + 1)
    assert record["referee_fits"] > 0
    assert set(record["stages"]) == set(cost.STAGES)
    assert all(seconds > 0 for seconds in record["stages"].values())


# ---- Ablation.


@pytest.fixture
def start(ground):
    found = []

    def change(context, progress):
        found.append((context, progress))
        return context, progress

    run_tap(ground, change, budget=0)
    return found[0]


@pytest.mark.parametrize(
    ("part", "value"),
    [("deficit", 0.0), ("uncertainty", 0.0), ("pass_rate", 1.0), ("novelty", 0.0)],
)
def test_a_blind_sensor_tells_all_but_one_part(start, part, value):
    context, progress = start
    real = context.real
    told = (real, real.take(np.zeros(9, int)), real, np.linspace(0.1, 1, len(real)))
    sensor = ablation.steered(progress, blind=part).sensor
    for template in Template:  # so that few have passed
        sensor = sensor.noted(template, 0, 9)

    state = sensor.read(*told)

    seen = sensor.inner.read(*told)
    assert np.all(getattr(state, part) == value)
    assert np.any(getattr(seen, part) != value)
    others = {"deficit", "uncertainty", "pass_rate", "novelty"} - {part}
    for other in others:
        assert np.array_equal(getattr(state, other), getattr(seen, other))


@pytest.mark.parametrize(
    ("fixed", "check"),
    [
        ({"template": "conservative"}, lambda a: a.template is Template.CONSERVATIVE),
        ({"exploration": 0.2}, lambda a: a.exploration == a.raw_exploration == 0.2),
    ],
    ids=["template", "rho"],
)
def test_what_is_fixed_is_in_every_action(ground, fixed, check):
    def change(context, progress):
        return context, replace(progress, steering=ablation.steered(progress, **fixed))

    run = run_tap(ground, change)

    assert all(check(step.action) for step in run.outcome.progress.steps)


def test_any_target_comes_as_often_as_rows_have_it(start, rng):
    context, progress = start
    real = context.real
    few = real.take(np.flatnonzero(real.target == 0))  # only the first is held more of
    policy = ablation.steered(progress, any_target=True).policy
    state = progress.steering.sensor.read(real, few, real.empty(), np.ones(len(real)))

    drawn = [policy.sample(state, rng).target for _ in range(600)]

    held = np.bincount(np.concatenate([real.target, few.target])) / (
        len(real) + len(few)
    )
    shares = np.bincount(drawn, minlength=len(held)) / 600
    assert shares == pytest.approx(held, abs=0.06)
