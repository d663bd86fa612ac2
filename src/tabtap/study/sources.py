"""The paper's seven tables by name, from a folder or OpenML, and its own figures.

The folder named by the environment variable ``TABTAP_DATA`` holds parquet files and
``datasets.json``, which lists their sha256.  Without it the tables are fetched.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd
from sklearn.datasets import fetch_openml

from tabtap.errors import FileFormatError, UserInputError
from tabtap.table.schema import Task

FOLDER_VARIABLE = "TABTAP_DATA"
INDEX_NAME = "datasets.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a table comes from and what it must look like on arrival."""

    openml_id: int
    n_rows: int
    n_features: int
    target: str = "class"
    task: Task = "classification"

    categorical: tuple[str, ...] = ()
    """Columns its publisher declares nominal, whatever their dtype."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceTable:
    """One table as read: its rows, its target, and what is known beside them."""

    name: str
    frame: pd.DataFrame
    target: str
    task: Task
    categorical: tuple[str, ...]

    groups: tuple[str, ...] | None = None
    """Which rows belong together (one mouse, one patient), where that is known."""


_CREDIT_CATEGORIES = (
    "checking_status",
    "credit_history",
    "purpose",
    "savings_status",
    "employment",
    "personal_status",
    "other_parties",
    "property_magnitude",
    "other_payment_plans",
    "housing",
    "job",
    "own_telephone",
    "foreign_worker",
)


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "MiceProtein": Source(openml_id=40966, n_rows=1080, n_features=77),
        "credit-g": Source(
            openml_id=31, n_rows=1000, n_features=20, categorical=_CREDIT_CATEGORIES
        ),
        "electricity": Source(
            openml_id=151, n_rows=45312, n_features=8, categorical=("day",)
        ),
        "mfeat-fourier": Source(openml_id=14, n_rows=2000, n_features=76),
        "steel-plates-fault": Source(
            openml_id=1504, n_rows=1941, n_features=33, target="Class"
        ),
        "ailerons": Source(
            openml_id=296,
            n_rows=13750,
            n_features=40,
            target="goal",
            task="regression",
        ),
        "insurance": Source(
            openml_id=46931,
            n_rows=1338,
            n_features=6,
            target="charges",
            task="regression",
            categorical=("sex", "smoker", "region"),
        ),
    }
)
"""The paper's tables, in its order."""


def data_folder() -> Path | None:
    """Return the folder that ``TABTAP_DATA`` names, or None if it is unset."""
    named = os.environ.get(FOLDER_VARIABLE, "")
    return Path(named) if named else None


def load_source(name: str, folder: Path | None = None) -> SourceTable:
    """Read one of the paper's tables by its name, a key of ``SOURCES``.

    The folder of parquet files is by default what ``TABTAP_DATA`` names; without either
    the table is fetched from OpenML and kept in scikit-learn's own folder.  Groups are
    known only from a folder: OpenML leaves the mouse out.  A file that is not the one
    its index describes, or has an unexpected shape, raises ``FileFormatError``.
    """
    if name not in SOURCES:
        raise UserInputError(
            f"No source table is called {name!r}. Choose from {', '.join(SOURCES)}."
        )
    folder = folder or data_folder()
    table = _fetch(name) if folder is None else _read(name, folder)
    _check_shape(table)
    return table


