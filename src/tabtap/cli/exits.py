"""What the number means that a command leaves to the shell."""

from __future__ import annotations

from typing import Final

YES: Final = 0
"""It is done, and the answer is yes: augmented, rules hold, all as certified."""

OUR_MISTAKE: Final = 1
"""A mistake in tabtap itself."""

BAD_INPUT: Final = 2
"""Something that was passed cannot be used."""

NO: Final = 3
"""It is done, and the answer is no: no gain, a rule is broken, not as certified."""

INTERRUPTED: Final = 130
"""Ctrl-C, or a request to end."""

NO_READER: Final = 141
"""Whoever read the output went away, as ``head`` does."""
