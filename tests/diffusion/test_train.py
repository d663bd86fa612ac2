import math
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion import fit_backbone
from tabtap.diffusion.encoding import Cells, Layout, fit_encodings
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.train import (
    _BETAS,
    Batch,
    MemberRows,
    _AdamW,
    stack_batches,
    steps_for,
    train,
    training_loss,
)
from tabtap.errors import TapError, TrainingRestartWarning
from tabtap.table import read_frame

# ---- Training.


class Failing:
    """A denoiser whose answers are NaN in the first calls."""

    def __init__(self, denoiser, n_attempts_used):
        self._denoiser = denoiser
        self.failures_left = n_attempts_used

    def __getattr__(self, name):
        return getattr(self._denoiser, name)

    def __call__(self, *arguments):
        numbers, logits = self._denoiser(*arguments)
        if self.failures_left > 0:
            self.failures_left -= 1
            numbers = numbers * torch.nan
        return numbers, logits


def train_failing(table, config, n_attempts_used):
    encodings, layout = fit_encodings([table], config)
    denoiser = Failing(Denoiser(layout, config), n_attempts_used)
    generator = torch.Generator().manual_seed(0)
    return train(denoiser, [encodings[0].cells(table)], config, generator)


def test_a_loss_that_is_not_a_number_starts_again_at_a_lower_rate(mixed, quick):
    # 0.3 times the learning rate of 0.002.
    with pytest.warns(
        TrainingRestartWarning, match=r"again with learning_rate=0\.0006"
    ):
        weights, record = train_failing(mixed, quick, n_attempts_used=1)

    assert record.n_restarts == 1
    assert torch.isfinite(weights).all()


@pytest.mark.filterwarnings("ignore::tabtap.errors.TrainingRestartWarning")
def test_a_loss_that_is_never_a_number_ends_with_the_way_out(mixed, quick):
    with pytest.raises(TapError, match=r"infinite 5 times.*smaller learning_rate"):
        train_failing(mixed, quick, n_attempts_used=1000)


@pytest.mark.filterwarnings("ignore::tabtap.errors.TrainingRestartWarning")
def test_an_absurd_learning_rate_is_answered_and_not_trained_through(mixed):
    config = DiffusionConfig(n_steps=30, width=16, learning_rate=1e30, device="cpu")

    with pytest.raises(TapError, match="learning_rate"):
        fit_backbone(mixed, rng=np.random.default_rng(0), config=config)


def test_a_training_without_trouble_warns_of_nothing(mixed, quick):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, record = train_failing(mixed, quick, n_attempts_used=0)

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


# ---- The loss.


class Known(Denoiser):
    """Answers with fixed numbers and fixed logits, and remembers what it was shown."""

    def __init__(self, layout, config, numbers, logits):
        super().__init__(layout, config)
        self._answer = numbers, logits
        self.seen = []

    def __call__(self, weights, noisy, level, rest):  # noqa: ARG002
        self.seen.append((noisy, level, rest))
        return self._answer


def loss_of(layout, batch, numbers, logits, **settings):
    config = DiffusionConfig(**settings)
    denoiser = Known(layout, config, numbers, logits)
    weights = denoiser.plan.views(torch.zeros(1, denoiser.plan.n_weights))
    generator = torch.Generator().manual_seed(0)
    return training_loss(denoiser, weights, batch, generator, config), denoiser


def test_a_perfect_answer_costs_nothing():
    layout = Layout(2, (2,), 0, 1)
    numbers = torch.randn(1, 64, 2, generator=torch.Generator().manual_seed(1))
    tokens = torch.randint(2, (1, 64, 1), generator=torch.Generator().manual_seed(2))
    logits = torch.where(torch.arange(2) == tokens, 0.0, -1e9).unsqueeze(2)
    batch = Batch(numbers, tokens, torch.zeros(1, 64, dtype=torch.long))

    loss, _ = loss_of(layout, batch, numbers, logits)

    assert loss.tolist() == [0.0]


@pytest.mark.parametrize("n_tokens", [2, 5])
def test_a_guess_among_tokens_costs_its_entropy(n_tokens):
    layout = Layout(0, (n_tokens, n_tokens), 0, 1)
    tokens = torch.zeros(1, 32, 2, dtype=torch.long)
    batch = Batch(torch.zeros(1, 32, 0), tokens, torch.zeros(1, 32, dtype=torch.long))

    loss, _ = loss_of(
        layout, batch, torch.zeros(1, 32, 0), torch.zeros(1, 32, 2, n_tokens)
    )

    assert math.isclose(loss.item(), math.log(n_tokens), rel_tol=1e-5)


