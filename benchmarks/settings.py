"""Settings given on the command line as ``--config width=128``.

Read by: usefulness, fidelity.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tabtap.config import DiffusionConfig


def add_config_option(parser: argparse.ArgumentParser) -> None:
    """Let a command be told settings of the inpainter."""
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        type=_override,
        metavar="KEY=VALUE",
        help="a setting of DiffusionConfig; may be given again and again",
    )


def config_overrides(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return settings by name, checked by making a config of them."""
    overrides = dict(pairs)
    DiffusionConfig(**overrides)
    return overrides


def _override(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    known = [field.name for field in fields(DiffusionConfig)]
    if name not in known:
        raise argparse.ArgumentTypeError(
            f"no setting is called {name!r}; choose from {', '.join(known)}"
        )
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
