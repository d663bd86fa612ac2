"""A stack of backbones as arrays and JSON, and back.

Arrays keep every bit; what is a name, a choice or a count is JSON.  The values of
identifiers are not written: a saved backbone must not name the rows it learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from tabtap.archive import Archive, damaged, read_archive, write_archive
from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import (
    Encoding,
    Layout,
    PatternGroup,
    SingleGroup,
    TokenGroup,
)
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.scaling import Scaling
from tabtap.diffusion.train import TrainingRecord
from tabtap.errors import FileFormatError, UserInputError
from tabtap.table.saved_schema import schema_from_json, schema_to_json
from tabtap.table.schema import Schema
from tabtap.table.table import NumberScale
from tabtap.table.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tabtap.diffusion.backbone import BackboneStack

FORMAT_NAME = "tabtap-backbone"
FORMAT_VERSION = 2
"""Raised whenever an older reader would misread what is written."""

_SCALING = ("low", "high", "in_logs", "knots", "spikes", "grid")
_RANGES = ("target_low", "target_high", "weights", "target_bandwidth", "targets")
_WORDS = ("own", "rare", "rare_counts")
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)

_Arrays = Mapping[str, NDArray[Any]]


class SavedStack(NamedTuple):
    """The fields of a ``BackboneStack``, in its order."""

    config: DiffusionConfig
    layout: Layout
    encodings: tuple[Encoding, ...]
    weights: Tensor
    training: TrainingRecord
    unseen_folds: tuple[int, ...]


def save_stack(stack: BackboneStack, path: str | Path) -> None:
    """Write a stack to one safetensors file, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {"weights": stack.weights.cpu().numpy()}
    groups = []
    for member, encoding in enumerate(stack.encodings):
        arrays |= _named(f"member{member}", _encoding_arrays(encoding))
        groups.append([_group_to_json(group) for group in encoding.groups])
    about = {
        "config": asdict(stack.config),
        "layout": asdict(stack.layout),
        "schema": schema_to_json(stack.schema),
        "groups": groups,
        "training": asdict(stack.training),
        "unseen_folds": list(stack.unseen_folds),
    }
    write_archive(
        Archive(arrays, about), path, name=FORMAT_NAME, version=FORMAT_VERSION
    )


def read_stack(path: str | Path, device: torch.device) -> SavedStack:
    """Return what ``save_stack`` wrote, with the weights on a device.

    Raises
    ------
    FileFormatError
        If the file is damaged, of another program, or of a newer version.
    """
    archive = read_archive(path, name=FORMAT_NAME, version=FORMAT_VERSION)
    try:
        return _stack(archive, device)
    except FileFormatError as error:
        raise damaged(path, str(error).rstrip(".")) from error
    except (*_DAMAGE, UserInputError) as error:
        found = f"it holds what no backbone has ({type(error).__name__}: {error})"
        raise damaged(path, found) from error


def _stack(archive: Archive, device: torch.device) -> SavedStack:
    about = archive.about
    schema = schema_from_json(about["schema"])
    config = _config(about["config"])
    layout = Layout(**_with_tuple(about["layout"], "group_sizes"))
    encodings = tuple(
        _encoding(schema, _under(f"member{member}", archive.arrays), groups)
        for member, groups in enumerate(about["groups"])
    )
    weights = torch.tensor(archive.arrays["weights"], device=device)
    wanted = (len(encodings), Denoiser(layout, config).plan.n_weights)
    if tuple(weights.shape) != wanted:
        raise ValueError(f"weights of shape {tuple(weights.shape)} instead of {wanted}")
    folds = tuple(int(fold) for fold in about["unseen_folds"])
    if len(folds) != len(encodings):
        raise ValueError(f"{len(folds)} folds for {len(encodings)} networks")
    training = TrainingRecord(**about["training"])
    return SavedStack(config, layout, encodings, weights, training, folds)


def _config(saved: Mapping[str, Any]) -> DiffusionConfig:
    return DiffusionConfig(**_with_tuple(saved, "clip_quantiles"))


def _with_tuple(saved: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return settings with one entry a tuple again; JSON has only lists."""
    return {**saved, name: tuple(saved[name])}


def _encoding_arrays(encoding: Encoding) -> dict[str, NDArray[Any]]:
    scaling = encoding.scaling
    scale = {f.name: getattr(scaling.scale, f.name) for f in fields(NumberScale)}
    arrays = _named("scale", scale)
    arrays |= _named("scaling", {name: getattr(scaling, name) for name in _SCALING})
    arrays |= {name: getattr(encoding, name) for name in _RANGES}
    for place, group in enumerate(encoding.groups):
        arrays |= _named(f"group{place}", _group_arrays(group))
    return arrays


def _encoding(
    schema: Schema, arrays: _Arrays, groups: list[Mapping[str, Any]]
) -> Encoding:
    scaling = Scaling(
        scale=NumberScale(**_under("scale", arrays)), **_under("scaling", arrays)
    )
    restored = tuple(
        _group(saved, _under(f"group{place}", arrays))
        for place, saved in enumerate(groups)
    )
    ranges = {name: arrays[name] for name in _RANGES}
    return Encoding(schema=schema, scaling=scaling, groups=restored, **ranges)


def _group_to_json(group: TokenGroup) -> dict[str, Any]:
    if isinstance(group, SingleGroup):
        words = group.vocabulary
        return {
            "kind": "single",
            "n_levels": words.n_levels,
            "has_missing": words.has_missing,
        }
    if isinstance(group, PatternGroup):
        return {"kind": "pattern", "are_states": group.are_states}
    raise TypeError(f"no way to save a {type(group).__name__}")


def _group_arrays(group: TokenGroup) -> dict[str, NDArray[Any]]:
    if isinstance(group, SingleGroup):
        words = {name: getattr(group.vocabulary, name) for name in _WORDS}
        return {"columns": group.columns, **words}
    if isinstance(group, PatternGroup):
        return {"columns": group.columns, "patterns": group.patterns}
    raise TypeError(f"no way to save a {type(group).__name__}")


def _group(saved: Mapping[str, Any], arrays: _Arrays) -> TokenGroup:
    return _READERS[saved["kind"]](saved, arrays)


def _single(saved: Mapping[str, Any], arrays: _Arrays) -> TokenGroup:
    words = Vocabulary(
        n_levels=saved["n_levels"],
        has_missing=saved["has_missing"],
        **{name: arrays[name] for name in _WORDS},
    )
    return SingleGroup(arrays["columns"], words)


def _pattern(saved: Mapping[str, Any], arrays: _Arrays) -> TokenGroup:
    return PatternGroup(arrays["columns"], arrays["patterns"], saved["are_states"])


_READERS: Mapping[str, Callable[[Mapping[str, Any], _Arrays], TokenGroup]] = {
    "single": _single,
    "pattern": _pattern,
}


def _named(prefix: str, arrays: _Arrays) -> dict[str, NDArray[Any]]:
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _under(prefix: str, arrays: _Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays under a prefix, without it."""
    start = f"{prefix}."
    return {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
