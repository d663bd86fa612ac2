"""Cells of a comparison, and where their records are kept: a folder, or by fsspec.

A record is one JSON file, written whole or not at all, and is never written again.  A
claim says who works on a cell, and for the how-manieth time; it is void once its
runner has not been heard of for a while.  So two runners may share a store, and what a
killed runner left undone is taken up by the next.  What else lies in a store is not
trusted: a claim or a sign of life that cannot be read binds nobody for long.

Rows that a cell has made lie beside its record as exact arrays (``rows/KEY.npz``, no
pickle), so that a later question about them needs no second run.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tabtap.archive import put_in_place
from tabtap.domain.written import table_from_arrays, table_to_arrays
from tabtap.errors import UserInputError, require
from tabtap.table.schema import Schema
from tabtap.table.table import Table

SILENCE_SECONDS = 120.0
"""A runner not heard of for so long is taken for dead."""

MOST_BYTES = 4_000_000
"""Of the rows that are kept beside a record; larger ones are not."""

Record = dict[str, Any]

ROWS = "rows"
"""What a record calls the tables, by name, that are to be kept beside it."""

_MAX_PID = 2**31 - 1


class _Claim(NamedTuple):
    runner: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Store:
    """Records by key.  It holds an address only, so it may be sent to any worker."""

    address: str
    """A path, or a URL such as ``s3://bucket/folder``."""

    silence_seconds: float = SILENCE_SECONDS

    def __post_init__(self) -> None:
        if "://" not in self.address:
            place = str(Path(self.address).expanduser().resolve())
            object.__setattr__(self, "address", place)

    def keys(self) -> set[str]:
        """Return the keys of all records."""
        return {Path(name).stem for name in self._names("records")}

    def records(self, fits: Callable[[Record], bool] | None = None) -> Iterator[Record]:
        """Yield all records, in the order of their keys; raise if one does not fit."""
        for name in sorted(self._names("records")):
            record = self._read(name)
            if fits is not None and not fits(record):
                raise _damaged(name, "it lacks what a record has, or has odd values")
            yield record

    def has(self, key: str) -> bool:
        """Whether a cell has its record."""
        return bool(self._place().exists(self._path("records", key)))

    def write(self, key: str, record: Record) -> None:
        """Keep the record of a cell, and give up the claim to it.

        Tables under ``ROWS`` are kept beside it; the record says how many rows of each
        there are, or that they were too large.
        """
        if ROWS in record:
            record = {**record, ROWS: self._keep_rows(key, record[ROWS])}
        self._write(self._path("records", key), record)
        self.give_up(key)

    def rows(self, key: str, schema: Schema) -> dict[str, Table] | None:
        """Return the tables that were kept beside a record; None if there are none."""
        path = self._rows_path(key)
        if not self._place().exists(path):
            return None
        found: dict[str, dict[str, Any]] = {}
        try:
            with np.load(io.BytesIO(self._place().cat_file(path))) as arrays:
                for name in arrays.files:
                    table, _, part = name.rpartition("/")
                    found.setdefault(table, {})[part] = arrays[name]
            return {
                name: table_from_arrays(schema, part) for name, part in found.items()
            }
        except (ValueError, KeyError, OSError, EOFError) as error:
            raise _damaged(path, f"it holds no rows of this table ({error})") from error

    def _keep_rows(self, key: str, tables: Mapping[str, Table]) -> dict[str, Any]:
        arrays = {
            f"{name}/{part}": array
            for name, table in tables.items()
            for part, array in table_to_arrays(table).items()
        }
        out = io.BytesIO()
        # Exact arrays of numbers and codes, none of objects: no pickle comes of it.
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
        sizes = {name: len(table) for name, table in tables.items()}
        is_kept = out.tell() <= MOST_BYTES
        if is_kept:
            self._write_bytes(self._rows_path(key), out.getvalue())
        return {"sizes": sizes, "kept": is_kept}

    def claim(self, key: str, runner: str) -> int | None:
        """Ask to work on a cell.

        Parameters
        ----------
        key : str
            Of the cell.
        runner : str
            Who asks.

        Returns
        -------
        int or None
            The how-manieth attempt this is, from 1; None if the cell is done, or if
            another living runner works on it.
        """
        path = self._path("claims", key)
        if self.has(key):
            return None
        if self._create(path, {"runner": runner, "attempt": 1}):
            return 1
        held = self._claim_at(path)
        if held is None:
            # Given up just now, so the record is there or comes soon; or nobody can
            # read whose it is.
            if not self._is_old(path):
                return None
            held = _Claim(runner, 0)
        if held.runner != runner and self.is_alive(held.runner):
            return None
        attempt = held.attempt + 1
        self._write(path, {"runner": runner, "attempt": attempt})
        return attempt

    def give_up(self, key: str) -> None:
        """Take back a claim, as if the cell had never been begun."""
        self._remove(self._path("claims", key))

    def claimed(self, runner: str) -> dict[str, int]:
        """Return the keys that a runner has claimed and not done, with the attempt."""
        return {
            Path(name).stem: held.attempt
            for name in self._names("claims")
            if (held := self._claim_at(name)) and held.runner == runner
        }

    def show_life(self, runner: str) -> None:
        """Let others know that a runner lives."""
        life = {"at": time.time(), "host": platform.node(), "pid": os.getpid()}
        self._write(self._path("runners", runner), life)

    def is_alive(self, runner: str) -> bool:
        """Whether a runner was heard of lately, and was not seen to end."""
        seen = self._read_if_there(self._path("runners", runner)) or {}
        at, host, pid = seen.get("at"), seen.get("host"), seen.get("pid")
        if not isinstance(at, float) or not self._is_near(at):
            return False
        if type(pid) is not int or not 0 < pid <= _MAX_PID:
            return False
        return host != platform.node() or _is_running(pid)

    def leave(self, runner: str) -> None:
        """Say that a runner is gone; its claims are free at once."""
        self._remove(self._path("runners", runner))

    def _claim_at(self, path: str) -> _Claim | None:
        """Return a claim; None if it is gone, or says not whose it is."""
        held = self._read_if_there(path) or {}
        runner, attempt = held.get("runner"), held.get("attempt")
        if not isinstance(runner, str) or type(attempt) is not int or attempt < 1:
            return None
        return _Claim(runner, attempt)

    def _is_old(self, path: str) -> bool:
        """Whether a file is there and was not written lately."""
        try:
            written = self._place().modified(path)
        except FileNotFoundError:
            return False
        except NotImplementedError:  # of a place that keeps no times
            return True
        return not self._is_near(written.timestamp())

    def _is_near(self, at: float) -> bool:
        # A clock that was put back has left times behind that are yet to come: nobody
        # need wait for them.
        return abs(time.time() - at) <= self.silence_seconds

    def _place(self) -> Any:  # noqa: ANN401  a file system of fsspec
        return _file_system(self.address)

    def _path(self, folder: str, key: str) -> str:
        return f"{_inner(self.address)}/{folder}/{key}.json"

    def _rows_path(self, key: str) -> str:
        return f"{_inner(self.address)}/rows/{key}.npz"

    def _names(self, folder: str) -> list[str]:
        place = self._place()
        # What is listed may be a memory of an earlier look.
        place.invalidate_cache()
        path = f"{_inner(self.address)}/{folder}"
        if not place.exists(path):
            return []
        listed = place.ls(path, detail=False)
        return [name for name in listed if name.endswith(".json")]

    def _read(self, path: str) -> Record:
        try:
            found = json.loads(self._place().cat_file(path))
        except (ValueError, RecursionError) as error:
            raise _damaged(path, "it is not JSON") from error
        if not isinstance(found, dict):
            raise _damaged(path, "it is not an object of JSON")
        return found

    def _read_if_there(self, path: str) -> Record | None:
        try:
            return self._read(path)
        except (OSError, UserInputError):  # removed, or not to be read
            return None

    def _write(self, path: str, content: Record) -> None:
        text = json.dumps(content, indent=1, allow_nan=False)
        self._write_bytes(path, text.encode())

    def _write_bytes(self, path: str, content: bytes) -> None:
        place = self._place()
        if not _is_local(place):  # where a file appears whole or not at all anyway
            place.pipe_file(path, content)
            return
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        put_in_place(content, path)

    def _create(self, path: str, content: Record) -> bool:
        """Write a file that is not there yet, whole; whether that was so."""
        place = self._place()
        if _is_local(place):
            return self._link(path, content)
        # Elsewhere two runners may both find nothing there.  Then both do the cell,
        # and as equal cells have equal records, nothing is lost but time.
        if place.exists(path):
            return False
        self._write(path, content)
        return True

    def _link(self, path: str, content: Record) -> bool:
        """Write a file aside and give it its name, unless another has it."""
        aside = f"{path}.{secrets.token_hex(8)}"
        self._write(aside, content)
        try:
            os.link(aside, path)
        except FileExistsError:
            return False
        except OSError:  # a disk where a file has one name only
            if Path(path).exists():
                return False
            Path(aside).replace(path)
        finally:
            self._remove(aside)
        return True

    def _remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._place().rm_file(path)


