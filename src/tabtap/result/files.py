"""A result as one zip file: exact arrays for us, parquet and JSON for everyone."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.archive import Archive, Arrays, add_prefix, pack_archive, put_in_place
from tabtap.domain import Alternative, Candidates, Certificate, StepRecord
from tabtap.domain.written import (
    candidates_to_arrays,
    certificate_to_json,
    steps_to_arrays,
    steps_to_json,
    table_to_arrays,
)
from tabtap.errors import UserInputError
from tabtap.result.forgetting import is_declared
from tabtap.result.frames import (
    groups_to_json,
    index_to_json,
    label_array,
    row_windows,
)
from tabtap.saved import to_json
from tabtap.table.saved_schema import (
    level_from_json,
    level_to_json,
    schema_from_json,
    schema_to_json,
)
from tabtap.table.schema import Column, Kind, Schema
from tabtap.table.table import Table

if TYPE_CHECKING:
    from tabtap.result.result import AugmentResult


FORMAT_NAME = "tabtap-result"
FORMAT_VERSION = 1
"""Raised whenever an older reader would misread what is written."""

EXACT = "result.safetensors"
"""The one member that is read back; the others are for people."""


READABLE = ("synthetic.parquet", "provenance.parquet", "certificates.json")


def save_result(result: AugmentResult, path: str | Path) -> None:
    """Write a result to one file, whole or not at all."""
    readable = readable_copies(result)
    about = _about(result)
    about["readable"] = {name: sha256(part) for name, part in readable.items()}
    archive = Archive(_arrays(result), about)
    exact = pack_archive(archive, name=FORMAT_NAME, version=FORMAT_VERSION)
    put_in_place(_zipped({EXACT: exact, **readable}), path)


def readable_copies(result: AugmentResult) -> dict[str, bytes]:
    """Return what a saved result holds for people and other programs."""
    parts = (
        parquet_bytes(result.synthetic),
        parquet_bytes(result.provenance),
        result.certificates_json().encode(),
    )
    return dict(zip(READABLE, parts, strict=True))


def sha256(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def _arrays(result: AugmentResult) -> dict[str, NDArray[Any]]:
    arrays = add_prefix("real", table_to_arrays(result.real))
    arrays |= add_prefix("delivered", candidates_to_arrays(result.delivered))
    arrays |= add_prefix("steps", steps_to_arrays(result.steps))
    arrays |= add_prefix("codes_given", result.codes_given)
    if result.folds is not None:
        arrays["folds"] = result.folds
    if result.set_aside is not None:
        arrays |= add_prefix("set_aside", table_to_arrays(result.set_aside.rows))
        arrays["set_aside_places"] = result.set_aside.places
    for place, certificate in enumerate(result.certificates):
        arrays |= add_prefix(f"certificate{place}", certificate.evidence)
    return arrays


def _about(result: AugmentResult) -> dict[str, Any]:
    run = to_json(result.about)
    # An archive sorts its JSON; settings have an order worth keeping.
    run["settings"] = json.dumps(result.about.settings)
    run["groups"] = groups_to_json(result.about.groups)
    # Files of before there were teachers say nothing of one, and stay as they are.
    newer = ("teacher", "source")
    run = {name: v for name, v in run.items() if v or not name.startswith(newer)}
    return {
        "run": run,
        "table": whole_schema_to_json(result.real.schema),
        "index": index_to_json(result.index),
        "certificates": [certificate_to_json(c) for c in result.certificates],
        "steps": steps_to_json(result.steps),
        "stop": result.stop.name,
        "real_sha256": result.real_sha256,
        "forgotten": list(result.forgotten),
        "n_removed": result.n_removed,
        **_hashes(result),
        **_set_aside(result),
    }


def _set_aside(result: AugmentResult) -> dict[str, Any]:
    aside = result.set_aside
    if aside is None:  # as files were before there were any
        return {}
    saved = {
        "table": whole_schema_to_json(aside.rows.schema),
        "position": aside.position,
        "groups": groups_to_json(aside.groups),
    }
    return {"set_aside": saved}


def _hashes(result: AugmentResult) -> dict[str, Any]:
    # Results of older versions have none, and stay as they are.
    known = dict(result.content_sha256)
    return {"content_sha256": known} if known else {}


def _zipped(members: dict[str, bytes]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            # With a date of its own an equal result would give another file.
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(member, content)
    return buffer.getvalue()


# ---- Fingerprints of what a result says, whatever codes it is kept in.
#
# ``table_sha256`` is of codes and does not change with what they stand for.  These are
# of the values that people get, under their names and in their dtypes, and of all else
# that is known of a row: its ancestor, its lineage, which cells were redrawn.  Rows
# that stay keep theirs when others are forgotten.  An array that is new in candidates
# has to be left out where it is not used, or older results get other fingerprints.


def content_hashes(
    real: Table, delivered: Candidates, steps: Sequence[StepRecord]
) -> dict[str, str]:
    """Return a fingerprint of the real rows, of each window's rows and of the steps."""
    found = {"real": _rows_sha256(real, table_to_arrays(real))}
    window = row_windows(delivered, steps)
    for number in np.unique(window).tolist():
        rows = delivered.take(window == number)
        found[f"window {number}"] = _rows_sha256(rows.rows, candidates_to_arrays(rows))
    digest = hashlib.sha256(_canonical(steps_to_json(steps)))
    _add_arrays(digest, steps_to_arrays(steps))
    return dict(sorted({**found, "steps": digest.hexdigest()}.items()))


