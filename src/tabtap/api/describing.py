"""What a user's function or object does, in a text that tells one from another.

A run that is taken up again must be the same run; code that was passed in is compared
as far as it can be told without running it.
"""

from __future__ import annotations

from types import CodeType, FunctionType

import joblib


def describe_function(function: object) -> str:
    """Return what a function does, as far as it can be told without running it."""
    code = getattr(function, "__code__", function)
    if not isinstance(code, CodeType):
        return repr(function)
    cells = getattr(function, "__closure__", None) or ()
    parts = [*code.co_consts, *(cell.cell_contents for cell in cells)]
    return repr(
        (code.co_code, code.co_names, [describe_function(part) for part in parts])
    )


def describe_part(part: object) -> tuple[str, str | None]:
    """Return an object's class, methods and settings as text, and what is not in it.

    Returns
    -------
    tuple of str and (str or None)
        The description, the same in every process; and why the settings are not part
        of it, if they could not be read.
    """
    kind = type(part)
    methods = [
        (name, describe_function(function))
        for name, function in sorted(vars(kind).items())
        if isinstance(function, FunctionType)
    ]
    settings, reason = "", None
    try:
        settings = str(joblib.hash(part))
    except Exception as error:  # noqa: BLE001  whatever an object raises when copied
        reason = f"{type(error).__name__}: {error}"
    return repr((kind.__module__, kind.__qualname__, methods, settings)), reason
