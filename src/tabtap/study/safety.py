"""What gates and commitment are for: TAP without each of them (Table 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tabtap.compare.printing import TextTable, as_markdown
from tabtap.compare.store import ROWS, Cell, Record, Store
from tabtap.domain import Bound, Certificate, CommitRequest, Decision
from tabtap.domain.judgement import table_sha256
from tabtap.gates import Gates
from tabtap.loop import Progress, RunContext
from tabtap.rivals.ladder import draw_one_shot
from tabtap.study.ladder import score_gains
from tabtap.study.learnability import diagnose, percentiles, tail_mean
from tabtap.study.main import size_gain_table
from tabtap.study.runs import (
    Change,
    Ground,
    Run,
    plan_cells,
    prepare,
    run_tap,
    scores_with,
)
from tabtap.study.studies import Study, StudyOptions
from tabtap.study.tables import (
    METRICS,
    MISSING,
    finding,
    mean_interval,
    show_interval,
)
from tabtap.table.schema import FloatArray
from tabtap.table.table import Table

TAP, NO_GATE, NO_COMMIT = "TAP", "without gates", "without commitment"
SIZES = (20, 50, 100)

PUBLISHED: Mapping[str, tuple[tuple[float, ...], float, float]] = {
    TAP: ((0.140, 0.095, 0.097), 100.0, 46.7),
    NO_GATE: ((0.108, 0.037, 0.052), 57.3, 61.9),
    NO_COMMIT: ((0.134, 0.083, 0.085), 85.3, 47.2),
}
"""Table 2: utility gain at 20, 50 and 100 rows, win rate and tail risk, in percent."""


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield a cell for each table, size and split: three runs on one backbone."""
    return plan_cells("safety", options, {"safety": {}}, n_real=SIZES)


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  no other rows
    """Run TAP whole and without each part; score, and say how learnable rows are."""
    ground = prepare(cell)
    rng = ground.rng("at large")
    at_large = draw_one_shot(ground.whole, ground.part.real, cell.terms.budget, rng)
    reference = _inconsistency(ground, at_large)
    before = ground.part.loss(None, ground.names)
    runs = {name: run_tap(ground, change) for name, change in CHANGES.items()}
    return {
        "utility": {
            name: before - ground.part.loss(_some(run.rows), ground.names)
            for name, run in runs.items()
        },
        "scores": {
            "Real": scores_with(ground, None),
            **{name: scores_with(ground, run.rows) for name, run in runs.items()},
        },
        "tail_risk": {
            name: _tail_risk(ground, run, reference) for name, run in runs.items()
        },
        "runs": {name: run.about for name, run in runs.items()},
        ROWS: {name: run.rows for name, run in runs.items()},
    }


def _some(rows: Table) -> Table | None:
    return rows if len(rows) else None


def _tail_risk(ground: Ground, run: Run, reference: FloatArray) -> float | None:
    """Return the mean percentile of the least learnable fifth; None: no rows.

    Percentiles are among rows drawn at large from the same backbone, of which the paper
    does not say what they are.
    """
    if not len(run.rows):
        return None
    return tail_mean(percentiles(_inconsistency(ground, run.rows), reference))


def _inconsistency(ground: Ground, rows: Table) -> FloatArray:
    """Return equation 22 by a learner of the test rows, which no run has seen."""
    part = ground.part
    return diagnose(rows, part.test, real=part.real).inconsistency


# ---- The loop without one of its parts.


def without_gates(
    context: RunContext, progress: Progress
) -> tuple[RunContext, Progress]:
    """Admit every candidate."""
    stages = replace(context.stages, gatekeeper=Gates(()))
    return replace(context, stages=stages), progress