def test_kept_numbers_go_in_clean_and_are_not_counted():
    layout = Layout(3, (), 0, 1)
    numbers = torch.ones(1, 256, 3)
    batch = Batch(
        numbers,
        torch.zeros(1, 256, 0, dtype=torch.long),
        torch.zeros(1, 256, dtype=torch.long),
    )
    # Wrong by 1 everywhere, so the loss is the mean weight of the cells that count.
    loss, denoiser = loss_of(layout, batch, numbers + 1, torch.zeros(1, 256, 0, 1))

    _, level, (clean, kept, _, _) = denoiser.seen[0]
    weight = (1 / level.sigma**2 + 1) * (1 - kept)
    assert torch.equal(clean, numbers)
    assert 0.2 < kept.mean() < 0.6
    assert math.isclose(loss.item(), weight.mean().item(), rel_tol=1e-5)


def test_overwriting_trains_without_kept_cells():
    layout = Layout(3, (), 0, 1)
    batch = Batch(
        torch.ones(1, 64, 3),
        torch.zeros(1, 64, 0, dtype=torch.long),
        torch.zeros(1, 64, dtype=torch.long),
    )

    _, denoiser = loss_of(
        layout,
        batch,
        torch.ones(1, 64, 3),
        torch.zeros(1, 64, 0, 1),
        conditioning="overwrite",
    )

    _, _, (_, kept, _, _) = denoiser.seen[0]
    assert not kept.any()


def test_every_row_has_a_masked_token_to_learn_from():
    layout = Layout(0, (3, 3, 3), 0, 1)
    tokens = torch.zeros(1, 500, 3, dtype=torch.long)
    batch = Batch(torch.zeros(1, 500, 0), tokens, torch.zeros(1, 500, dtype=torch.long))

    _, denoiser = loss_of(
        layout, batch, torch.zeros(1, 500, 0), torch.zeros(1, 500, 3, 3)
    )

    _, _, (_, _, shown, _) = denoiser.seen[0]
    n_masked = (shown == 3).sum(-1)
    assert n_masked.min() == 1
    assert n_masked.max() == 3


# ---- Rows of a step.


CPU = torch.device("cpu")


def make_cells(numbers, condition):
    numbers = np.asarray(numbers, dtype=np.float32)
    n_rows = len(numbers)
    return Cells(
        numbers,
        np.ones(numbers.shape, dtype=bool),
        np.arange(n_rows)[:, None],
        np.asarray(condition),
    )


def test_rows_without_smoothing_are_the_real_ones():
    cells = make_cells([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    rows = MemberRows(cells, DiffusionConfig(smoothing=0.0), CPU)

    batch = rows.draw(50, torch.Generator().manual_seed(0))

    assert torch.equal(batch.numbers, torch.tensor(cells.numbers)[batch.tokens[:, 0]])
    assert torch.equal(batch.condition, batch.tokens[:, 0])


@pytest.mark.parametrize("bandwidth", [0.3, 0.6, 0.9])
def test_smoothing_keeps_the_mean_and_the_covariance_of_each_class(bandwidth):
    rng = np.random.default_rng(0)
    condition = np.repeat([0, 1], 200)
    numbers = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 400)
    numbers += np.array([[-2.0, 0.0], [2.0, 1.0]])[condition]
    rows = MemberRows(
        make_cells(numbers, condition), DiffusionConfig(smoothing=bandwidth), CPU
    )

    batch = rows.draw(40_000, torch.Generator().manual_seed(0))

    for k in (0, 1):
        drawn = batch.numbers[batch.condition == k].numpy()
        real = numbers[condition == k]
        assert np.abs(drawn.mean(axis=0) - real.mean(axis=0)).max() < 0.03
        # The noise has the covariance of both classes together.
        assert np.abs(np.cov(drawn.T) - np.cov(real.T)).max() < 0.15


def test_smoothed_rows_are_new_ones():
    cells = make_cells(np.random.default_rng(0).normal(size=(30, 5)), [0] * 30)
    rows = MemberRows(cells, DiffusionConfig(), CPU)

    batch = rows.draw(100, torch.Generator().manual_seed(0))

    real = torch.tensor(cells.numbers)[batch.tokens[:, 0]]
    assert (batch.numbers != real).all()


def test_members_keep_their_own_rows_when_stacked():
    generator = torch.Generator().manual_seed(0)
    members = [
        MemberRows(make_cells([[k]] * 3, [0] * 3), DiffusionConfig(smoothing=0.0), CPU)
        for k in (1.0, 2.0)
    ]

    batch = stack_batches([member.draw(4, generator) for member in members])

    assert batch.numbers[:, :, 0].tolist() == [[1.0] * 4, [2.0] * 4]


def test_the_optimiser_is_torchs_own_to_the_last_bit():
    generator = torch.Generator().manual_seed(0)
    ours = torch.randn(3, 40, generator=generator)
    theirs = ours.clone()
    own = _AdamW(ours)
    known = torch.optim.AdamW(
        [theirs], lr=0.0, betas=_BETAS, weight_decay=0.0, fused=True
    )

    for rate in (1e-3, 2e-3, 5e-4):
        gradient = torch.randn(3, 40, generator=generator)
        ours.grad, theirs.grad = gradient, gradient.clone()
        own.step(rate)
        known.param_groups[0]["lr"] = rate
        known.step()

    assert torch.equal(ours, theirs)
