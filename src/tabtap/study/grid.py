"""A comparison as a TOML file: which tables, how many rows, which methods.

datasets = ["credit-g", "insurance"]
n_real = [20, 50]
splits = 3
budget = 500
seed = 0
methods = ["Real", "SMOTE", { name = "TAP", preset = "fast" }]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from tabtap.compare.predictors import CLASSIFIERS, REGRESSORS
from tabtap.compare.store import Cell, Terms
from tabtap.errors import UserInputError, bad_setting
from tabtap.study.protocol import VARIANTS
from tabtap.study.sources import SOURCES

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib


_KEYS = ("budget", "datasets", "methods", "n_real", "predictors", "seed", "splits")
_ALL_KEYS = (*_KEYS, "variant")
_MAX_CELLS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Every combination of these is a cell."""

    datasets: tuple[str, ...]
    n_real: tuple[int, ...]
    splits: int
    methods: tuple[Mapping[str, Any], ...]
    """Each with its ``name``, and with settings that differ from the method's own."""

    terms: Terms = field(default_factory=Terms)

    def cells(self) -> Iterator[Cell]:
        """Yield the cells, so that early ones show all methods on some rows."""
        choices = product(range(self.splits), self.n_real, self.datasets, self.methods)
        for split, n_real, dataset, method in choices:
            settings = {key: part for key, part in method.items() if key != "name"}
            yield Cell(
                dataset=dataset,
                n_real=n_real,
                split=split,
                method=str(method["name"]),
                settings=settings,
                terms=self.terms,
            )


def read_grid(path: str | Path, known_methods: Sequence[str] | None = None) -> Grid:
    """Read a grid from a TOML file such as the head of this module shows.

    Any method is accepted unless ``known_methods`` are given.  The error for a file
    that is no grid tells all that is wrong with it.
    """
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserInputError(
            f"The grid {str(path)!r} cannot be read: {error.strerror}. Give a TOML "
            "file with datasets, n_real, splits and methods."
        ) from error
    # Also what is no UTF-8, nested too deeply, or has numbers of thousands of digits.
    except (ValueError, RecursionError) as error:
        raise UserInputError(f"{path} is not TOML: {error}.") from error
    return grid_of(given, known_methods)


def grid_of(
    given: Mapping[str, Any], known_methods: Sequence[str] | None = None
) -> Grid:
    """Return the grid that a mapping describes."""
    problems = [
        f"{key!r} is not a key of a grid; there are {', '.join(_ALL_KEYS)}"
        for key in given
        if key not in _ALL_KEYS
    ]
    methods = [_method(entry, problems) for entry in _as_list(given, "methods")]
    names = [str(method.get("name")) for method in methods]
    problems += _unknown("dataset", _as_list(given, "datasets"), tuple(SOURCES))
    if known_methods is not None:
        problems += _unknown("method", names, known_methods)
    problems += _wrong_predictors(given)
    sizes = _as_list(given, "n_real")
    problems += [
        f"n_real={size!r} is not a whole number from 1"
        for size in sizes
        if type(size) is not int or size < 1
    ]
    problems += [
        f"{key} is missing"
        for key, value in (
            ("datasets", _as_list(given, "datasets")),
            ("n_real", sizes),
            ("methods", methods),
        )
        if not value
    ]
    if problems:
        raise UserInputError("The grid cannot be used: " + "; ".join(problems) + ".")
    splits = _whole(given, "splits", 5, least=1)
    n_cells = splits * len(sizes) * len(_as_list(given, "datasets")) * len(methods)
    if n_cells > _MAX_CELLS:
        raise UserInputError(
            f"The grid has {n_cells:,} cells, and at most {_MAX_CELLS:,} are run. Use "
            "fewer splits, sizes, datasets or methods."
        )
    return Grid(
        datasets=tuple(map(str, _as_list(given, "datasets"))),
        n_real=tuple(sizes),
        splits=splits,
        methods=tuple(methods),
        terms=Terms(
            budget=_whole(given, "budget", 500, least=0),
            seed=_whole(given, "seed", 0, least=0),
            variant=_variant(given.get("variant", "study")),
            predictors=tuple(map(str, _as_list(given, "predictors"))),
        ),
    )


def _as_list(given: Mapping[str, Any], key: str) -> list[Any]:
    value = given.get(key, [])
    return value if isinstance(value, list) else [value]


def _method(entry: object, problems: list[str]) -> Mapping[str, Any]:
    if isinstance(entry, str):
        return {"name": entry}
    if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
        return entry
    problems.append(f"the method {entry!r} has no name")
    return {"name": ""}


def _unknown(what: str, given: Sequence[Any], known: Sequence[str]) -> list[str]:
    return [
        f"{what} {name!r} is not known; there are {', '.join(known)}"
        for name in given
        if name not in known and name != ""
    ]


def _wrong_predictors(given: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with predictors, for the task of each dataset."""
    known = {"classification": tuple(CLASSIFIERS), "regression": tuple(REGRESSORS)}
    datasets = [name for name in _as_list(given, "datasets") if isinstance(name, str)]
    tasks = dict.fromkeys(SOURCES[name].task for name in datasets if name in SOURCES)
    return [
        problem
        for task in tasks
        for problem in _unknown(
            f"{task} predictor", _as_list(given, "predictors"), known[task]
        )
    ]


def _whole(given: Mapping[str, Any], key: str, default: int, *, least: int) -> int:
    value = given.get(key, default)
    if type(value) is not int or value < least:
        must = f"be a whole number from {least}"
        raise bad_setting(key, value, must, f"Try {default}.")
    return value


def _variant(name: object) -> str:
    if name not in VARIANTS:
        must = f"be one of {', '.join(VARIANTS)}"
        raise bad_setting("variant", name, must, "Try 'study'.")
    return str(name)
