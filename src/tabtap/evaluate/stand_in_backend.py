"""A build backend that only repeats what a source archive says of itself.

Before pip keeps a source archive it asks the build backend for the package's name and
version, and a real backend may run code of the package to answer.  This file is laid in
the backend's place for that one call: it copies ``PKG-INFO`` and runs nothing.
"""

from __future__ import annotations

import shutil
from email.parser import Parser
from pathlib import Path


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: object = None
) -> str:
    """Copy the archive's own metadata to where pip looks for it."""
    del config_settings  # part of the interface (PEP 517)
    text = Path("PKG-INFO").read_text(encoding="utf-8")
    about = Parser().parsestr(text, headersonly=True)
    stem = f"{about['Name'].replace('-', '_')}-{about['Version']}"
    folder = Path(metadata_directory, f"{stem}.dist-info")
    folder.mkdir()
    shutil.copyfile("PKG-INFO", folder / "METADATA")
    return folder.name
