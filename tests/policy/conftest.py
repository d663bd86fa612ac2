import numpy as np
import pytest

from tabtap.domain import TEMPLATES, Action, LearnerState


@pytest.fixture
def make_state():
    """Build a state; what is not given is neutral."""

    def make(n_targets=3, *, deficit=None, pass_rate=(1.0, 1.0), available=None):
        return LearnerState(
            deficit=np.zeros(n_targets) if deficit is None else np.array(deficit),
            uncertainty=np.full(n_targets, 0.5),
            pass_rate=np.array(pass_rate),
            novelty=0.5,
            available=np.array(
                [True] * n_targets if available is None else available, dtype=bool
            ),
        )

    return make


@pytest.fixture
def draw_state():
    """Draw any state; the first target is always available."""

    def draw(rng, n_targets):
        return LearnerState(
            deficit=rng.uniform(-1, 1, n_targets),
            uncertainty=rng.random(n_targets),
            pass_rate=rng.random(len(TEMPLATES)),
            novelty=rng.random(),
            available=(rng.random(n_targets) < 0.6) | (np.arange(n_targets) == 0),
        )

    return draw


@pytest.fixture
def draw_action():
    """Draw any action, also such that no policy would take."""

    def draw(rng, n_targets):
        raw = rng.normal(0.5, 1.0)
        template = TEMPLATES[rng.integers(len(TEMPLATES))]
        target = int(rng.integers(n_targets))
        return Action(target, template, float(np.clip(raw, 0.0, 1.0)), float(raw))

    return draw
