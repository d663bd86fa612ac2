"""The command line: one file per command, and what they share.

Nothing heavy is imported until a command needs it: help and mistakes answer at once.
"""
