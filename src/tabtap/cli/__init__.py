"""The command line: one file per command, and what they share.

Reads from: everything below, inside the commands.  Read by: the shell.

Nothing heavy is imported until a command needs it: help and mistakes answer at once.
"""
