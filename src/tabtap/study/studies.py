"""The paper's experiments by name: what is measured, how, and the page about it.

A study is a module of this package with a ``STUDY``.  Its cells go through the runner
of ``tabtap bench``: records are kept one by one in a store, a run that was stopped goes
on, and several machines may share the work.  To add a study, write the module and put
its name into ``STUDY_NAMES``.
"""

from __future__ import annotations

import importlib
import shlex
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, Literal

from matplotlib.figure import Figure

from tabtap.api.choices import check_judge_name
from tabtap.archive import put_in_place
from tabtap.compare.runner import Cluster, RunObserver, RunSummary, run_cells
from tabtap.compare.store import Cell, Record, Store, study_of
from tabtap.errors import UserInputError, bad_setting
from tabtap.result import installed_versions
from tabtap.study.figures import save_figure
from tabtap.study.sources import SOURCES

STUDY_NAMES: tuple[str, ...] = (
    "main",
    "ladder",
    "learnability",
    "buckets",
    "safety",
    "dynamics",
    "sensitivity",
    "calibration",
    "cost",
    "ablation",
    "theory",
)
"""Names of all studies, in the order of the paper; each is a module beside this one."""

SEED = 3
"""Settings were chosen on seeds 0 and 1, and looked at on 2."""

BUDGET = 500
"""Rows that a method may add, as in the paper."""

QUICK_BUDGET = 100
"""The same in a quick look, which is known by it."""

PROTOCOLS = ("ours", "paper")
STUDY_PRESETS = ("default", "fast")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """How much of a study is measured, and under whose rules; None: as planned."""

    quick: bool = False
    """A few small cells: minutes, to see that all is well."""

    protocol: Literal["ours", "paper"] = "ours"
    """TAP as it is by default, or the paper's loop (Table 4) on the same backbones."""

    preset: Literal["default", "fast"] = "default"
    """Of TAP under our protocol; in ``fast`` its policy rests."""

    evaluator: str | None = None
    """Who judges every step of TAP; None: whom the protocol names."""

    tables: tuple[str, ...] | None = None
    n_real: tuple[int, ...] | None = None
    splits: int | None = None
    seed: int = SEED

    def __post_init__(self) -> None:
        if self.preset not in STUDY_PRESETS:
            must = f"be one of {', '.join(STUDY_PRESETS)}"
            raise bad_setting("preset", self.preset, must, "Try 'fast'.")
        if self.protocol not in PROTOCOLS:
            must = f"be one of {', '.join(PROTOCOLS)}"
            raise bad_setting("protocol", self.protocol, must, "Try 'ours'.")
        if self.evaluator is not None:
            check_judge_name(self.evaluator, "evaluator")
        if unknown := [name for name in self.tables or () if name not in SOURCES]:
            must = f"be among {', '.join(SOURCES)}"
            raise bad_setting("tables", unknown[0], must, "Check its spelling.")

    def repetitions(
        self, tables: Sequence[str], n_real: Sequence[int], splits: int
    ) -> Iterator[tuple[int, int, str]]:
        """Yield split, n_real and table of all that is planned, or that was asked for.

        Splits come last, so that early cells show every table.
        """
        return product(
            range(self.splits or splits), self.n_real or n_real, self.tables or tables
        )


Records = Sequence[Record]


