"""The methods that are compared, each behind one interface.

Reads from: its own modules.  Read by: compare, study, benchmarks.
"""

from tabtap.compare.methods.method import Method, describe_method

__all__ = ["Method", "describe_method"]
