"""The options that commands share, each with its words of help."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

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