def _rows_sha256(rows: Table, arrays: Arrays) -> str:
    schema, form = rows.schema, to_json(rows.schema.form)
    form["columns_name"] = _level(form["columns_name"])
    digest = hashlib.sha256(_canonical(form))
    columns = zip(schema.features, rows.cells, rows.missing.T, strict=True)
    for column, cells, missing in columns:
        _add_column(digest, column, cells, missing)
    if (target := schema.target) is not None:
        digest.update(_canonical([target.task, target.position]))
        no_holes = np.zeros(len(rows), np.int8)
        for name in _TARGETS:
            if name in arrays:
                _add_column(digest, target.column, arrays[name], no_holes)
    decoded = {f"cell{number}" for number in range(len(rows.cells))}
    rest = arrays.keys() - decoded - {"missing", *_TARGETS}
    _add_arrays(digest, {name: arrays[name] for name in rest})
    return digest.hexdigest()


_TARGETS = ("target", "asked")
"""Arrays that hold codes or numbers of the target."""


def _add_column(
    digest: hashlib._Hash,
    column: Column,
    cells: NDArray[Any],
    missing: NDArray[np.int8],
) -> None:
    about = [_level(column.name), column.kind.value, column.dtype, column.ordered]
    about += [column.wall_clock, list(column.markers)]
    if is_declared(column):
        about.append([_level(category) for category in column.categories])
    present = missing == 0
    values = cells[present]
    if not column.kind.is_numeric:
        # Codes in the order in which levels come up, which forgetting does not change.
        first = np.full(len(column.levels), len(values))
        first[values[::-1]] = np.arange(len(values))[::-1]
        used = np.argsort(first)[: int(np.sum(first < len(values)))]
        about.append([_level(column.levels[code]) for code in used])
        number = np.zeros(len(column.levels), np.int64)
        number[used] = np.arange(len(used))
        values = number[values]
    digest.update(_canonical(about))
    _add_arrays(digest, {"missing": missing, "values": values})


def _add_arrays(digest: hashlib._Hash, arrays: Arrays) -> None:
    for name in sorted(arrays):
        array = arrays[name]
        little = array.astype(array.dtype.newbyteorder("<"), order="C")
        about = [name, little.dtype.str, list(little.shape)]
        digest.update(_canonical(about) + little.tobytes())


def _canonical(value: Any) -> bytes:  # noqa: ANN401 - anything JSON can hold
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _level(value: Any) -> Any:  # noqa: ANN401 - any level or column name
    try:
        return level_to_json(value)
    except UserInputError:  # it cannot be saved either
        return repr(value)


# ---- A whole schema as JSON, and back.
#
# A saved schema leaves the values of identifiers out, so that a model does not name the
# rows it learned from.  A result holds the rows themselves, and so their identifiers.


def whole_schema_to_json(schema: Schema) -> dict[str, Any]:
    """Return a schema as JSON, the values of identifiers included."""
    hidden = {
        str(place): {
            "levels": [level_to_json(level) for level in column.levels],
            "categories": [level_to_json(level) for level in column.categories],
        }
        for place, column in enumerate(schema.features)
        if column.kind is Kind.IDENTIFIER
    }
    return {"schema": schema_to_json(schema), "identifiers": hidden}


def whole_schema_from_json(saved: Mapping[str, Any]) -> Schema:
    """Return the schema that ``whole_schema_to_json`` wrote."""
    schema = schema_from_json(saved["schema"])
    features = list(schema.features)
    for place, hidden in saved["identifiers"].items():
        features[int(place)] = replace(
            features[int(place)],
            levels=tuple(level_from_json(level) for level in hidden["levels"]),
            categories=tuple(level_from_json(level) for level in hidden["categories"]),
        )
    return replace(schema, features=tuple(features))


# ---- Frames as parquet, for people and programs that look into a saved result.
#
# These copies may lose what parquet cannot say: a column that Arrow has no type for is
# written as text.  The exact rows are in the file's arrays.


def parquet_bytes(frame: Any) -> bytes:  # noqa: ANN401 - pandas, polars or numpy
    """Return a frame as the content of a parquet file."""
    buffer = BytesIO()
    if isinstance(frame, np.ndarray):
        frame = pd.DataFrame(frame)
    if isinstance(frame, pd.DataFrame):
        _write_pandas(frame, buffer)
    else:
        frame.write_parquet(buffer)
    return buffer.getvalue()


def _write_pandas(frame: pd.DataFrame, buffer: BytesIO) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    names = _distinct([str(name) for name in frame.columns])
    columns = [_arrow(frame.iloc[:, place]) for place in range(len(names))]
    parquet.write_table(pa.table(columns, names=names), buffer)


