"""Small real tables that ship with the package, for demos and tests.

Reads from: nothing.  Read by: examples and tests; no stage needs it.
"""

from tabtap.datasets.penguins import load_penguins

__all__ = ["load_penguins"]
