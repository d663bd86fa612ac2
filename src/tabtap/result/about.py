"""What is known of a run besides its rows: seed, settings, judges, versions, times."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib import metadata
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tabtap.result.groups import label_array

_PACKAGES = ("tabtap", "numpy", "pandas", "scikit-learn", "scipy", "torch")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunAbout:
    """How a run was made.

    Examples
    --------
    >>> from dataclasses import asdict
    >>> from tabtap.config import AugmentConfig
    >>> about = RunAbout(
    ...     seed=0, budget=500, settings={"augment": asdict(AugmentConfig())}
    ... )
    >>> about.settings["augment"]["gates"]["range_quantiles"]
    [0.0, 1.0]
    """

    seed: int

    budget: int | Literal["auto"]
    """Rows asked for."""

    settings: Mapping[str, Any]
    """Every setting as plain dicts and lists: ``augment`` and ``diffusion`` hold the
    configurations of these names.  Tuples become lists, as in a saved file."""

    evaluator: str = ""
    evaluator_why: str = ""
    """Who judged single steps, and a sentence that says why it was chosen."""

    referee: str = ""
    referee_why: str = ""
    """Who judged whole pools, and a sentence that says why it was chosen."""

    versions: Mapping[str, str] = field(default_factory=dict)
    """By package; see ``installed_versions``."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """Time spent, by stage."""

    groups: NDArray[Any] | None = None
    """Shape (n_real,): who each real row belongs to, in the user's words if there are
    any; NaN, None, NA or NaT for a row that belongs to no one."""

    rules: tuple[str, ...] = ()
    """The user's rules, as text."""

    licences: Mapping[str, str] = field(default_factory=dict)
    """Licence of each set of weights that was used."""

    notes: tuple[str, ...] = ()
    """Sentences about what went otherwise than asked, such as a lesser evaluator."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", _plain(self.settings))
        if self.groups is not None:
            object.__setattr__(self, "groups", label_array(self.groups))


def installed_versions() -> dict[str, str]:
    """Return the version of Python and of each package that a run rests on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # run from a folder, not installed
            found[name] = "unknown"
    return found


def _plain(value: Any) -> Any:  # noqa: ANN401 - any setting
    """Return a value as JSON gives it back."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, np.generic):
        return _plain(value.item())
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return str(value)
