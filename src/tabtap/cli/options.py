"""The options that commands share: their words of help, and what is meant by them."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, TypeVar, get_origin, get_type_hints

import typer

from tabtap.errors import UserInputError

_Given = TypeVar("_Given")


# ---- How an option is written: once, as the type of a parameter or of a field.
#
# ``seed: Annotated[int, run_option("--seed N", "Equal seeds ...")] = 0`` is all of it,
# among the parameters of a command or in the dataclass that it takes.


def option(usage: str, text: str, **more: Any) -> Any:  # noqa: ANN401  typer's own
    """Return an option, written as the help shows it.

    Parameters
    ----------
    usage : str
        Its names, and what stands for its value if it has one: ``--out -o FILE``.
    text : str
        What it is for.
    **more : object
        Whatever else ``typer.Option`` takes.
    """
    words = usage.split()
    names = [word for word in words if word.startswith("-")]
    metavar = None if len(names) == len(words) else words[-1]
    return typer.Option(*names, metavar=metavar, help=text, **more)


table_option = partial(option, rich_help_panel="What the table is")
judge_option = partial(option, rich_help_panel="Who judges, and how")
written_option = partial(option, rich_help_panel="What is written")
run_option = partial(option, rich_help_panel="How the run goes")


def take_options(
    kind: type[_Given], *, without: Collection[str] = ()
) -> Callable[[Callable[[_Given], int]], Callable[..., int]]:
    """Give a command an option for each field of a dataclass that describes one.

    Parameters
    ----------
    kind : type
        The dataclass.  A field that is not ``Annotated`` is no option.
    without : collection of str
        Fields that this command does not ask for; they keep their defaults.
    """
    hints = get_type_hints(kind, include_extras=True)
    options = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(kind).parameters.items()
        if get_origin(hints[name]) is Annotated and name not in without
    ]

    def taking(command: Callable[[_Given], int]) -> Callable[..., int]:
        @functools.wraps(command)
        def run(**given: Any) -> int:  # noqa: ANN401  as typer read them
            return command(kind(**given))

        # What typer reads to know the options.
        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        return run

    return taking


# ---- Options that several commands share.


class PresetName(str, Enum):
    """Settings that go together."""

    DEFAULT = "default"
    FAST = "fast"
    PAPER = "paper"


Preset = Annotated[
    PresetName,
    run_option(
        "--preset NAME",
        "default; fast: less time for nearly the same; paper: as published.",
        show_default=False,
    ),
]
Budget = Annotated[
    str,
    run_option(
        "--budget -n N",
        "Most rows to add, or auto: stop where the gain levels off.",
    ),
]
Seed = Annotated[int, run_option("--seed N", "Equal seeds give equal tables.", min=0)]
Debug = Annotated[
    bool, run_option("--debug", "Show where an error happened, and every warning.")
]
ReportFile = Annotated[
    Path | None,
    written_option(
        "--report -r FILE", "A page of HTML to look at. It shows real values."
    ),
]
Overwrite = Annotated[bool, option("--force", "Overwrite that file if it exists.")]


# ---- What options are written as, turned into what they mean.


_TIME = re.compile(
    r"(?:(?P<h>\d+(?:\.\d+)?)h)?(?:(?P<m>\d+(?:\.\d+)?)m(?:in)?)?"
    r"(?:(?P<s>\d+(?:\.\d+)?)s?)?"
)
_IN_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_SHOWN_NAMES = 12


def seconds_of(text: str) -> float:
    """Return a duration in seconds.

    Examples
    --------
    >>> seconds_of("90"), seconds_of("5m"), seconds_of("1h30m")
    (90.0, 300.0, 5400.0)
    """
    found = _TIME.fullmatch(text.strip().lower().replace(" ", ""))
    parts = {} if found is None else found.groupdict()
    seconds = sum(
        float(number) * _IN_SECONDS[unit] for unit, number in parts.items() if number
    )
    if not seconds:
        raise UserInputError(
            f"--time-budget {text!r} is not a length of time above zero. Write 90s, "
            "5m or 1h30m."
        )
    return seconds


def budget_of(text: str) -> int | Literal["auto"]:
    """Return how many rows may be added."""
    if text.strip().lower() == "auto":
        return "auto"
    if not re.fullmatch(r"\d+", text.strip()):
        raise UserInputError(
            f"--budget {text!r} is not usable: it must be a whole number from 0, or "
            "auto. Try 500."
        )
    return int(text)


def pairs_of(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Return what ``NAME=VALUE`` texts say; a name may hold equal signs itself."""
    pairs = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not (sign and name and value):
            raise UserInputError(
                f"{option} {text!r} is not usable: write a name, an equal sign and a "
                "value, such as age=integer."
            )
        pairs[name.strip()] = value.strip()
    return pairs


