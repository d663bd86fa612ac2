"""What the page may ask for, as arguments of the command line, and names it may send.

Whatever is not offered is refused here, in a sentence, before anything is started.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from tabtap.errors import UserInputError
from tabtap.wording import plain

LEARNERS = (
    "auto", "linear", "neighbors", "forest", "boosting", "small_leaves", "network",
    "lightgbm", "xgboost",
)  # fmt: skip
PRESETS = ("default", "fast", "paper")
TASKS = ("auto", "classification", "regression")
MIXTURES = ("real", "balanced")
READINGS = ("as written", "two numbers")
KINDS = (
    "continuous", "integer", "datetime", "boolean", "category", "ordered category",
    "identifier", *READINGS,
)  # fmt: skip
_CELLS = ("decimal", "thousands", "date_format", "missing")
_SCORER = re.compile(r"[a-z][a-z0-9_]{0,60}")
_NUMBER = re.compile(r"[0-9]{1,9}")
_TIME = re.compile(r"[0-9a-z. ]{1,20}")
_LONGEST = 1_000


def table_arguments(options: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return what was said of the table, as ``tabtap inspect`` and ``augment`` take it.

    Raises
    ------
    UserInputError
        If something was said that the page does not offer.
    """
    target = _text(options, "target")
    if not target:
        raise UserInputError("Choose the column to be predicted first.")
    named = [f"--target={_column(target, names)}"]
    if groups := _text(options, "groups"):
        named.append(f"--groups={_column(groups, names)}")
    if (task := _text(options, "task")) and _one_of("task", task, TASKS) != "auto":
        named.append(f"--task={task}")
    for name, kind in _pairs(options, "kinds").items():
        known = _one_of("kind", _plain_text("kind", kind), KINDS)
        named.append(f"--kind={_column(name, names)}={known}")
    for name, says in _pairs(options, "cells").items():
        for key, value in _pairs({"cells": says}, "cells").items():
            _one_of("way of reading cells", key, _CELLS)
            said = _plain_text(key, value)
            named.append(f"--{key.replace('_', '-')}={_column(name, names)}={said}")
    return named


def run_arguments(options: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return all that was said of a run, as ``tabtap augment`` takes it."""
    learner = _one_of("learner", _text(options, "learner") or "auto", LEARNERS)
    preset = _one_of("preset", _text(options, "preset") or "default", PRESETS)
    mixture = _one_of("mixture", _text(options, "mixture") or "real", MIXTURES)
    budget = _text(options, "budget") or "500"
    if budget != "auto":
        _fits(_NUMBER, "number of rows", budget, "a whole number, or auto")
    seed = _text(options, "seed") or "0"
    _fits(_NUMBER, "seed", seed, "a whole number")
    named = [
        *table_arguments(options, names),
        f"--learner={learner}",
        f"--preset={preset}",
        f"--mixture={mixture}",
        f"--budget={budget}",
        f"--seed={seed}",
    ]
    if scoring := _text(options, "scoring"):
        _fits(_SCORER, "yardstick", scoring, "a scorer of scikit-learn, as roc_auc is")
        named.append(f"--scoring={scoring}")
    if limit := _text(options, "time_budget"):
        _fits(_TIME, "time limit", limit, "a time such as 90s, 5m or 1h30m")
        named.append(f"--time-budget={limit}")
    return named


def _text(options: Mapping[str, Any], key: str) -> str:
    value = options.get(key)
    return "" if value is None else _plain_text(key, value)


def _plain_text(key: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or "\x00" in value:
        raise UserInputError(f"What was said of {key!r} cannot be used: write a text.")
    return value


def _pairs(options: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = options.get(key) or {}
    if not isinstance(value, dict):
        raise UserInputError(f"What was said of {key!r} cannot be used: name columns.")
    return value


def _column(name: str, names: Sequence[str]) -> str:
    if name not in names:
        raise UserInputError(f"The table has no column {_plain_text('a', name)!r}.")
    return name


def _one_of(what: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UserInputError(
            f"The {what} {value!r} is not known. Choose one of {', '.join(known)}."
        )
    return value


def _fits(pattern: re.Pattern[str], what: str, value: str, must: str) -> None:
    if not pattern.fullmatch(value):
        raise UserInputError(f"The {what} {value!r} cannot be used: write {must}.")


# ---- Names that come from elsewhere.


_ENDINGS = {
    "csv": ".csv", "tsv": ".tsv", "parquet": ".parquet", "feather": ".feather",
    "excel": ".xlsx", "jsonl": ".jsonl", "json": ".json",
}  # fmt: skip
_LONGEST_NAME = 120


def shown_name(given: str) -> str:
    r"""Return the last part of a name, in one line, as it may be shown.

    Examples
    --------
    >>> shown_name("../../etc/visits of 2025.csv"), shown_name(r"C:\a\b.csv")
    ('visits of 2025.csv', 'b.csv')
    """
    last = PurePosixPath(PureWindowsPath(given).as_posix()).name
    name = " ".join(plain(last).replace("\n", " ").split())
    if len(name) > _LONGEST_NAME:
        name = name[:60] + "..." + name[-(_LONGEST_NAME - 63) :]
    return name if name.strip(".") else "table"


def ending_of(name: str) -> str:
    """Return the ending of the copy of a file, or raise which are known."""
    from tabtap.files.formats import form_of

    form = form_of(PurePath(name))
    packed = "" if form.compression is None else f".{form.compression}"
    return f"{_ENDINGS[form.format]}{packed}"
