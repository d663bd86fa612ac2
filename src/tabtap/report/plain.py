"""Accuracy, RMSE and their like as the page writes them, each with its error bar."""

from __future__ import annotations

import math
import re

from tabtap import wording as say
from tabtap.domain import Alternative, Figure, Measured
from tabtap.wording import learner_words

INTERVAL = 0.90
"""Two-sided coverage of every bar that describes and does not decide."""

_NAMES = {"R2": "R\u00b2"}

_PLUS_MINUS = f"{say.TIED}\u00b1{say.TIED}"

_MINUS_SIGN = re.compile(r"(?<![\w.)])-(?=\d)")


def value_text(value: float, step: float = 0.1) -> str:
    """Return a figure with decimals enough to see a step in it, and not many more.

    Examples
    --------
    >>> value_text(0.8571, 0.03), value_text(0.8571, 0.004), value_text(52.13, 3.0)
    ('0.86', '0.857', '52.1')
    >>> value_text(0.00042, 0.0001), value_text(36214.2, 50.0).replace(say.THIN, " ")
    ('0.0004', '36 214')
    """
    if not math.isfinite(value):
        return "not measured"
    return _written(value, _decimals(value, step))


def measured_text(measured: Measured | None, *, signed: bool = False) -> str:
    """Return a figure and its error bar, both with the digits that the bar allows.

    Examples
    --------
    >>> measured_text(Measured(0.8612, 0.0524)).split(), measured_text(None)
    (['0.86', '±', '0.05'], 'not measured')
    >>> measured_text(Measured(0.03, 0.02), signed=True).split()
    ['+0.03', '±', '0.02']
    >>> measured_text(Measured(1.0, 0.0))
    '1.00 in every row'
    """
    if measured is None or not math.isfinite(measured.value):
        return "not measured"
    value, margin = measured.value, measured.margin
    if not math.isfinite(margin):
        return f"{_written(value, _decimals(value, value))}, too few rows for a bar"
    step = min(margin, abs(value)) if signed and value else margin
    decimals = _decimals(max(abs(value), margin), step)
    text = _written(value, decimals)
    is_plus = signed and value > 0 and text.strip("0.")
    bar = f"{_PLUS_MINUS}{_written(margin, decimals)}" if margin else " in every row"
    return f"{'+' if is_plus else ''}{text}{bar}"


def change_text(figure: Figure) -> str:
    """Return what following the verdict does to a figure, with its error bar."""
    return measured_text(figure.change, signed=True)


def from_to(before: Measured, after: Measured) -> str:
    """Return a figure without new rows and with them.

    Examples
    --------
    >>> from_to(Measured(0.86, 0.05), Measured(0.893, 0.05)).split()
    ['0.86', '→', '0.89']
    """
    step = after.value - before.value
    arrow = f"{say.TIED}\u2192{say.TIED}"
    return f"{value_text(before.value, step)}{arrow}{value_text(after.value, step)}"


def figure_name(name: str) -> str:
    """Return what a figure is called on the page."""
    return _NAMES.get(name, name)


def with_page_signs(text: str) -> str:
    """Return a sentence of the result as a page writes it.

    Examples
    --------
    >>> with_page_signs("0.86 -> 0.83, gain -0.03, min-gain") == (
    ...     "0.86 \u2192 0.83, gain \u22120.03, min-gain"
    ... )
    True
    """
    text = text.replace("->", "\u2192").replace(" \u00b1 ", _PLUS_MINUS)
    return _MINUS_SIGN.sub(say.MINUS, text)


def advice_sentence(option: Alternative, task: str) -> str:
    """Say what to do, and how well that does.

    Examples
    --------
    >>> forest = Alternative(
    ...     name="forest alone",
    ...     words="Train a random forest on your rows alone.",
    ...     figure="accuracy",
    ...     value=Measured(0.861, 0.052),
    ... )
    >>> " ".join(advice_sentence(forest, "classification").split())
    'Use a random forest and no new rows: accuracy 0.86 ± 0.05.'
    """
    figure = f"{figure_name(option.figure)} {measured_text(option.value)}"
    learner = option.name.removesuffix(" alone")
    if learner != option.name and " " not in learner:
        who = learner_words(learner, task)
        said = f"Use {who} and no new rows"
        return f"{said}: {figure}." if option.value is not None else f"{said}."
    said = option.words.rstrip(".")
    return f"{said} ({figure})." if option.value is not None else f"{said}."


def _written(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    # Not "-0.00": a change too small to be seen has no direction.
    text = text if text.strip("-0.,") else text.lstrip("-")
    return text.replace(",", say.THIN).replace("-", say.MINUS)


def _decimals(value: float, step: float) -> int:
    size = abs(value)
    least = 2 if size < 10 else 1 if size < 100 else 0
    is_small = 0 < size < 0.01  # an error in the target's own unit
    if not step or not math.isfinite(step):
        return 1 - math.floor(math.log10(size)) if is_small else least
    wanted = -math.floor(math.log10(abs(step)))
    return min(max(least, wanted), 12 if is_small else 4)
