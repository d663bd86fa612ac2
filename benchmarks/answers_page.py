"""The page docs/results/answers.md, from the records of ``answers.py``.

Everything here is arithmetic on records; nothing is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from answers_cell import ORIGINS
from pages import (
    Count,
    Share,
    clustered_share,
    count,
    in_percent,
    markdown_table,
    page_of,
    provenance,
    with_error,
)
from poison import poison_section
from records import Records
from scipy.special import stdtrit

from tabtap.config import CommitConfig
from tabtap.domain.judgement import confidence_at
from tabtap.evaluate.figures import COVERAGE

Record = Mapping[str, Any]

MARKS = ("commit", "date", "machine")
UNITS = {"classification": "points of accuracy", "regression": "% of RMSE"}
LIMITS = {"classification": 1.0, "regression": 2.0}
"""Losses larger than this are harm, in points or per cent."""

MIN_GAIN = CommitConfig().min_gain

SURE = 1.64
"""Standard errors of the test rows that a loss must exceed to be beyond their noise."""

STEPS = {
    "classification": (5.0, 2.0, 1.0, 0.0),
    "regression": (10.0, 4.0, 2.0, 0.0),
}
"""True gains that power is told for, in points or per cent."""

WHO = {
    "followed": "verdict followed",
    "promised": "promised learner",
    "best alone": "best on real rows",
    "predictors": "the paper's predictors",
}
"""Whose change, by its name in records."""

HEADING = """# Straight answers

Computed by `benchmarks/answers.py` from recorded measurements; none is typed. A person
has n_real rows, asks tabtap, and does what it says. What came of that is measured on up
to 500 rows that nobody saw (at least half of a smaller table). `±` is a standard error
over runs. Gains are in points of accuracy or per cent of RMSE; larger is better."""

FOLLOWED = f"""## Is a person who follows the verdict better off

Over runs that said *augment*. *Verdict followed*: the promised learner with the new
rows, against the learner that does best without (by the check; the same one where it
was named). *Promised learner*, *best on real rows*: the same learner with the rows
against without them. *The paper's predictors*: the change of their mean. *Harmed*:
worse by more than {LIMITS["classification"]:g} point or {LIMITS["regression"]:g} % of
RMSE; *beyond noise*: below that by more than {SURE:g} standard errors of the test
rows.

Runs that were harmed:"""

RIVALS = """As many copies of real rows, or copies with noise, in the place of the new
rows, trained by the same promised learner and compared with the same one alone:"""

BOUNDS = f"""## Does the promise hold

Every pool that was checked, let in or not: by which share of it the loss of the learner
that it names is promised to fall at least (1 less the score), against the
true share. *Beyond noise*: broken by more than {SURE:g} standard errors of the test
rows. Errors count checks of one table, size and split together."""

STATED = f"""The plain figure as it was stated with the verdict, and as it was true;
*within the bars*: the truth is inside the stated two-sided {COVERAGE:.0%} interval."""

NOISE = """## Coin flips

Labels that have nothing to do with the features: whatever is learned, half of all fresh
rows are right, and every promise is counted as a false one. *Each row twice*: so many
rows, and then the same again. *In groups*: four near-copies each, and `groups=` says
so. *Shown*: a gain was shown, worth having or not."""

STABLE = """## Is the verdict the same tomorrow

Pairs of runs on the same rows that differ in nothing but their seed, or their budget:
the share with different verdicts, and of these with rows in one run and none in the
other. *Only the fewer rows*: the smaller budget adds rows and the larger none. That
few rows do not help where many do is no flip of a verdict."""

POWER = """## Power

Pools that were offered while none was in, by what they truly gain (promised learner
with the pool against the best alone): how many of them were let in. By run: where at
least one such pool truly gains so much, how often the verdict was *augment*. The truth
has the noise of the test rows."""


SURENESS = """## How sure it has to be

