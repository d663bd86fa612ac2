"""Measurements into docs/results/backbone.md: every number computed, none typed.

Run: ``make results``, or ``python benchmarks/report.py --usefulness usefulness.jsonl
--fidelity fidelity.jsonl --speed speed.jsonl``.

What the numbers mean is written by hand in docs/results/backbone_notes.md and copied
to the end of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from backbone import speed_table
from fidelity import TABLES, fidelity_table
from pages import (
    FOLDER,
    config_option,
    found_in,
    page_of,
    provenance,
    read_notes,
    write_page,
)
from records import Records, read_records
from usefulness import GENERATED, gain_table, score_table

from tabtap.study.sources import SOURCES

PAGE = FOLDER / "backbone.md"
NOTES = PAGE.with_name("backbone_notes.md")
HEADING = """# What the inpainter can do

Computed by `benchmarks/report.py` from recorded measurements; `make results` measures
and writes anew. A plus after a commit: measured with changes not yet committed. `±` is
a standard error."""
USEFULNESS = """## Usefulness when rows are few

Mean accuracy in per cent over the paper's six classifiers (RMSE of the standardised
target over its four regressors) on test rows, trained on n_real real rows and 500 added
ones. *Copies*: real rows repeated; *jitter*: copies with Gaussian noise of 0.3 standard
deviations; *all redrawn*: rows drawn given evenly spread labels; *half redrawn*: real
rows with each cell redrawn with probability 1/2. Gains are paired: the same table,
split and seed."""
FIDELITY = """## Fidelity at full size

Errors in per cent against held-out rows, smaller is closer; copies in per cent of the
drawn rows. *Bootstrap*: training rows drawn with replacement; *independent columns*:
every column drawn by itself. A near copy is nearer to a training row than a tenth of
the usual gap between training rows. CPU seconds: fitting and drawing together."""
SPEED = """## Speed and memory

CPU seconds on one thread, the least of the repeats."""


def page(
    usefulness: Records, fidelity: Records, speed: Records, notes: str = ""
) -> str:
    """Return the page; a kind without records gets no section."""
    sections = [HEADING]
    if usefulness:
        sections.append(_usefulness(usefulness))
    if fidelity:
        sections.append(_fidelity(fidelity))
    if speed:
        sections.append(_speed(speed))
    return page_of(sections, notes)


def _usefulness(records: Records) -> str:
    parts = [USEFULNESS]
    for n_real in found_in(records, "n_real"):
        chosen = [record for record in records if record["n_real"] == n_real]
        parts += [f"### {n_real} real rows", score_table(chosen), gain_table(chosen)]
    n_splits = 1 + max(record["split"] for record in records)
    sizes = " ".join(map(str, found_in(records, "n_real")))
    tables = _tables_option(records, tuple(SOURCES))
    commands = [
        f"python benchmarks/usefulness.py{tables} --n-real {sizes} "
        f"--splits {n_splits} --seed {seed}{options}"
        for seed in found_in(records, "seed")
        for options in _config_options(records)
    ]
    return "\n\n".join([*parts, provenance(records, commands)])


def _fidelity(records: Records) -> str:
    seeds = " ".join(map(str, found_in(records, "seed")))
    tables = _tables_option(records, TABLES)
    commands = [
        f"python benchmarks/fidelity.py{tables} --seeds {seeds}{options}"
        for options in _config_options(records)
    ]
    table = fidelity_table(records)
    sizes = dict.fromkeys(
        f"{record['table']}: {record['n_train']:,} training and "
        f"{record['n_held_out']:,} held-out rows"
        for record in records
    )
    rows = "; ".join(sizes) + "."
    return "\n\n".join([FIDELITY, table, rows, provenance(records, commands)])


def _speed(records: Records) -> str:
    last = records[-1]
    option = "--quick" if last["quick"] else f"--repeats {last['repeats']}"
    commands = [f"python benchmarks/backbone.py {option}"]
    table = f"```text\n{speed_table(last)}\n```"
    return "\n\n".join([SPEED, table, provenance([last], commands)])


def _tables_option(records: Records, default: Sequence[str]) -> str:
    found = found_in(records, "table")
    return "" if set(found) == set(default) else f" --tables {' '.join(found)}"


def _config_options(records: Records) -> list[str]:
    """Return the options that make each of the settings used; controls have none."""
    texts = [
        config_option(record["config"])
        for record in records
        if record["method"] in ("backbone", *GENERATED)
    ]
    return list(dict.fromkeys(texts)) or [""]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("usefulness", "fidelity", "speed"):
        file = Path(f"{name}.jsonl")
        parser.add_argument(f"--{name}", type=Path, default=file, help="JSON lines")
    parser.add_argument("--notes", type=Path, default=NOTES, help="markdown")
    parser.add_argument("--out", type=Path, default=PAGE, help="page to write")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the measurements and write the page."""
    options = _options(arguments)
    files = (options.usefulness, options.fidelity, options.speed)
    kinds = [read_records(file) for file in files]
    if not any(kinds):
        names = ", ".join(map(str, files))
        raise SystemExit(f"There are no measurements in {names}. Run make results.")
    write_page(options.out, page(*kinds, read_notes(options.notes)))


if __name__ == "__main__":
    main()