def _arrow(series: pd.Series) -> Any:  # noqa: ANN401 - pyarrow is untyped
    import pyarrow as pa
    from pyarrow import parquet

    if len(series) and series.map(type).eq(tuple).all():
        series = series.map(lambda names: [str(name) for name in names])
    try:
        array = pa.array(series, from_pandas=True)
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        # Some types are Arrow's but not parquet's.
        parquet.write_table(pa.table([array], names=["column"]), BytesIO())
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.array([_text(value) for value in series], pa.string())
    return array


def _text(value: Any) -> str | None:  # noqa: ANN401
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _distinct(names: list[str]) -> list[str]:
    """Return names of which no two are the same: 1 and "1" are one name here."""
    found: list[str] = []
    for name in names:
        unique, number = name, 1
        while unique in found:
            unique, number = f"{name}.{number}", number + 1
        found.append(unique)
    return found


# ---- Certificates as JSON that any program reads.


def certificates_for_people(result: AugmentResult) -> dict[str, Any]:
    """Return all certificates with their evidence; null where a number is not one."""
    said = "the table that the run was given"
    if result.forgotten:
        said += ", before these real rows and their descendants were removed"
    return {
        "describes": said,
        "forgotten_rows": list(result.forgotten),
        "certificates": [finite(_shown(c)) for c in result.certificates],
        **_hashes(result),
    }


def _shown(certificate: Certificate) -> dict[str, Any]:
    plain = certificate_to_json(certificate)
    for name in ("over_incumbent", "over_real"):
        bound = getattr(certificate, name)
        if bound is not None:
            plain[name]["lower"] = bound.lower
    for name in ("learners_before", "learners_after"):
        plain[name] = dict(getattr(certificate, name))
    plain["evidence"] = {
        name: np.asarray(scores).tolist()
        for name, scores in certificate.evidence.items()
    }
    return plain


def finite(value: Any) -> Any:  # noqa: ANN401 - anything JSON can hold
    """Return JSON in which null stands for a number that is not finite."""
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# ---- What is known of a run besides its rows: seed, settings, judges, versions, times.


_PACKAGES = ("tabtap", "numpy", "pandas", "scikit-learn", "scipy", "torch")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunAbout:
    """How a run was made.

    Examples
    --------
    >>> from dataclasses import asdict
    >>> from tabtap.config import AugmentConfig
    >>> about = RunAbout(
    ...     seed=0, budget=500, settings={"augment": asdict(AugmentConfig())}
    ... )
    >>> about.settings["augment"]["gates"]["range_quantiles"]
    [0.0, 1.0]
    """

    seed: int

    budget: int | Literal["auto"]
    """Rows asked for."""

    settings: Mapping[str, Any]
    """Every setting as plain dicts and lists: ``augment`` and ``diffusion`` hold the
    configurations of these names.  Tuples become lists, as in a saved file."""

    evaluator: str = ""
    evaluator_why: str = ""
    """Who judged single steps, and a sentence that says why it was chosen."""

    referee: str = ""
    referee_why: str = ""
    """Who judged whole pools, and a sentence that says why it was chosen."""

    teacher: str = ""
    teacher_why: str = ""
    """Who gave drawn rows their targets, and a sentence that says why; empty or none:
    they have those that they were drawn for."""

    teacher_members: Mapping[str, str] = field(default_factory=dict)
    """Class, settings and version of all that the teacher is made of."""

    teacher_condition: str = ""
    """What its answers oblige the owner of a model to that learns from them."""

    versions: Mapping[str, str] = field(default_factory=dict)
    """By package; see ``installed_versions``."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """Time spent, by stage."""

    groups: NDArray[Any] | None = None
    """Shape (n_real,): who each real row belongs to, in the user's words if there are
    any; NaN, None, NA or NaT for a row that belongs to no one."""

    rules: tuple[str, ...] = ()
    """The user's rules, as text."""

    licences: Mapping[str, str] = field(default_factory=dict)
    """Licence of each set of weights that was used."""

    advice: tuple[Alternative, ...] = ()
    """What else can be done with these rows, the cheapest that is enough first."""

    likely_groups: str = ""
    """A column that looks like groups, where none were named: whom the rows are of was
    not known, so the answer is not about new ones of them."""

    source: str = ""
    """How the file is written that the rows came from, as JSON; empty for a frame."""

    notes: tuple[str, ...] = ()
    """Sentences about what went otherwise than asked, such as a lesser evaluator."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", _plain(self.settings))
        if self.groups is not None:
            object.__setattr__(self, "groups", label_array(self.groups))


def installed_versions() -> dict[str, str]:
    """Return the version of Python and of each package that a run rests on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # run from a folder, not installed
            found[name] = "unknown"
    return found


def _plain(value: Any) -> Any:  # noqa: ANN401 - any setting
    """Return a value as JSON gives it back."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, np.generic):
        return _plain(value.item())
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return str(value)
