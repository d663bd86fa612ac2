"""What is wrong with a rule, said in one sentence with the place pointed at."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tabtap.errors import UserInputError

Span = tuple[int, int]
"""First character and the one after the last."""

LANGUAGE = (
    "Rules compare columns, numbers and quoted text with < <= > >= == != and in [...], "
    "join with and, or, not and if ... then ..., calculate with + - * / abs min max "
    "round, and know 'is missing' and combination(...)."
)
_WINDOW = 72
_SHOWN_COLUMNS = 8
_SLIPS = {
    **dict.fromkeys(("true", "TRUE"), "Write True."),
    **dict.fromkeys(("false", "FALSE"), "Write False."),
    **dict.fromkeys(("null", "nan", "NaN", "NA"), "Write: column is missing"),
}
_SPELLINGS: dict[type[ast.AST], str] = {
    ast.BitAnd: "Write and instead of &.",
    ast.BitOr: "Write or instead of |.",
    ast.Invert: "Write not instead of ~.",
    ast.Pow: "Rules have no powers: multiply, or pass a Python function as the rule.",
    ast.IfExp: "Write: if ... then ...",
    ast.Attribute: "Names with a dot in them stand in backticks.",
}


@dataclass(frozen=True, slots=True)
class RuleText:
    """One rule as the user wrote it."""

    name: str

    text: str
    """On one line."""

    readable: str = ""
    """The same with the names hidden that Python's parser cannot read."""

    def error(self, span: Span, found: str, fix: str) -> UserInputError:
        """Return the error about one place of the rule."""
        start, end = span
        word = _clipped(self.text[start:end].strip())
        where = f" at character {start + 1}, {word!r}" if word else ""
        sentence = f"Rule {_clipped(self.name)!r} is not usable{where}: {found}."
        advice = f" {fix}" if fix else f" {LANGUAGE}"
        return UserInputError(sentence + advice + self._pointed(span))

    def refuse(self, node: ast.expr, part: ast.AST) -> UserInputError:
        """Return the error about something that rules cannot say."""
        fix = _SPELLINGS.get(type(part), "")
        found = "this is not part of the language of rules"
        return self.error(self.span(node), found, f"{fix} {LANGUAGE}".strip())

    def syntax_error(self, error: SyntaxError, end: int) -> UserInputError:
        """Return the error about text that cannot be read at all."""
        # The parser saw an opening bracket before the text and a line after it.
        place = (error.offset or 1) - 2 if error.lineno == 1 else end - 1
        place = min(max(place, 0), max(len(self.text) - 1, 0))
        return self.error((place, place + 1), "it cannot be read from here on", "")

    def unknown_column(
        self, node: ast.expr, known: Sequence[Hashable]
    ) -> UserInputError:
        """Return the error about a name that no column has."""
        start, end = span = self.span(node)
        word = self.text[start:end].strip("`")
        names = [str(name) for name in known]
        close = difflib.get_close_matches(word, names, n=1)
        if word in _SLIPS:
            fix = _SLIPS[word]
        elif close:
            fix = f"Did you mean {close[0]!r}?"
        else:
            fix = "Text is written in quotes, column names without."
        more = ", ..." if len(names) > _SHOWN_COLUMNS else "."
        listed = ", ".join(names[:_SHOWN_COLUMNS]) + more
        return self.error(span, "there is no such column", f"{fix} Columns: {listed}")

    def span(self, node: ast.expr) -> Span:
        """Return where a node stands in the text."""
        encoded = f"({self.readable}".encode()
        ends = (node.col_offset, node.end_col_offset or node.col_offset)
        start, end = (len(encoded[:at].decode(errors="ignore")) - 1 for at in ends)
        return max(start, 0), max(end, 0)

    def _pointed(self, span: Span) -> str:
        """Return the text with a mark under the place; only a part of a long one."""
        start, end = span
        if not self.text.strip() or start == end:
            return ""
        first = max(0, start - _WINDOW // 2) if len(self.text) > _WINDOW else 0
        shown = self.text[first : first + _WINDOW]
        width = max(1, min(end - start, len(shown) - (start - first)))
        return f"\n    {shown}\n    {' ' * (start - first)}{'^' * width}"


def _clipped(text: str) -> str:
    return text if len(text) <= _WINDOW else text[: _WINDOW - 3] + "..."
