"""Optional packages, imported when first used, with the way to install them."""

from __future__ import annotations

import importlib
from typing import Any

from tabtap.errors import UserInputError


def require(module: str) -> Any:  # noqa: ANN401  a module has no narrower type here
    """Import a module that comes with the ``bench`` extra.

    Raises
    ------
    UserInputError
        If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise UserInputError(
            f"The comparison needs {package}, which is not installed. "
            'Run: pip install "tabtap[bench]"'
        ) from error
