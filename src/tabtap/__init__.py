"""Learn a small labelled table in seconds and redraw any of its cells.

Reads from: nothing.  Read by: users, and the build for the version.

Nothing is imported here, so ``import tabtap`` is instant and torch is loaded only by
whoever asks for ``tabtap.diffusion``.
"""

__version__ = "0.1.0"
