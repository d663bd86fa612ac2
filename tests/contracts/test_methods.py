"""Promises every method keeps.  A new one earns them by joining the list below."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from tabtap.config import (
    AugmentConfig,
    CommitConfig,
    DiffusionConfig,
    PolicyConfig,
    Preset,
)
from tabtap.errors import UserInputError
from tabtap.rivals import METHOD_NAMES, describe_method, method_named
from tabtap.rivals.spada_flow import FlowSettings
from tabtap.stopwatch import Stopwatch
from tabtap.table import Kind, concat, read_frame, write_frame
from tabtap.table.table import NO_ROW

N_ROWS = 25
QUICK = DiffusionConfig(
    n_steps=10, n_sample_steps=4, width=16, depth=1, batch_size=32, device="cpu"
)
BRIEF = Preset(
    augment=AugmentConfig(
        n_steps=2,
        policy=PolicyConfig(updates_per_step=0),
        commit=CommitConfig(protocol="paper", window_length=1, patience=2),
    ),
    diffusion=QUICK,
)

# Settings that make each method quick; the promises do not depend on them.
METHODS = {
    "Real": {},
    "Copies": {},
    "Jitter": {},
    "SMOTE": {},
    "TVAE": {"n_epochs": 4},
    "CTGAN": {"n_epochs": 4},
    "ARF": {"n_trees": 5},
    "SPADA": {"flow": FlowSettings(n_steps=20)},
    "TabDDPM": {"n_steps": 10, "n_times": 20},
    "TabDiff": {"n_steps": 10},
    "One shot": {"diffusion": QUICK},
    "Random inpainting": {"diffusion": QUICK},
    "Hard inpainting": {"diffusion": QUICK},
    "TAP": {"preset": BRIEF},
}
CHOOSY = {"Real", "Hard inpainting", "TAP"}
"""Methods that may return fewer rows than they were asked for."""

DESCENDANTS = {
    "Copies",
    "Jitter",
    "SMOTE",
    "Random inpainting",
    "Hard inpainting",
    "TAP",
}
"""Methods whose rows may descend from real ones; SMOTE repeats lonely rows."""

REPEATERS = {"Copies", "Jitter", "SMOTE"}
"""Methods that may repeat a whole row, its identifiers too."""

BORROWED = (
    "only numbers", "only categories", "holes", "flags", "times", "identifiers",
    "twelve rows", "one feature", "regression",
)  # fmt: skip
"""Sorts of tables that every generator is tried on."""


def _many_features(_sorts):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(20, 300)).round(3)).rename(columns=str)
    return read_frame(frame.assign(label=np.resize(["a", "b"], 20)), "label")


def _lonely_classes(_sorts):
    rng = np.random.default_rng(7)
    label = np.array(["many"] * 14 + ["one", "only"])
    frame = pd.DataFrame({"dose": rng.normal(size=16), "label": label})
    return read_frame(frame, "label")


def _empty_in_these_rows(sorts):
    """Give rows whose pressures are missing in every one."""
    table = sorts["holes"](np.random.default_rng(7))
    return table.take(np.flatnonzero(table.missing[:, 2])[:12])


def _one_class_here(sorts):
    table = sorts["holes"](np.random.default_rng(7))
    return table.take(np.flatnonzero(table.target == 0)[:12])


MANY = "many features"
HARD = {
    MANY: _many_features,
    "lonely classes": _lonely_classes,
    "empty in these rows": _empty_in_these_rows,
    "one class here": _one_class_here,
}


@pytest.fixture(scope="module", params=METHODS)
def method(request):
    return method_named(request.param, **METHODS[request.param])


# Some methods look at each of the 300 features for themselves.
TABLES = [pytest.param(name, marks=pytest.mark.slow) if name == MANY else name
          for name in (*BORROWED, *HARD)]  # fmt: skip


@pytest.fixture(scope="module", params=TABLES)
def train(request, sorts):
    if request.param in HARD:
        return HARD[request.param](sorts)
    return sorts[request.param](np.random.default_rng(7))


@pytest.fixture(scope="module")
def some_rows(sorts):
    """Give some rows of a larger table: they are not numbered from 0."""
    return sorts["holes"](np.random.default_rng(7)).take(np.arange(3, 40))


@pytest.fixture(scope="module")
def before(train):
    return content(train)


@pytest.fixture(scope="module")
def made(method, train, before):  # noqa: ARG001  taken before anything is made
    return make(method, train)


def make(method, train, n=N_ROWS, seed=0):
    return method.make(train, n, np.random.default_rng(seed), Stopwatch())


def attempt(method, train):
    """Return rows, or None and the sentence that says why there are none."""
    try:
        return make(method, train), ""
    except UserInputError as error:
        return None, str(error)


def content(table):
    """Return everything of a table but its schema, as bytes."""
    rest = table.missing, table.target, table.origin, table.unseen_fold
    return [(a.dtype.str, a.shape, a.tobytes()) for a in (*table.cells, *rest)]


def test_it_goes_by_the_name_it_is_asked_for(method):
    assert method.name in METHOD_NAMES


def test_it_describes_itself_in_words_that_a_record_can_keep(method):
    described = describe_method(method)

    assert json.loads(json.dumps(described))["name"] == method.name


def test_rows_are_of_the_schema_and_no_more_than_wanted(method, train, made):
    assert made.schema == train.schema
    if method.name in CHOOSY:
        assert len(made) <= N_ROWS
    else:
        assert len(made) == N_ROWS


def test_rows_join_the_real_ones_in_a_frame(train, made):
    frame = write_frame(concat([train, made]))

    assert len(frame) == len(train) + len(made)


def test_numbers_are_finite_and_on_the_grid_of_their_column(train, made):
    for position in train.schema.numeric:
        here = made.missing[:, position] == 0
        cells = made.cells[position][here]
        column = train.schema.features[position]
        assert np.isfinite(cells.astype(np.float64)).all()
        if column.kind is Kind.CONTINUOUS:  # others lie on it by their storage
            assert np.array_equal(column.store(cells), cells)


def test_every_level_was_seen(train, made):
    for position in train.schema.categorical:
        real, new = (
            table.cells[position][table.missing[:, position] == 0]
            for table in (train, made)
        )
        assert set(new) <= set(real)


def test_targets_are_real_classes_or_finite_numbers(train, made):
    if train.schema.target.task == "classification":
        assert set(made.target) <= set(train.target)
    else:
        assert np.isfinite(made.target_values).all()
    assert made.target.dtype == train.target.dtype


def test_holes_are_only_where_real_rows_have_them(train, made):
    generated = np.array(
        [column.kind is not Kind.IDENTIFIER for column in train.schema.features]
    )

    may = (train.missing > 0).any(axis=0)

    assert not ((made.missing > 0).any(axis=0) & ~may & generated).any()


def test_no_new_row_has_the_identifier_of_a_real_one(method, train, made):
    if method.name in REPEATERS:
        return
    for position, column in enumerate(train.schema.features):
        if column.kind is Kind.IDENTIFIER:
            assert (made.missing[:, position] > 0).all()


def test_origins_are_real_rows_or_none(method, train, made):
    known = {NO_ROW}
    if method.name in DESCENDANTS:
        known |= set(train.origin.tolist())

    assert set(made.origin.tolist()) <= known


def test_real_rows_stay_as_they_were(train, before, made):  # noqa: ARG001
    assert content(train) == before


def test_origins_are_the_numbers_that_the_rows_came_with(method, some_rows):
    rows = make(method, some_rows)

    descended = rows.take(rows.origin != NO_ROW)
    assert set(descended.origin.tolist()) <= set(some_rows.origin.tolist())


def test_none_are_made_when_none_are_wanted(method, some_rows):
    rows = make(method, some_rows, n=0)

    assert len(rows) == 0
    assert rows.schema == some_rows.schema


def test_equal_generators_give_equal_rows_and_others_others(method, some_rows):
    first, again, other = (make(method, some_rows, seed=seed) for seed in (1, 1, 2))

    assert content(first) == content(again)
    if len(first):
        assert content(first) != content(other)


def test_the_process_keeps_its_own_chance(method, some_rows):
    before = np.random.get_state()[1].tobytes(), torch.get_rng_state()  # noqa: NPY002

    make(method, some_rows)

    assert np.random.get_state()[1].tobytes() == before[0]  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


@pytest.mark.parametrize("n_rows", [1, 2])
def test_with_hardly_a_row_it_works_or_says_why_not(method, some_rows, n_rows):
    few = some_rows.take(np.arange(n_rows))

    rows, refusal = attempt(method, few)

    assert refusal.endswith(".") if rows is None else len(rows) <= N_ROWS


def test_without_a_target_it_works_or_says_why_not(method, sorts):
    untargeted = sorts["no target"](np.random.default_rng(7))

    rows, refusal = attempt(method, untargeted)

    assert "target" in refusal if rows is None else rows.schema == untargeted.schema
