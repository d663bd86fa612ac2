"""A learner of the user's own, named as ``module:object``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from tabtap.errors import UserInputError

_EXAMPLE = "such as sklearn.svm:SVC, or mymodel:make_learner of mymodel.py here"


def learner_of(option: str, text: str) -> Any:  # noqa: ANN401 - a name or a learner
    """Return a name as it is, and what ``module:object`` stands for.

    A class or a function that can be called without arguments is called.

    Raises
    ------
    UserInputError
        If the module cannot be imported, or has no such object.
    """
    module_name, colon, path = text.partition(":")
    if not colon:
        return text
    thing = _imported(option, text, module_name)
    for part in path.split("."):
        if not hasattr(thing, part):
            raise UserInputError(
                f"{option} {text!r} cannot be used: {module_name} has no {part!r}. "
                f"Write module:object, {_EXAMPLE}."
            )
        thing = getattr(thing, part)
    return _made(option, text, thing)


def _imported(option: str, text: str, module_name: str) -> Any:  # noqa: ANN401
    here = str(Path.cwd())
    if here not in sys.path:
        # As python -m does: people keep their learner beside their table.
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module_name)
    # A module of the user's may fail in any way, and that is theirs to mend.
    except Exception as error:
        raise UserInputError(
            f"{option} {text!r} cannot be used: importing {module_name!r} gives "
            f"{type(error).__name__}: {error}. Write module:object, {_EXAMPLE}."
        ) from error


def _made(option: str, text: str, thing: Any) -> Any:  # noqa: ANN401
    is_ready = not isinstance(thing, type) and (
        hasattr(thing, "fit") or hasattr(thing, "predict")
    )
    if is_ready:
        return thing
    try:
        made = thing()
    except Exception as error:
        raise UserInputError(
            f"{option} {text!r} cannot be used: calling it without arguments gives "
            f"{type(error).__name__}: {error}. Name an object with fit and predict, "
            "or a function without arguments that makes one."
        ) from error
    if not hasattr(made, "predict"):
        raise UserInputError(
            f"{option} {text!r} gives a {type(made).__name__}, which has no predict. "
            "Name an object with fit and predict, or a function that makes one."
        )
    return made
