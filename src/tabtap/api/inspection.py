"""A table looked over before anything runs, as Python and notebooks show it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from tabtap.api.choices import names_a_column, read_groups, remark_sentence
from tabtap.errors import BadTableError
from tabtap.inspection import Remark, inspect_table
from tabtap.table import describe
from tabtap.table.describe import column_lines
from tabtap.table.frame import read_frame
from tabtap.table.table import Table
from tabtap.table.targets import TaskChoice

_REFUSED = "refused"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Inspection:
    """What each column was taken for, and what a person should look at."""

    table: Table
    """Columns that cannot be used are identifiers in it: kept, and not learned."""

    remarks: tuple[Remark, ...] = ()
    """What keeps rows from being added comes first; its topic is ``refused``."""

    @property
    def is_usable(self) -> bool:
        """Whether rows could be added to the table as it is."""
        return all(remark.topic != _REFUSED for remark in self.remarks)

    def __repr__(self) -> str:
        said = [f"- {remark_sentence(remark)}" for remark in self.remarks]
        lines = describe(self.table, self._unusable)
        return "\n".join([lines, "", *(said or ["Nothing stands out."])])

    def _repr_html_(self) -> str:
        header = ("Column", "Kind", "Seen", "Missing", "In new rows")
        rows = [header, *column_lines(self.table, self._unusable)]
        cells = [[f"<td>{escape(str(cell))}</td>" for cell in row] for row in rows]
        table = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        said = [f"<li>{escape(remark_sentence(r))}</li>" for r in self.remarks]
        listed = f"<ul>{''.join(said)}</ul>" if said else "<p>Nothing stands out.</p>"
        return f"<table>{table.replace('td>', 'th>', 2 * len(header))}</table>{listed}"

    @property
    def _unusable(self) -> set[str]:
        return {str(r.column) for r in self.remarks if r.topic == _REFUSED}


def inspect(
    frame: Any,  # noqa: ANN401 - pandas, polars or numpy
    target: Hashable,
    *,
    task: TaskChoice = "auto",
    groups: Any = None,  # noqa: ANN401
    kinds: Mapping[Any, Any] | None = None,
) -> Inspection:
    """Look a table over before rows are added to it; nothing is trained.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or 2-d array
        Features and target of the real rows.
    target : column name
        The column to be predicted.
    task, groups, kinds
        As for ``TabularAugmenter``.

    Returns
    -------
    Inspection
        Print it, or let a notebook show it.  A column that cannot be used is a remark
        beside all others.

    Raises
    ------
    BadTableError
        If the target or the table as a whole cannot be used.

    Examples
    --------
    >>> from tabtap.datasets import load_penguins
    >>> looked = inspect(load_penguins(), "species")
    >>> looked.is_usable, len(looked.table)
    (True, 344)
    """
    _, kinds = read_groups(groups, frame, kinds)
    refused: tuple[Remark, ...] = ()
    try:
        table = read_frame(frame, target, task=task, kinds=kinds)
    except BadTableError as error:
        names = {str(name): name for name in getattr(frame, "columns", ())}
        if any(
            p.column not in names or p.column == str(target) for p in error.problems
        ):
            raise
        refused = tuple(
            Remark(
                topic=_REFUSED,
                column=names[str(p.column)],
                text=f"{p.found}. {p.fix}".rstrip("."),
            )
            for p in error.problems
        )
        unclear = dict.fromkeys((remark.column for remark in refused), "identifier")
        table = read_frame(frame, target, task=task, kinds={**kinds, **unclear})
    said = {remark.column for remark in refused}
    if names_a_column(groups, len(table)):
        said.add(groups)
    found = inspect_table(table, declared=kinds)
    return Inspection(table, (*refused, *(r for r in found if r.column not in said)))
