"""The study into docs/results/utility.md and calibration.md: no number is typed.

Run: ``make results``, or ``python benchmarks/study_report.py --study FOLDER``.

What the numbers mean is written by hand in utility_notes.md and calibration_notes.md
beside the pages and copied to their ends.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from augment import speed_section
from calibration_page import calibration_page, picture
from records import ROOT, read_records
from study import METHODS, PARTS, finished
from utility_page import utility_page

from tabtap.study.sources import SOURCES

Record = dict[str, Any]

FOLDER = ROOT / "docs" / "results"
PICTURE = "calibration.svg"


def read_study(folder: Path) -> list[Record]:
    """Return the finished parts of all cells, tables and rungs in their usual order."""
    records = []
    for file in sorted(folder.glob("*.jsonl")):
        records += finished(read_records(file))
    tables, parts = list(SOURCES), list(PARTS)
    return sorted(
        records,
        key=lambda r: (
            r["n_real"],
            tables.index(r["table"]),
            r["seed"],
            r["split"],
            parts.index(r["part"]),
        ),
    )


def write_pages(records: Sequence[Record], speed: Sequence[Record], out: Path) -> None:
    """Write both pages and the picture into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    rungs = [record for record in records if record["kind"] == "rung"]
    checks = [record for record in records if record["kind"] == "check"]
    poison = [record for record in records if record["kind"] == "poison"]
    rungs.sort(key=lambda record: METHODS.index(record["method"]))
    if rungs:
        sections = [utility_page(rungs), provenance(records)]
        if speed:
            sections.append(speed_section(speed))
        _write(out / "utility.md", sections)
    if checks:
        (out / PICTURE).write_text(picture(checks), encoding="utf-8")
    if checks or poison:
        page = calibration_page(checks, poison, PICTURE if checks else None)
        _write(out / "calibration.md", [page, provenance([*checks, *poison])])


def provenance(records: Sequence[Record]) -> str:
    """Return how, when, where and with which code the records were made."""
    lines = [f"- command: `{command}`" for command in _commands(records)]
    for name in ("seed", "commit", "date", "machine"):
        found = sorted({str(record[name]) for record in records if name in record})
        if found:
            lines.append(f"- {name}: {', '.join(found)}")
    return "\n".join(lines)


def _commands(records: Sequence[Record]) -> list[str]:
    """Return a command for each n_real and settings, with the parts it was run for."""
    commands = []
    settings = [r["config"] for r in records if r["config"]] or [{}]
    chosen = [dict(s) for s in {tuple(sorted(s.items())) for s in settings}]
    for config in chosen:
        options = "".join(f' --config "{k}={config[k]}"' for k in sorted(config))
        for n_real in sorted({record["n_real"] for record in records}):
            own = [record for record in records if record["n_real"] == n_real]
            found = {record["part"] for record in own}
            parts = [f'"{p}"' if " " in p else p for p in PARTS if p in found]
            tables = [name for name in SOURCES if name in {r["table"] for r in own}]
            named = (
                "" if len(tables) == len(SOURCES) else f" --tables {' '.join(tables)}"
            )
            n_splits = 1 + max(record["split"] for record in own)
            commands += [
                f"python benchmarks/study.py{named} --n-real {n_real} --splits "
                f"{n_splits} --seed {seed} --parts {' '.join(parts)}{options}"
                for seed in sorted({record["seed"] for record in own})
            ]
    return commands


def _write(page: Path, sections: Sequence[str]) -> None:
    notes = page.with_name(f"{page.stem}_notes.md")
    if notes.is_file() and (text := notes.read_text(encoding="utf-8").strip()):
        sections = [*sections, f"## Notes\n\n{text}"]
    page.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    print(f"Written: {page}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--study", type=Path, default=Path("study"), help="folder")
    parser.add_argument("--speed", type=Path, default=Path("augment.jsonl"))
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the pages")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the measurements and write the pages."""
    options = _options(arguments)
    records = read_study(options.study)
    if not records:
        raise SystemExit(f"There are no measurements in {options.study}. Run study.py.")
    write_pages(records, read_records(options.speed), options.out)


if __name__ == "__main__":
    main()