The same first checks, decided at other confidences of the run; the plain figure has to
gain as much as ever. *True gain*: the mean over those let in, against the best alone.
*Large gains let in*: of pools that truly gain over 5 points or 10 % of the RMSE."""


def answers_page(
    records: Mapping[str, Records],
    commands: Mapping[str, Sequence[str]],
    earlier: Records = (),
    notes: str = "",
) -> str:
    """Return the page.

    Parameters
    ----------
    records : mapping of str to records
        By the command of ``answers.py`` that made them.
    commands : mapping of str to sequence of str
        How each was measured.
    earlier : records, optional
        Those of ``stable`` before a change, to be shown beside.
    notes : str, optional
        What is written by hand about the figures.
    """
    made = {kind: finished(found) for kind, found in records.items()}
    sections = [HEADING]
    for kind, parts in (
        ("follow", _followed),
        ("noise", _noise),
        ("poison", lambda found: [poison_section(grouped(found, asked))]),
        ("stable", lambda found: _stable(found, finished(earlier))),
    ):
        if made.get(kind):
            source = provenance(made[kind], commands[kind], MARKS)
            sections += [part for own in parts(made[kind]) for part in (own, source)]
    failures = sum(len(unfinished(found)) for found in records.values())
    if failures:
        sections.append(f"Runs that failed and are not in the tables: {failures}.")
    return page_of(sections, notes)


def finished(records: Records) -> list[Record]:
    """Return what was measured to its end."""
    return [record for record in records if "failure" not in record]


def unfinished(records: Records) -> list[Record]:
    """Return what failed and was not made good later."""
    done = {_place(record) for record in finished(records)}
    failed = {_place(r): r for r in records if "failure" in r}
    return [record for place, record in failed.items() if place not in done]


def _place(record: Record) -> str:
    names = ("table", "n_real", "split", "seed", "preset", "learner")
    return " ".join(str(record[name]) for name in names)


def span(numbers: Iterable[int]) -> str:
    """Return whole numbers as options have them, neighbours as one range.

    Examples
    --------
    >>> span([2, 0, 1, 5, 5])
    '0-2 5'
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in runs)


def asked(record: Record) -> str:
    """Return the preset, and the learner if one was named, or one of several."""
    learner = "one named" if "turns" in record else record["learner"]
    return record["preset"] + ("" if learner == "auto" else f", {learner}")


def grouped(
    records: Iterable[Record], key: Callable[[Record], Any]
) -> dict[Any, list[Record]]:
    """Return records by what a key makes of them, in the order of the keys."""
    found: dict[Any, list[Record]] = {}
    for record in records:
        found.setdefault(key(record), []).append(record)
    return {name: found[name] for name in sorted(found)}


# ---- Whoever follows the verdict.


def _followed(records: list[Record]) -> list[str]:
    """Return the sections on following the verdict."""
    by_task = grouped(records, _task)
    changes, power = [FOLLOWED, harm_table(records)], [POWER]
    for task, own in by_task.items():
        changes += [f"### In {UNITS[task]}", followed_table(own, "n_real")]
        changes += ["By table:", followed_table(own, "table")]
        if any("turns" in record for record in own):
            changes += ["By the learner that was named:"]
            changes += [followed_table([r for r in own if "turns" in r], "learner")]
        if rivals := rival_table(own):
            changes += [RIVALS, rivals]
        power += [f"In {UNITS[task]}:", power_table(own)]
    bounds = [BOUNDS, bound_table(records)]
    if stated := stated_table(records):
        bounds += [STATED, stated]
    sure = [
        SURENESS,
        *(f"In {UNITS[t]}:\n\n{sureness_table(p)}" for t, p in by_task.items()),
    ]
    cost = ["## Cost", "CPU seconds of a run:", cost_table(records)]
    return ["\n\n".join(section) for section in (changes, bounds, power, sure, cost)]


def _size(record: Record) -> int:
    return int(record["n_real"])


def origin_of(record: Record) -> str:
    """Return whose table a record is of."""
    found = [name for name, tables in ORIGINS.items() if record["table"] in tables]
    return found[0] if found else "others"


