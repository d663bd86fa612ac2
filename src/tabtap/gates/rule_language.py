"""The text of a rule, read into a tree of nothing but what rules may say, or an error.

Python's parser does the reading and nothing is ever run: each node is held against a
list of what is allowed.  Words that are not identifiers stand in backticks, and what
Python keeps for itself (``class``) is an ordinary column name here.  Both are hidden
from the parser behind underscores of the same length, so every position in the tree is
a position in the user's text.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import math
import re
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tabtap.errors import UserInputError

MAX_CHARACTERS = 10_000
MAX_DEPTH = 100
"""Brackets within brackets, or operators in a row; deeper is a slip or an attack."""

FUNCTIONS = ("abs", "combination", "max", "min", "round")
MISSING = "missing"

_OWN_WORDS = {"if", "then", "implies"}
_PYTHON_WORDS = {"and", "or", "not", "in", "is", "True", "False", "None"}
_HIDDEN = set(keyword.kwlist) - _OWN_WORDS - _PYTHON_WORDS
_PIECE = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<quoted>`[^`]+`)
      | (?P<word>[^\W\d]\w*)
      | (?P<number>[\d.]+(?:[eE][+-]?\d+)?\w*)
      | (?P<lone>(?<![<>=!])=(?!=))
      | (?P<open>["'`\#])
    """,
    re.VERBOSE,
)
_OPEN_MARKS = {
    '"': ("a quotation that does not end", 'Add the closing ".'),
    "'": ("a quotation that does not end", "Add the closing '."),
    "`": ("a column name that does not end", "Add the closing backtick."),
    "#": ("rules have no comments", "Put the name of a rule into name=."),
}
_ALLOWED: tuple[type[ast.AST], ...] = (
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Name, ast.Load),
    *(ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
    *(ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.Call, ast.Constant),
    *(ast.List, ast.Tuple, ast.Set),
)


@dataclass(frozen=True, slots=True)
class ParsedRule:
    """A rule as trees: ``claim`` must hold wherever ``condition`` does."""

    source: RuleText
    claim: ast.expr
    condition: ast.expr | None = None


def parse_rule(text: str, name: str) -> ParsedRule:
    """Read the text of a rule, or refuse it in one sentence.

    Such as ``0 <= age <= 120`` or ``if pregnant == "yes" then sex == "f"``.  A refusal
    names the rule, the place, what was found and what is accepted.
    """
    source = RuleText(name, " ".join(re.split(r"[\r\n]", text)))
    if len(text) > MAX_CHARACTERS:
        problem = f"it has {len(text)} characters, more than {MAX_CHARACTERS}"
        raise source.error((0, 0), problem, "Split it into several rules.")
    if not text.strip():
        raise source.error((0, 0), "it is empty", 'Write one, such as "age >= 18".')
    hidden, words = _hide_names(source)
    source = replace(source, readable=hidden)
    trees = [_parse_part(source, part) for part in _split(source, words)]
    if not any(isinstance(node, ast.Name) for t in trees for node in ast.walk(t)):
        problem, fix = "it names no column", "Column names stand without quotes."
        raise source.error((0, len(source.text)), problem, fix)
    return ParsedRule(source, trees[-1], trees[0] if len(trees) == 2 else None)


def _hide_names(source: RuleText) -> tuple[str, list[tuple[str, Span]]]:
    """Return the text with odd names hidden, and our own words where they stand."""
    hidden = list(source.text)
    own: list[tuple[str, Span]] = []
    for piece in _PIECE.finditer(source.text):
        word, span = piece.group(), piece.span()
        if piece.lastgroup == "open":
            raise source.error(span, *_OPEN_MARKS[word])
        if piece.lastgroup == "lone":
            raise source.error(span, "a single =", "Write == for 'is equal to'.")
        if piece.lastgroup == "word" and word in _OWN_WORDS:
            own.append((word, span))
        elif piece.lastgroup == "quoted" or word in _HIDDEN:
            hidden[span[0] : span[1]] = "_" * len(word)
    return "".join(hidden), own


def _split(source: RuleText, words: list[tuple[str, Span]]) -> list[Span]:
    """Return where the condition and the claim stand; only the claim if no other."""
    everything = (0, len(source.text))
    if not words:
        return [everything]
    (first, span), *rest = words
    if first == "implies" and not rest:
        return [(0, span[0]), (span[1], everything[1])]
    if first == "if" and not source.text[: span[0]].strip():
        if [word for word, _ in rest] == ["then"]:
            then = rest[0][1]
            return [(span[1], then[0]), (then[1], everything[1])]
        if not rest:
            raise source.error(span, "there is no then", "Write: if ... then ...")
    word, span = words[-1]
    fix = (
        "Write one condition and one claim in a rule, outside brackets: "
        "if ... then ..., or ... implies ...; a column of that name in backticks."
    )
    raise source.error(span, f"{word!r} cannot stand here", fix)


