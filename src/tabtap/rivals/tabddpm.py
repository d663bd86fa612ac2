"""TabDDPM: diffusion of quantile-normal numbers and of codes, given the class.

Kotelnikov et al., "TabDDPM: modelling tabular data with diffusion models", 2023.  Sizes
and rates are those of the authors' example configuration.  The loss is that of their
code: the codes' part is summed over the steps, the numbers' part averaged.  As in the
paper, and not as in that code, the network sees codes as zeros and ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import numpy as np
import torch
from sklearn.preprocessing import QuantileTransformer
from torch import Tensor, nn

from tabtap.errors import UserInputError
from tabtap.rivals.matrices import (
    Blocks,
    FlatColumns,
    FlatRows,
    generator_from,
    linear,
    perceptron,
    to_codes,
)
from tabtap.stopwatch import Stopwatch
from tabtap.table.schema import FloatArray
from tabtap.table.table import Table

_PAPER_STEPS = 30_000
_DEFAULT_STEPS = 3_000
_ROWS_AT_ONCE = 2_000
_REACH = 5.2
"""Farthest normal score that scikit-learn gives to the ends of a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TabDdpm:
    """Draws rows by diffusion.

    A class label is given to the network, and drawn as often as it is met; a regression
    target is one more number.  Numbers stay in the real range, because quantiles do.

    At the noisiest steps a small error of the network is a large one of the clean
    numbers.  Few rows of many columns leave such errors, and the published drawing then
    runs away, so that most drawn numbers lie at the ends of their columns.  The default
    size keeps the predicted clean scores within those that exist: a stronger rival.
    """

    size: Literal["default", "paper"] = "default"
    """With ``"paper"`` the 30,000 training steps of the published runs are taken, and
    no step back is held to scores that exist.
    """

    n_steps: int | None = None
    """Training steps; by default what ``size`` says."""

    n_times: int = 1000
    """Steps of the noise process."""

    widths: tuple[int, ...] = (256, 256)
    """Hidden layers."""

    batch_size: int = 4096
    """Most rows of one step; all rows if there are fewer."""

    learning_rate: float = 1e-3
    """At the first step; it falls evenly to nothing."""

    weight_decay: float = 1e-5

    @property
    def training_steps(self) -> int:
        """Training steps that are taken."""
        if self.n_steps is not None:
            return self.n_steps
        return _PAPER_STEPS if self.size == "paper" else _DEFAULT_STEPS

    name: ClassVar[str] = "TabDDPM"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Train and draw ``n`` rows; diverging to NaN is a ``UserInputError``."""
        if n == 0:
            return train.empty()
        with watch.running("fit"):
            columns = FlatColumns.of(train, joint_label=False)
            labels = _labels(train)
            rows = columns.rows(train)
            scale = QuantileScale.of(rows.numbers, rng)
            model = _Model(
                columns, train.schema.n_conditions, self, generator_from(rng)
            )
            clean = torch.from_numpy(scale.encode(rows.numbers).astype(np.float32))
            model.train(clean, torch.from_numpy(rows.codes), labels)
        with watch.running("sample"), torch.no_grad():
            wanted = None if labels is None else labels[_any_rows(len(train), n, rng)]
            numbers, codes = model.draw(n, wanted)
            flat = FlatRows(scale.decode(numbers.double().numpy()), to_codes(codes))
            return columns.table(flat, None if wanted is None else to_codes(wanted))


@dataclass(frozen=True, slots=True, eq=False)
class QuantileScale:
    """Numbers as normal scores of their quantiles, and back into the real range."""

    transformer: QuantileTransformer | None

    @classmethod
    def of(cls, numbers: FloatArray, rng: np.random.Generator) -> QuantileScale:
        """Fit the quantiles: one for thirty rows, but at least ten."""
        if numbers.shape[1] == 0:
            return cls(None)
        n_rows = len(numbers)
        transformer = QuantileTransformer(
            output_distribution="normal",
            n_quantiles=min(n_rows, max(min(n_rows // 30, 1000), 10)),
            subsample=None,
            random_state=int(rng.integers(2**31)),
        )
        return cls(transformer.fit(numbers))

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Return normal scores."""
        if self.transformer is None:
            return numbers
        return np.asarray(self.transformer.transform(numbers))

    def decode(self, scores: FloatArray) -> FloatArray:
        """Return numbers in the columns' own units."""
        if self.transformer is None or len(scores) == 0:
            return scores
        return np.asarray(self.transformer.inverse_transform(scores))


