"""The ladder of usefulness as a page: docs/results/utility.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from records import markdown_table
from summary import column_name, mean_and_error, paired_gains, score_table

Records = Sequence[Mapping[str, Any]]

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
redrawn, through the paper's gates. *Paper*: its whole protocol with 60 steps.
*Default* and *fast*: the presets. All share one batch of compact backbones per cell,
those of `default`; on regression tables the paper's protocol is judged by a linear
model. Gains are paired: the same table, split and seed."""


def utility_page(records: Records) -> str:
    """Return the page without its provenance."""
    parts = [HEADING]
    for n_real in sorted({record["n_real"] for record in records}):
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


def with_error(values: Sequence[float]) -> str:
    """Return a mean with its standard error; a dash for no values."""
    mean, error = mean_and_error(values)
    if np.isnan(mean):
        return "-"
    return f"{mean:+.1f}" + ("" if np.isnan(error) else f" ± {error:.1f}")


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