def _read(name: str, folder: Path) -> SourceTable:
    source = SOURCES[name]
    entry = _entry(name, folder / INDEX_NAME)
    path = folder / entry["parquet"]["path"]
    if not path.is_file():
        raise UserInputError(f"{path} does not exist. Check {FOLDER_VARIABLE}.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != entry["parquet"]["sha256"]:
        raise FileFormatError(
            f"{path} has sha256 {digest}, not the {entry['parquet']['sha256']} its "
            f"index {INDEX_NAME} lists. Copy the file again."
        )
    return SourceTable(
        name,
        pd.read_parquet(path),
        entry["target"],
        source.task,
        tuple(entry["categorical"]),
        _read_groups(folder / f"{name}_groups.csv"),
    )


def _read_groups(path: Path) -> tuple[str, ...] | None:
    if not path.is_file():
        return None
    names = pd.read_csv(path, dtype=str).iloc[:, 0]
    # "309_7" is the seventh measurement of mouse 309: the mouse is the group.
    return tuple(names.str.replace(r"_\d+$", "", regex=True))


def _entry(name: str, index: Path) -> dict[str, Any]:
    if not index.is_file():
        raise UserInputError(
            f"{index} does not exist. Point {FOLDER_VARIABLE} at the folder that holds "
            f"{INDEX_NAME} and the parquet files, or unset it to fetch from OpenML."
        )
    listed = json.loads(index.read_text(encoding="utf-8"))["datasets"]
    for entry in listed:
        if entry["name"] == name:
            return dict(entry)
    names = ", ".join(entry["name"] for entry in listed)
    raise UserInputError(f"{index} lists no table {name!r}, only {names}.")


def _fetch(name: str) -> SourceTable:
    source = SOURCES[name]
    try:
        with warnings.catch_warnings():
            # Being offline is told once, by the error below.
            warnings.filterwarnings("ignore", message="A network error occurred")
            warnings.filterwarnings("ignore", message="Invalid cache")
            bunch = fetch_openml(
                data_id=source.openml_id, as_frame=True, parser="auto", n_retries=1
            )
    except OSError as error:
        raise UserInputError(
            f"Table {name!r} could not be fetched from OpenML "
            f"(id {source.openml_id}): {error}. Check the connection, or set "
            f"{FOLDER_VARIABLE} to a folder with the parquet files and {INDEX_NAME}."
        ) from error
    return SourceTable(
        name, bunch.frame, source.target, source.task, source.categorical
    )


def _check_shape(table: SourceTable) -> None:
    source = SOURCES[table.name]
    wanted = (source.n_rows, source.n_features + 1)
    absent = {table.target, *table.categorical} - set(table.frame.columns)
    if table.frame.shape != wanted or absent:
        raise FileFormatError(
            f"Table {table.name!r} arrived with shape {table.frame.shape} and without "
            f"columns {sorted(absent)}; expected shape {wanted}. It is not the version "
            f"the paper used (OpenML id {source.openml_id}); remove the copy and "
            "read it again."
        )


# ---- The paper's own figures, to be set beside ours.
#
# ``published.csv`` holds the 630 means and deviations of the paper's tables 1 and of
# its appendix: five splits, accuracies and macro F1 in percent, errors in units of the
# target's deviation.


_NAMES = {
    "Ailerons": "ailerons",
    "Credit-G": "credit-g",
    "Electricity": "electricity",
    "Fourier": "mfeat-fourier",
    "Insurance": "insurance",
    "MiceProtein": "MiceProtein",
    "Steel": "steel-plates-fault",
}
"""What a table is called here, by its name in the paper."""


class Published(NamedTuple):
    """A mean over five splits, and their standard deviation."""

    mean: float
    deviation: float


def published_figure(
    dataset: str, n_real: int, metric: str, method: str
) -> Published | None:
    """Return a figure of the paper; None if it has none.

    Examples
    --------
    >>> published_figure("MiceProtein", 20, "accuracy", "TAP")
    Published(mean=44.6, deviation=5.04)
    >>> published_figure("MiceProtein", 20, "accuracy", "Copies") is None
    True
    """
    return _figures().get((dataset, n_real, metric, method))


@lru_cache(maxsize=1)
def _figures() -> dict[tuple[str, int, str, str], Published]:
    text = files("tabtap.study").joinpath("published.csv").read_text("utf-8")
    return {
        (
            _NAMES[line["dataset"]],
            int(line["n_real"]),
            line["metric"],
            line["method"],
        ): Published(float(line["mean"]), float(line["std"]))
        for line in csv.DictReader(text.splitlines())
    }
