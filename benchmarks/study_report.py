"""The study into docs/results/utility.md and calibration.md: no number is typed.

Run: ``make results``, or ``python benchmarks/study_report.py --study FOLDER``.

What the numbers mean is written by hand in utility_notes.md and calibration_notes.md
beside the pages and copied to their ends.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from augment import speed_section
from calibration import calibration_page, picture
from cells import column_name
from pages import (
    FOLDER,
    config_option,
    found_in,
    markdown_table,
    page_of,
    provenance,
    read_notes,
    with_error,
    write_page,
)
from records import Record, Records, read_records
from study import METHODS, PARTS, finished
from usefulness import paired_gains, score_table

from tabtap.study.sources import SOURCES

PICTURE = "calibration.svg"

METRICS = {"accuracy": "points", "rmse": "% of RMSE"}
"""Units of gains, by metric."""

PAPER_GAINS: Mapping[int, tuple[float, float]] = {
    20: (4.5, 10.3),
    50: (5.8, 19.6),
    100: (3.7, 11.4),
}
"""By n_real: what the paper's TAP gains over its own Real, as published in its main
table: points of accuracy, mean of its five classification tables, and per cent of RMSE,
mean of its two regression tables."""

HEADING = """# Usefulness

Computed by `benchmarks/study_report.py` from recorded measurements; none is typed. `±`
is a standard error over cells. Mean accuracy in per cent over the paper's six
classifiers (RMSE of the standardised target over its four regressors) on test rows,
trained on n_real real rows and up to 500 added ones.

*Real*: nothing added. *Copies*: real rows repeated; *jitter*: copies with Gaussian
noise of 0.3 standard deviations; *SMOTE* to the same size. *One shot*: whole rows given
evenly spread labels. *Random inpainting*: real rows with a random share of their cells
redrawn. *Hard inpainting* (appendix D.3 of the paper): little of uncertain rows
redrawn, through the paper's gates. *Paper loop*: its loop with 60 steps.
*Default* and *fast*: the presets. All share one batch of compact backbones per cell,
those of `default`; on regression tables the paper's protocol is judged by a linear
model. Gains are paired: the same table, split and seed."""


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
        sections = [utility_page(rungs), provenance(records, _commands(records))]
        if speed:
            sections.append(speed_section(speed))
        _write(out / "utility.md", sections)
    if checks:
        (out / PICTURE).write_text(picture(checks), encoding="utf-8")
    if checks or poison:
        judged = [*checks, *poison]
        source = provenance(judged, _commands(judged))
        page = calibration_page(checks, poison, PICTURE if checks else None)
        _write(out / "calibration.md", [page, source])


def _commands(records: Sequence[Record]) -> list[str]:
    """Return a command for each n_real and settings, with the parts it was run for."""
    commands = []
    settings = [r["config"] for r in records if r["config"]] or [{}]
    chosen = [dict(s) for s in {tuple(sorted(s.items())) for s in settings}]
    for config in chosen:
        options = config_option(config)
        for n_real in found_in(records, "n_real"):
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
                for seed in found_in(own, "seed")
            ]
    return commands


def _write(page: Path, sections: Sequence[str]) -> None:
    notes = read_notes(page.with_name(f"{page.stem}_notes.md"))
    write_page(page, page_of(sections, notes))


# ---- The ladder of usefulness: docs/results/utility.md.


def utility_page(records: Records) -> str:
    """Return the page without its provenance."""
    parts = [HEADING]
    for n_real in found_in(records, "n_real"):
        chosen = [record for record in records if record["n_real"] == n_real]
        parts += [
            f"## {n_real} real rows",
            score_table(chosen),
            "Gains over real rows alone, and what `default` gains over each rung:",
            ladder_table(chosen, n_real),
            "Cells in which a rung is below real rows alone, and the worst of them:",
            worst_table(chosen),
            "Rows, verdicts and CPU seconds (without fitting the shared backbones):",
            cost_table(chosen),
        ]
    return "\n\n".join(parts)


def ladder_table(records: Records, n_real: int) -> str:
    """Return each rung's gain over real rows, and the default's over each rung."""
    header = ["rung", "in", "over real", "default over it", "cells"]
    rows = []
    for place, (metric, unit) in enumerate(METRICS.items()):
        chosen = _with_metric(records, metric)
        ours = default_column(chosen)
        for name in _columns(chosen):
            over_real = paired_gains(chosen, name, "real", metric)
            ahead = paired_gains(chosen, ours, name, metric) if ours else []
            shown = "-" if name == ours else with_error(ahead)
            first = "-" if name == "real" else with_error(over_real)
            n_cells = str(max(len(over_real), len(ahead)))
            rows.append([name, unit, first, shown, n_cells])
        if chosen and n_real in PAPER_GAINS:
            gain = f"{PAPER_GAINS[n_real][place]:+.1f}"
            rows.append(["(TAP as published)", unit, gain, "-", "-"])
    return markdown_table(header, rows)


def worst_table(records: Records) -> str:
    """Return how often and how far each rung fell below real rows alone."""
    header = ["rung", "in", "cells below", "by over 1", "worst cell", "worst table"]
    rows = []
    for metric, unit in METRICS.items():
        chosen = _with_metric(records, metric)
        for name in _columns(chosen):
            gains = np.asarray(paired_gains(chosen, name, "real", metric))
            if name == "real" or not len(gains):
                continue
            n_below, n_clear = int((gains < 0).sum()), int((gains < -1).sum())
            rows.append(
                [
                    name,
                    unit,
                    f"{n_below} of {len(gains)}",
                    f"{n_clear} of {len(gains)}",
                    f"{gains.min():+.1f}",
                    f"{min(_table_means(chosen, name, metric)):+.1f}",
                ]
            )
    return markdown_table(header, rows)


def cost_table(records: Records) -> str:
    """Return rows added, verdicts, why runs ended, and CPU seconds, by rung."""
    rows = []
    for name in _columns(records):
        own = [record for record in records if column_name(record) == name]
        said = [record["verdict"] for record in own if "verdict" in record]
        stops = Counter(record["stop"] for record in own if "stop" in record)
        fit = [r["seconds"]["fit"] for r in own if "fit" in r["seconds"]]
        rows.append(
            [
                name,
                f"{np.mean([record['n_added'] for record in own]):.0f}",
                f"{said.count('augment')} of {len(said)}" if said else "-",
                f"{np.mean([_own_seconds(record) for record in own]):.1f}",
                f"{np.mean(fit):.1f}" if fit else "-",
                "; ".join(f"{why}: {n}" for why, n in stops.most_common()) or "-",
            ]
        )
    header = ["rung", "rows", "augmented", "CPU s", "fit, shared", "why runs ended"]
    return markdown_table(header, rows)


def default_column(records: Records) -> str | None:
    """Return the column of the default preset, with its settings."""
    found = [column_name(r) for r in records if r["method"] == "default"]
    return found[0] if found else None


def _own_seconds(record: Mapping[str, Any]) -> float:
    spent = record["seconds"]
    return float(spent.get("run", spent.get("draw", 0.0)))


def _with_metric(records: Records, metric: str) -> Records:
    return [record for record in records if record["metric"] == metric]


def _columns(records: Records) -> list[str]:
    return list(dict.fromkeys(map(column_name, records)))


def _table_means(records: Records, name: str, metric: str) -> list[float]:
    tables = dict.fromkeys(record["table"] for record in records)
    gains = [
        paired_gains([r for r in records if r["table"] == t], name, "real", metric)
        for t in tables
    ]
    return [float(np.mean(part)) for part in gains if part]


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
