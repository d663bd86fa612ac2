"""Six fault flags decide the class of a steel plate: drawn rows must keep the rule."""

import os

import numpy as np
import pytest

from tabtap.diffusion import fit_backbone
from tabtap.study.protocol import repetitions
from tabtap.study.sources import load_source
from tabtap.table import read_frame, write_frame

FLAGS = ["Pastry", "Z_Scratch", "K_Scatch", "Stains", "Dirtiness", "Bumps"]


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("TABTAP_DATA"), reason="needs the folder that TABTAP_DATA names"
)
@pytest.mark.parametrize("n_real", [20, 50])
def test_drawn_plates_have_one_fault_at_most_and_the_class_it_implies(n_real):
    source = load_source("steel-plates-fault")
    table = read_frame(source.frame, source.target, task=source.task)
    rng = np.random.default_rng(0)
    real = next(repetitions(table, n_real, 1)).real

    drawn = fit_backbone(real, rng=rng).sample(500, rng, targets=np.resize([0, 1], 500))

    n_on = write_frame(drawn)[FLAGS].astype(int).sum(axis=1)
    assert (n_on <= 1).all()
    assert ((n_on == 0) == (drawn.target == 1)).mean() > 0.98