def mixture_of(text: str, levels: Sequence[object]) -> str | dict[object, float]:
    """Return the wanted mixture: a word, or a share for each class.

    Parameters
    ----------
    text : str
        ``real``, ``balanced``, or ``yes=0.7,no=0.3``.
    levels : sequence
        Labels of the target; empty if it is a number.
    """
    if text in ("real", "balanced"):
        return text
    known = {str(level): level for level in levels}
    pairs = pairs_of("--mixture", text.split(",")) if "=" in text else {}
    if not pairs or not known:
        raise UserInputError(
            f"--mixture {text!r} is not usable: write real or balanced"
            + (", or shares of classes such as yes=0.7,no=0.3." if known else ".")
        )
    for label in pairs:
        if label not in known:
            raise UserInputError(
                f"--mixture names the class {label!r}. {nearest(label, known)}"
            )
    try:
        return {known[label]: float(share) for label, share in pairs.items()}
    except ValueError:
        raise UserInputError(
            f"--mixture {text!r} is not usable: shares are numbers, such as "
            "yes=0.7,no=0.3."
        ) from None


def no_harm_of(
    text: str | None, names: Sequence[Hashable]
) -> dict[Hashable, float] | None:
    """Return the columns whose groups may not be harmed, and what each may lose.

    Examples
    --------
    >>> no_harm_of("sex, site=0.05", ["sex", "site"])
    {'sex': 0.02, 'site': 0.05}
    """
    from tabtap.loop.commit import ALLOWED_LOSS

    found = {}
    for part in [] if text is None else text.split(","):
        name, sign, loss = part.strip().rpartition("=")
        column = column_named("--no-harm", name if sign else loss, names)
        try:
            found[column] = float(loss) if sign else ALLOWED_LOSS
        except ValueError:
            raise UserInputError(
                f"--no-harm {part.strip()!r} is not usable: a loss is a number, such "
                "as sex=0.05."
            ) from None
    return found or None


