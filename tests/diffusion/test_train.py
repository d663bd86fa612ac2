import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from tabtap.diffusion import DiffusionConfig, fit_backbone
from tabtap.diffusion.encoding import fit_encodings
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.train import steps_for, train
from tabtap.errors import TapError, TrainingRestartWarning
from tabtap.table import read_frame


class Failing:
    """A denoiser whose answers are NaN in the first calls."""

    def __init__(self, denoiser, n_failures):
        self._denoiser = denoiser
        self.failures_left = n_failures

    def __getattr__(self, name):
        return getattr(self._denoiser, name)

    def __call__(self, *arguments):
        numbers, logits = self._denoiser(*arguments)
        if self.failures_left > 0:
            self.failures_left -= 1
            numbers = numbers * torch.nan
        return numbers, logits


def train_failing(table, config, n_failures):
    encodings, layout = fit_encodings([table], config)
    denoiser = Failing(Denoiser(layout, config), n_failures)
    generator = torch.Generator().manual_seed(0)
    return train(denoiser, [encodings[0].cells(table)], config, generator)


def test_a_loss_that_is_not_a_number_starts_again_at_a_lower_rate(mixed, quick):
    # 0.3 times the learning rate of 0.002.
    with pytest.warns(
        TrainingRestartWarning, match=r"again with learning_rate=0\.0006"
    ):
        weights, record = train_failing(mixed, quick, n_failures=1)

    assert record.n_restarts == 1
    assert torch.isfinite(weights).all()


@pytest.mark.filterwarnings("ignore::tabtap.errors.TrainingRestartWarning")
def test_a_loss_that_is_never_a_number_ends_with_the_way_out(mixed, quick):
    with pytest.raises(TapError, match=r"infinite 5 times.*smaller learning_rate"):
        train_failing(mixed, quick, n_failures=1000)


@pytest.mark.filterwarnings("ignore::tabtap.errors.TrainingRestartWarning")
def test_an_absurd_learning_rate_is_answered_and_not_trained_through(mixed):
    config = DiffusionConfig(n_steps=30, width=16, learning_rate=1e30, device="cpu")

    with pytest.raises(TapError, match="learning_rate"):
        fit_backbone(mixed, rng=np.random.default_rng(0), config=config)


def test_a_training_without_trouble_warns_of_nothing(mixed, quick):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, record = train_failing(mixed, quick, n_failures=0)

    assert record.n_restarts == 0
    assert record.n_steps == 20
    assert record.reason == "All 20 planned steps were taken."
    assert np.isfinite(record.loss)
    assert record.seconds > 0


def train_on_noise(**settings):
    """One column of pure noise: there is nothing to learn after the first steps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose": rng.normal(size=60), "label": np.resize([0, 1], 60)})
    config = DiffusionConfig(batch_size=64, width=8, depth=1, device="cpu", **settings)
    return fit_backbone(read_frame(frame, "label"), rng=rng, config=config).training


def test_training_takes_every_step_when_it_may_not_stop_early():
    record = train_on_noise(n_steps=2000, early_stopping=False)

    assert record.n_steps == 2000
    assert "planned" in record.reason


def test_training_stops_when_the_loss_has_levelled_off_and_says_so():
    record = train_on_noise(n_steps=2000)

    assert record.n_steps < 2000
    assert "levelled off" in record.reason
    assert str(record.n_steps) in record.reason


class Notebook:
    def __init__(self):
        self.notes = []

    def on_training(self, progress):
        self.notes.append(progress)


def test_an_observer_sees_how_far_the_training_is(mixed):
    notebook = Notebook()
    config = DiffusionConfig(n_steps=65, batch_size=32, width=16, device="cpu")

    fit_backbone(mixed, rng=np.random.default_rng(0), config=config, observer=notebook)

    steps = [note.step for note in notebook.notes]
    assert steps == sorted(set(steps))
    assert steps[-1] == 65
    assert {note.n_steps for note in notebook.notes} == {65}
    assert all(np.isfinite(note.loss) for note in notebook.notes)
    assert all(note.seconds_left > 0 for note in notebook.notes[:-1])
    assert notebook.notes[-1].seconds_left == 0


def test_an_observer_changes_nothing(mixed, quick, backbone):
    watched = fit_backbone(
        mixed, rng=np.random.default_rng(0), config=quick, observer=Notebook()
    )

    assert torch.equal(watched.stack.weights, backbone.stack.weights)


def test_training_leaves_the_global_random_state_alone(mixed, quick):
    before = torch.random.get_rng_state()

    fit_backbone(mixed, rng=np.random.default_rng(0), config=quick)

    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("n_rows", [12, 500, 5000, 200_000, 10_000_000])
def test_steps_and_batches_grow_with_the_rows_and_stay_bounded(n_rows):
    n_steps, batch = steps_for(n_rows, DiffusionConfig())

    assert steps_for(12, DiffusionConfig())[0] <= n_steps <= 10_000
    assert steps_for(12, DiffusionConfig())[1] <= batch <= 4096


def test_steps_and_batches_that_were_asked_for_are_taken():
    asked = DiffusionConfig(n_steps=7, batch_size=9)

    assert steps_for(200_000, asked) == (7, 9)
