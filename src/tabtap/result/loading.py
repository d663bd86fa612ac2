"""Saved results brought back, or refused in one sentence."""

from __future__ import annotations

import json
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from tabtap.archive import (
    Archive,
    damaged,
    file_content,
    foreign,
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
    RunAbout,
    sha256,
    whole_schema_from_json,
)
from tabtap.result.forgetting import check_codes
from tabtap.result.frames import groups_from_json, index_from_json
from tabtap.result.result import AugmentResult
from tabtap.saved import from_json

_BAD_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError,
            NotImplementedError, KeyError, OSError)  # fmt: skip


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
    members = _members(Path(path))
    archive = unpack_archive(
        members[EXACT], path, name=FORMAT_NAME, version=FORMAT_VERSION
    )
    with reading(path, "result"):
        for name, wanted in archive.about["readable"].items():
            if sha256(members[name]) != wanted:
                raise ValueError(f"{name} is not what was saved")
        return _result(archive)


def _members(path: Path) -> dict[str, bytes]:
    content = file_content(path)
    try:
        with zipfile.ZipFile(BytesIO(content)) as file:
            names = file.namelist()
            members = {name: file.read(name) for name in names}
    except _BAD_ZIP as error:
        if content[:2] == b"PK":
            raise damaged(path, "its content cannot be read") from error
        raise foreign(path, FORMAT_NAME) from error
    if EXACT not in members:
        raise foreign(path, FORMAT_NAME)
    return members


def _result(archive: Archive) -> AugmentResult:
    about, arrays = archive.about, archive.arrays
    schema = whole_schema_from_json(about["table"])
    real = table_from_arrays(schema, strip_prefix("real", arrays))
    delivered = candidates_from_arrays(schema, strip_prefix("delivered", arrays))
    if not np.isin(delivered.rows.origin, real.origin).all():
        raise ValueError("a synthetic row descends from no real row")
    run = _run(about["run"])
    index = index_from_json(about["index"])
    for what in (run.groups, index):
        if what is not None and len(what) != len(real):
            raise ValueError(f"{len(what)} labels or groups for {len(real)} rows")
    codes = strip_prefix("codes_given", arrays)
    check_codes(schema, codes)
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
        real_sha256=about["real_sha256"],
        forgotten=tuple(about["forgotten"]),
        n_removed=about["n_removed"],
        codes_given=codes,
    )


def _run(saved: dict[str, Any]) -> RunAbout:
    settings = json.loads(saved["settings"])
    groups = groups_from_json(saved["groups"])
    return from_json(RunAbout, {**saved, "settings": settings, "groups": groups})
