"""Levels to tokens for a generator: few enough to learn, and always decodable.

A column may have thousands of levels.  The frequent ones get a token each, the others
share one rare token that decodes to a real rare level.  Arrays are as long as the
number of levels, never levels times rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.errors import bad_setting
from tabtap.table.schema import BoolArray, CodeArray, FloatArray, IntArray

MISSING = -1
"""The code of a cell without a value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """Tokens of one column: frequent levels, rare bucket, missing, unknown.

    They are numbered in that order; the bucket and the missing token exist only when
    the training rows call for them, the unknown token always.
    """

    n_levels: int

    own: IntArray
    """Levels with a token of their own, ascending: token k is level ``own[k]``."""

    rare: IntArray
    """Levels that share the rare token, ascending; empty without a bucket."""

    rare_counts: IntArray
    """How often each rare level was seen."""

    has_missing: bool
    """Whether the training rows had holes, so that new rows may have them."""

    @classmethod
    def of(cls, codes: NDArray[Any], n_levels: int, cap: int) -> Vocabulary:
        """Return the vocabulary of the training rows, whose codes are -1 where missing.

        The column has ``n_levels`` levels, seen here or not; they take at most ``cap``
        tokens, the rare bucket included.
        """
        if cap < 2:
            raise bad_setting("cap", cap, "be at least 2", "Try 64.")
        counts = np.bincount(codes[codes >= 0], minlength=n_levels)
        seen = np.flatnonzero(counts)
        by_count = seen[np.argsort(-counts[seen], kind="stable")]
        n_own = len(seen) if len(seen) <= cap else cap - 1
        rare = np.sort(by_count[n_own:])
        return cls(
            n_levels=n_levels,
            own=np.sort(by_count[:n_own]).astype(np.int64),
            rare=rare.astype(np.int64),
            rare_counts=counts[rare].astype(np.int64),
            has_missing=bool((codes < 0).any()),
        )

    @property
    def rare_token(self) -> int | None:
        """The token that rare levels share; None when every seen level has its own."""
        return len(self.own) if len(self.rare) else None

    @property
    def missing_token(self) -> int | None:
        """The token of a hole; None when the training rows had none."""
        return len(self.own) + (len(self.rare) > 0) if self.has_missing else None

    @property
    def unknown_token(self) -> int:
        """The token of what the training rows never showed; never generated."""
        return len(self.own) + (len(self.rare) > 0) + self.has_missing

    @property
    def n_tokens(self) -> int:
        """Number of tokens, the unknown one included."""
        return self.unknown_token + 1

    @property
    def can_generate(self) -> BoolArray:
        """True for each token that new rows may have: all but the unknown one."""
        return np.asarray(np.arange(self.n_tokens) != self.unknown_token)

    def tokens(self, codes: NDArray[Any]) -> IntArray:
        """Return the token of each code; an unseen level counts as a rare one."""
        fallback = self.unknown_token if self.rare_token is None else self.rare_token
        token_of = np.full(self.n_levels + 1, fallback, dtype=np.int64)
        token_of[self.own] = np.arange(len(self.own))
        hole = self.unknown_token if self.missing_token is None else self.missing_token
        # Code -1 reads the last entry.
        token_of[MISSING] = hole
        return np.asarray(token_of[codes])

    def levels(self, tokens: NDArray[Any], uniforms: FloatArray) -> CodeArray:
        """Return the code that each token stands for.

        ``uniforms`` has the shape of ``tokens``: the number of a cell, in [0, 1), picks
        its rare level by frequency, so each result depends on its own number alone.
        """
        code_of = np.full(self.n_tokens, MISSING, dtype=np.int32)
        code_of[: len(self.own)] = self.own
        codes: CodeArray = np.asarray(code_of[tokens])
        if self.rare_token is None:
            return codes
        upto = np.cumsum(self.rare_counts)
        is_rare = np.asarray(tokens) == self.rare_token
        drawn = np.floor(np.asarray(uniforms)[is_rare] * upto[-1])
        picked = np.searchsorted(upto, drawn, side="right")
        codes[is_rare] = self.rare[np.minimum(picked, len(self.rare) - 1)]
        return codes
