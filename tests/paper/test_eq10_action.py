"""Equations 10 and 36: an action is a target, a template and an exploration."""

import numpy as np
import pandas as pd
import pytest

from tabtap.config import DiffusionConfig, ProposalConfig
from tabtap.diffusion import fit_fold_backbones
from tabtap.domain import Action, Lineages, Template
from tabtap.proposal import LineageProposer, important_by_lineage
from tabtap.table import read_frame

CONFIG = ProposalConfig(candidates_per_step=40, important_share=0.34)


@pytest.fixture(scope="module")
def scene():
    """Learn three classes that "a" and "b" tell apart, beside four other numbers."""
    rng = np.random.default_rng(0)
    label = np.resize([0, 1, 2], 90)
    frame = pd.DataFrame(rng.normal(size=(90, 6)), columns=list("abcdef"))
    frame["a"] += 4.0 * label
    frame["b"] -= 4.0 * label
    frame["label"] = np.array(["low", "middle", "top"])[label]
    table = read_frame(frame, "label")
    lineages = Lineages(np.arange(90) // 3 % 2, crossfit=True)
    config = DiffusionConfig(
        n_steps=150, width=32, depth=2, batch_size=64, device="cpu"
    )
    stack = fit_fold_backbones(table, lineages.fold, rng=rng, config=config)
    important = important_by_lineage(table, lineages, CONFIG, rng)
    return table, LineageProposer(stack, lineages, CONFIG, important)


def propose(scene, *actions):
    table, proposer = scene
    rngs = [np.random.default_rng(place) for place in range(len(actions))]
    hardness = np.ones(len(table))
    return proposer.propose(table, table.empty(), hardness, actions, rngs)


@pytest.mark.parametrize("template", Template)
@pytest.mark.parametrize("exploration", [0.2, 1.0])
def test_c_is_the_class_of_every_row_under_both_templates(scene, template, exploration):
    asked = [Action(c, template, exploration, exploration) for c in range(3)]

    made = propose(scene, *asked)

    flips = [int((rows.rows.target != c).sum()) for c, rows in enumerate(made)]
    assert flips == [0, 0, 0]


def test_eta_decides_whether_the_important_columns_may_change(scene):
    explore, conservative = propose(
        scene, *(Action(1, template, 1.0, 1.0) for template in Template)
    )

    # Two of six columns are important: those that tell the classes apart.
    assert explore.regenerate.all()
    assert (conservative.regenerate == [False, False, True, True, True, True]).all()


@pytest.mark.parametrize("template", Template)
def test_a_larger_rho_gives_rows_further_from_their_anchor(scene, template):
    table, _ = scene
    shares = (0.0, 0.4, 0.7, 1.0)

    made = propose(scene, *(Action(0, template, rho, rho) for rho in shares))

    apart = [c.rows.numeric - table.take(c.rows.origin).numeric for c in made]
    far = [np.linalg.norm(part, axis=1).mean() for part in apart]
    assert (np.diff(far) > 0).all()
    assert far[0] < far[-1] / 1.5