def _no_figures(records: Records) -> Mapping[str, Figure]:
    del records
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One experiment: a plan, the work of a cell, and a page made from records."""

    name: str
    title: str
    question: str
    """One sentence."""

    paper: str
    """What of the paper stands beside it, such as "Table 2"."""

    plan: Callable[[StudyOptions], Iterable[Cell]]
    """What is measured; every cell names this study, and has all that it depends on."""

    measure: Callable[[Cell, Store | None], Record]
    """Does one cell and returns what was found, ready for JSON (None, never NaN).

    Tables under ``ROWS``, by name, are kept beside the record.  The store is there for
    rows that other cells have made (see ``made_rows``); None: nothing is kept.
    """

    page: Callable[[Records], str]
    """Markdown, made from the records of cells that were measured."""

    figures: Callable[[Records], Mapping[str, Figure]] = _no_figures
    """Figures by the file name, ending in ``.svg``, that the page shows them by."""


def study_named(name: str) -> Study:
    """Return one of ``STUDY_NAMES``.

    Examples
    --------
    >>> study_named("main").paper
    'Tables 1 and 9'
    """
    if name not in STUDY_NAMES:
        close = get_close_matches(name, STUDY_NAMES, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else "See: tabtap study list"
        must = f"be one of {', '.join(STUDY_NAMES)}"
        raise bad_setting("study", name, must, hint)
    study: Study = importlib.import_module(f"tabtap.study.{name}").STUDY
    return study


def run_study(
    study: Study,
    options: StudyOptions,
    store: Store,
    *,
    cluster: Cluster | None = None,
    observer: RunObserver | None = None,
) -> RunSummary:
    """Measure every cell of a study that has no record yet; see ``run_cells``."""
    work = partial(measure_cell, store=store)
    cells = list(study.plan(options))
    return run_cells(cells, work, store, cluster=cluster, observer=observer)


def measure_cell(cell: Cell, store: Store | None = None) -> Record:
    """Do one cell of any study and return its record."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = study_named(cell.study).measure(cell, store)
    spent = {"all": time.perf_counter() - wall}
    return {
        "format": FORMAT,
        "cell": cell.written(),
        "failure": None,
        "costs": {
            "seconds": spent,
            "cpu_seconds": {"all": time.process_time() - cpu},
        },
        "versions": installed_versions(),
        "commit": _commit(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **found,
    }


FORMAT = 1
"""Of a record."""


@cache
def _commit() -> str | None:
    """Return the commit that is run, if this is a checkout and git is there."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12"]
    try:
        told = subprocess.run([*command, "HEAD"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.stdout.decode().strip()


def study_records(
    study: Study, store: Store, protocol: str | None = None
) -> list[Record]:
    """Return a study's records, failed cells too; raise if there are none.

    ``protocol`` leaves out runs of the loop under the other one.
    """
    found = [record for record in store.records(_names_a_cell) if _is_of(record, study)]
    if protocol is not None:
        found = [r for r in found if _rules(r).get("protocol", protocol) == protocol]
    if not found:
        under = "" if protocol is None else f" under the protocol {protocol!r}"
        raise UserInputError(
            f"The store {store.address!r} holds no records of {study.name!r}{under} "
            f"yet. Fill it: tabtap study run {study.name} --store "
            f"{shlex.quote(store.address)}"
        )
    _check_rules(study, found)
    return found


def _check_rules(study: Study, records: Records) -> None:
    """Refuse runs of one cell under several rules: a mean of them says nothing."""
    by_cell: dict[tuple[object, ...], set[str]] = {}
    for record in records:
        if rules := _rules(record):
            cell = record["cell"]
            where = (cell[key] for key in ("dataset", "n_real", "split", "method"))
            told = ", ".join(f"{name} {value}" for name, value in rules.items())
            by_cell.setdefault((*where, cell["budget"]), set()).add(told)
    if several := next((told for told in by_cell.values() if len(told) > 1), None):
        raise UserInputError(
            f"The store holds records of {study.name!r} under several rules: "
            f"{'; '.join(sorted(several))}. One page can show one of them. Say which "
            "with --protocol, or keep each in a store of its own."
        )


def _rules(record: Record) -> dict[str, Any]:
    """Return under whose rules a run of the loop was made; {}: it was none."""
    given = record["cell"]["settings"]
    if "protocol" not in given:
        return {}
    names = ("protocol", "preset", "evaluator")
    return {name: given[name] for name in names if name in given}


def _is_of(record: Record, study: Study) -> bool:
    return study_of(record) == study.name


def _names_a_cell(record: Record) -> bool:
    return isinstance(record.get("cell"), dict) and "failure" in record


def write_page(study: Study, records: Records, out: Path) -> list[Path]:
    """Write a study's page, and its figures beside it; return what was written.

    What the figures mean may be written by hand: ``NAME_notes.md`` beside the page is
    put at its end.
    """
    # A method that failed was scored all the same; a cell that did was not.
    whole = [r for r in records if not r["failure"] or r.get("costs")]
    if not whole:
        reason = records[0]["failure"]["reason"]
        raise UserInputError(
            f"Every cell of {study.name!r} failed, so there is nothing to show. The "
            f"first: {reason}"
        )
    figures = study.figures(whole)
    parts = [
        f"# {study.title}",
        f"{study.question} Beside it stands the paper's {study.paper}.",
        *([_QUICK_WARNING] if _is_quick([r["cell"] for r in records]) else []),
        study.page(whole).strip(),
        provenance(study, records),
    ]
    notes = out.with_name(f"{out.stem}_notes.md")
    if notes.is_file():
        parts.insert(-1, notes.read_text(encoding="utf-8").strip())
    out.parent.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        save_figure(figure, out.with_name(name))
    put_in_place(("\n\n".join(parts) + "\n").encode(), out)
    return [out, *(out.with_name(name) for name in figures)]


_QUICK_WARNING = (
    "*A quick look, with few rows, few steps and few cells: its figures say nothing.*"
)


def provenance(study: Study, records: Records) -> str:
    """Return where the figures of a page come from."""
    failed = [record for record in records if record["failure"]]
    costs = [r["costs"]["seconds"] for r in records if r.get("costs")]
    hours = sum(sum(_top(spent).values()) for spent in costs) / 3600
    versions = sorted({r["versions"]["tabtap"] for r in records if "versions" in r})
    finished = sorted(r["finished"] for r in records if "finished" in r)
    cells = [record["cell"] for record in records]
    lines = [
        "## Where this comes from",
        "",
        f"- command: `{_command(study, cells)}`",
        f"- {len(records)} cells, of which {len(failed)} failed; seeds "
        f"{sorted({cell['seed'] for cell in cells})}; "
        f"{len({cell['dataset'] for cell in cells})} tables, {_sizes(cells)}",
        f"- at most {_listed(cell['budget'] for cell in cells)} rows added; "
        f"predictors: {_predictors(cells)}",
        f"- {hours:.2f} hours of workers",
        f"- tabtap {', '.join(versions)}{_commits(records)}",
    ]
    if finished:
        lines.append(f"- measured from {finished[0]} to {finished[-1]}")
    for reason in sorted({str(record["failure"]["reason"]) for record in failed}):
        lines.append(f"- failed: {reason}")
    return "\n".join(lines)


def _sizes(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return which splits there are, size by size where they are not the same."""
    splits: dict[int, set[int]] = {}
    for cell in cells:
        splits.setdefault(cell["n_real"], set()).add(cell["split"])
    sizes: dict[tuple[int, ...], list[int]] = {}
    for size in sorted(splits):
        sizes.setdefault(tuple(sorted(splits[size])), []).append(size)
    told = [f"n_real {some}, splits {list(found)}" for found, some in sizes.items()]
    return "; ".join(told)


def _commits(records: Records) -> str:
    found = sorted({str(r["commit"]) for r in records if r.get("commit")})
    return f", commit {', '.join(found)}" if found else ""


def _is_quick(cells: Sequence[Mapping[str, Any]]) -> bool:
    return any(cell["budget"] == QUICK_BUDGET for cell in cells)


def _listed(values: Iterable[object]) -> str:
    return " or ".join(map(str, dict.fromkeys(values)))


def _predictors(cells: Sequence[Mapping[str, Any]]) -> str:
    return _listed(", ".join(cell["predictors"]) or "all of the task" for cell in cells)


def _command(study: Study, cells: Sequence[Mapping[str, Any]]) -> str:
    """Return the command that would measure these cells."""
    tables = [name for name in SOURCES if name in {cell["dataset"] for cell in cells}]
    words = ["tabtap", "study", "run", study.name, "--store", "results"]
    given = [cell["settings"] for cell in cells]
    looped = [s for s in given if "protocol" in s or "preset" in s]
    # A study of both protocols asks for neither.
    if looped and all("paper" in (s.get("protocol"), s.get("preset")) for s in looped):
        words += ["--protocol", "paper"]
    if not _is_quick(cells) and any(s.get("preset") == "fast" for s in given):
        words += ["--preset", "fast"]
    if (judge := _evaluator(cells)) is not None and not _is_quick(cells):
        words += ["--evaluator", judge]
    for table in tables:
        words += ["--table", table]
    for n_real in sorted({cell["n_real"] for cell in cells}):
        words += ["--n-real", str(n_real)]
    if _is_quick(cells):
        words.append("--quick")
    words += ["--splits", str(1 + max(cell["split"] for cell in cells))]
    words += ["--seed", str(min(cell["seed"] for cell in cells))]
    return " ".join(words)


def _evaluator(cells: Sequence[Mapping[str, Any]]) -> str | None:
    """Return who judges the steps of most runs of TAP; a few may change just that."""
    given = [cell["settings"] for cell in cells]
    named = [s.get("evaluator") for s in given if "protocol" in s or "preset" in s]
    return max(named, key=named.count, default=None)


def _top(spent: Mapping[str, float]) -> dict[str, float]:
    """Return the stages that do not lie within another one."""
    outer = ("all",) if "all" in spent else ("method", "score")
    return {name: spent[name] for name in outer if name in spent}