def harm_table(records: Sequence[Record]) -> str:
    """Return how many runs were harmed, by whose tables, for every learner."""
    rows = []
    for run, own in grouped(records, asked).items():
        for name, part in {**grouped(own, origin_of), "all": own}.items():
            added = [record for record in part if record.get("changes")]
            harms = [
                str(harmed(added, who, beyond=beyond))
                for who in WHO
                for beyond in (0.0, SURE)
            ]
            rows.append([run, name, f"{len(added)} of {len(part)}", *harms])
    header = [f"{who}{more}" for who in WHO.values() for more in ("", ", beyond noise")]
    return markdown_table(["run", "tables", "augment", *header], rows)


def harmed(records: Iterable[Record], who: str, *, beyond: float) -> Count:
    """Count the runs whose loss exceeds the limit by so many standard errors."""
    hits = []
    for record in records:
        found = record["changes"]["new rows"][who]
        highest = found["change"] + beyond * found["error"]
        hits.append(highest < -LIMITS[record["task"]])
    return count(hits)


def followed_table(records: Sequence[Record], by: str) -> str:
    """Return changes over runs that added rows, by something and in all."""
    rows = []
    for run, own in grouped(records, asked).items():
        parts = {**grouped(own, lambda r: r[by]), "all": own}
        for name, part in parts.items():
            added = [record for record in part if record.get("changes")]
            found = [record["changes"]["new rows"] for record in added]
            changes = [with_error([c[who]["change"] for c in found]) for who in WHO]
            worst = min((c["followed"]["change"] for c in found), default=None)
            told = "-" if worst is None else f"{worst:+.1f}"
            count = f"{len(added)} of {len(part)}"
            rows.append([run, str(name), count, *changes, told])
    header = ["run", by, "augment", *WHO.values(), "worst followed"]
    return markdown_table(header, rows)


def rival_table(records: Sequence[Record]) -> str:
    """Return what copies and jitter do in the place of the new rows."""
    rows = []
    for run, own in grouped(records, asked).items():
        for name, part in {**grouped(own, _size), "all": own}.items():
            added = [r["changes"] for r in part if r.get("changes")]
            if not added:
                continue
            cells = [
                with_error([c[kind][who]["change"] for c in added])
                for who in ("followed", "predictors")
                for kind in ("new rows", "copies", "jitter")
            ]
            over = [
                c["new rows"]["followed"]["change"] - c["copies"]["followed"]["change"]
                for c in added
            ]
            rows.append([run, str(name), *cells, with_error(over)])
    header = ["run", "n_real", "new rows", "copies", "jitter"]
    header += ["predictors: new rows", "copies ", "jitter ", "new rows over copies"]
    return markdown_table(header, rows) if rows else ""


# ---- Bounds against the truth.


class Promise(NamedTuple):
    """A lower bound, what was true, and how sure that is."""

    lower: float
    nominal: float
    truth: float
    error: float
    place: tuple[Any, ...]


def promises(
    records: Iterable[Record], *, committed: bool | None = None
) -> list[Promise]:
    """Return every bound with its truth; of the committed or refused alone if asked."""
    found = []
    for record in records:
        place = tuple(record[name] for name in ("table", "n_real", "split"))
        for check in record["checks"]:
            bound, truth = check["over_real"], check["truth"]
            if truth is None or bound is None or check["share_at_least"] is None:
                continue
            if committed in (None, check["committed"]):
                stated = check["share_at_least"], bound["confidence"]
                true = truth["share"], truth["share_error"]
                found.append(Promise(*stated, *true, place))
    return found


def bound_table(records: Sequence[Record]) -> str:
    """Return how often bounds held against how often they should."""
    rows = []
    for run, own in grouped(records, asked).items():
        kinds = {"": own}
        kinds |= {f", {UNITS[t]}": p for t, p in grouped(own, _task).items()}
        for name, part in kinds.items():
            rows.append([run, f"all{name}", *_held(promises(part))])
        for name, part in kinds.items():
            rows.append([run, f"let in{name}", *_held(promises(part, committed=True))])
        rows.append([run, "refused", *_held(promises(own, committed=False))])
    header = ["run", "checks", "number", "nominal %", "held %", "broken beyond noise %"]
    return markdown_table(header, rows)