def column_named(
    option: str, text: str | None, names: Sequence[Hashable]
) -> Hashable | None:
    """Return the column that a text names, or say which one is near it."""
    known = {str(name): name for name in names}
    if text is None:
        return None
    if text not in known:
        raise UserInputError(
            f"{option} names the column {text!r}, but the table has none of that "
            f"name. {nearest(text, known)}"
        )
    return known[text]


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a sentence with the name that is meant, as far as it can be told."""
    names = list(known)
    lower = {name.strip().lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(word.strip().lower(), list(lower), n=1)
    meant = f"Did you mean {lower[close[0]]!r}? " if close else ""
    more = ", ..." if len(names) > _SHOWN_NAMES else ""
    return f"{meant}There are: {', '.join(names[:_SHOWN_NAMES])}{more}."


def beside(train: str, word: str) -> str:
    """Return the name of a file beside another, with a word before the extension.

    Examples
    --------
    >>> beside("data/train.csv.gz", "augmented")
    'data/train.augmented.csv.gz'
    """
    path = PurePath(train)
    if not path.name:  # a folder, which is refused when it is read
        return str(path / word)
    suffixes = path.suffixes[-2:]
    if not suffixes or suffixes[-1].lower() not in _COMPRESSED:
        suffixes = suffixes[-1:]
    ending = "".join(suffixes)
    stem = path.name.removesuffix(ending) if ending else path.name
    return str(path.with_name(f"{stem}.{word}{ending}"))


# ---- A learner of the user's own, named as ``module:object``.


_EXAMPLE = "such as sklearn.svm:SVC, or mymodel:make_learner of mymodel.py here"


def learner_of(option: str, text: str) -> Any:  # noqa: ANN401 - a name or a learner
    """Return a name as it is, and what ``module:object`` stands for.

    A class or a function that can be called without arguments is called.

    Raises
    ------
    UserInputError
        If the module cannot be imported, or has no such object.
    """
    module_name, colon, path = text.partition(":")
    if not colon:
        return text
    thing = _imported(option, text, module_name)
    for part in path.split("."):
        if not hasattr(thing, part):
            raise UserInputError(
                f"{option} {text!r} cannot be used: {module_name} has no {part!r}. "
                f"Write module:object, {_EXAMPLE}."
            )
        thing = getattr(thing, part)
    return _made(option, text, thing)


def teacher_of(text: str) -> Any:  # noqa: ANN401 - names, or a learner
    """Return a name, several that commas part, or what ``module:object`` stands for."""
    names = [part.strip() for part in text.split(",")]
    return names if len(names) > 1 else learner_of("--teacher", text)


def _imported(option: str, text: str, module_name: str) -> Any:  # noqa: ANN401
    here = str(Path.cwd())
    if here not in sys.path:
        # People keep their learner beside their table; last, for a folder of files
        # from elsewhere must not stand in for packages that are installed.
        sys.path.append(here)
    try:
        return importlib.import_module(module_name)
    # A module of the user's may fail in any way, and that is theirs to mend.
    except (Exception, SystemExit) as error:
        raise UserInputError(
            f"{option} {text!r} cannot be used: importing {module_name!r} gives "
            f"{type(error).__name__}: {error}. Write module:object, {_EXAMPLE}."
        ) from error


def _made(option: str, text: str, thing: Any) -> Any:  # noqa: ANN401
    is_ready = not isinstance(thing, type) and (
        hasattr(thing, "fit") or hasattr(thing, "predict")
    )
    if is_ready:
        return thing
    try:
        made = thing()
    except Exception as error:
        raise UserInputError(
            f"{option} {text!r} cannot be used: calling it without arguments gives "
            f"{type(error).__name__}: {error}. Name an object with fit and predict, "
            "or a function without arguments that makes one."
        ) from error
    if not hasattr(made, "predict"):
        raise UserInputError(
            f"{option} {text!r} gives a {type(made).__name__}, which has no predict. "
            "Name an object with fit and predict, or a function that makes one."
        )
    return made


# ---- Where a command writes, checked before it works for minutes.


def check_file(option: str, path: Path, *, force: bool, never: str = "-") -> None:
    """Raise if a file cannot be written, or would be written over.

    Parameters
    ----------
    option : str
        The option that names it, for messages.
    path : Path
        The file.
    force : bool
        Whether a file that exists may be overwritten.
    never : str
        A file that may not be, whatever ``force`` says; ``-`` for none.
    """
    name = f"{option} {str(path)!r}"
    if path.exists() and not path.is_file() and not path.is_dir():
        return  # a device or a pipe
    if path.is_dir():
        raise UserInputError(f"{name} is a folder. Name a file in it.")
    if not path.parent.is_dir():
        raise UserInputError(
            f"{name} cannot be written: there is no folder {str(path.parent)!r}. "
            "Create it first."
        )
    if never != "-" and _is_same(path, Path(never)):
        raise UserInputError(f"{name} is the file that is read. Choose another name.")
    if path.exists() and not force:
        raise UserInputError(
            f"{name} exists already. Choose another name, or pass --force to "
            "overwrite it."
        )
    writable = path if path.exists() else path.parent
    if not os.access(writable, os.W_OK):
        raise UserInputError(
            f"{name} cannot be written: permission denied. Choose another place."
        )


def check_apart(named: Mapping[str, Path]) -> None:
    """Raise if two options name one file."""
    seen: dict[Path, str] = {}
    for option, path in named.items():
        place = path.absolute()
        if place in seen:
            raise UserInputError(
                f"{seen[place]} and {option} both name {str(path)!r}. Give each a file "
                "of its own."
            )
        seen[place] = option


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return path.absolute() == other.absolute()
