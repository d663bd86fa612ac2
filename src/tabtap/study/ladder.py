"""The ladder of mechanisms: four ways to use one backbone (Figure 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import pandas as pd
from matplotlib.figure import Figure

from tabtap.api.run import Request
from tabtap.compare.printing import as_markdown
from tabtap.compare.store import ROWS, Cell, Record, Store
from tabtap.rivals.ladder import (
    draw_hard_inpainting,
    draw_one_shot,
    draw_random_inpainting,
    paper_preset,
    request_for,
    without_identifiers,
)
from tabtap.study.figures import lines_with_bands
from tabtap.study.main import SIZES, size_gain_table
from tabtap.study.runs import Ground, plan_cells, prepare, run_tap, scores_with
from tabtap.study.studies import Study, StudyOptions
from tabtap.study.tables import (
    METRICS,
    finding,
    gains,
    mean_frame,
    mean_interval,
)
from tabtap.table.table import Table

REAL = "Real"
RUNGS = ("Global sampling", "Random inpainting", "Hard inpainting", "TAP")
"""From the lowest to the highest, as the paper has them."""

UTILITY = "utility"
"""Fall of the predictors' mean loss on the test rows, equation 2."""


def plan(options: StudyOptions) -> Iterator[Cell]:
    """Yield a cell for each table, size and split: all rungs on one backbone."""
    return plan_cells("ladder", options, {"ladder": {}}, n_real=SIZES)


def measure(cell: Cell, store: Store | None) -> Record:  # noqa: ARG001  no other rows
    """Draw the rows of every rung, and score predictors that are given them."""
    ground = prepare(cell)
    run = run_tap(ground)
    rows = {**draw_rungs(ground, cell.terms.budget), "TAP": run.rows}
    return {
        "scores": {
            REAL: scores_with(ground, None),
            **{name: scores_with(ground, made) for name, made in rows.items()},
        },
        "losses": {
            REAL: ground.part.loss(None, ground.names),
            **{name: ground.part.loss(m, ground.names) for name, m in rows.items()},
        },
        "run": run.about,
        ROWS: rows,
    }


def draw_rungs(ground: Ground, budget: int) -> dict[str, Table]:
    """Return the rows of the rungs below TAP, by name."""
    real, whole, request = ground.part.real, ground.whole, hard_request(ground)
    drawn = (
        draw_one_shot(whole, real, budget, ground.rng("global sampling")),
        draw_random_inpainting(whole, real, budget, ground.rng("random inpainting")),
        draw_hard_inpainting(whole, request, budget, ground.rng("hard inpainting")),
    )
    return {
        name: without_identifiers(rows)
        for name, rows in zip(RUNGS, drawn, strict=False)
    }


def hard_request(ground: Ground) -> Request:
    """Return the run whose gates and evaluator hard inpainting has: the paper's."""
    request = ground.request
    if request.config.commit.protocol == "paper":
        return request
    return request_for(ground.part.real, paper_preset(), request.seed)


# ---- The page.


def page(records: Sequence[Record]) -> str:
    """Return the gains of all rungs, and whether each is above the one below."""
    found = gain_frame(records)
    said = [_order(found)]
    for lower, upper in pairwise(RUNGS):
        part = _difference(found[found["metric"] == UTILITY], upper, lower)
        claim = f"Utility, {upper} over {lower}"
        said.append(finding(claim, mean_interval(part.to_list(), _tables(part)), 3))
    return "\n\n".join(
        [
            "The paper says that utility rises from global sampling over random and "
            "hard inpainting to TAP, at every size. All four stand on one backbone "
            "here; TAP may add fewer rows than the budget.",
            "\n".join(f"- {sentence}" for sentence in said),
            "![Gains of the four mechanisms](ladder.svg)",
            *(
                as_markdown(size_gain_table(found, metric, RUNGS, unit=unit))
                for metric, unit in _metrics(found).items()
            ),
        ]
    )


def figures(records: Sequence[Record]) -> Mapping[str, Figure]:
    """Draw gains against the number of real rows, with 95 % intervals."""
    found = gain_frame(records)
    lines = []
    for (metric, rung, size), part in found.groupby(["metric", "method", "n_real"]):
        mean = mean_interval(part["gain"].to_list(), part["dataset"].to_list())
        lines.append((_UNITS[str(metric)], rung, size, *mean[:3]))
    columns = ["panel", "line", "x", "mean", "low", "high"]
    frame = pd.DataFrame(lines, columns=columns)
    frame["line"] = pd.Categorical(frame["line"], RUNGS, ordered=True)
    drawn = lines_with_bands(
        frame.sort_values("line"), "real rows", "gain over real rows"
    )
    return {"ladder.svg": drawn}


_UNITS = {
    "accuracy": "accuracy, points",
    "rmse": "RMSE, %",
    UTILITY: "utility (loss), both tasks",
}


def gain_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return dataset, n_real, split, method, gain and metric; larger is better."""
    lines = [
        (cell["dataset"], cell["n_real"], cell["split"], name, losses[REAL] - loss)
        for cell, losses in ((r["cell"], r["losses"]) for r in records)
        for name, loss in losses.items()
        if name != REAL
    ]
    columns = ["dataset", "n_real", "split", "method", "gain"]
    utility = pd.DataFrame(lines, columns=columns).assign(metric=UTILITY)
    return pd.concat([score_gains(records), utility], ignore_index=True)


def score_gains(records: Iterable[Record]) -> pd.DataFrame:
    """Return gains over real rows of all that records have scores of, by name.

    As ``gains`` has them, with the metric as a column: of both tasks, those there are.
    """
    scores = mean_frame(
        (record["cell"], name, part)
        for record in records
        for name, part in record["scores"].items()
    )
    parts = [
        gains(scores, metric).assign(metric=metric)
        for metric in METRICS
        if (scores["metric"] == metric).any()
    ]
    return pd.concat(parts, ignore_index=True)


def _order(found: pd.DataFrame) -> str:
    """Say how the rungs are ordered by their mean utility."""
    part = found[found["metric"] == UTILITY]
    means = part.groupby("method")["gain"].mean().reindex(RUNGS).dropna()
    ours = means.sort_values()
    listed = ", ".join(f"{name} {gain:+.3f}" for name, gain in ours.items())
    is_theirs = list(ours.index) == list(means.index)
    verdict = "**Found.**" if is_theirs else "**Not found.**"
    relation = "the paper's order" if is_theirs else "not the paper's order"
    return (
        f"{verdict} From the lowest mean utility to the highest: {listed}; {relation}."
    )


def _difference(found: pd.DataFrame, upper: str, lower: str) -> pd.Series:
    keys = ["dataset", "n_real", "split"]
    wide = found.pivot_table("gain", keys, "method")
    return (wide[upper] - wide[lower]).dropna()


def _tables(part: pd.Series) -> list[str]:
    return [str(name) for name in part.index.get_level_values("dataset")]


def _metrics(found: pd.DataFrame) -> dict[str, str]:
    """Return the metrics there are, and a unit where it is no usual one."""
    own = {UTILITY: "nats or variances"}
    return {m: own.get(m, "") for m in _UNITS if (found["metric"] == m).any()}


STUDY = Study(
    name="ladder",
    title="The ladder of mechanisms",
    question="Given one backbone, does utility rise from global sampling to TAP?",
    paper="Figure 3",
    plan=plan,
    measure=measure,
    page=page,
    figures=figures,
)
