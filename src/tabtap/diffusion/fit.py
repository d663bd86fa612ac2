"""Learn a table, or the same table once for each fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tabtap.config import DiffusionConfig
from tabtap.diffusion.backbone import Backbone, BackboneStack
from tabtap.diffusion.checks import check_folds, check_rng, check_table
from tabtap.diffusion.denoiser import Denoiser
from tabtap.diffusion.encoding import fit_encodings
from tabtap.diffusion.train import TrainingObserver, train
from tabtap.errors import UserInputError, bad_setting
from tabtap.table.schema import IntArray
from tabtap.table.table import NO_ROW, Table
from tabtap.torch_device import choose_device, one_thread

_LEAST_ROWS = 2


def fit_backbone(
    table: Table,
    *,
    rng: np.random.Generator,
    config: DiffusionConfig | None = None,
    observer: TrainingObserver | None = None,
) -> Backbone:
    """Learn a table.

    Parameters
    ----------
    table : Table
        The rows to learn.
    rng : numpy.random.Generator
        Source of first weights and training noise.
    config : DiffusionConfig, optional
        Settings; ``DiffusionConfig.paper()`` is TabDiff as published.
    observer : TrainingObserver, optional
        Told of progress.

    Returns
    -------
    Backbone
        Ready to draw rows; ``backbone.training.reason`` says why training ended.

    Examples
    --------
    >>> from tabtap.datasets import load_penguins
    >>> from tabtap.table import read_frame
    >>> birds = read_frame(load_penguins(), target="species")
    >>> backbone = fit_backbone(
    ...     birds, rng=np.random.default_rng(0), config=DiffusionConfig(n_steps=20)
    ... )
    >>> len(backbone.sample(5, np.random.default_rng(1)))
    5
    """
    check_table(table)
    return _fit([table], (NO_ROW,), rng, config, observer)[0]


def fit_fold_backbones(
    table: Table,
    fold: IntArray,
    *,
    rng: np.random.Generator,
    config: DiffusionConfig | None = None,
    observer: TrainingObserver | None = None,
) -> BackboneStack:
    """Learn a table once for each fold, without the rows of that fold.

    Parameters
    ----------
    table : Table
        All rows.
    fold : array of shape (n_rows,)
        Fold number of each row, from 0.
    rng, config, observer
        As for ``fit_backbone``.

    Returns
    -------
    BackboneStack
        Member k has never seen fold k.  All are trained in one batched run.
    """
    check_table(table)
    fold = np.asarray(fold)
    check_folds(fold, len(table))
    numbers = tuple(int(k) for k in np.unique(fold))
    tables = [table.take(np.flatnonzero(fold != k)) for k in numbers]
    return _fit(tables, numbers, rng, config, observer)


def _fit(
    tables: Sequence[Table],
    unseen_folds: tuple[int, ...],
    rng: np.random.Generator,
    config: DiffusionConfig | None,
    observer: TrainingObserver | None,
) -> BackboneStack:
    check_rng(rng)
    config = config or DiffusionConfig()
    if not isinstance(config, DiffusionConfig):
        must = "be a DiffusionConfig"
        raise bad_setting("config", config, must, "Pass DiffusionConfig(n_steps=500).")
    fewest = min(len(table) for table in tables)
    if fewest < _LEAST_ROWS:
        raise UserInputError(
            f"A backbone was given {fewest} row(s) to learn from; it needs at least "
            f"{_LEAST_ROWS}. Use fewer folds or more rows."
        )
    encodings, layout = fit_encodings(tables, config)
    denoiser = Denoiser(layout, config)
    device = choose_device(config.device)
    generator = torch.Generator(device)
    generator.manual_seed(int(rng.integers(2**63)))
    pairs = zip(encodings, tables, strict=True)
    cells = [encoding.cells(rows) for encoding, rows in pairs]
    with one_thread(device):
        weights, record = train(denoiser, cells, config, generator, observer)
    return BackboneStack(
        config, layout, tuple(encodings), weights, record, unseen_folds
    )
