"""Equations 11 and 37: anchors from p_anc(D_t, c), masks from p_mask, then q_phi."""

from dataclasses import replace

import numpy as np
import pytest
from stand_ins import Mirror

from tabtap.config import AugmentConfig, ProposalConfig
from tabtap.domain import WHOLE, Action, Lineages, Template
from tabtap.proposal import LineageProposer

N_ROWS, N_COLUMNS, N_DRAWN = 12, 8, 2000
IMPORTANT = np.arange(N_COLUMNS) < 2


@pytest.fixture
def ask(build_table):
    rng = np.random.default_rng(0)
    real = build_table(np.resize([0, 0, 1], N_ROWS), *rng.normal(size=(8, N_ROWS)))
    hardness = np.arange(N_ROWS) * 1.0

    def answer(template=Template.EXPLORE, rho=0.5, hard_share=0.5):
        witness = Mirror((WHOLE,))
        config = ProposalConfig(candidates_per_step=N_DRAWN, hard_share=hard_share)
        lineages = Lineages(np.arange(N_ROWS) % 3, crossfit=False)
        proposer = LineageProposer(witness, lineages, config, {WHOLE: IMPORTANT})
        action, rng = Action(1, template, rho, rho), np.random.default_rng(1)
        proposer.propose(real, real.empty(), hardness, [action], [rng])
        return witness

    return answer


@pytest.mark.parametrize("hard_share", [0.0, 0.5, 1.0])
def test_p_anc_mixes_hard_and_all_rows_of_the_class(ask, hard_share):
    anchors = ask(hard_share=hard_share).anchors

    # The class has rows 2, 5, 8 and 11, in the order of their hardness.
    share = np.bincount(anchors.origin, minlength=N_ROWS) / N_DRAWN
    hard, even = np.array([1, 2, 3, 4]) / 10, np.full(4, 0.25)
    expected = hard_share * hard + (1 - hard_share) * even
    assert share[2::3] == pytest.approx(expected, abs=0.002)
    assert share[2::3].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("template", "n_free"), [(Template.EXPLORE, 8), (Template.CONSERVATIVE, 6)]
)
@pytest.mark.parametrize("rho", [0.25, 0.5, 1.0])
def test_p_mask_redraws_a_random_share_rho_of_what_the_template_frees(
    ask, template, n_free, rho
):
    masks = ask(template=template, rho=rho).regenerate

    free = masks[:, 8 - n_free :]
    assert masks.sum(axis=1).mean() == pytest.approx(rho * n_free, abs=0.05)
    assert free.mean(axis=0) == pytest.approx(np.full(n_free, rho), abs=0.05)
    assert masks.sum() == free.sum()


def test_each_sample_has_a_mask_and_noise_of_its_own(ask):
    witness = ask(rho=0.5)

    assert len(np.unique(witness.regenerate, axis=0)) == 70  # 4 of 8 columns
    assert len(np.unique(witness.seeds)) == N_DRAWN


def test_anchors_and_masks_are_drawn_independently(ask):
    witness = ask(rho=0.5)

    for row in (2, 5, 8, 11):
        of_row = witness.regenerate[witness.anchors.origin == row]
        assert of_row.mean(axis=0) == pytest.approx(np.full(8, 0.5), abs=0.12)


def test_in_the_paper_s_settings_exploration_keeps_numbers_and_redraws_levels(
    build_table,
):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(4, N_ROWS))
    levels = np.arange(N_ROWS) % 3
    real = build_table(np.arange(N_ROWS) % 2, *numbers, levels)
    config = replace(AugmentConfig.paper().proposal, candidates_per_step=N_DRAWN)
    witness = Mirror((WHOLE,))
    unimportant = {WHOLE: np.zeros(5, dtype=bool)}
    lineages = Lineages(np.arange(N_ROWS) % 3, crossfit=False)
    proposer = LineageProposer(witness, lineages, config, unimportant)
    action = Action(1, Template.EXPLORE, 0.5, 0.5)

    proposer.propose(real, real.empty(), np.arange(12.0), [action], [rng])

    # "We additionally fix a random subset of numeric features" (appendix C.2.3).
    assert witness.regenerate[:, 4].all()
    assert (witness.regenerate[:, :4].sum(axis=1) == 2).all()
    assert witness.regenerate[:, :4].mean(axis=0) == pytest.approx([0.5] * 4, abs=0.05)
