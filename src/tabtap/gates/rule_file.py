"""Rules from a TOML file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tabtap.errors import FileFormatError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_SHAPE = "A rule file is a list of [[rule]] sections, each with name and text."


def read_rule_file(path: str | Path) -> list[dict[str, Any]]:
    """Return the rules of a file as dicts, in its order.

    Parameters
    ----------
    path : path of a TOML file
        With one ``[[rule]]`` section for each rule.

    Raises
    ------
    FileFormatError
        If the file is not there, is not TOML, or holds something else.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        reason = error.strerror or error
        raise FileFormatError(
            f"Rule file {str(path)!r} cannot be read: {reason}."
        ) from None
    except UnicodeDecodeError:
        raise FileFormatError(
            f"Rule file {str(path)!r} is not UTF-8 text. Save it as UTF-8."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(
            f"Rule file {str(path)!r} is not TOML: {error}. {_SHAPE}"
        ) from None
    rules = content.get("rule")
    others = [key for key in content if key != "rule"]
    if others or not isinstance(rules, list) or not rules:
        found = f"the key {others[0]!r}" if others else "no [[rule]] section"
        raise FileFormatError(f"Rule file {str(path)!r} has {found}. {_SHAPE}")
    return rules
