"""The methods that are compared, each behind one interface.

Reads from: its own modules.  Read by: compare, study, benchmarks.
"""

from tabtap.compare.methods.method import Method, MindsGroups, describe_method

__all__ = ["Method", "MindsGroups", "describe_method"]
