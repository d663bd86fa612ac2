"""Promises every proposer keeps.  A new one earns them by joining the list below."""

import numpy as np
import pytest

from tabtap.config import DiffusionConfig, ProposalConfig
from tabtap.diffusion import fit_backbone, fit_fold_backbones
from tabtap.domain import Action, Lineages, Template
from tabtap.proposal import LineageProposer, important_by_lineage
from tabtap.table import Kind

N_ROWS = 7
QUICK = {
    "n_steps": 20,
    "n_sample_steps": 6,
    "width": 32,
    "depth": 2,
    "batch_size": 64,
    "device": "cpu",
}


def of_folds(table, config):
    """Draw from three lineages, each of which has not seen one fold."""
    lineages = Lineages(np.arange(len(table)) % 3, crossfit=True)
    rng, quick = np.random.default_rng(0), DiffusionConfig(**QUICK)
    stack = fit_fold_backbones(table, lineages.fold, rng=rng, config=quick)
    important = important_by_lineage(table, lineages, config, rng)
    return LineageProposer(stack, lineages, config, important), lineages


def of_all_rows(table, config):
    """Draw from one lineage that has seen every row, as the paper does."""
    lineages = Lineages(np.arange(len(table)) % 3, crossfit=False)
    rng, quick = np.random.default_rng(0), DiffusionConfig(**QUICK)
    stack = fit_backbone(table, rng=rng, config=quick).stack
    important = important_by_lineage(table, lineages, config, rng)
    return LineageProposer(stack, lineages, config, important), lineages


PROPOSERS = {"folds": of_folds, "all rows": of_all_rows}


@pytest.fixture(scope="module", params=PROPOSERS)
def built(request, table):
    return PROPOSERS[request.param](table, ProposalConfig(candidates_per_step=N_ROWS))


@pytest.fixture(scope="module")
def proposer(built):
    return built[0]


@pytest.fixture(scope="module")
def lineages(built):
    return built[1]


@pytest.fixture(scope="module")
def actions(table):
    targets = np.resize(np.unique(table.condition), 4).tolist()
    shares = (0.0, 0.4, 0.7, 1.0)
    templates = [Template.EXPLORE, Template.CONSERVATIVE] * 2
    return [Action(*a, a[2]) for a in zip(targets, templates, shares, strict=True)]


@pytest.fixture(scope="module")
def hardness(table):
    return np.random.default_rng(3).random(len(table))


@pytest.fixture(scope="module")
def committed(table, proposer, hardness, actions):
    """Rows of an earlier proposal, some of each lineage."""
    made = proposer.propose(table, table.empty(), hardness, actions, generators(4, 9))
    return made[1].rows.take(np.arange(0, len(made[1]), 2))


@pytest.fixture(scope="module")
def proposed(table, proposer, committed, hardness, actions):
    return proposer.propose(table, committed, hardness, actions, generators(4))


def generators(n_actions, seed=0):
    return [np.random.default_rng([seed, place]) for place in range(n_actions)]


def content(table):
    """Return everything of a table but its schema, as bytes."""
    rest = table.missing, table.target, table.origin, table.unseen_fold
    return [(a.dtype.str, a.shape, a.tobytes()) for a in (*table.cells, *rest)]


def all_of(candidates):
    return content(candidates.rows), candidates.regenerate.tolist()


def keeps_the_cells_of(anchor, row, regenerate):
    """Tell whether two one-row tables agree where nothing was redrawn."""
    kept = np.flatnonzero(~regenerate)
    return np.array_equal(anchor.missing[0, kept], row.missing[0, kept]) and all(
        anchor.cells[place].tobytes() == row.cells[place].tobytes() for place in kept
    )


def test_every_lineage_answers_every_action_in_order(proposed, lineages, actions):
    for place, candidates in enumerate(proposed):
        made = [len(candidates.of_lineage(member)) for member in lineages.members]
        assert made == [N_ROWS] * len(lineages.members)
        assert (candidates.step == place).all()
    assert len(proposed) == len(actions)


def test_no_label_leaves_what_was_asked_for(proposed, actions):
    for candidates, action in zip(proposed, actions, strict=True):
        assert (candidates.rows.condition == action.target).all()


def test_every_row_keeps_the_cells_of_a_row_its_lineage_knows(
    table, committed, proposed, lineages
):
    for candidates in proposed:
        for number in range(0, len(candidates), 5):
            row = candidates.rows.take(np.array([number]))
            member = int(row.unseen_fold[0])
            known = [table.take(lineages.seen(member))]
            known.append(lineages.held_by(member, committed))
            kin = [part.take(part.origin == row.origin[0]) for part in known]
            anchors = [p.take(np.array([i])) for p in kin for i in range(len(p))]
            mask = candidates.regenerate[number]
            same = [keeps_the_cells_of(anchor, row, mask) for anchor in anchors]
            assert any(same)


def test_no_ancestor_is_of_the_unseen_fold_or_of_another_target(
    table, proposed, lineages, actions
):
    for candidates, action in zip(proposed, actions, strict=True):
        rows = candidates.rows
        assert (rows.origin >= 0).all()
        assert (lineages.fold[rows.origin] != rows.unseen_fold).all()
        assert (table.condition[rows.origin] == action.target).all()


def test_something_is_redrawn_no_constant_and_no_name_passes_on(table, proposed):
    kinds = [column.kind for column in table.schema.features]
    constant = np.array([kind is Kind.CONSTANT for kind in kinds])
    name = np.array([kind is Kind.IDENTIFIER for kind in kinds])

    for candidates in proposed:
        assert not candidates.regenerate[:, constant].any()
        assert (candidates.rows.missing[:, name] > 0).all()
        assert candidates.regenerate[:, ~name].any(axis=1).all()


def test_the_same_generators_give_the_same_rows(
    table, proposer, committed, hardness, actions, proposed
):
    again = proposer.propose(table, committed, hardness, actions, generators(4))

    assert [all_of(c) for c in again] == [all_of(c) for c in proposed]


def test_an_action_gives_the_same_rows_in_any_company_and_order(
    table, proposer, committed, hardness, actions, proposed
):
    chosen = [3, 1]

    made = proposer.propose(
        table,
        committed,
        hardness,
        [actions[place] for place in chosen],
        [generators(4)[place] for place in chosen],
    )

    assert [all_of(c) for c in made] == [all_of(proposed[p]) for p in chosen]


def test_inputs_stay_as_they_were(table, proposer, committed, hardness, actions):
    before = content(table), content(committed), hardness.tobytes(), list(actions)

    proposer.propose(table, committed, hardness, actions, generators(4))

    assert before == (
        content(table), content(committed), hardness.tobytes(), list(actions),
    )  # fmt: skip
