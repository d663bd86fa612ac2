"""The network of TabPFN v1: rows in, class scores out, many contexts at once.

A transformer over rows without positions.  Context rows attend to the context rows;
queries attend to them too and to nothing else, so one context serves any number of
queries.  Normalisation comes after each residual sum.  Hollmann et al., ICLR 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tabtap.errors import WeightsError

N_FEATURES = 100
"""Columns the network reads; shorter rows are filled up with zeros."""

N_CLASSES = 10
"""Class scores the network gives, for labels 0 to 9."""

_N_HEADS = 4
_N_LAYERS = 12
_LAYER = "transformer_encoder.layers.{}."

_BLOCK = 16
"""Queries are filled up to a multiple of this: a matrix product of few rows rounds in
its own way, and a query's answer must not depend on its company."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Several contexts of one padded length, each with its queries."""

    context: Tensor
    """Shape (n_pairs, n_context, 100): scaled features."""

    labels: Tensor
    """Shape (n_pairs, n_context): class codes from 0."""

    is_row: Tensor
    """Shape (n_pairs, n_context): False where a context is only filled up."""

    queries: Tensor
    """Shape (n_pairs, n_queries, 100)."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the rows of a batch lie when all of them are one matrix.

    Contexts come first, then queries, then filling.  One product of many rows is
    quicker than several of few, and no pair's queries need filling of their own.
    """

    n_pairs: int
    n_context: int
    n_queries: int

    @classmethod
    def of(cls, batch: Batch) -> _Layout:
        n_pairs, n_context = batch.labels.shape
        return cls(n_pairs, n_context, batch.queries.shape[1])

    @property
    def n_context_rows(self) -> int:
        return self.n_pairs * self.n_context

    @property
    def n_filling(self) -> int:
        return _filling(self.n_pairs * self.n_queries)

    def context(self, rows: Tensor) -> Tensor:
        """Return the rows of the contexts, of shape (n_pairs, n_context, width)."""
        known = rows[: self.n_context_rows]
        return known.reshape(self.n_pairs, self.n_context, rows.shape[-1])

    def queries(self, rows: Tensor) -> Tensor:
        """Return the rows of the queries, of shape (n_pairs, n_queries, width)."""
        end = self.n_context_rows + self.n_pairs * self.n_queries
        asked = rows[self.n_context_rows : end]
        return asked.reshape(self.n_pairs, self.n_queries, rows.shape[-1])

    def without_context(self) -> _Layout:
        """Return the layout when only queries and filling are left."""
        return _Layout(self.n_pairs, 0, self.n_queries)


