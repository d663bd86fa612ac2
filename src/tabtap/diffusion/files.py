"""A stack of backbones as arrays and JSON, and back.

Arrays keep every bit; what is a name, a choice or a count is JSON.  The values of
identifiers are not written: a saved backbone must not name the rows it learned from.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabtap.archive import (
    Archive,
    Arrays,
    add_prefix,
    read_archive,
    reading,
    strip_prefix,
    write_archive,
)
from tabtap.config import DiffusionConfig
from tabtap.diffusion.encoding import (
    Encoding,
    Layout,
    PatternGroup,
    SingleGroup,
    TokenGroup,
    layout_of,
)
from tabtap.diffusion.network import Denoiser
from tabtap.diffusion.scaling import Scaling
from tabtap.diffusion.train import TrainingRecord
from tabtap.saved import arrays_of, from_json, to_json
from tabtap.table.saved_schema import schema_from_json, schema_to_json
from tabtap.table.schema import Schema
from tabtap.table.table import NumberScale
from tabtap.table.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tabtap.diffusion.backbone import BackboneStack

FORMAT_NAME = "tabtap-backbone"
FORMAT_VERSION = 2
"""Raised whenever an older reader would misread what is written."""


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
        groups.append([_group_to_json(group) for group in encoding.groups])
        arrays |= add_prefix(f"member{member}", _encoding_arrays(encoding))
    about = {
        "config": to_json(stack.config),
        "layout": to_json(stack.layout),
        "schema": schema_to_json(stack.schema),
        "groups": groups,
        "training": to_json(stack.training),
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
    with reading(path, "backbone"):
        return _stack(archive, device)


def _stack(archive: Archive, device: torch.device) -> SavedStack:
    about = archive.about
    schema = schema_from_json(about["schema"])
    config = from_json(DiffusionConfig, about["config"])
    layout = from_json(Layout, about["layout"])
    encodings = tuple(
        _encoding(schema, strip_prefix(f"member{member}", archive.arrays), groups)
        for member, groups in enumerate(about["groups"])
    )
    weights = archive.arrays["weights"]
    _check_sizes(config, layout, encodings, weights)
    folds = tuple(int(fold) for fold in about["unseen_folds"])
    if len(folds) != len(encodings):
        raise ValueError(f"{len(folds)} folds for {len(encodings)} networks")
    training = from_json(TrainingRecord, about["training"])
    on_device = torch.tensor(weights, device=device)
    return SavedStack(config, layout, encodings, on_device, training, folds)


def _check_sizes(
    config: DiffusionConfig,
    layout: Layout,
    encodings: tuple[Encoding, ...],
    weights: NDArray[Any],
) -> None:
    """Raise ValueError unless the weights are those of the network that is named.

    A network may be named that no memory could hold: it is not built before its layout
    is known to be that of the columns, and its layers to be fewer than the weights.
    """
    if layout != layout_of(encodings):
        raise ValueError(f"{layout} is not that of the columns")
    if weights.dtype != np.float32 or config.width * config.depth > weights.size:
        raise ValueError(f"{weights.size} weights of {weights.dtype} are not enough")
    wanted = (len(encodings), Denoiser(layout, config).plan.n_weights)
    if weights.shape != wanted:
        raise ValueError(f"weights of shape {weights.shape} instead of {wanted}")


def _encoding_arrays(encoding: Encoding) -> dict[str, NDArray[Any]]:
    arrays = arrays_of(encoding)
    arrays |= add_prefix("scaling", arrays_of(encoding.scaling))
    arrays |= add_prefix("scale", arrays_of(encoding.scaling.scale))
    for place, group in enumerate(encoding.groups):
        arrays |= add_prefix(f"group{place}", _group_arrays(group))
    return arrays


def _encoding(
    schema: Schema, arrays: Arrays, groups: list[Mapping[str, Any]]
) -> Encoding:
    scale = from_json(NumberScale, strip_prefix("scale", arrays))
    scaling = from_json(Scaling, {"scale": scale, **strip_prefix("scaling", arrays)})
    restored = tuple(
        _group(saved, strip_prefix(f"group{place}", arrays))
        for place, saved in enumerate(groups)
    )
    ranges = {name: array for name, array in arrays.items() if "." not in name}
    for group in restored:
        _check_group(group, schema)
    return Encoding(schema=schema, scaling=scaling, groups=restored, **ranges)


def _check_group(group: TokenGroup, schema: Schema) -> None:
    """Raise ValueError if a group counts other levels than its column has."""
    if isinstance(group, SingleGroup):
        column = schema.features[schema.categorical[int(group.columns[0])]]
        if group.vocabulary.n_levels != len(column.levels):
            raise ValueError(f"{group.vocabulary.n_levels} levels of {column.name!r}")


def _group_to_json(group: TokenGroup) -> dict[str, Any]:
    if isinstance(group, SingleGroup):
        return {"kind": "single", **to_json(group.vocabulary)}
    if isinstance(group, PatternGroup):
        return {"kind": "pattern", **to_json(group)}
    raise TypeError(f"no way to save a {type(group).__name__}")


def _group_arrays(group: TokenGroup) -> dict[str, NDArray[Any]]:
    words = arrays_of(group.vocabulary) if isinstance(group, SingleGroup) else {}
    return arrays_of(group) | words


def _group(saved: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> TokenGroup:
    parts: dict[str, Any] = {**saved, **arrays}
    kind = parts.pop("kind")
    if kind == "single":
        return SingleGroup(parts.pop("columns"), from_json(Vocabulary, parts))
    if kind == "pattern":
        return from_json(PatternGroup, parts)
    raise ValueError(f"a group of the unknown kind {kind!r}")
