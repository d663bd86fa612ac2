"""CTGAN: an adversarial generator of mixed columns that can be asked for a level.

Xu et al., "Modeling tabular data using conditional GAN", 2019; sizes and rates are
those of the authors' package ``ctgan``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tabtap.compare.methods.ctgan_networks import Critic, Generator
from tabtap.compare.methods.ctgan_sampling import LevelSampler, Wish
from tabtap.compare.methods.layers import generator_from
from tabtap.compare.methods.mode_encoding import ModeEncoding, ModeRows
from tabtap.errors import bad_setting
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

    def __post_init__(self) -> None:
        if self.batch_size % self.pack:
            raise bad_setting(
                "batch_size",
                self.batch_size,
                f"be a multiple of pack={self.pack}",
                f"Try {max(1, self.batch_size // self.pack) * self.pack}.",
            )

    @property
    def name(self) -> str:
        """The name it goes by in tables."""
        return "CTGAN"

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
        places = starts[wish.columns] + wish.levels
        chosen = blocks.log_softmax(logits).gather(1, places[:, None])
        return -chosen.mean()

    def _optimiser(self, network: torch.nn.Module) -> torch.optim.Optimizer:
        rate, decay = self.settings.learning_rate, self.settings.weight_decay
        return torch.optim.Adam(
            network.parameters(), lr=rate, betas=_BETAS, weight_decay=decay
        )
