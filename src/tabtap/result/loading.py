"""Saved results brought back, or refused in one sentence."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.archive import (
    Archive,
    damaged,
    file_content,
    foreign,
    one_line,
    reading,
    strip_prefix,
    unpack_archive,
)
from tabtap.domain.written import (
    candidates_from_arrays,
    certificate_from_json,
    steps_from_saved,
    table_from_arrays,
)
from tabtap.loop import Stop
from tabtap.result.files import (
    EXACT,
    FORMAT_NAME,
    FORMAT_VERSION,
    READABLE,
    RunAbout,
    sha256,
    whole_schema_from_json,
)
from tabtap.result.forgetting import check_codes
from tabtap.result.frames import groups_from_json, index_from_json
from tabtap.result.result import AugmentResult
from tabtap.result.set_aside import SetAside
from tabtap.saved import from_json
from tabtap.table.frame import write_frame
from tabtap.table.schema import IntArray

_BAD_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError,
            ValueError, KeyError, OSError)  # fmt: skip

_MOST_BYTES = 2**28
_MOST_TIMES = 200
"""A file may unpack to so many bytes, or to so many times its own size if that is more:
a table of rare flags, which packs best, comes to about 100."""

_MOST_ARRAY = 2**32
"""Bytes of an array that rows are written to."""


def load_result(path: str | Path) -> AugmentResult:
    """Bring back a result that was saved.

    Parameters
    ----------
    path : str or Path
        A file written by ``AugmentResult.save``.

    Returns
    -------
    AugmentResult
        With every cell, score and certificate as it was.  Row labels that JSON cannot
        hold, periods and categories, come back as a count.

    Raises
    ------
    FileFormatError
        If there is no such file, or it is damaged, of another program, or of a newer
        version.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tabtap.datasets import load_penguins
    >>> from tabtap.domain import Candidates
    >>> from tabtap.table import read_frame
    >>> birds = read_frame(load_penguins(), target="species")
    >>> result = AugmentResult(
    ...     real=birds,
    ...     delivered=Candidates.none(birds),
    ...     stop=Stop.BUDGET,
    ...     about=RunAbout(seed=0, budget=0, settings={}),
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     result.save(f"{folder}/birds.tabtap")
    ...     load_result(f"{folder}/birds.tabtap").why
    'No rows were added: the budget is 0.'
    """
    members = read_members(path)
    archive = unpack_archive(
        members[EXACT], path, name=FORMAT_NAME, version=FORMAT_VERSION
    )
    with reading(path, "result"):
        for name, wanted in archive.about["readable"].items():
            if sha256(members[name]) != wanted:
                raise ValueError(f"{name} is not what was saved")
        return _result(archive)


def read_members(path: str | Path) -> dict[str, bytes]:
    """Return the members of a saved result, and nothing else that is in the file."""
    content = file_content(path)
    try:
        with zipfile.ZipFile(BytesIO(content)) as file:
            members = _unpack(file, len(content))
    except _BAD_ZIP as error:
        if content[:2] == b"PK":
            reason = f"its content cannot be read ({one_line(error)})"
            raise damaged(path, reason) from error
        raise foreign(path, FORMAT_NAME) from error
    if EXACT not in members:
        raise foreign(path, FORMAT_NAME)
    return members


def _unpack(file: zipfile.ZipFile, n_packed: int) -> dict[str, bytes]:
    known = [info for info in file.infolist() if info.filename in (EXACT, *READABLE)]
    if len({info.filename for info in known}) < len(known):
        raise ValueError("a member is there twice")
    if any(info.compress_type not in _PACKED for info in known):
        raise ValueError("a member is packed in another way")
    n_bytes = sum(info.file_size for info in known)
    if n_bytes > max(_MOST_BYTES, _MOST_TIMES * n_packed):
        raise ValueError(f"{n_packed:,} bytes would become {n_bytes:,}")
    members = {}
    for info in known:
        with file.open(info) as member:
            # Told a number, it unpacks no more than that, whatever the member says.
            members[info.filename] = member.read(info.file_size)
    return members


_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def _result(archive: Archive) -> AugmentResult:
    about, arrays = archive.about, archive.arrays
    schema = whole_schema_from_json(about["table"])
    real = table_from_arrays(schema, strip_prefix("real", arrays))
    delivered = candidates_from_arrays(schema, strip_prefix("delivered", arrays))
    if not np.isin(delivered.rows.origin, real.origin).all():
        raise ValueError("a synthetic row descends from no real row")
    item = np.dtype(schema.form.array_dtype or bool).itemsize
    if item * (real.missing.size + delivered.rows.missing.size) > _MOST_ARRAY:
        raise ValueError(f"an array of {schema.form.array_dtype!r}")
    with suppress(ImportError):  # of polars, which reading a result does not need
        write_frame(real.empty())  # a schema that cannot be written down is none
    run = _run(about["run"])
    index = index_from_json(about["index"])
    aside = _set_aside(archive)
    n_labels = len(real) + (0 if aside is None else len(aside))
    for what, n_rows in ((run.groups, len(real)), (index, n_labels)):
        if what is not None and len(what) != n_rows:
            raise ValueError(f"{len(what)} labels or groups for {n_rows} rows")
    if aside is not None and np.isin(aside.places, real.origin).any():
        raise ValueError("a row that was learned and set aside")
    said = from_json(_Said, {name: about[name] for name in _SAID if name in about})
    codes = strip_prefix("codes_given", arrays)
    check_codes(schema, codes)
    if codes and not said.forgotten:
        raise ValueError("old codes, although no row was forgotten")
    return AugmentResult(
        real=real,
        delivered=delivered,
        certificates=tuple(
            certificate_from_json(saved, strip_prefix(f"certificate{place}", arrays))
            for place, saved in enumerate(about["certificates"])
        ),
        steps=steps_from_saved(about["steps"], strip_prefix("steps", arrays)),
        stop=Stop[about["stop"]],
        about=run,
        index=index,
        set_aside=aside,
        codes_given=codes,
        folds=_folds(arrays.get("folds"), len(real)),
        **{name: getattr(said, name) for name in _SAID},
    )


def _set_aside(archive: Archive) -> SetAside | None:
    saved, arrays = archive.about.get("set_aside"), archive.arrays
    if saved is None:
        return None
    schema = whole_schema_from_json(saved["table"])
    rows = table_from_arrays(schema, strip_prefix("set_aside", arrays))
    position, places = saved["position"], arrays["set_aside_places"]
    groups = groups_from_json(saved["groups"])
    if not isinstance(position, int) or not 0 <= position < len(schema.features):
        raise ValueError(f"no column {position!r} among those set aside")
    if places.dtype != np.int64 or not np.isin(rows.origin, places).all():
        raise ValueError("rows set aside at no place")
    if groups is not None and len(groups) != len(rows):
        raise ValueError(f"{len(groups)} groups for {len(rows)} rows set aside")
    return SetAside(rows=rows, position=position, places=places, groups=groups)


def _folds(saved: NDArray[Any] | None, n_real: int) -> IntArray | None:
    if saved is None:
        return None
    if saved.dtype != np.int64 or saved.ndim != 2 or saved.shape[1] != n_real:
        raise ValueError(f"folds of shape {saved.shape} for {n_real} rows")
    return saved


@dataclass(frozen=True)
class _Said:
    """What a result says of itself beside rows, steps and certificates."""

    real_sha256: str
    forgotten: tuple[int, ...]
    n_removed: int
    content_sha256: Mapping[str, str] = field(default_factory=dict)


_SAID = tuple(part.name for part in fields(_Said))


def _run(saved: dict[str, Any]) -> RunAbout:
    settings = json.loads(saved["settings"])
    if not isinstance(settings, dict) or not all(
        isinstance(section, dict) for section in settings.values()
    ):
        raise TypeError("settings that are no sections of names and values")
    groups = groups_from_json(saved["groups"])
    return from_json(RunAbout, {**saved, "settings": settings, "groups": groups})