def _task(record: Record) -> str:
    return str(record["task"])


def _held(made: Sequence[Promise]) -> list[str]:
    if not made:
        return ["0", "-", "-", "-"]
    places = [promise.place for promise in made]
    kept = clustered_share([p.truth >= p.lower for p in made], places)
    surely = [p.truth + SURE * p.error < p.lower for p in made]
    nominal = 100 * float(np.mean([p.nominal for p in made]))
    shares = [_share(kept), _share(clustered_share(surely, places))]
    return [str(len(made)), f"{nominal:.1f}", *shares]


def _share(found: Share) -> str:
    error = "" if np.isnan(found.error) else f" ± {100 * found.error:.1f}"
    return f"{100 * found.share:.1f}{error}"


def stated_table(records: Sequence[Record]) -> str:
    """Return the plain figure as it was stated, beside what was true."""
    rows = []
    for run, own in grouped(records, asked).items():
        for task, part in grouped(own, _task).items():
            pairs = [
                (*stated_change(record), record["changes"]["new rows"]["followed"])
                for record in part
                if record.get("changes") and record["figures"]
            ]
            if not pairs:
                continue
            said, true = [p[0] for p in pairs], [p[2]["change"] for p in pairs]
            inside = [abs(p[0] - p[2]["change"]) <= p[1] for p in pairs]
            shares = [with_error(said), with_error(true), in_percent(inside)]
            rows.append([run, UNITS[task], str(len(pairs)), *shares])
    header = ["run", "in", "runs", "stated", "true", "within the bars %"]
    return markdown_table(header, rows) if rows else ""


def stated_change(record: Record) -> tuple[float, float]:
    """Return the stated change of the plain figure and its bar, in points or %."""
    figure = record["figures"][0]
    value, margin = figure["change"]
    if figure["larger_is_better"]:
        return 100 * value, 100 * margin
    alone = figure["best_alone"][0]
    return -100 * value / alone, 100 * margin / alone


# ---- Power: of what would have helped, how much was let in.


def power_table(records: Sequence[Record]) -> str:
    """Return how many pools were let in, and runs that had any, by their true gain."""
    task = records[0]["task"]
    rows = []
    for run, own in grouped(records, asked).items():
        for size, part in grouped(own, _size).items():
            pools = [_first_pools(record) for record in part]
            for name, low, high in _steps(task):
                inside = [
                    [committed for gain, committed in own_pools if low < gain <= high]
                    for own_pools in pools
                ]
                by_pool = count(hit for hits in inside for hit in hits)
                by_run = count(
                    record["verdict"] == "augment"
                    for record, hits in zip(part, inside, strict=True)
                    if hits
                )
                rows.append([run, str(size), name, str(by_pool), str(by_run)])
    header = ["run", "n_real", "true gain", "pools let in", "by run"]
    return markdown_table(header, rows)


def _first_pools(record: Record) -> list[tuple[float, bool]]:
    return [
        (check["truth"]["change"], check["committed"])
        for check in record["checks"]
        if check["first"] and check["truth"] is not None
    ]


def _steps(task: str) -> list[tuple[str, float, float]]:
    """Return names and ends of the ranges of true gains, largest first."""
    ends = STEPS[task]
    between = [(f"{low:g} to {high:g}", low, high) for high, low in pairwise(ends)]
    return [
        (f"more than {ends[0]:g}", ends[0], np.inf),
        *between,
        (f"{ends[-1]:g} or less", -np.inf, ends[-1]),
    ]


# ---- What another confidence would have decided.

CONFIDENCES = (0.6, 0.7, 0.75, 0.8, 0.9, 0.95)
"""Of a run; its first check is held to more."""