def _parse_part(source: RuleText, part: Span) -> ast.expr:
    (start, end), hidden = part, source.readable
    if not hidden[start:end].strip():
        where = (max(start - 1, 0), min(end + 1, len(hidden)))
        raise source.error(where, "something is left out here", "")
    try:
        # In brackets, so that blanks before it are no indentation.  The parser counts
        # bytes: as many blanks as the part before has of them keep every position.
        code = "(" + " " * len(hidden[:start].encode()) + hidden[start:end] + "\n)"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on escapes within quotations
            tree = ast.parse(code, mode="eval").body
    except SyntaxError as error:
        raise source.syntax_error(error, end) from None
    except (MemoryError, RecursionError, ValueError):
        problem = "it is too deeply nested or has a number that is too long"
        raise source.error(part, problem, "Split it into several rules.") from None
    return _check_node(tree, source, 0)


def _check_node(node: ast.expr, source: RuleText, depth: int) -> ast.expr:
    """Give a node back with its column names restored, or refuse it."""
    if depth > MAX_DEPTH:
        problem = f"it is more than {MAX_DEPTH} levels deep"
        raise source.error(source.span(node), problem, "Split it into several rules.")
    inner = [node, getattr(node, "op", node), *getattr(node, "ops", [])]
    for part in inner:
        if not isinstance(part, _ALLOWED):
            raise source.refuse(node, part)
    check = _CHECKS.get(type(node))
    if check is not None:
        check(node, source)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _check_node(child, source, depth + 1)
    return node


def _check_name(node: ast.Name, source: RuleText) -> None:
    start, end = source.span(node)
    # Not the parser's own word for it, which is normalised and may be hidden.
    node.id = source.text[start:end].strip("`")


def _check_constant(node: ast.Constant, source: RuleText) -> None:
    value = node.value
    if value is None:
        raise source.error(
            source.span(node), "rules have no None", "Write: column is missing"
        )
    if not isinstance(value, (bool, int, float, str)):
        raise source.refuse(node, node)
    if not isinstance(value, str):
        try:
            finite = math.isfinite(float(value))
        except OverflowError:
            finite = False
        if not finite:
            raise source.error(
                source.span(node), "the number is too large", "Write a smaller one."
            )


def _check_call(node: ast.Call, source: RuleText) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else None
    if name not in FUNCTIONS or node.keywords:
        known = ", ".join(FUNCTIONS)
        raise source.error(
            source.span(node),
            "this is no function that rules know",
            f"They know {known}, with plain arguments.",
        )


def _check_compare(node: ast.Compare, source: RuleText) -> None:
    for operator, right in zip(node.ops, node.comparators, strict=True):
        span = source.span(right)
        if isinstance(operator, (ast.Is, ast.IsNot)):
            is_word = source.text[span[0] : span[1]] == MISSING
            if not is_word or len(node.ops) > 1 or not isinstance(node.left, ast.Name):
                problem = "'is' asks only whether a column is missing"
                fix = "Write: column is missing, or column is not missing; else =="
                raise source.error(span, problem, fix)
        elif isinstance(operator, (ast.In, ast.NotIn)):
            items = getattr(right, "elts", None)
            if not items or not all(_is_literal(item) for item in items):
                problem = "'in' needs a list of values"
                raise source.error(span, problem, "Write: column in [1, 2, 3]")


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant)


_CHECKS: dict[type[ast.expr], Callable[[Any, RuleText], None]] = {
    ast.Name: _check_name,
    ast.Constant: _check_constant,
    ast.Call: _check_call,
    ast.Compare: _check_compare,
}


# ---- What is wrong with a rule, said in one sentence with the place pointed at.


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

    def error(self, span: Span, problem: str, fix: str) -> UserInputError:
        """Return the error about one place of the rule."""
        start, end = span
        word = _clip(self.text[start:end].strip())
        where = f" at character {start + 1}, {word!r}" if word else ""
        sentence = f"Rule {_clip(self.name)!r} is not usable{where}: {problem}."
        advice = f" {fix}" if fix else f" {LANGUAGE}"
        return UserInputError(sentence + advice + self._point_at(span))

    def refuse(self, node: ast.expr, part: ast.AST) -> UserInputError:
        """Return the error about something that rules cannot say."""
        fix = _SPELLINGS.get(type(part), "")
        problem = "this is not part of the language of rules"
        return self.error(self.span(node), problem, f"{fix} {LANGUAGE}".strip())

    def syntax_error(self, error: SyntaxError, end: int) -> UserInputError:
        """Return the error about text that cannot be read at all."""
        # The parser saw an opening bracket before the text and a line after it.
        index = (error.offset or 1) - 2 if error.lineno == 1 else end - 1
        index = min(max(index, 0), max(len(self.text) - 1, 0))
        return self.error((index, index + 1), "it cannot be read from here on", "")

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

    def _point_at(self, span: Span) -> str:
        """Return the text with a mark under the place; only a part of a long one."""
        start, end = span
        if not self.text.strip() or start == end:
            return ""
        first = max(0, start - _WINDOW // 2) if len(self.text) > _WINDOW else 0
        shown = self.text[first : first + _WINDOW]
        width = max(1, min(end - start, len(shown) - (start - first)))
        return f"\n    {shown}\n    {' ' * (start - first)}{'^' * width}"


def _clip(text: str) -> str:
    return text if len(text) <= _WINDOW else text[: _WINDOW - 3] + "..."
