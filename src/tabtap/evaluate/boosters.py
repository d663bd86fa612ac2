"""Boosters of other packages, by the name that people know them by.

They are set as their packages set them: who asks for one by name trains it so.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tabtap.errors import UserInputError
from tabtap.evaluate.answers import Estimator
from tabtap.evaluate.fitting import SEED
from tabtap.table.schema import Task

_CLASSES = {"classification": "Classifier", "regression": "Regressor"}
_QUIET: Mapping[str, tuple[str, dict[str, Any]]] = MappingProxyType(
    {
        "lightgbm": ("LGBM", {"verbosity": -1}),
        "xgboost": ("XGB", {"verbosity": 0}),
    }
)
"""Of each package: how its classes begin, and what keeps them from printing."""

BOOSTERS = tuple(_QUIET)


def booster(name: str, task: Task, role: str = "referee") -> Estimator:
    """Return an unfitted booster of a package.

    Parameters
    ----------
    name : {"lightgbm", "xgboost"}
        The package.
    task : {"classification", "regression"}
        What the table asks for.
    role : str, default="referee"
        The setting that the name was passed as, for messages.

    Raises
    ------
    UserInputError
        If the package is not installed.
    """
    begin, quiet = _QUIET[name]
    try:
        package = importlib.import_module(name)
    except ImportError as error:
        raise UserInputError(
            f"{role}={name!r} cannot be used: the package {name} is not installed. "
            "Run: pip install 'tabtap[bench]'"
        ) from error
    make = getattr(package, begin + _CLASSES[task])
    return make(random_state=SEED, n_jobs=1, **quiet)