class FirstCheck(NamedTuple):
    """The first check of a run, and what was true of its pool."""

    gain: float
    error: float
    """Standard error that its bar was made of."""

    n_rows: int
    """Real rows, which the bar counts."""

    loss: float
    """Without new rows, as the check measured it."""

    worth: float
    """Estimated gain of the plain figure, as ``min_gain`` counts it."""

    change: float
    """True gain of the plain figure, in points or per cent."""

    share: float
    """True gain as a share of the loss."""

    def holds(self, confidence: float) -> bool:
        """Tell whether the bound at a confidence is true."""
        return self.share >= self.lower(confidence) / self.loss

    def lower(self, confidence: float) -> float:
        """Return the bound at a confidence of the check."""
        return self.gain - float(stdtrit(self.n_rows - 1, confidence)) * self.error


def first_checks(records: Iterable[Record]) -> list[FirstCheck]:
    """Return the first check of each run that had one, if it can be decided anew."""
    found = []
    for record in records:
        if not record["checks"] or not record["figures"]:
            continue
        check, n_rows = record["checks"][0], record["n_real"]
        bound, truth = check["over_real"], check["truth"]
        if truth is None or bound is None or not check["share_at_least"]:
            continue
        error = bound["margin"] / float(stdtrit(n_rows - 1, bound["confidence"]))
        worth = stated_change(record)[0] / 100.0
        loss = bound["lower"] / check["share_at_least"]
        true = truth["change"], truth["share"]
        found.append(FirstCheck(bound["gain"], error, n_rows, loss, worth, *true))
    return found


def sureness_table(records: Sequence[Record]) -> str:
    """Return what would have been let in at other confidences."""
    task, rows = records[0]["task"], []
    for run, own in grouped(records, asked).items():
        checks = first_checks(own)
        large = [check.change > STEPS[task][0] for check in checks]
        for confidence in CONFIDENCES if checks else ():
            level = confidence_at(1, confidence)
            let = [c.lower(level) > 0.0 and c.worth >= MIN_GAIN for c in checks]
            inside = [c for c, is_in in zip(checks, let, strict=True) if is_in]
            pairs = zip(let, large, strict=True)
            cells = [
                str(count(let)),
                with_error([c.change for c in inside]),
                str(count(c.change < -LIMITS[task] for c in inside)),
                str(count(is_in for is_in, is_large in pairs if is_large)),
                str(count(c.holds(level) for c in checks)),
                str(count(c.holds(level) for c in inside)),
            ]
            sure = [f"{confidence:.0%}", f"{level:.1%}"]
            rows.append([run, *sure, *cells])
    header = ["run", "confidence", "of a check", "let in", "true gain", "harmed"]
    header += ["large gains let in", "bound held", "of those let in"]
    return markdown_table(header, rows)


# ---- Cost, coin flips and stability.


def cost_table(records: Sequence[Record]) -> str:
    """Return the CPU seconds of runs by size."""
    rows = []
    for run, own in grouped(records, asked).items():
        for size, part in grouped(own, _size).items():
            seconds = [record["seconds"]["run"] for record in part]
            everything = [record["seconds"]["all"] for record in part]
            told = [with_error(seconds, ".1f"), f"{max(seconds):.1f}"]
            rows.append([run, str(size), *told, with_error(everything, ".1f")])
    header = ["run", "n_real", "mean", "longest", "with the truth"]
    return markdown_table(header, rows)


def _noise(records: list[Record]) -> list[str]:
    return [f"{NOISE}\n\n{noise_table(records)}"]


def noise_table(records: Sequence[Record]) -> str:
    """Return how often a gain is promised, against how often it may be."""
    rows = []
    keys = lambda r: (asked(r), r["table"], r["n_real"])  # noqa: E731
    for (run, kind, n_real), part in grouped(records, keys).items():
        promised = count(record["verdict"] == "augment" for record in part)
        shown = count(record["shown"] for record in part)
        allowed = 100 * (1 - float(np.mean([r["confidence"] for r in part])))
        counts = [str(promised), str(shown), f"{allowed:.0f} %"]
        seeds = span(record["seed"] for record in part)
        rows.append([run, kind, str(n_real), *counts, seeds])
    header = ["run", "noise", "rows", "rows promised to help", "shown", "at most"]
    return markdown_table([*header, "seeds"], rows)


