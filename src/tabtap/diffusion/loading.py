"""Saved backbones brought back, on this machine's device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tabtap.diffusion.backbone import Backbone, BackboneStack
from tabtap.diffusion.files import read_stack
from tabtap.errors import UserInputError
from tabtap.torch_device import choose_device


def load_backbone(path: str | Path, *, device: str = "auto") -> Backbone:
    """Bring back one saved backbone.

    Parameters
    ----------
    path : str or Path
        A file written by ``Backbone.save``.
    device : str, default="auto"
        Where it is to run, whatever device it was trained on.

    Returns
    -------
    Backbone
        On the same kind of device it draws the same rows, bit for bit.

    Raises
    ------
    FileFormatError
        If the file is damaged, of another program, or of a newer version.
    UserInputError
        If the file holds several backbones.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from tabtap.datasets import load_penguins
    >>> from tabtap.diffusion import DiffusionConfig, fit_backbone
    >>> from tabtap.table import read_frame
    >>> birds = read_frame(load_penguins(), target="species")
    >>> backbone = fit_backbone(
    ...     birds, rng=np.random.default_rng(0), config=DiffusionConfig(n_steps=5)
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     backbone.save(f"{folder}/birds.safetensors")
    ...     loaded = load_backbone(f"{folder}/birds.safetensors")
    >>> loaded.training.reason
    'All 5 planned steps were taken.'
    """
    stack = load_stack(path, device=device)
    if len(stack) != 1:
        raise UserInputError(
            f"{str(path)!r} holds {len(stack)} backbones. Use load_stack, and pick one "
            "of them by its number: load_stack(path)[0]."
        )
    return stack[0]


def load_stack(path: str | Path, *, device: str = "auto") -> BackboneStack:
    """Bring back all backbones of one saved file.

    Parameters
    ----------
    path : str or Path
        A file written by ``BackboneStack.save`` or ``Backbone.save``.
    device : str, default="auto"
        Where they are to run, whatever device they were trained on.

    Returns
    -------
    BackboneStack
        On the same kind of device it draws the same rows, bit for bit.

    Raises
    ------
    FileFormatError
        If the file is damaged, of another program, or of a newer version.
    """
    saved = read_stack(path, choose_device(device))
    config = replace(saved.config, device=device)
    return BackboneStack(*saved._replace(config=config))
