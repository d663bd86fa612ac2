"""The records behind docs/results in one small file, so that pages can be made again.

    python benchmarks/published.py unpack
    python benchmarks/answers.py page --before build/results/answers_before
    python benchmarks/teacher.py page

``pack`` writes docs/results/records.jsonl.xz from build/results: every line is a record
and the name of the file that it is from.  ``unpack`` puts them back, where the scripts
look for them; a file that is there and says something else is left as it is.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from records import ROOT

from tabtap.archive import put_in_place

FILE = ROOT / "docs" / "results" / "records.jsonl.xz"
FOLDER = ROOT / "build" / "results"
SUFFIXES = (".jsonl", ".json")


def pack(folder: Path = FOLDER, file: Path = FILE) -> int:
    """Write all records of a folder into one file; return how many there are.

    Rows that methods have made, which lie beside the records of studies, and signs of
    life are left out.
    """
    lines = [
        json.dumps({"in": name, "record": json.loads(line)}, separators=(",", ":"))
        for name, line in _records(folder)
    ]
    put_in_place(lzma.compress("".join(f"{x}\n" for x in lines).encode()), file)
    return len(lines)


def _records(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        text = path.read_text("utf-8") if path.suffix in SUFFIXES else ""
        if path.suffix == ".jsonl":
            yield from ((name, line) for line in text.splitlines())
        elif path.parent.name == "records":  # of a store: one to a file
            yield name, text


def unpack(folder: Path = FOLDER, file: Path = FILE) -> list[str]:
    """Write the records back into files; return the names of those left as they are."""
    texts: dict[str, str] = {}
    for line in lzma.decompress(file.read_bytes()).decode().splitlines():
        said = json.loads(line)
        text = json.dumps(said["record"]) + "\n"
        texts[said["in"]] = texts.get(said["in"], "") + text
    left = []
    for name, text in texts.items():
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or place.suffix not in SUFFIXES:
            raise ValueError(f"{file} names {name!r}, which is no file of records.")
        path = folder / place
        if path.exists() and path.read_text("utf-8") != text:
            left.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        put_in_place(text.encode(), path)
    return left


def main(arguments: Sequence[str] | None = None) -> None:
    """Pack or unpack."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("pack", "unpack"))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    if options.command == "pack":
        size = f"{pack(options.folder, options.file):,} records"
        print(f"{size}, {options.file.stat().st_size / 1e6:.2f} MB: {options.file}")
        return
    for name in unpack(options.folder, options.file):
        print(f"Left as it is, for it says something else: {name}")


if __name__ == "__main__":
    main()
