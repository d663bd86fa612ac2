"""What a file holds before anybody has said what is to be predicted.

A program of its own, for a file from anywhere is read outside of the server:
``python -m tabtap.serve.peek FILE`` writes one JSON object, or a sentence and code 2.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from tabtap.errors import UserInputError
from tabtap.files import read_table
from tabtap.wording import plain

_N_EXAMPLES = 3
_WIDTH = 40
_ROWS_LOOKED_AT = 200


def peek(path: str) -> dict[str, Any]:
    """Return the columns of a file, each with the first of its values.

    Parameters
    ----------
    path : str
        A table in any form that ``tabtap augment`` reads.

    Returns
    -------
    dict
        ``n_rows``, ``columns`` (``name``, ``source``: the column of the file that it
        was read from, and ``examples``), ``notes`` and ``sheet``.

    Raises
    ------
    UserInputError
        If it is no table.
    """
    file = read_table(path)
    sources = {part: style.name for style in file.styles for part in style.parts}
    columns = [
        {
            "name": str(name),
            "source": str(sources.get(name, name)),
            "examples": _examples(file.frame[name].iloc[:_ROWS_LOOKED_AT]),
        }
        for name in file.frame.columns
    ]
    return {
        "n_rows": len(file.frame),
        "columns": columns,
        "notes": list(file.notes),
        "sheet": file.sheet,
    }


def _examples(cells: Any) -> list[str]:  # noqa: ANN401 - a pandas Series
    texts = dict.fromkeys(_shown(value) for value in cells.dropna())
    return list(texts)[:_N_EXAMPLES]


def _shown(value: object) -> str:
    text = " ".join(plain(str(value)).split())
    text = text.removesuffix(" 00:00:00").removesuffix(".0")
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what a file holds, and return the exit code."""
    (path,) = sys.argv[1:] if arguments is None else arguments
    try:
        found = peek(path)
    except UserInputError as error:
        sys.stderr.write(f"Error: {plain(str(error))}\n")
        return 2
    sys.stdout.write(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
