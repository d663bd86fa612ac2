"""What options are written as, turned into what they mean."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Iterable, Sequence
from pathlib import PurePath
from typing import Literal

from tabtap.errors import UserInputError

_TIME = re.compile(
    r"(?:(?P<h>\d+(?:\.\d+)?)h)?(?:(?P<m>\d+(?:\.\d+)?)m(?:in)?)?"
    r"(?:(?P<s>\d+(?:\.\d+)?)s?)?"
)
_IN_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_SHOWN_NAMES = 12


def seconds_of(text: str) -> float:
    """Return a duration in seconds.

    Examples
    --------
    >>> seconds_of("90"), seconds_of("5m"), seconds_of("1h30m")
    (90.0, 300.0, 5400.0)
    """
    found = _TIME.fullmatch(text.strip().lower().replace(" ", ""))
    parts = {} if found is None else found.groupdict()
    seconds = sum(
        float(number) * _IN_SECONDS[unit] for unit, number in parts.items() if number
    )
    if not seconds:
        raise UserInputError(
            f"--time-budget {text!r} is not a length of time above zero. Write 90s, "
            "5m or 1h30m."
        )
    return seconds


def budget_of(text: str) -> int | Literal["auto"]:
    """Return how many rows may be added."""
    if text.strip().lower() == "auto":
        return "auto"
    if not re.fullmatch(r"\d+", text.strip()):
        raise UserInputError(
            f"--budget {text!r} is not usable: it must be a whole number from 0, or "
            "auto. Try 500."
        )
    return int(text)


def pairs_of(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Return what ``NAME=VALUE`` texts say; a name may hold equal signs itself."""
    pairs = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not (sign and name and value):
            raise UserInputError(
                f"{option} {text!r} is not usable: write a name, an equal sign and a "
                "value, such as age=integer."
            )
        pairs[name.strip()] = value.strip()
    return pairs


def mixture_of(text: str, levels: Sequence[object]) -> str | dict[object, float]:
    """Return the wanted mixture: a word, or a share for each class.

    Parameters
    ----------
    text : str
        ``real``, ``balanced``, or ``yes=0.7,no=0.3``.
    levels : sequence
        Labels of the target; empty if it is a number.
    """
    if text in ("real", "balanced"):
        return text
    known = {str(level): level for level in levels}
    pairs = pairs_of("--mixture", text.split(",")) if "=" in text else {}
    if not pairs or not known:
        raise UserInputError(
            f"--mixture {text!r} is not usable: write real or balanced"
            + (", or shares of classes such as yes=0.7,no=0.3." if known else ".")
        )
    for label in pairs:
        if label not in known:
            raise UserInputError(
                f"--mixture names the class {label!r}. {nearest(label, known)}"
            )
    try:
        return {known[label]: float(share) for label, share in pairs.items()}
    except ValueError:
        raise UserInputError(
            f"--mixture {text!r} is not usable: shares are numbers, such as "
            "yes=0.7,no=0.3."
        ) from None


def column_named(
    option: str, text: str | None, names: Sequence[Hashable]
) -> Hashable | None:
    """Return the column that a text names, or say which one is near it."""
    known = {str(name): name for name in names}
    if text is None:
        return None
    if text not in known:
        raise UserInputError(
            f"{option} names the column {text!r}, but the table has none of that "
            f"name. {nearest(text, known)}"
        )
    return known[text]


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a sentence with the name that is meant, as far as it can be told."""
    names = list(known)
    lower = {name.strip().lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(word.strip().lower(), list(lower), n=1)
    meant = f"Did you mean {lower[close[0]]!r}? " if close else ""
    more = ", ..." if len(names) > _SHOWN_NAMES else ""
    return f"{meant}There are: {', '.join(names[:_SHOWN_NAMES])}{more}."


def beside(train: str, word: str) -> str:
    """Return the name of a file beside another, with a word before the extension.

    Examples
    --------
    >>> beside("data/train.csv.gz", "augmented")
    'data/train.augmented.csv.gz'
    """
    path = PurePath(train)
    if not path.name:  # a folder, which is refused when it is read
        return str(path / word)
    suffixes = path.suffixes[-2:]
    if not suffixes or suffixes[-1].lower() not in _COMPRESSED:
        suffixes = suffixes[-1:]
    ending = "".join(suffixes)
    stem = path.name.removesuffix(ending) if ending else path.name
    return str(path.with_name(f"{stem}.{word}{ending}"))
