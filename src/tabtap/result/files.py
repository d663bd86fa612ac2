"""A result as one zip file: exact arrays for us, parquet and JSON for everyone."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tabtap.archive import Archive, pack_archive, put_in_place
from tabtap.domain.written import (
    candidates_to_arrays,
    certificate_to_json,
    named,
    steps_to_arrays,
    steps_to_json,
    table_to_arrays,
)
from tabtap.result.about import RunAbout
from tabtap.result.groups import groups_to_json
from tabtap.result.labels import index_to_json
from tabtap.result.readable import parquet_bytes
from tabtap.result.tables import whole_schema_to_json

if TYPE_CHECKING:
    from tabtap.result.result import AugmentResult

FORMAT_NAME = "tabtap-result"
FORMAT_VERSION = 1
"""Raised whenever an older reader would misread what is written."""

PAIRS = ("versions", "seconds", "licences")
"""What is known of a run by name, saved as pairs."""

EXACT = "result.safetensors"
"""The one member that is read back; the others are for people."""


def save_result(result: AugmentResult, path: str | Path) -> None:
    """Write a result to one file, whole or not at all."""
    readable = {
        "synthetic.parquet": parquet_bytes(result.synthetic),
        "provenance.parquet": parquet_bytes(result.provenance),
        "certificates.json": result.certificates_json().encode(),
    }
    about = _about(result)
    about["readable"] = {name: sha256(part) for name, part in readable.items()}
    archive = Archive(_arrays(result), about)
    exact = pack_archive(archive, name=FORMAT_NAME, version=FORMAT_VERSION)
    put_in_place(_zipped({EXACT: exact, **readable}), path)


def sha256(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def _arrays(result: AugmentResult) -> dict[str, NDArray[Any]]:
    arrays = named("real", table_to_arrays(result.real))
    arrays |= named("delivered", candidates_to_arrays(result.delivered))
    arrays |= named("steps", steps_to_arrays(result.steps))
    arrays |= named("codes_given", result.codes_given)
    for place, certificate in enumerate(result.certificates):
        arrays |= named(f"certificate{place}", certificate.evidence)
    return arrays


def _about(result: AugmentResult) -> dict[str, Any]:
    run = {f.name: getattr(result.about, f.name) for f in fields(RunAbout)}
    # An archive sorts its JSON; stages and settings have an order worth keeping.
    run["settings"] = json.dumps(run["settings"])
    for name in PAIRS:
        run[name] = [[key, value] for key, value in run[name].items()]
    run |= {"rules": list(run["rules"]), "notes": list(run["notes"])}
    run["groups"] = groups_to_json(result.about.groups)
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
    }


def _zipped(members: dict[str, bytes]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            # With a date of its own an equal result would give another file.
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(member, content)
    return buffer.getvalue()
