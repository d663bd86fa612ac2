"""A page on this machine to drop a file on: the command line behind it, run by run.

Nothing is learned in this package.  Each table is looked over and each run is made by
the command line in a process of its own, so page and terminal give the same bytes.
"""
