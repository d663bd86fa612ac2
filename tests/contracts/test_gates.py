"""Promises every gate keeps.  A new gate earns them by joining the list below."""

import numpy as np
import pytest

from tabtap.api.own_parts import check_gate
from tabtap.config import AugmentConfig
from tabtap.domain import Candidates, ClassPrediction, GateContext, ValuePrediction
from tabtap.gates import (
    Gates,
    InRange,
    NewRow,
    Plausible,
    Rules,
    ValidTypes,
    admit,
    standard_gates,
)
from tabtap.stages import Gate


def some_rules(table):
    """Return rules that suit the first columns of any table."""
    names = [column.name for column in table.schema.features]
    first = table.schema.features[0]
    rules = [f"`{names[0]}` is missing or `{names[0]}` == `{names[0]}`"]
    if first.kind.is_numeric and first.kind.value != "datetime":
        rules.append(f"`{names[0]}` < {float(np.nanmedian(table.numeric[:, 0]))}")
    if len(names) > 1:
        rules.append(f"combination(`{names[0]}`, `{names[1]}`)")
    return Rules.of([*rules, lambda rows: np.arange(len(rows)) >= 0])


GATES = {
    "types": lambda _: ValidTypes(),
    "range": lambda _: InRange((0.0, 1.0)),
    "paper range": lambda _: InRange((0.01, 0.99)),
    "rules": some_rules,
    "plausibility": lambda _: Plausible(
        min_probability=0.3, min_margin=0.1, residual_percentile=95.0
    ),
    "diversity": lambda _: NewRow(0.1),
}


@pytest.fixture(params=GATES)
def gate(request, table):
    return GATES[request.param](table)


@pytest.fixture(scope="module")
def candidates(table):
    """Mix the cells of real rows, and put odd ones among them."""
    rng = np.random.default_rng(4)
    n_rows = min(40, len(table))
    drawn = [rng.integers(0, len(table), n_rows) for _ in table.cells]
    rows = table.take(rng.integers(0, len(table), n_rows))
    cells = [cell[rows_of] for cell, rows_of in zip(table.cells, drawn, strict=True)]
    missing = np.stack(
        [table.missing[rows_of, i] for i, rows_of in enumerate(drawn)], axis=1
    )
    for place, column in enumerate(table.schema.features):
        if cells[place].dtype.kind == "f":
            cells[place][:3] = [np.inf, -np.inf, np.nan]
        elif column.kind.is_categorical:
            cells[place][3:5] = [-7, 10**6]
    missing[5] = 1
    return type(table)(
        table.schema, tuple(cells), missing, rows.target, rows.origin, rows.unseen_fold
    )


def told(table, rows):
    target = table.schema.target
    rng = np.random.default_rng(1)
    if target is None:
        return None
    if target.task == "regression":
        return ValuePrediction(rng.normal(100, 20, len(rows)), np.ones(len(rows)))
    chances = rng.dirichlet(np.ones(target.n_conditions), len(rows))
    return ClassPrediction(chances)


@pytest.fixture
def context(table, candidates):
    real = table.take(np.arange(0, len(table), 2))
    kept = table.take(np.arange(1, min(len(table), 9), 2))
    prediction = told(table, candidates)
    return GateContext(real, kept, prediction, np.linspace(0, 3, len(real)))


def of_rows(context, rows):
    """Return the context of some of the candidates."""
    prediction = context.prediction
    if isinstance(prediction, ClassPrediction):
        prediction = ClassPrediction(prediction.probabilities[rows])
    elif prediction is not None:
        prediction = ValuePrediction(prediction.mean[rows], prediction.variance[rows])
    return GateContext(context.real, context.kept, prediction, context.residuals)


def test_has_a_name_and_is_a_gate(gate):
    assert isinstance(gate, Gate)
    assert gate.name.isidentifier()


def test_keeps_the_promises_that_a_gate_of_ones_own_is_held_to(
    gate, candidates, context
):
    """One verdict per row, alike in any company and when asked again, inputs alone."""
    check_gate(gate, candidates, lambda rows: of_rows(context, rows))

    assert isinstance(gate.passes(candidates, context), np.ndarray)


def test_no_candidates_get_no_verdict(gate, table, context):
    none = table.empty()
    empty = GateContext(
        context.real, context.kept, told(table, none), context.residuals
    )

    assert gate.passes(none, empty).tolist() == []


def test_real_rows_are_valid_and_keep_the_real_range(table):
    context = GateContext(table, table.empty())

    assert ValidTypes().passes(table, context).all()
    assert InRange((0.0, 1.0)).passes(table, context).all()


def test_all_gates_together_account_for_every_candidate(table, candidates, context):
    gates = standard_gates(AugmentConfig.paper().gates, some_rules(table))
    shape = candidates.missing.shape
    proposed = Candidates(candidates, np.ones(shape, bool), np.arange(len(candidates)))

    admission = admit(proposed, context, gates)

    assert len(admission.admitted) + sum(admission.refused.values()) == len(candidates)
    assert not np.isinf(admission.admitted.rows.numeric).any()
    assert Gates(gates).admit(proposed, context).refused == admission.refused
    for figure in admission.admitted.scores.values():
        assert figure.shape == (len(admission.admitted),)
