"""One self-contained page about a result: no network, no scripts, two themes, paper."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from tabtap import wording as say
from tabtap.archive import put_in_place
from tabtap.errors import UserInputError
from tabtap.report.advice import advice_section
from tabtap.report.blocks import Block, Figure, Section, TableBlock, Text
from tabtap.report.closing import limits_section, record_section
from tabtap.report.course import added_section, gates_section, movement_section
from tabtap.report.evidence import evidence_section
from tabtap.report.front import examples_section
from tabtap.report.likeness import closeness_section, fidelity_section
from tabtap.report.maps import where_section
from tabtap.report.verdict import Verdict, verdict_of
from tabtap.report.wanted import wanted_section
from tabtap.report.words import short_name
from tabtap.result import AugmentResult

Part = Callable[[AugmentResult], Section]

_WITH_ROWS: tuple[Part, ...] = (
    added_section,
    evidence_section,
    advice_section,
    gates_section,
    movement_section,
    where_section,
    closeness_section,
    fidelity_section,
    record_section,
    limits_section,
    wanted_section,
)
_WITHOUT_ROWS: tuple[Part, ...] = (
    advice_section,
    evidence_section,
    wanted_section,
    added_section,
    gates_section,
    movement_section,
    record_section,
    limits_section,
)
"""In the order of the page, after the verdict: without new rows there is nothing to
compare with the real ones, and the next question is what would help instead."""

LONG_TABLE = 16
"""Rows from which on a table is folded away; on paper all are open."""

HALF_WIDTH = 440
"""Pixels that a table may take which stands beside a figure where there is room."""

SIGN_WIDTH, CELL_SPACE = 7, 22
"""Pixels of a sign in a table, and around the text of a cell."""

WORDY = 32
"""Characters from which on a cell needs room, so that its table stands alone."""

WRAPPED = 12
"""Characters that a line of words in a cell needs at least."""


def report_html(result: AugmentResult, *, title: str | None = None) -> str:
    """Return the page about a result as one HTML text.

    Parameters
    ----------
    result : AugmentResult
        What a run returned, or ``tabtap.load`` read.
    title : str, optional
        Title of the page.  Default: one made of the target's name.

    Returns
    -------
    str
        A whole page that loads nothing from anywhere.  Equal results give equal pages.

    Examples
    --------
    >>> import tabtap
    >>> from tabtap.datasets import load_penguins
    >>> birds = load_penguins().dropna().iloc[::8]
    >>> result = tabtap.augment(birds, "species", budget=0, random_state=0)
    >>> "Nothing was asked for" in report_html(result)
    True
    """
    return page_html(
        title=_title(result) if title is None else title,
        about=_about(result),
        verdict=verdict_of(result),
        sections=[examples_section(result)] if len(result.delivered) else [],
        folded=[part(result) for part in _parts(result)],
        version=result.about.versions.get("tabtap", ""),
    )


def page_html(
    *,
    title: str,
    about: str,
    verdict: Verdict,
    sections: Sequence[Section],
    folded: Sequence[Section] = (),
    version: str,
) -> str:
    """Return a page of one verdict and any sections, which loads nothing.

    Folded sections open with a click; on paper they are open.
    """
    page = _template().render(
        title=title,
        about=about,
        css=_file("page.css"),
        verdict=verdict,
        sections=list(sections),
        folded=list(folded),
        version=version,
    )
    return page + "\n"


def verdict_box(verdict: Verdict) -> str:
    """Return a verdict as a piece of HTML, for notebooks: no style is asked for."""
    box = Markup(
        '<div style="border-left: .4em solid {tone}; padding: .2em 1em">'
        "<p><strong>{headline}</strong></p>{more}</div>"
    )
    texts = [Markup("<p>{}</p>").format(_printable(s)) for s in verdict.sentences]
    steps = [Markup("<li>{}</li>").format(_printable(s)) for s in verdict.steps]
    if steps:
        texts.append(Markup("<ol>{}</ol>").format(Markup("").join(steps)))
    return str(
        box.format(
            tone=_TONES[verdict.tone],
            headline=_printable(verdict.headline),
            more=Markup("").join(texts),
        )
    )


_TONES = {"good": "#157347", "plain": "#2a6fad", "caution": "#8a5300"}
"""As in page.css, for paper."""


@dataclass(frozen=True, slots=True, repr=False)
class Plots:
    """Figures of the report, which a notebook shows."""

    part: str
    figures: tuple[Figure, ...]

    def __repr__(self) -> str:
        return f"Plots({self.part}: {'; '.join(f.title for f in self.figures)})"

    def _repr_html_(self) -> str:
        css = _file("page.css")
        colours = "".join(re.findall(r"--[a-z]+: [^;]+;", css[: css.index("}")]))
        parts = [
            Markup("<p><strong>{}</strong></p>{}<p>{}</p>").format(
                _printable(f.title), Markup(f.svg), _printable(f.caption)
            )
            for f in self.figures
        ]
        box = '<div style="{} background: #ffffff; color: #18212c; max-width: 48em">{}'
        return str(Markup(box + "</div>").format(colours, Markup("").join(parts)))


def plot(result: AugmentResult, part: str = "evidence") -> Plots:
    """Return the figures of one part of the report.

    Parameters
    ----------
    result : AugmentResult
        What a run returned, or ``tabtap.load`` read.
    part : str, default="evidence"
        What links of the page call it: ``"added"``, ``"evidence"``, ``"gates"`` and
        so on.

    Returns
    -------
    Plots
        Its ``figures`` have a title, an ``svg`` and a caption; a notebook shows them.

    Raises
    ------
    UserInputError
        If this report has no such part, or the part has no figure.
    """
    known = {section.anchor: section for section in (p(result) for p in _parts(result))}
    figures = {
        anchor: tuple(b for b in section.blocks if isinstance(b, Figure))
        for anchor, section in known.items()
    }
    drawn = {anchor: found for anchor, found in figures.items() if found}
    if part not in drawn:
        names = ", ".join(map(repr, drawn)) or "nothing"
        raise UserInputError(
            f"part={part!r} is not usable: it must be a part of this report that has "
            f"figures. There is {names}."
        )
    return Plots(part, drawn[part])


def write_report(
    result: AugmentResult,
    path: str | Path,
    *,
    title: str | None = None,
    force: bool = True,
) -> Path:
    """Write the page about a result to a file, whole or not at all.

    Parameters
    ----------
    result : AugmentResult
        What a run returned, or ``tabtap.load`` read.
    path : str or path
        File to write, such as ``report.html``.
    title : str, optional
        Title of the page.
    force : bool, default=True
        Whether a file that is there already is replaced.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    UserInputError
        If the folder does not exist, the path is a folder, or a file is there and
        ``force`` is false.
    """
    path = Path(path)
    if path.is_dir():
        raise UserInputError(
            f"{str(path)!r} is a folder. Pass the path of a file in it, such as "
            f"{str(path / 'report.html')!r}."
        )
    if path.exists() and not force:
        raise UserInputError(
            f"There is a file {str(path)!r} already. Pass another path, or force=True "
            "to replace it."
        )
    put_in_place(report_html(result, title=title).encode(), path)
    return path


def _parts(result: AugmentResult) -> tuple[Part, ...]:
    parts = _WITH_ROWS if len(result.delivered) else _WITHOUT_ROWS
    if result.advice:
        return parts
    return tuple(part for part in parts if part is not advice_section)


def _title(result: AugmentResult) -> str:
    target = result.real.schema.target
    if target is None:
        return "Augmentation report"
    return f"Augmentation report: {short_name(target.column.name)}"


def _about(result: AugmentResult) -> str:
    schema = result.real.schema
    task = "" if schema.target is None else f", {schema.target.task}"
    rows = say.count_of(len(result.real), "real row")
    return f"{rows}, {say.count_of(len(schema.features), 'feature')}{task}"


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_printable,
    )
    environment.filters.update(markup=Markup, laid_out=_laid_out)
    environment.tests.update(
        figure=lambda block: isinstance(block, Figure),
        table=lambda block: isinstance(block, TableBlock),
        long=lambda block: len(block.rows) >= LONG_TABLE,
    )
    return environment.from_string(_file("page.html.jinja"))


def _laid_out(blocks: Sequence[Block]) -> list[tuple[Block, str]]:
    """Return each block with its width: two narrow ones share a line."""
    spans: list[str] = []
    for place, block in enumerate(blocks):
        begun = bool(spans) and spans.count("half") % 2 == 1
        following = blocks[place + 1 : place + 2]
        pairs = begun or (
            not isinstance(block, Text) and any(_is_narrow(b) for b in following)
        )
        spans.append("half" if pairs and _is_narrow(block) else "wide")
    return list(zip(blocks, spans, strict=True))


def _is_narrow(block: Block) -> bool:
    if isinstance(block, Figure):
        return 'class="panels"' not in block.svg
    if isinstance(block, TableBlock):
        wordy = any(len(cell) > WORDY for row in block.rows for cell in row)
        fits = len(block.header) <= 3 if wordy else _width(block) <= HALF_WIDTH
        return fits and len(block.rows) < LONG_TABLE
    return True


def _width(table: TableBlock) -> int:
    """Return the pixels that a table needs; figures stay on one line, words do not."""
    longest = [max(map(len, cells)) for cells in zip(*table.rows, strict=True)]
    n_signs = sum(
        n if place in table.align_right else min(n, WRAPPED)
        for place, n in enumerate(longest)
    )
    return n_signs * SIGN_WIDTH + len(longest) * CELL_SPACE


def _printable(value: Any) -> Any:  # noqa: ANN401  whatever the page shows
    """Return text without signs that no page may hold."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    whole = value.encode("utf-8", "replace").decode("utf-8")
    return "".join(
        sign if unicodedata.category(sign) != "Cc" else " " for sign in whole
    )


def _file(name: str) -> str:
    return (resources.files("tabtap.report") / name).read_text(encoding="utf-8")
