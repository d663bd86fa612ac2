"""What the pages of docs/results are made of: tables, errors, where figures come from.

Every figure of a page is computed from records, none is typed.  What they mean is
written by hand in a file of notes beside the page, and put at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from records import ROOT, Records

from tabtap.compare.printing import TextTable, as_markdown

FOLDER = ROOT / "docs" / "results"
MARKS = ("seed", "commit", "date", "machine")


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table that reads well on a terminal and as markdown."""
    return as_markdown(TextTable("", tuple(header), tuple(map(tuple, rows))))


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, NaN where there are too few values."""
    mean = float(np.mean(values)) if len(values) else float("nan")
    if len(values) < 2:
        return mean, float("nan")
    return mean, float(np.std(values, ddof=1) / np.sqrt(len(values)))


def with_error(values: Sequence[float], form: str = "+.1f", scale: float = 1.0) -> str:
    """Return a mean with its standard error; a dash for no values.

    Parameters
    ----------
    values : sequence of float
        Of which the mean is told.
    form : str, default="+.1f"
        How the mean is written; its error likewise, without a sign.
    scale : float, default=1.0
        What both are multiplied by: 100 tells shares in per cent.
    """
    mean, error = mean_and_error(values)
    if np.isnan(mean):
        return "-"
    told = f"{scale * mean:{form}}"
    return told + ("" if np.isnan(error) else f" ± {scale * error:{form.lstrip('+')}}")


def in_percent(shares: Sequence[float]) -> str:
    """Return the mean of some shares in per cent, with its standard error."""
    return with_error(shares, ".1f", 100)


class Count(NamedTuple):
    """How many of how many."""

    hits: int
    n: int

    def __str__(self) -> str:
        """Return the count and, in brackets, the share."""
        percent = f" ({100 * self.hits / self.n:.0f} %)" if self.n else ""
        return f"{self.hits} of {self.n}{percent}"


def count(hits: Iterable[bool]) -> Count:
    """Count what is true."""
    found = [bool(hit) for hit in hits]
    return Count(sum(found), len(found))


class Share(NamedTuple):
    """A share of some cases with its error, cases of one cell counted together."""

    share: float
    error: float
    n: int
    n_cells: int


def clustered_share(hits: Sequence[bool], cells: Sequence[object]) -> Share:
    """Return a share and its standard error when whole cells are drawn, not cases."""
    n, names = len(hits), list(dict.fromkeys(cells))
    if not n:
        return Share(float("nan"), float("nan"), 0, 0)
    share = float(np.mean(hits))
    totals = dict.fromkeys(names, 0.0)
    for hit, cell in zip(hits, cells, strict=True):
        totals[cell] += hit - share
    n_cells = len(names)
    if n_cells < 2:
        return Share(share, float("nan"), n, n_cells)
    spread = np.sqrt(sum(t**2 for t in totals.values()) * n_cells / (n_cells - 1))
    return Share(share, float(spread / n), n, n_cells)


def found_in(records: Records, name: str) -> list[Any]:
    """Return all that records say under a name, each once, in order."""
    return sorted({record[name] for record in records if name in record})


def provenance(
    records: Records, commands: Sequence[str], marks: Sequence[str] = MARKS
) -> str:
    """Return how, when, where and with which code the records were made."""
    lines = [f"- command: `{command}`" for command in commands]
    for mark in marks:
        if found := found_in(records, mark):
            lines.append(f"- {mark}: {', '.join(map(str, found))}")
    return "\n".join(lines)


def config_option(settings: Mapping[str, Any]) -> str:
    """Return the options that ask for some settings of the inpainter."""
    return "".join(f' --config "{name}={settings[name]}"' for name in sorted(settings))


def read_notes(path: Path) -> str:
    """Return what is written by hand about a page; nothing if there is no file."""
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def page_of(sections: Sequence[str], notes: str = "") -> str:
    """Return a page of some sections, and notes at its end."""
    ending = [f"## Notes\n\n{notes.strip()}"] if notes.strip() else []
    return "\n\n".join([*sections, *ending]) + "\n"


def write_page(path: Path, text: str) -> None:
    """Write a page, and say so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"Written: {path}")
