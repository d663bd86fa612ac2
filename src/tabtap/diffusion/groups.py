"""Which cells are drawn as one token: single categories, flag groups, shared states.

Three kinds of group, one interface.  A category is a token by itself.  Flags of which
no two are ever on together (a one-hot group) are one token, whose values are the
patterns seen: flags drawn one by one break the pattern in some rows, and with it the
link to the label.  Numeric columns that are missing, or at a value they pile up on, in
the same rows share one token that says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tabtap.diffusion.scaling import HOLE
from tabtap.table.schema import BoolArray, CodeArray, FloatArray, IntArray
from tabtap.table.vocabulary import MISSING, Vocabulary


class TokenGroup(Protocol):
    """One or more columns of the code matrix, drawn as one token."""

    @property
    def columns(self) -> IntArray:
        """Columns of the code matrix."""

    @property
    def n_tokens(self) -> int:
        """Number of tokens, those that are never generated included."""

    def tokens(self, codes: CodeArray) -> IntArray:
        """Return the token of each row of the code matrix."""

    def codes(self, tokens: IntArray, uniforms: FloatArray) -> CodeArray:
        """Return codes of shape (n_rows, n_columns) for generated tokens."""

    def allowed(
        self, codes: CodeArray, regenerate: BoolArray, *, holes: bool
    ) -> BoolArray:
        """Return which tokens each row may get, given the cells that stay."""


@dataclass(frozen=True, slots=True, eq=False)
class SingleGroup:
    """One category, with its capped vocabulary."""

    columns: IntArray
    vocabulary: Vocabulary

    @property
    def n_tokens(self) -> int:
        """Number of tokens, the unknown one included."""
        return self.vocabulary.n_tokens

    def tokens(self, codes: CodeArray) -> IntArray:
        """Return the token of each row."""
        return self.vocabulary.tokens(codes[:, self.columns[0]])

    def codes(self, tokens: IntArray, uniforms: FloatArray) -> CodeArray:
        """Return codes; a rare token becomes a real rare level."""
        return self.vocabulary.levels(tokens, uniforms)[:, None]

    def allowed(
        self, codes: CodeArray, regenerate: BoolArray, *, holes: bool
    ) -> BoolArray:
        """Allow every token seen in training, and a hole only if holes are wanted."""
        del regenerate
        allowed = self.vocabulary.can_generate.copy()
        if not holes and self.vocabulary.missing_token is not None:
            allowed[self.vocabulary.missing_token] = False
        return np.broadcast_to(allowed, (len(codes), self.n_tokens))


@dataclass(frozen=True, slots=True, eq=False)
class PatternGroup:
    """Several columns whose joint patterns are few; token k is pattern k."""

    columns: IntArray

    patterns: CodeArray
    """Patterns seen in training, shape (n_patterns, n_columns)."""

    are_states: bool
    """Whether these are states of numbers, so that a 1 is a hole."""

    @classmethod
    def of(
        cls, codes: CodeArray, columns: IntArray, *, are_states: bool
    ) -> PatternGroup:
        """Return the group of the training rows."""
        return cls(columns, np.unique(codes[:, columns], axis=0), are_states)

    @property
    def n_tokens(self) -> int:
        """Number of tokens: the patterns, and one for what was never seen."""
        return len(self.patterns) + 1

    def tokens(self, codes: CodeArray) -> IntArray:
        """Return the pattern of each row; the last token if it was never seen."""
        rows = codes[:, self.columns]
        token = np.full(len(rows), len(self.patterns), dtype=np.int64)
        for k, pattern in enumerate(self.patterns):
            token[(rows == pattern).all(axis=1)] = k
        return token

    def codes(self, tokens: IntArray, uniforms: FloatArray) -> CodeArray:
        """Return the pattern of each token."""
        del uniforms
        return np.asarray(self.patterns[tokens])

    def allowed(
        self, codes: CodeArray, regenerate: BoolArray, *, holes: bool
    ) -> BoolArray:
        """Allow the patterns that agree with the cells that stay.

        Where none agrees, every pattern is allowed that makes no unwanted hole, or
        every pattern if all do: kept cells stay in any case.
        """
        rows, chosen = codes[:, self.columns], regenerate[:, self.columns]
        fits = np.stack(
            [(chosen | (rows == pattern)).all(axis=1) for pattern in self.patterns], 1
        )
        if self.are_states and not holes:
            full = ~(chosen[:, None] & (self.patterns == HOLE)).any(axis=2)
            fits = _first_possible(fits & full, full)
        fits = _first_possible(fits, np.ones_like(fits))
        return np.column_stack([fits, np.zeros(len(rows), dtype=np.bool_)])


def _first_possible(wanted: BoolArray, otherwise: BoolArray) -> BoolArray:
    """Return each row of the first that allows anything, else that of the second."""
    return np.where(wanted.any(axis=1, keepdims=True), wanted, otherwise)


def flag_groups(codes: CodeArray, is_flag: BoolArray) -> list[IntArray]:
    """Find sets of flags of which at most one is ever on.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
        Codes, 1 where a flag is on.
    is_flag : array of shape (n_columns,)
        Which columns hold nothing but 0 and 1.

    Returns
    -------
    list of arrays
        Columns of each set.  They are taken in order, each joining the first set whose
        members it never meets.  A set of one is left out, and so is a flag that is
        missing anywhere or never changes.

    Examples
    --------
    >>> codes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=np.int32)
    >>> flag_groups(codes, np.array([True, True, True]))
    [array([0, 1, 2])]
    """
    groups: list[tuple[list[int], BoolArray]] = []
    for j in np.flatnonzero(is_flag):
        column = codes[:, j]
        if (column == MISSING).any() or np.ptp(column) == 0:
            continue
        for members, any_on in groups:
            if not (any_on & (column == 1)).any():
                members.append(int(j))
                any_on |= column == 1
                break
        else:
            groups.append(([int(j)], column == 1))
    return [np.array(members) for members, _ in groups if len(members) > 1]


def state_groups(states: CodeArray) -> list[IntArray]:
    """Group the columns whose states agree in all rows; skip those without states."""
    by_rows: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(states.any(axis=0)):
        by_rows.setdefault(states[:, j].tobytes(), []).append(int(j))
    return [np.array(members) for members in by_rows.values()]
