"""TVAE: a variational autoencoder of mixed columns.

Xu et al., "Modeling tabular data using conditional GAN", 2019, section 4.4.  Sizes and
rates are those of the authors' package ``ctgan``; so is that a drawn row takes the
likeliest level of each column, and the noise of the numbers only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from tabtap.rivals.matrices import (
    ModeEncoding,
    ModeRows,
    generator_from,
    linear,
    perceptron,
)
from tabtap.stopwatch import Stopwatch
from tabtap.table.table import Table

_FIRST_DEVIATION = 0.1
_DEVIATIONS = (0.01, 1.0)
"""Standard deviations that a number may have around what is decoded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tvae:
    """Draws rows from a variational autoencoder; the label is one more column.

    The published settings are the defaults.  Numbers may leave the real range by what
    their mode allows; they lie on their column's grid.
    """

    n_epochs: int = 300
    """Passes over the training rows."""

    batch_size: int = 500
    embedding: int = 128
    """Size of the code of a row."""

    widths: tuple[int, ...] = (128, 128)
    """Hidden layers of the encoder, and of the decoder in reverse."""

    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    loss_factor: float = 2.0
    """Weight of the reconstruction beside the divergence from the prior."""

    name: ClassVar[str] = "TVAE"

    def make(
        self, train: Table, n: int, rng: np.random.Generator, watch: Stopwatch
    ) -> Table:
        """Return ``n`` rows drawn after training on ``train``."""
        with watch.running("fit"):
            encoding = ModeEncoding.of(train, rng)
            rows = encoding.rows(train, rng)
            generator = generator_from(rng)
            decoder = self._train(encoding, rows, generator)
        with watch.running("sample"), torch.no_grad():
            return encoding.table(self._draw(decoder, n, encoding, generator))

    def _train(
        self, encoding: ModeEncoding, rows: ModeRows, generator: torch.Generator
    ) -> _Decoder:
        encoder = _Encoder(encoding.width, self, generator)
        decoder = _Decoder(encoding, self, generator)
        weights = [*encoder.parameters(), *decoder.parameters()]
        optimiser = torch.optim.Adam(
            weights, lr=self.learning_rate, weight_decay=self.weight_decay
        )
        for batch in self._batches(rows, generator):
            mean, log_variance = encoder(encoding.matrix(batch))
            noise = torch.randn(mean.shape, generator=generator)
            codes = mean + noise * (log_variance / 2).exp()
            reconstruction = decoder.loss(codes, batch) * self.loss_factor
            divergence = (mean**2 + log_variance.exp() - 1 - log_variance).sum() / 2
            optimiser.zero_grad()
            ((reconstruction + divergence) / len(batch.places)).backward()
            optimiser.step()
            with torch.no_grad():
                decoder.deviations.clamp_(*_DEVIATIONS)
        return decoder

    def _batches(
        self, rows: ModeRows, generator: torch.Generator
    ) -> Iterator[ModeRows]:
        for _ in range(self.n_epochs):
            order = torch.randperm(len(rows.places), generator=generator)
            for chosen in torch.split(order, self.batch_size):
                yield ModeRows(rows.places[chosen], rows.codes[chosen])

    def _draw(
        self,
        decoder: _Decoder,
        n: int,
        encoding: ModeEncoding,
        generator: torch.Generator,
    ) -> ModeRows:
        drawn = [ModeRows(torch.zeros(0, encoding.n_numbers), _no_codes(encoding))]
        for start in range(0, n, self.batch_size):
            size = min(self.batch_size, n - start)
            codes = torch.randn(size, self.embedding, generator=generator)
            places, logits = decoder(codes)
            noise = torch.randn(places.shape, generator=generator)
            places = places + noise * decoder.deviations
            drawn.append(ModeRows(places, encoding.blocks.largest(logits)))
        places, chosen = (torch.cat(parts) for parts in zip(*drawn, strict=True))
        return ModeRows(places, chosen)


class _Encoder(nn.Module):
    """From a row to the mean and log variance of its code."""

    def __init__(self, width: int, sizes: Tvae, generator: torch.Generator) -> None:
        super().__init__()
        last = sizes.widths[-1]
        self.body = perceptron((width, *sizes.widths[:-1]), last, generator)
        self.mean = linear(last, sizes.embedding, generator)
        self.log_variance = linear(last, sizes.embedding, generator)

    def forward(self, matrix: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log variance."""
        hidden = self.body(matrix).relu()
        return self.mean(hidden), self.log_variance(hidden)


class _Decoder(nn.Module):
    """From a code to the places of the numbers and the logits of the blocks."""

    def __init__(
        self, encoding: ModeEncoding, sizes: Tvae, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.encoding = encoding
        widths = (sizes.embedding, *reversed(sizes.widths))
        self.body = perceptron(widths, encoding.width, generator)
        first = torch.full((encoding.n_numbers,), _FIRST_DEVIATION)
        self.deviations = nn.Parameter(first)

    def forward(self, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Return places and logits."""
        decoded = self.body(codes)
        n_numbers = self.encoding.n_numbers
        return decoded[:, :n_numbers].tanh(), decoded[:, n_numbers:]

    def loss(self, codes: Tensor, rows: ModeRows) -> Tensor:
        """Return minus the log likelihood of rows given their codes, summed."""
        places, logits = self(codes)
        away = (rows.places - places) / self.deviations
        squares = (away**2).sum() / 2 + self.deviations.log().sum() * len(places)
        entropy = self.encoding.blocks.cross_entropy(logits, rows.codes).sum()
        return torch.add(squares, entropy)


def _no_codes(encoding: ModeEncoding) -> Tensor:
    return torch.zeros(0, len(encoding.blocks.sizes), dtype=torch.long)
