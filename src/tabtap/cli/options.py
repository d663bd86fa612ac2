"""The options that commands share: their words of help, and what is meant by them."""

from __future__ import annotations

import difflib
import importlib
import os
import re
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

import typer

from tabtap.errors import UserInputError

_TABLE, _JUDGE = "What the table is", "Who judges, and how"
_WRITTEN, _RUN = "What is written", "How the run goes"


class PresetName(str, Enum):
    """Settings that go together."""

    DEFAULT = "default"
    FAST = "fast"
    PAPER = "paper"


class TaskName(str, Enum):
    """What a target is."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class LicenseName(str, Enum):
    """Which weights may be chosen without being named."""

    OPEN = "open"
    ANY = "any"


Train = Annotated[
    str,
    typer.Argument(
        metavar="TRAIN",
        help="The table: csv, tsv, parquet, feather, xlsx or jsonl, compressed or not; "
        "- for standard input.",
    ),
]
ResultFile = Annotated[
    Path, typer.Argument(metavar="RESULT", help="A result that --save has written.")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COL", help="The column to be predicted.",
        rich_help_panel=_TABLE,
    ),
]  # fmt: skip
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema", metavar="FILE", rich_help_panel=_TABLE,
        help="What the columns are, as tabtap inspect wrote it and you corrected it.",
    ),
]  # fmt: skip
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", metavar="COL=KIND", rich_help_panel=_TABLE,
        help="What a column is: continuous, integer, datetime, boolean, category, "
        "'ordered category', identifier. May be repeated.",
    ),
]  # fmt: skip
Ignored = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore", metavar="COL", rich_help_panel=_TABLE,
        help="A column not to learn; new rows leave it empty. May be repeated.",
    ),
]  # fmt: skip
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups", metavar="COL", rich_help_panel=_TABLE,
        help="A column that says which rows belong together, such as a patient.",
    ),
]  # fmt: skip
Task = Annotated[
    TaskName,
    typer.Option(
        "--task", metavar="NAME", show_default=False, rich_help_panel=_TABLE,
        help="classification, regression, or auto: by the values of the target.",
    ),
]  # fmt: skip
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet", metavar="NAME", rich_help_panel=_TABLE,
        help="The sheet of an Excel file; the first by default.",
    ),
]  # fmt: skip
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", rich_help_panel=_TABLE,
        help="The format of standard input and output; csv by default.",
    ),
]  # fmt: skip
Rules = Annotated[
    Path | None,
    typer.Option(
        "--rules", metavar="FILE", rich_help_panel=_JUDGE,
        help="A TOML file of what every new row must obey.",
    ),
]  # fmt: skip
Referee = Annotated[
    str,
    typer.Option(
        "--referee", metavar="NAME", show_default=False, rich_help_panel=_JUDGE,
        help="The learner you will train: lightgbm, xgboost, forest, linear, "
        "neighbors, boosting, or module:object. auto asks a panel of four.",
    ),
]  # fmt: skip
Scoring = Annotated[
    str | None,
    typer.Option(
        "--scoring", metavar="NAME", rich_help_panel=_JUDGE,
        help="The yardstick: any scorer of scikit-learn, such as roc_auc.",
    ),
]  # fmt: skip
Confidence = Annotated[
    float | None,
    typer.Option(
        "--confidence", metavar="SHARE", rich_help_panel=_JUDGE,
        help="How sure a gain must be, between 0 and 1, for the run as a whole; 0.8 by "
        "default. Attempts share it, so each is held to more: 90 %, 96.7 %, ...",
    ),
]  # fmt: skip
Evaluator = Annotated[
    str,
    typer.Option(
        "--evaluator", metavar="NAME", show_default=False, rich_help_panel=_JUDGE,
        help="Who steers single steps; auto is a linear model.",
    ),
]  # fmt: skip
LicensePolicy = Annotated[
    LicenseName,
    typer.Option(
        "--license-policy", metavar="NAME", show_default=False, rich_help_panel=_JUDGE,
        help="open, or any: whether auto may use weights not free for every use.",
    ),
]  # fmt: skip
Out = Annotated[
    str | None,
    typer.Option(
        "--out", "-o", metavar="FILE", rich_help_panel=_WRITTEN,
        help="The table with its new rows. Default: TRAIN with .augmented before its "
        "extension; standard output if TRAIN is -.",
    ),
]  # fmt: skip
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report", "-r", metavar="FILE", rich_help_panel=_WRITTEN,
        help="A page of HTML to look at and to send.",
    ),
]  # fmt: skip
SaveFile = Annotated[
    Path | None,
    typer.Option(
        "--save", metavar="FILE", rich_help_panel=_WRITTEN,
        help="Everything in one file, for report, verify and forget.",
    ),
]  # fmt: skip
Mark = Annotated[
    str | None,
    typer.Option(
        "--mark", metavar="COL", rich_help_panel=_WRITTEN,
        help="Add a column of this name: 0 in real rows, 1 in new ones.",
    ),
]  # fmt: skip
Force = Annotated[
    bool,
    typer.Option(
        "--force", rich_help_panel=_WRITTEN,
        help="Overwrite files that exist; never TRAIN itself.",
    ),
]  # fmt: skip
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", rich_help_panel=_WRITTEN,
        help="Write the answer to standard output as one JSON object.",
    ),
]  # fmt: skip
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", rich_help_panel=_WRITTEN, help="Say nothing but errors.",
    ),
]  # fmt: skip
Budget = Annotated[
    str,
    typer.Option(
        "--budget", "-n", metavar="N", rich_help_panel=_RUN,
        help="Most rows to add, or auto: stop where the gain levels off.",
    ),
]  # fmt: skip
PresetChoice = Annotated[
    PresetName,
    typer.Option(
        "--preset", metavar="NAME", show_default=False, rich_help_panel=_RUN,
        help="default; fast: less time for nearly the same; paper: as published.",
    ),
]  # fmt: skip
Mixture = Annotated[
    str,
    typer.Option(
        "--mixture", metavar="SHARES", show_default=False, rich_help_panel=_RUN,
        help="Which classes new rows are of: real (as in TRAIN), "
        "balanced, or 'yes=0.7,no=0.3'.",
    ),
]  # fmt: skip
TimeBudget = Annotated[
    str | None,
    typer.Option(
        "--time-budget", metavar="TIME", rich_help_panel=_RUN,
        help="End after 90s, 5m or 1h30m with what there is.",
    ),
]  # fmt: skip
Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", min=0, rich_help_panel=_RUN,
        help="Equal seeds give equal tables.",
    ),
]  # fmt: skip
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", rich_help_panel=_RUN,
        help="Go on with a run of the same settings that was interrupted.",
    ),
]  # fmt: skip
Device = Annotated[
    str,
    typer.Option(
        "--device", metavar="NAME", show_default=False, rich_help_panel=_RUN,
        help="auto, cpu, cuda or mps: where generators run.",
    ),
]  # fmt: skip
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", metavar="N", show_default=False, rich_help_panel=_RUN,
        help="Processes for learners that are fitted, 1 by default; -1: all cores.",
    ),
]  # fmt: skip
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", rich_help_panel=_RUN,
        help="Show where an error happened, and every warning.",
    ),
]  # fmt: skip
PlainDebug = Annotated[
    bool, typer.Option("--debug", help="Show where an error happened.")
]


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


def _imported(option: str, text: str, module_name: str) -> Any:  # noqa: ANN401
    here = str(Path.cwd())
    if here not in sys.path:
        # As python -m does: people keep their learner beside their table.
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module_name)
    # A module of the user's may fail in any way, and that is theirs to mend.
    except Exception as error:
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
