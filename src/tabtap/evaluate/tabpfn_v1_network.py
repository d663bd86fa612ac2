"""The network of TabPFN v1: rows in, class scores out, many contexts at once.

Reads from: errors.  Read by: evaluate.tabpfn_v1.

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
        context = self._linear("encoder", self._ready(batch.context))
        context += self._linear("y_encoder", self._ready(batch.labels[..., None]))
        queries = self._linear("encoder", self._ready(batch.queries))
        blocked = self._blocked(batch.is_row)
        for number in range(_N_LAYERS):
            layer = _LAYER.format(number)
            memory = self._memory(layer, context)
            queries = self._step(layer, queries, memory, blocked)
            if number < _N_LAYERS - 1:  # nobody reads the context after the last
                context = self._step(layer, context, memory, blocked)
        hidden = F.gelu(self._linear("decoder.0", queries))
        return self._linear("decoder.2", hidden).float()

    def _step(
        self,
        layer: str,
        rows: Tensor,
        memory: tuple[Tensor, Tensor],
        blocked: Tensor | None,
    ) -> Tensor:
        """Let rows attend to the memory and pass through one layer."""
        width = rows.shape[-1]
        weight = self._weights[f"{layer}self_attn.in_proj_weight"][:width]
        bias = self._weights[f"{layer}self_attn.in_proj_bias"][:width]
        asked = _heads(F.linear(rows, weight, bias))
        answer = F.scaled_dot_product_attention(asked, *memory, attn_mask=blocked)
        mixed = answer.transpose(-2, -3).flatten(-2)
        rows = self._norm(
            f"{layer}norm1", rows + self._linear(f"{layer}self_attn.out_proj", mixed)
        )
        hidden = F.gelu(self._linear(f"{layer}linear1", rows))
        return self._norm(
            f"{layer}norm2", rows + self._linear(f"{layer}linear2", hidden)
        )

    def _memory(self, layer: str, context: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of the context rows."""
        width = context.shape[-1]
        weight = self._weights[f"{layer}self_attn.in_proj_weight"][width:]
        bias = self._weights[f"{layer}self_attn.in_proj_bias"][width:]
        keys, values = F.linear(context, weight, bias).chunk(2, dim=-1)
        return _heads(keys), _heads(values)

    def _blocked(self, is_row: Tensor) -> Tensor | None:
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
    return rows.reshape(*rows.shape[:-1], _N_HEADS, -1).transpose(-2, -3)
