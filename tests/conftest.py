import shutil
from collections import Counter

import numpy as np
import pytest

from tabtap.table import Column, Kind, Schema, Table, Target


def pytest_terminal_summary(terminalreporter):
    """Show why tests were skipped, each reason once."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2] for report in skipped)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} x {reason}")


def _numbers(name):
    return Column(name=name, kind=Kind.CONTINUOUS, dtype="float64", markers=("nan",))


def _levels(name, n_levels):
    levels = tuple(f"level {k}" for k in range(n_levels))
    return Column(
        name=name,
        kind=Kind.CATEGORY,
        dtype="object[str]",
        levels=levels,
        markers=("none",),
    )


@pytest.fixture
def make_table():
    """Build a regression table by hand, so that any cell may be in it.

    The target is also the only feature, unless ``numeric`` or ``categorical`` (codes)
    are given.  NaN and -1 are holes.
    """

    def make(target, *, numeric=None, categorical=None):
        target = np.asarray(target, dtype=np.float64)
        if numeric is None and categorical is None:
            numeric = target[:, None]
        n_rows = len(target)
        empty = np.empty((n_rows, 0))
        numbers = np.asarray(empty if numeric is None else numeric, dtype=np.float64)
        codes = np.asarray(empty if categorical is None else categorical, np.int32)
        features = [_numbers(f"number {i}") for i in range(numbers.shape[1])]
        features += [
            _levels(f"category {i}", int(column.max(initial=0)) + 1)
            for i, column in enumerate(codes.T)
        ]
        schema = Schema(
            features=tuple(features),
            target=Target(
                column=Column(name="y", kind=Kind.CONTINUOUS, dtype="float64"),
                task="regression",
                position=len(features),
            ),
        )
        holes = np.concatenate([np.isnan(numbers), codes < 0], axis=1)
        cells = [np.nan_to_num(column, posinf=np.inf) for column in numbers.T]
        cells += [np.maximum(column, 0) for column in codes.T]
        return Table(
            schema,
            tuple(cells),
            holes.astype(np.int8),
            target,
            np.arange(n_rows),
            np.full(n_rows, -1),
        )

    return make


def _column(name, values):
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        markers = ("nan",) if missing.any() else ()
        column = Column(
            name=name, kind=Kind.CONTINUOUS, dtype="float64", markers=markers
        )
        return column, np.nan_to_num(values), missing
    missing = values < 0
    column = Column(
        name=name,
        kind=Kind.CATEGORY,
        dtype="object",
        levels=tuple(f"level {k}" for k in range(max(int(values.max()) + 1, 1))),
        markers=("none",) if missing.any() else (),
    )
    return column, np.maximum(values, 0).astype(np.int32), missing


def _target(values, edges):
    if values.dtype.kind == "f":
        column = Column(name="y", kind=Kind.CONTINUOUS, dtype="float64")
        task = "regression"
    else:
        levels = tuple(range(int(values.max()) + 1))
        column = Column(name="y", kind=Kind.CATEGORY, dtype="int64", levels=levels)
        task = "classification"
    return Target(column=column, task=task, position=0, edges=tuple(edges))


@pytest.fixture
def build_table():
    """Build a table: float features are numbers (NaN missing), ints codes (-1)."""

    def make(target, *features, edges=()):
        target = np.asarray(target)
        parts = [_column(f"x{i}", np.asarray(v)) for i, v in enumerate(features)]
        n = len(target)
        missing = np.zeros((n, len(parts)), dtype=np.int8)
        for place, part in enumerate(parts):
            missing[:, place] = part[2]
        return Table(
            Schema(features=tuple(p[0] for p in parts), target=_target(target, edges)),
            tuple(p[1] for p in parts),
            missing,
            target.astype(np.int32) if target.dtype.kind != "f" else target,
            np.arange(n),
            np.full(n, -1),
        )

    return make


# ---- Chromium, for what people look at.

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
CONTRAST = """
selector => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => {
    const [r, g, b] = c.slice(0, 3).map(v => {
      v /= 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = element => {
    for (; element; element = element.parentElement) {
      const c = rgb(getComputedStyle(element).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll(selector)].map(element => {
    const style = getComputedStyle(element);
    const ink = element.closest('svg') ? style.fill : style.color;
    const [a, b] = [light(rgb(ink)), light(ground(element))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
}
"""


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=found,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def contrast():
    """Script that returns how far the texts of a selector are from their ground."""
    return CONTRAST
