"""Small real tables that ship with the package, for demos and tests."""

from tabtap.datasets.penguins import load_penguins

__all__ = ["load_penguins"]