def _damaged(name: str, reason: str) -> UserInputError:
    return UserInputError(
        f"The record {name!r} is damaged: {reason}. Remove it, and its cell is run "
        "again."
    )


def _is_running(pid: int) -> bool:
    if os.name != "posix":  # where asking might end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _file_system(address: str) -> Any:  # noqa: ANN401
    try:
        place, _ = require("fsspec.core").url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise UserInputError(
            f"The store {address!r} cannot be used: {error}. Give a folder, or a URL "
            "that fsspec knows."
        ) from error
    return place


def _inner(address: str) -> str:
    """Return an address as its file system writes it."""
    if "://" not in address:
        return address
    inner: str = require("fsspec.core").url_to_fs(address)[1]
    return inner.rstrip("/")


def _is_local(place: Any) -> bool:  # noqa: ANN401
    protocol = place.protocol
    return "file" in ([protocol] if isinstance(protocol, str) else protocol)


# ---- A cell of a study: one table, so many rows, one split, one method.


MAIN = "main"
"""The study whose cells are those of ``tabtap bench``, and do not name it."""

_N_DIGITS = 12
"""Of the hash of what a cell is, in its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all methods of a comparison are given alike."""

    budget: int = 500
    """Synthetic rows that a method may add."""

    seed: int = 0
    """Of the splits and of every method."""

    variant: str = "study"
    """What ``n_real`` means; see ``compare.protocol``."""

    predictors: tuple[str, ...] = ()
    """Who is trained on the rows; none named means all of the task's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What is to be done; two cells of equal keys are the same work.

    Examples
    --------
    >>> cell = Cell(dataset="credit-g", n_real=20, split=0, method="SMOTE")
    >>> cell.key.rpartition("-")[0]
    'credit-g-20-0-smote'
    """

    dataset: str
    n_real: int
    split: int
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the method, where they differ from its own."""

    terms: Terms = field(default_factory=Terms)

    study: str = MAIN
    """Whose cell it is; ``method`` and ``settings`` mean what that study says."""

    @property
    def key(self) -> str:
        """A name for files: readable, and with a hash of all that a cell is."""
        text = json.dumps(self.written(), sort_keys=True).encode()
        digest = hashlib.sha256(text).hexdigest()[:_N_DIGITS]
        words = f"{self.dataset}-{self.n_real}-{self.split}-{self.method}"
        if self.study != MAIN:
            words = f"{self.study}-{words}"
        return f"{re.sub(r'[^a-z0-9]+', '-', words.lower())}-{digest}"

    def written(self) -> dict[str, Any]:
        """Return the cell as a record keeps it."""
        return {
            "dataset": self.dataset,
            "n_real": self.n_real,
            "split": self.split,
            "method": self.method,
            "settings": dict(self.settings),
            **asdict(self.terms),
            "predictors": list(self.terms.predictors),
            **({} if self.study == MAIN else {"study": self.study}),
        }


def study_of(record: Record) -> str:
    """Return the name of the study that a record belongs to."""
    return str(record["cell"].get("study", MAIN))


def without(cells: Sequence[Cell], keys: set[str]) -> list[Cell]:
    """Return the cells whose keys are not among some."""
    return [cell for cell in cells if cell.key not in keys]