class _Model:
    """The network and the two noise processes around it."""

    def __init__(
        self,
        columns: FlatColumns,
        n_classes: int,
        settings: TabDdpm,
        generator: torch.Generator,
    ) -> None:
        self.settings, self.generator = settings, generator
        self.blocks = Blocks.of(columns.sizes)
        self.n_numbers = columns.n_numbers
        schedule = Schedule.cosine(settings.n_times)
        clips = settings.size == "default"
        self.gaussian = GaussianNoise(schedule, _REACH if clips else None)
        self.multinomial = MultinomialNoise.of(schedule, self.blocks)
        width = self.n_numbers + self.blocks.width
        self.network = DdpmNetwork(width, n_classes, settings.widths, generator)

    def train(self, numbers: Tensor, codes: Tensor, labels: Tensor | None) -> None:
        """Learn the clean rows."""
        rate, n_steps = self.settings.learning_rate, self.settings.training_steps
        optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=rate, weight_decay=self.settings.weight_decay
        )
        batches = self._batches(len(numbers))
        for step in range(n_steps):
            rows = next(batches)
            given = None if labels is None else labels[rows]
            loss = self._loss(numbers[rows], self.blocks.one_hot(codes[rows]), given)
            optimiser.param_groups[0]["lr"] = rate * (1 - step / n_steps)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()

    def draw(self, n: int, labels: Tensor | None) -> tuple[Tensor, Tensor]:
        """Draw clean numbers and codes, for labels if they are given."""
        starts = range(0, max(n, 1), _ROWS_AT_ONCE)
        parts = [slice(start, min(start + _ROWS_AT_ONCE, n)) for start in starts]
        drawn = [
            self._draw(part.stop - part.start, None if labels is None else labels[part])
            for part in parts
        ]
        numbers, codes = (torch.cat(part) for part in zip(*drawn, strict=True))
        if not numbers.isfinite().all():
            raise UserInputError(
                "TabDDPM drew numbers that are NaN or infinite, because its training "
                "ran away. Try a smaller learning_rate."
            )
        return numbers, codes

    def _loss(self, numbers: Tensor, codes: Tensor, labels: Tensor | None) -> Tensor:
        n_rows, n_times = len(numbers), self.settings.n_times
        steps = torch.randint(n_times, (n_rows,), generator=self.generator)
        noise = torch.randn(numbers.shape, generator=self.generator)
        drawn = self.multinomial.add(codes, steps, self.generator)
        noisy = self.gaussian.add(numbers, noise, steps), self.blocks.one_hot(drawn)
        predicted, logits = self._predict(*noisy, steps, labels)
        gap = self.multinomial.divergence(codes, noisy[1], logits, steps).mean()
        if self.n_numbers == 0:
            return gap * n_times
        return gap * n_times + ((predicted - noise) ** 2).mean()

    def _predict(
        self, numbers: Tensor, codes: Tensor, steps: Tensor, labels: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        rows = torch.cat([numbers, codes], dim=1)
        predicted = self.network(rows, steps, labels)
        return predicted[:, : self.n_numbers], predicted[:, self.n_numbers :]

    def _draw(self, n: int, labels: Tensor | None) -> tuple[Tensor, Tensor]:
        numbers = torch.randn(n, self.n_numbers, generator=self.generator)
        codes = self.multinomial.start(n, self.generator)
        for step in reversed(range(self.settings.n_times)):
            noisy = self.blocks.one_hot(codes)
            steps = torch.full((n,), step)
            predicted, logits = self._predict(numbers, noisy, steps, labels)
            numbers = self.gaussian.reverse(numbers, predicted, step, self.generator)
            codes = self.multinomial.reverse(noisy, logits, step, self.generator)
        return numbers, codes

    def _batches(self, n_rows: int) -> Iterator[Tensor]:
        while True:
            order = torch.randperm(n_rows, generator=self.generator)
            yield from torch.split(order, self.settings.batch_size)


def _labels(train: Table) -> Tensor | None:
    target = train.schema.target
    if target is None or target.task == "regression":
        return None
    return torch.from_numpy(train.target.astype(np.int64))


def _any_rows(n_rows: int, n: int, rng: np.random.Generator) -> Tensor:
    return torch.from_numpy(rng.integers(n_rows, size=n))


# ---- The network of TabDDPM: a perceptron that is told the time and the class.
#
# Kotelnikov et al. 2023, section 3 and figure 1.


_EMBEDDING = 128
_LONGEST_PERIOD = 10_000


class DdpmNetwork(nn.Module):
    """Predicts the noise of the numbers and the logits of the clean codes."""

    def __init__(
        self,
        width: int,
        n_classes: int,
        widths: tuple[int, ...],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.time = nn.Sequential(
            linear(_EMBEDDING, _EMBEDDING, generator),
            nn.SiLU(),
            linear(_EMBEDDING, _EMBEDDING, generator),
        )
        first = torch.randn(n_classes, _EMBEDDING, generator=generator)
        self.classes = nn.Parameter(first)
        self.enter = linear(width, _EMBEDDING, generator)
        self.body = perceptron((_EMBEDDING, *widths), width, generator)

    def forward(self, rows: Tensor, steps: Tensor, classes: Tensor | None) -> Tensor:
        """Return predictions for noisy rows, laid out as the rows are."""
        embedding = self.time(fourier_features(steps))
        if classes is not None:
            embedding = embedding + nn.functional.silu(self.classes[classes])
        return cast("Tensor", self.body(self.enter(rows) + embedding))


def fourier_features(steps: Tensor) -> Tensor:
    """Return steps as cosines and sines of falling frequency."""
    half = _EMBEDDING // 2
    falling = torch.arange(half, dtype=torch.float32) / half
    angles = steps[:, None].float() * (-math.log(_LONGEST_PERIOD) * falling).exp()
    return torch.cat([angles.cos(), angles.sin()], dim=1)


# ---- The two noise processes of TabDDPM: Gaussian for numbers, multinomial for codes.
#
# Kotelnikov et al., "TabDDPM: modelling tabular data with diffusion models", 2023,
# section 3.  Both processes share the cosine schedule of Nichol and Dhariwal 2021.  A
# code keeps its level with probability alpha, and otherwise gets any level alike
# (Hoogeboom et al. 2021).  Step 0 is the least noisy.


_OFFSET = 0.008
_MOST_NOISE = 0.999
_LEAST = 1e-30
"""Stands for a probability of zero, whose logarithm is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """How much of a clean value is left at every step."""

    kept: Tensor
    """Share kept by each step alone: the papers' alpha."""

    left: Tensor
    """Share of the clean value left after each step: alpha with a bar."""

    left_before: Tensor
    """The same before each step; 1 at the first."""

    @classmethod
    def cosine(cls, n_steps: int) -> Schedule:
        """Return the schedule of so many steps."""
        time = torch.arange(n_steps + 1, dtype=torch.float64) / n_steps
        curve = ((time + _OFFSET) / (1 + _OFFSET) * math.pi / 2).cos() ** 2
        kept = 1 - (1 - curve[1:] / curve[:-1]).clamp(max=_MOST_NOISE)
        left = kept.cumprod(0)
        before = torch.cat([torch.ones(1, dtype=torch.float64), left[:-1]])
        return cls(kept.float(), left.float(), before.float())

    def __len__(self) -> int:
        return len(self.kept)


@dataclass(frozen=True, slots=True, eq=False)
class GaussianNoise:
    """Noise on numbers; a network predicts it."""

    schedule: Schedule

    reach: float | None = None
    """Largest clean number, of either sign, that a step back may take for true."""

    def add(self, clean: Tensor, noise: Tensor, steps: Tensor) -> Tensor:
        """Return numbers as they are after their row's step."""
        left = self.schedule.left[steps, None]
        return left.sqrt() * clean + (1 - left).sqrt() * noise

    def reverse(
        self, numbers: Tensor, predicted: Tensor, step: int, generator: torch.Generator
    ) -> Tensor:
        """Take one step back, given the noise that the network sees in the numbers.

        The variance is that of the forward step, the choice of the authors' code; the
        last step adds no noise.
        """
        kept, left, before = (
            float(part[step])
            for part in (
                self.schedule.kept,
                self.schedule.left,
                self.schedule.left_before,
            )
        )
        clean = (numbers - math.sqrt(1 - left) * predicted) / math.sqrt(left)
        if self.reach is not None:
            clean = clean.clamp(-self.reach, self.reach)
        mean = (
            math.sqrt(before) * (1 - kept) * clean
            + math.sqrt(kept) * (1 - before) * numbers
        ) / (1 - left)
        if step == 0:
            return mean
        noise = torch.randn(numbers.shape, generator=generator)
        return mean + math.sqrt(1 - kept) * noise


@dataclass(frozen=True, slots=True, eq=False)
class MultinomialNoise:
    """Noise on codes; a network predicts the clean ones."""

    schedule: Schedule
    blocks: Blocks

    chance: Tensor
    """Probability of each matrix column under pure noise."""

    @classmethod
    def of(cls, schedule: Schedule, blocks: Blocks) -> MultinomialNoise:
        """Prepare for blocks of these sizes."""
        sizes = torch.tensor(blocks.sizes, dtype=torch.float32)
        return cls(schedule, blocks, 1 / blocks.expanded(sizes))

    def add(self, clean: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        """Draw codes as they are after their row's step, from clean one-hot rows."""
        return self.blocks.draw(self._blur(clean, self.schedule.left[steps]), generator)

    def before(self, clean: Tensor, noisy: Tensor, steps: Tensor) -> Tensor:
        """Return log probabilities of the codes one step earlier than ``steps``.

        ``clean`` holds probabilities of the clean codes: zeros and ones, or a
        prediction.  ``noisy`` holds the codes after the step, as zeros and ones.
        """
        earlier = self._blur(clean, self.schedule.left_before[steps])
        later = self._blur(noisy, self.schedule.kept[steps])
        return self.blocks.log_softmax(earlier + later)

    def divergence(
        self, clean: Tensor, noisy: Tensor, logits: Tensor, steps: Tensor
    ) -> Tensor:
        """Return, for each row, how far the predicted step back is from the true one.

        The mean over the code columns of the Kullback-Leibler divergence.  At step 0
        the true one is certain, and this is minus the log probability of the code.
        """
        true = self.before(clean, noisy, steps)
        predicted = self.before(self.blocks.log_softmax(logits).exp(), noisy, steps)
        gap = (true.exp() * (true - predicted)).sum(dim=1)
        return gap / max(1, len(self.blocks.sizes))

    def start(self, n_rows: int, generator: torch.Generator) -> Tensor:
        """Draw codes of pure noise."""
        return self.blocks.draw(self.chance.log().expand(n_rows, -1), generator)

    def reverse(
        self, noisy: Tensor, logits: Tensor, step: int, generator: torch.Generator
    ) -> Tensor:
        """Draw codes one step earlier, given the network's logits of the clean ones."""
        steps = torch.full((len(noisy),), step)
        clean = self.blocks.log_softmax(logits).exp()
        return self.blocks.draw(self.before(clean, noisy, steps), generator)

    def _blur(self, rows: Tensor, share: Tensor) -> Tensor:
        """Return log probabilities after all but a share of the rows became noise."""
        share = share[:, None]
        return (share * rows + (1 - share) * self.chance).clamp(min=_LEAST).log()
