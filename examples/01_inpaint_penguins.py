"""Learn the Palmer penguins, then redraw some cells of a few birds.

Run it with ``make demo``, or as a script.  A star marks a redrawn cell; every other
cell, and the species, comes back exactly as it was.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.datasets import load_penguins
from tabtap.diffusion import fit_backbone
from tabtap.table import describe, read_frame, write_frame

BIRDS_SHOWN = [0, 3, 151, 160, 218, 276, 300]  # row 3 was never measured
WIDTHS = {  # each with room for a star
    "species": 10,
    "island": 10,
    "bill_length_mm": 8,
    "bill_depth_mm": 8,
    "flipper_length_mm": 8,
    "body_mass_g": 7,
    "sex": 7,
    "year": 5,
}
SHORT_NAMES = {
    "bill_length_mm": "bill mm",
    "bill_depth_mm": "deep mm",
    "flipper_length_mm": "wing mm",
    "body_mass_g": "mass g",
}


def main() -> None:
    """Fit, redraw half of the cells of some birds, and print both versions."""
    rng = np.random.default_rng(0)
    table = read_frame(load_penguins(), target="species")
    print(describe(table))
    print("\nLearning the penguins ...\n")

    started = time.perf_counter()
    backbone = fit_backbone(table, rng=rng)
    fitted = time.perf_counter()

    anchors = table.take(np.array(BIRDS_SHOWN))
    regenerate = rng.random((len(anchors), len(table.schema.features))) < 0.5
    redrawn = backbone.inpaint(anchors, regenerate, rng)
    drawn = time.perf_counter()

    print(side_by_side(write_frame(anchors), write_frame(redrawn), regenerate))
    print("\n* redrawn; every other cell, and the species, was kept.  - no value.")
    print(
        f"Learned in {fitted - started:.1f} s, "
        f"redrew {regenerate.sum()} cells in {drawn - fitted:.2f} s."
    )


def side_by_side(
    real: pd.DataFrame, redrawn: pd.DataFrame, regenerate: NDArray[np.bool_]
) -> str:
    """Return each real row above its redrawn neighbour, redrawn cells starred."""
    features = [name for name in real if name != "species"]
    lines = [_line("", [SHORT_NAMES.get(name, name) + " " for name in WIDTHS])]
    for row in range(len(real)):
        starred = dict(zip(features, regenerate[row], strict=True))
        lines += ["", _row("real", real.iloc[row], {})]
        lines += [_row("redrawn", redrawn.iloc[row], starred)]
    return "\n".join(lines)


def _row(title: str, values: pd.Series, starred: dict[str, np.bool_]) -> str:
    marks = ["*" if starred.get(name) else " " for name in WIDTHS]
    cells = [_text(values[name]) for name in WIDTHS]
    return _line(title, [c + m for c, m in zip(cells, marks, strict=True)])


def _text(value: object) -> str:
    if pd.isna(value):
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _line(title: str, cells: list[str]) -> str:
    widths = WIDTHS.values()
    padded = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
    return (f"{title:<8}" + " ".join(padded)).rstrip()


if __name__ == "__main__":
    main()