def without_commitment(
    context: RunContext, progress: Progress
) -> tuple[RunContext, Progress]:
    """Let every batch of actions in as it comes, unasked."""
    config = context.config
    batch = config.actions_per_batch
    n_steps = max(1, config.n_steps // batch) * batch
    commit = replace(config.commit, window_length=batch, patience=n_steps)
    stages = replace(context.stages, commitment=CommitEverything())
    config = replace(config, n_steps=n_steps, commit=commit)
    return replace(context, stages=stages, config=config), progress


CHANGES: Mapping[str, Change | None] = {
    TAP: None,
    NO_GATE: without_gates,
    NO_COMMIT: without_commitment,
}


@dataclass(frozen=True, slots=True)
class CommitEverything:
    """Lets every pool in that has a row."""

    def check(self, request: CommitRequest) -> Decision:
        """Ask nobody."""
        n_rows = len(request.pool)
        unknown = Bound(float("nan"), float("nan"), 0.5)
        certificate = Certificate(
            window=request.window,
            protocol="none",
            scorer="nobody",
            pool_sha256=table_sha256(request.pool),
            n_rows=n_rows,
            n_judged=n_rows,
            score_real=float("nan"),
            score_before=float("nan"),
            score_after=float("nan"),
            over_incumbent=unknown,
            over_real=None,
            look=1,
            shown=n_rows > 0,
            committed=n_rows > 0,
            reason="nobody is asked",
        )
        return Decision(certificate, request.standing, np.arange(n_rows))


# ---- The page.


def page(records: Sequence[Record]) -> str:
    """Return Table 2 with the paper's figures below ours, and what they say."""
    frame = utility_frame(records)
    said = [
        finding(
            f"TAP's utility is above that {name}",
            mean_interval(*_pairs(frame, "utility", TAP, name)),
            3,
        )
        for name in (NO_GATE, NO_COMMIT)
    ]
    said.append(
        finding(
            "Tail risk is larger without gates, in percentiles",
            mean_interval(*_pairs(frame, "tail", NO_GATE, TAP)),
        )
    )
    wins = frame[(frame["method"] == TAP)]["utility"]
    all_won = bool((wins > 0).all())
    said.append(
        f"{'**Found.**' if all_won else '**Not found.**'} TAP gains in every run: it "
        f"gains in {(wins > 0).mean():.0%} of {len(wins)} runs, loses in "
        f"{(wins < 0).mean():.0%}, and adds no row in {(wins == 0).mean():.0%}."
    )
    return "\n\n".join(
        [
            "Utility is the fall of the predictors' mean loss on the test rows "
            "(cross-entropy, or squared error in variances). Tail risk is the mean "
            "percentile of the least learnable fifth of the added rows, by a learner "
            "of the test rows, among rows drawn at large from the same backbone; the "
            "paper does not say among which. Without commitment every batch is let in "
            "as it comes.",
            "\n".join(f"- {sentence}" for sentence in said),
            as_markdown(_table(frame)),
            *(as_markdown(table) for table in _plain_tables(records)),
        ]
    )


def _plain_tables(records: Sequence[Record]) -> list[TextTable]:
    """Return the same runs in accuracy and RMSE, which the paper does not print."""
    found = score_gains(records)
    return [
        size_gain_table(found, metric, tuple(CHANGES))
        for metric in METRICS
        if (found["metric"] == metric).any()
    ]


def utility_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return dataset, n_real, split, method, utility, tail and n_rows."""
    lines = [
        (
            *(record["cell"][key] for key in ("dataset", "n_real", "split")),
            name,
            utility,
            record["tail_risk"][name],
            record["runs"][name]["n_rows"],
        )
        for record in records
        for name, utility in record["utility"].items()
    ]
    columns = ["dataset", "n_real", "split", "method", "utility", "tail", "n_rows"]
    return pd.DataFrame(lines, columns=columns).astype({"tail": np.float64})


def _pairs(
    frame: pd.DataFrame, column: str, upper: str, lower: str
) -> tuple[list[float], list[str]]:
    """Return the differences of two configurations, and the tables they are of."""
    wide = frame.pivot_table(column, ["dataset", "n_real", "split"], "method")
    if upper not in wide or lower not in wide:  # no rows, so no tail
        return [], []
    part = (wide[upper] - wide[lower]).dropna()
    return part.to_list(), [str(n) for n in part.index.get_level_values("dataset")]


def _table(frame: pd.DataFrame) -> TextTable:
    sizes = sorted(frame["n_real"].unique())
    rows: list[tuple[str, ...]] = []
    for name, (utilities, win_rate, tail) in PUBLISHED.items():
        own = frame[frame["method"] == name]
        cells = []
        for size in sizes:
            part = own[own["n_real"] == size]
            gain = mean_interval(part["utility"].to_list(), part["dataset"].to_list())
            cells.append(show_interval(gain, 3))
        tails = own["tail"].dropna()
        worst = f"{tails.mean():.1f}" if len(tails) else MISSING
        won = f"{100 * (own['utility'] > 0).mean():.1f}"
        rows.append((name, *cells, won, worst, f"{own['n_rows'].mean():.0f}"))
        theirs = dict(zip(SIZES, utilities, strict=True))
        shown = [f"{theirs[s]:+.3f}" if s in theirs else MISSING for s in sizes]
        rows.append(("(paper)", *shown, f"{win_rate:.1f}", f"{tail:.1f}", MISSING))
    return TextTable(
        "Utility with its 95 % interval, win rate and tail risk in percent",
        (
            "configuration",
            *(f"{size} real rows" for size in sizes),
            "win rate",
            "tail risk",
            "rows added",
        ),
        tuple(rows),
    )


STUDY = Study(
    name="safety",
    title="Gates and commitment",
    question="Do gates and windowed commitment prevent harm?",
    paper="Table 2",
    plan=plan,
    measure=measure,
    page=page,
)