class Network:
    """The forward pass, with weights of one type on one device."""

    def __init__(
        self, weights: Mapping[str, Tensor], device: torch.device, dtype: torch.dtype
    ) -> None:
        self.device = device
        self.dtype = dtype
        self._weights = {
            name: tensor.to(device=device, dtype=dtype)
            for name, tensor in weights.items()
        }
        self._check_shapes()

    @torch.inference_mode()
    def logits(self, batch: Batch) -> Tensor:
        """Return float32 class scores of shape (n_pairs, n_queries, 10)."""
        layout = _Layout.of(batch)
        rows = self._embed(batch, layout)
        blocked = self._attention_bias(batch.is_row)
        for number in range(_N_LAYERS):
            layer = _LAYER.format(number)
            memory = self._memory(layer, rows, layout)
            if number == _N_LAYERS - 1:  # nobody reads the context after the last
                rows, layout = rows[layout.n_context_rows :], layout.without_context()
            answer = self._answer(layer, rows, memory, blocked, layout)
            rows = self._step(layer, rows, answer)
        hidden = F.gelu(self._linear("decoder.0", rows))
        scores = self._linear("decoder.2", hidden).float()
        return layout.queries(scores)

    def _embed(self, batch: Batch, layout: _Layout) -> Tensor:
        """Return all contexts' rows, all queries and the filling, one below another."""
        parts = [batch.context.flatten(0, 1), batch.queries.flatten(0, 1)]
        features = self._ready(F.pad(torch.cat(parts), (0, 0, 0, layout.n_filling)))
        rows = self._linear("encoder", features)
        labels = self._ready(batch.labels.flatten()[:, None])
        rows[: layout.n_context_rows] += self._linear("y_encoder", labels)
        return rows

    def _answer(
        self,
        layer: str,
        rows: Tensor,
        memory: tuple[Tensor, Tensor],
        blocked: Tensor | None,
        layout: _Layout,
    ) -> Tensor:
        """Let every row attend to the memory of its own pair."""
        width = rows.shape[-1]
        weight = self._weights[f"{layer}self_attn.in_proj_weight"][:width]
        bias = self._weights[f"{layer}self_attn.in_proj_bias"][:width]
        asked = F.linear(rows, weight, bias)
        context = _attend(layout.context(asked), memory, blocked)
        queries = F.pad(layout.queries(asked), (0, 0, 0, _filling(layout.n_queries)))
        answered = _attend(queries, memory, blocked)[:, : layout.n_queries]
        filling = asked.new_zeros(layout.n_filling, width)
        return torch.cat([context.flatten(0, 1), answered.flatten(0, 1), filling])

    def _step(self, layer: str, rows: Tensor, answer: Tensor) -> Tensor:
        """Take what attention found through the rest of one layer."""
        mixed = self._linear(f"{layer}self_attn.out_proj", answer)
        rows = self._norm(f"{layer}norm1", mixed.add_(rows))
        hidden = F.gelu(self._linear(f"{layer}linear1", rows))
        mixed = self._linear(f"{layer}linear2", hidden)
        return self._norm(f"{layer}norm2", mixed.add_(rows))

    def _memory(
        self, layer: str, rows: Tensor, layout: _Layout
    ) -> tuple[Tensor, Tensor]:
        """Return keys and values of the context rows."""
        width = rows.shape[-1]
        weight = self._weights[f"{layer}self_attn.in_proj_weight"][width:]
        bias = self._weights[f"{layer}self_attn.in_proj_bias"][width:]
        both = F.linear(layout.context(rows), weight, bias)
        keys, values = both.chunk(2, dim=-1)
        return _heads(keys), _heads(values)

    def _attention_bias(self, is_row: Tensor) -> Tensor | None:
        """Return what is added to the attention scores: -inf for rows not there."""
        is_row = is_row.to(self.device)
        if bool(is_row.all()):
            return None
        bias = torch.zeros(is_row.shape, dtype=self.dtype, device=self.device)
        return bias.masked_fill_(~is_row, -torch.inf)[:, None, None, :]

    def _ready(self, rows: Tensor) -> Tensor:
        return rows.to(device=self.device, dtype=self.dtype)

    def _linear(self, name: str, rows: Tensor) -> Tensor:
        return F.linear(
            rows, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        )

    def _norm(self, name: str, rows: Tensor) -> Tensor:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return F.layer_norm(rows, rows.shape[-1:], weight, bias)

    def _check_shapes(self) -> None:
        last = _LAYER.format(_N_LAYERS - 1)
        read = self._weights.get("encoder.weight")
        given = self._weights.get("decoder.2.weight")
        fits = read is not None and read.shape[1] == N_FEATURES
        fits = fits and given is not None and given.shape[0] == N_CLASSES
        if not fits or f"{last}norm2.weight" not in self._weights:
            raise WeightsError(
                "These are not the weights of TabPFN v1. Pass "
                "load_weights('tabpfn-v1'), or no weights to have them loaded."
            )


def _heads(rows: Tensor) -> Tensor:
    """Split (..., n_rows, width) into (..., n_heads, n_rows, width / n_heads)."""
    size = rows.shape[-1] // _N_HEADS
    return rows.reshape(*rows.shape[:-1], _N_HEADS, size).transpose(-2, -3)


def _attend(
    rows: Tensor, memory: tuple[Tensor, Tensor], blocked: Tensor | None
) -> Tensor:
    """Return what each row finds in the memory of its pair, in the shape of rows."""
    attended = F.scaled_dot_product_attention(_heads(rows), *memory, attn_mask=blocked)
    return attended.transpose(-2, -3).flatten(-2)


def _filling(n_rows: int) -> int:
    """Return how many rows are missing to the next full block; one block at least."""
    return max(-(-n_rows // _BLOCK), 1) * _BLOCK - n_rows
