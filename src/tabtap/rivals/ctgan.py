"""CTGAN: an adversarial generator of mixed columns that can be asked for a level.

Xu et al., "Modeling tabular data using conditional GAN", 2019; sizes and rates are
those of the authors' package ``ctgan``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from tabtap.errors import bad_setting
from tabtap.rivals.matrices import (
    Blocks,
    ModeEncoding,
    ModeRows,
    SeededDropout,
    generator_from,
    gumbel,
    linear,
)
from tabtap.stopwatch import Stopwatch
from tabtap.table.table import Table

_BETAS = (0.5, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ctgan:
    """Draws rows from a conditional generator; the label is one more column.

    The published settings are the defaults.  Numbers may leave the real range by what
    their mode allows; they lie on their column's grid.
    """

    n_epochs: int = 300
    """Passes over the training rows; one step each if there are no more than a batch.
    """

    batch_size: int = 500
    """Rows of one step, drawn with replacement."""

    noise: int = 128
    """Random numbers that a row is made from."""

    widths: tuple[int, ...] = (256, 256)
    """Hidden layers of both networks."""

    pack: int = 10
    """Rows that the critic judges at a time."""

    learning_rate: float = 2e-4
    weight_decay: float = 1e-6

    name: ClassVar[str] = "CTGAN"

    def __post_init__(self) -> None:
        if self.batch_size % self.pack:
            raise bad_setting(
                "batch_size",
                self.batch_size,
                f"be a multiple of pack={self.pack}",
                f"Try {max(1, self.batch_size // self.pack) * self.pack}.",
            )

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows drawn after training on ``train``."""
        with watch.running("fit"):
            training = _Training(train, self, rng)
            n_steps = self.n_epochs * max(1, len(train) // self.batch_size)
            for _ in range(n_steps):
                training.critic_step()
                training.generator_step()
        with watch.running("sample"), torch.no_grad():
            n_batches = -(-n // self.batch_size)
            drawn = [training.draw() for _ in range(max(1, n_batches))]
            places, codes = (torch.cat(part)[:n] for part in zip(*drawn, strict=True))
            return training.encoding.table(ModeRows(places, codes))


class _Training:
    """The two networks, their optimisers and the rows they learn from."""

    def __init__(self, train: Table, settings: Ctgan, rng: np.random.Generator) -> None:
        self.settings = settings
        self.encoding = ModeEncoding.of(train, rng)
        rows = self.encoding.rows(train, rng)
        self.matrix = self.encoding.matrix(rows)
        self.generator = generator_from(rng)
        n_numbers = self.encoding.n_numbers
        sizes = self.encoding.columns.sizes
        self.sampler = LevelSampler.of(rows.codes[:, n_numbers:], sizes)
        n_levels, widths = self.sampler.blocks.width, settings.widths
        self.maker = Generator(
            settings.noise + n_levels, widths, self.encoding, self.generator
        )
        self.critic = Critic(
            self.encoding.width + n_levels, widths, settings.pack, self.generator
        )
        self.maker_optimiser = self._optimiser(self.maker)
        self.critic_optimiser = self._optimiser(self.critic)

    def critic_step(self) -> None:
        """Teach the critic to tell real rows from drawn ones, wish by wish."""
        n = self.settings.batch_size
        wish = self.sampler.rare(n, self.generator)
        wishes = self.sampler.vector(wish, n)
        with torch.no_grad():
            drawn = self.maker.soft_rows(*self._make(wishes))
        # Shuffled, so that a pack of real rows is not asked what the drawn one was.
        order = torch.randperm(n, generator=self.generator)
        shuffled = None if wish is None else wish.take(order)
        rows = self.sampler.real_rows(shuffled, n, self.generator)
        real = torch.cat([self.matrix[rows], wishes[order]], dim=1)
        drawn = torch.cat([drawn, wishes], dim=1)
        loss = self.critic(drawn).mean() - self.critic(real).mean()
        loss = loss + self.critic.slope_penalty(real, drawn)
        self.critic_optimiser.zero_grad()
        loss.backward()
        self.critic_optimiser.step()

    def generator_step(self) -> None:
        """Teach the generator to pass for real, and to make what it is asked for."""
        n = self.settings.batch_size
        wish = self.sampler.rare(n, self.generator)
        wishes = self.sampler.vector(wish, n)
        places, logits = self._make(wishes)
        drawn = torch.cat([self.maker.soft_rows(places, logits), wishes], dim=1)
        loss = self._disobedience(logits, wish) - self.critic(drawn).mean()
        self.maker_optimiser.zero_grad()
        loss.backward()
        self.maker_optimiser.step()

    def draw(self) -> ModeRows:
        """Draw one batch of rows."""
        n = self.settings.batch_size
        wish = self.sampler.common(n, self.generator)
        places, logits = self._make(self.sampler.vector(wish, n))
        return ModeRows(places, self.encoding.blocks.draw(logits, self.generator))

    def _make(self, wishes: Tensor) -> tuple[Tensor, Tensor]:
        shape = (len(wishes), self.settings.noise)
        noise = torch.randn(shape, generator=self.generator)
        made: tuple[Tensor, Tensor] = self.maker(noise, wishes)
        return made

    def _disobedience(self, logits: Tensor, wish: Wish | None) -> Tensor:
        """Return minus the mean log probability of the levels asked for."""
        if wish is None:
            return torch.zeros(())
        blocks, n_numbers = self.encoding.blocks, self.encoding.n_numbers
        starts = torch.tensor(blocks.starts[n_numbers:], dtype=torch.long)
        columns = starts[wish.columns] + wish.levels
        chosen = blocks.log_softmax(logits).gather(1, columns[:, None])
        return -chosen.mean()

    def _optimiser(self, network: torch.nn.Module) -> torch.optim.Optimizer:
        rate, decay = self.settings.learning_rate, self.settings.weight_decay
        return torch.optim.Adam(
            network.parameters(), lr=rate, betas=_BETAS, weight_decay=decay
        )


# ---- The two networks of CTGAN, and what one learns from the other.
#
# Xu et al. 2019, section 4.4. The critic judges ten rows at a time, which shows it when
# the generator always draws the same (PacGAN), and is kept smooth by a penalty on its
# slope (WGAN-GP).


_TEMPERATURE = 0.2
"""Of the softmax that stands for a draw while training."""

_LEAK = 0.2
_DROPOUT = 0.5
_PENALTY = 10.0


class Generator(nn.Module):
    """From noise and a wish to a row; every layer also passes on what it was given."""

    def __init__(
        self,
        n_in: int,
        widths: tuple[int, ...],
        encoding: ModeEncoding,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.encoding, self.generator = encoding, generator
        self.layers = nn.ModuleList()
        for width in widths:
            parts = linear(n_in, width, generator), nn.BatchNorm1d(width), nn.ReLU()
            self.layers.append(nn.Sequential(*parts))
            n_in += width
        self.last = linear(n_in, encoding.width, generator)

    def forward(self, noise: Tensor, wishes: Tensor) -> tuple[Tensor, Tensor]:
        """Return places of the numbers and logits of the blocks."""
        hidden = torch.cat([noise, wishes], dim=1)
        for layer in self.layers:
            hidden = torch.cat([layer(hidden), hidden], dim=1)
        made = self.last(hidden)
        n_numbers = self.encoding.n_numbers
        return made[:, :n_numbers].tanh(), made[:, n_numbers:]

    def soft_rows(self, places: Tensor, logits: Tensor) -> Tensor:
        """Return rows with nearly drawn levels, through which a slope can be taken."""
        noisy = (logits + gumbel(logits, self.generator)) / _TEMPERATURE
        drawn = self.encoding.blocks.log_softmax(noisy).exp()
        return torch.cat([places, drawn], dim=1)


class Critic(nn.Module):
    """Scores packs of rows: higher for real ones."""

    def __init__(
        self,
        n_in: int,
        widths: tuple[int, ...],
        pack: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.pack, self.generator = pack, generator
        layers: list[nn.Module] = []
        width_before = n_in * pack
        for width in widths:
            layers += [
                linear(width_before, width, generator),
                nn.LeakyReLU(_LEAK),
                SeededDropout(_DROPOUT, generator),
            ]
            width_before = width
        self.body = nn.Sequential(*layers, linear(width_before, 1, generator))

    def forward(self, rows: Tensor) -> Tensor:
        """Return one score for each pack of neighbouring rows."""
        return cast("Tensor", self.body(rows.view(-1, self.pack * rows.shape[1])))

    def slope_penalty(self, real: Tensor, drawn: Tensor) -> Tensor:
        """Return how far the slope is from 1, between real and drawn packs."""
        packed = (-1, self.pack * real.shape[1])
        real, drawn = real.view(packed), drawn.view(packed)
        share = torch.rand(len(real), 1, generator=self.generator)
        between = (share * real + (1 - share) * drawn).requires_grad_()
        scores = self.body(between)
        (slope,) = torch.autograd.grad(scores.sum(), between, create_graph=True)
        penalty: Tensor = ((slope.norm(dim=1) - 1) ** 2).mean()
        return penalty * _PENALTY


# ---- Training by sampling: which level CTGAN is asked for, and real rows that have it.
#
# Xu et al. 2019, section 4.3. A code column is chosen, each equally likely, then one of
# its levels by the logarithm of how often it is met, so that rare levels are trained
# on. Drawn rows are asked for levels as often as they are met. (The authors' package
# keeps to the logarithm there too, which makes rare levels commoner than they are.)


class Wish(NamedTuple):
    """Which level of which code column is asked for, one for each row."""

    columns: Tensor
    levels: Tensor

    def take(self, rows: Tensor) -> Wish:
        """Return the wishes of some rows."""
        return Wish(self.columns[rows], self.levels[rows])


@dataclass(frozen=True, slots=True, eq=False)
class LevelSampler:
    """Levels of the code columns, how often each is met, and in which rows."""

    blocks: Blocks

    codes: Tensor
    """Code columns of the training rows; modes of numbers are not among them."""

    counts: Tensor
    """Rows of each level, shape (n_columns, most levels); 0 where there is none."""

    by_level: Tensor
    """Row numbers, sorted by their level in each column, shape (n_columns, n_rows)."""

    @classmethod
    def of(cls, codes: Tensor, sizes: tuple[int, ...]) -> LevelSampler:
        """Count the levels of some code columns."""
        counts = torch.zeros(len(sizes), max(sizes, default=1), dtype=torch.long)
        counts.scatter_add_(1, codes.T, torch.ones_like(codes.T))
        by_level = codes.T.argsort(dim=1, stable=True)
        return cls(Blocks.of(sizes), codes, counts, by_level)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.codes)

    def rare(self, n: int, generator: torch.Generator) -> Wish | None:
        """Draw levels to train on; None if there is no code column."""
        return self._draw((self.counts + 1).log(), n, generator)

    def common(self, n: int, generator: torch.Generator) -> Wish | None:
        """Draw levels as often as they are met; None if there is no code column."""
        return self._draw(self.counts.float(), n, generator)

    def real_rows(
        self, wish: Wish | None, n: int, generator: torch.Generator
    ) -> Tensor:
        """Draw the numbers of training rows that have the levels asked for."""
        if wish is None:
            return torch.randint(self.n_rows, (n,), generator=generator)
        size = self.counts[wish.columns, wish.levels]
        before = self.counts.cumsum(1)[wish.columns, wish.levels] - size
        luck = torch.rand(n, generator=generator, dtype=torch.float64)
        return self.by_level[wish.columns, before + (luck * size).long()]

    def vector(self, wish: Wish | None, n: int) -> Tensor:
        """Return wishes as the networks see them: zeros, and a one at the level."""
        vector = torch.zeros(n, self.blocks.width)
        if wish is None:
            return vector
        starts = torch.tensor(self.blocks.starts, dtype=torch.long)
        columns = starts[wish.columns] + wish.levels
        return vector.scatter_(1, columns[:, None], 1.0)

    def _draw(self, weights: Tensor, n: int, generator: torch.Generator) -> Wish | None:
        n_columns = len(self.counts)
        if n_columns == 0:
            return None
        columns = torch.randint(n_columns, (n,), generator=generator)
        levels = torch.multinomial(weights, n, replacement=True, generator=generator)
        return Wish(columns, levels[columns, torch.arange(n)])
