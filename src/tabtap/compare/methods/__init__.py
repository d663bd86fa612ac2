"""The methods that are compared, each behind one interface."""

from tabtap.compare.methods.method import Method, MindsGroups, describe_method

__all__ = ["Method", "MindsGroups", "describe_method"]