class Flips(NamedTuple):
    """Pairs of runs, and how many of them disagree."""

    verdict: Count
    """Different verdicts."""

    rows: Count
    """Rows in one and none in the other."""


def _stable(records: list[Record], earlier: list[Record]) -> list[str]:
    parts = [STABLE, stable_table(records)]
    if earlier:
        commits = ", ".join(sorted({str(r.get("commit")) for r in earlier}))
        parts += [f"Before, at commit {commits}:", stable_table(earlier)]
    said = "By table: `+` augment, `o` a gain too small, `-` none; seed by seed."
    return ["\n\n".join([*parts, said, verdict_table(records)])]


def stable_table(records: Sequence[Record]) -> str:
    """Return the share of pairs of runs whose verdicts differ."""
    rows = []
    for run, own in grouped(records, asked).items():
        budgets = sorted({one["budget"] for r in own for one in r["runs"]})
        for budget in budgets:
            pairs = seed_pairs(own, budget)
            rows.append([run, "seeds", f"budget {budget}", *_flips(pairs), "-"])
        every = [pair for budget in budgets for pair in seed_pairs(own, budget)]
        rows.append([run, "seeds", "all", *_flips(every), "-"])
        for one, other in combinations(budgets, 2):
            pairs = budget_pairs(own, one, other)
            cells = [*_flips(pairs), _only_fewer(pairs)]
            rows.append([run, "budgets", f"{one} and {other}", *cells])
        every = [p for two in combinations(budgets, 2) for p in budget_pairs(own, *two)]
        rows.append([run, "budgets", "all", *_flips(every), _only_fewer(every)])
    header = ["run", "pairs of", "", "different verdicts", "rows or none"]
    return markdown_table([*header, "only the fewer rows"], rows)


Pair = tuple[Record, Record]


def seed_pairs(records: Iterable[Record], budget: int) -> list[Pair]:
    """Return all pairs of runs of one budget on the same rows."""
    rows_of = grouped(records, lambda r: (r["table"], r["n_real"], r["split"]))
    pairs: list[Pair] = []
    for same in rows_of.values():
        found = [one for r in same for one in r["runs"] if one["budget"] == budget]
        pairs += combinations(found, 2)
    return pairs


def budget_pairs(records: Iterable[Record], one: int, other: int) -> list[Pair]:
    """Return the runs of two budgets, paired by rows and seed."""
    by_budget = [{run["budget"]: run for run in r["runs"]} for r in records]
    return [(b[one], b[other]) for b in by_budget if one in b and other in b]


def _flips(pairs: Sequence[Pair]) -> list[str]:
    flips = Flips(
        count(a["verdict"] != b["verdict"] for a, b in pairs),
        count((a["n_added"] > 0) != (b["n_added"] > 0) for a, b in pairs),
    )
    return [str(flips.verdict), str(flips.rows)]


def _only_fewer(pairs: Sequence[Pair]) -> str:
    """Count the pairs in which fewer rows are let in and more are not."""
    return str(count(a["n_added"] > 0 and not b["n_added"] for a, b in pairs))


_SIGNS = {"augment": "+", "gain_too_small": "o", "no_gain": "-"}


def verdict_table(records: Sequence[Record]) -> str:
    """Return every verdict, by table and budget."""
    budgets = sorted({one["budget"] for r in records for one in r["runs"]})
    rows = []
    keys = lambda r: (asked(r), r["table"], r["split"])  # noqa: E731
    for (run, table, split), part in grouped(records, keys).items():
        ordered = sorted(part, key=lambda r: r["seed"])
        signs = [
            "".join(
                _SIGNS[one["verdict"]]
                for r in ordered
                for one in r["runs"]
                if one["budget"] == budget
            )
            for budget in budgets
        ]
        rows.append([run, table, str(split), *(f"`{sign}`" for sign in signs)])
    return markdown_table(["run", "table", "split", *map(str, budgets)], rows)
