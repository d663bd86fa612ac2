"""The end of the page: all that is needed to make the run again, and the limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tabtap import wording as say
from tabtap.report.blocks import Block, Section, TableBlock, Text
from tabtap.report.drawing import clean
from tabtap.report.facts import (
    BEST,
    is_named,
    is_paper,
    learner_name,
    unnamed_words,
)
from tabtap.report.words import short_name
from tabtap.result import AugmentResult
from tabtap.result.datasheet import limits_of
from tabtap.result.why import n_given, task_name

_STAGES = {
    "backbones": "Learning the table",
    "proposals": "Making rows",
    "gates": "Looking at single rows",
    "evaluator": "Judging steps",
    "referee": "Judging sets of rows",
    "teacher": "Giving rows their targets",
    "advice": "Scoring what else can be done",
}


def record_section(result: AugmentResult) -> Section:
    """Return what someone else needs to get the same rows."""
    blocks: list[Block] = [
        _run(result),
        _versions(result),
        *_learner_blocks(result),
        *_times(result),
    ]
    blocks.append(Text(_remarks(result)))
    blocks += [*_rules(result), *_licences(result), *_settings(result)]
    return Section(
        "record",
        "To make it again",
        "The same table, settings, seed and versions give the same rows on the same "
        "kind of machine.",
        tuple(blocks),
    )


def _run(result: AugmentResult) -> TableBlock:
    about, schema = result.about, result.real.schema
    target = schema.target
    rows = [
        ("Real rows", say.count(n_given(result))),
        ("Features", say.count(len(schema.features))),
        ("Target", "none" if target is None else short_name(target.column.name)),
        ("Task", "none" if target is None else target.task),
        ("Seed", str(about.seed)),
        ("Rows asked for", _budget(about.budget)),
        ("Judge of steps", _judge(about.evaluator, about.evaluator_why)),
        ("Learner promised", _judge(about.referee, about.referee_why)),
        ("Teacher", _judge(about.teacher, about.teacher_why)),
        *([("Condition", about.teacher_condition)] if about.teacher_condition else []),
        ("Groups", _groups_fact(result)),
        ("Fingerprint of the real rows", result.real_sha256 or "not on record"),
    ]
    return TableBlock("The run", ("What", "Value"), tuple(rows))


def _budget(budget: int | str) -> str:
    return "as many as help" if budget == "auto" else say.count(int(budget))


def _judge(who: str, why: str) -> str:
    """Return a judge with the reason for it, which may begin with its name."""
    return why or who or "not on record"


def _groups_fact(result: AugmentResult) -> str:
    groups = result.about.groups
    if groups is None:
        return "none: every row was taken to stand for itself"
    own = result.real_groups
    n_groups = len(np.unique(own.astype(str)))
    return f"{say.count(n_groups)}, each kept on one side of every split"


def _learner_blocks(result: AugmentResult) -> list[Block]:
    """Return class, settings and version of every learner that was asked."""
    found = {
        option.name.removesuffix(" alone"): option.described
        for option in result.advice
        if option.described
    }
    for check in result.certificates:
        found |= check.learners
    taught = {
        f"teacher: {name}": described
        for name, described in result.about.teacher_members.items()
    }
    found |= taught
    unnamed = unnamed_words() if result.about.referee == BEST else ""
    if not found:
        return [Text((unnamed,))] if unnamed else []
    rows = []
    for name, described in found.items():
        made, _, version = clean(described).rpartition(", ")
        rows.append((learner_name(name, task_name(result)), name, made, version))
    return [
        TableBlock(
            "Learners that were asked",
            ("Learner", "Name", "Class and settings", "Version"),
            tuple(rows),
            unnamed,
        )
    ]


def _rules(result: AugmentResult) -> list[Block]:
    rules = result.about.rules
    if not rules:
        return []
    rows = tuple((short_name(rule),) for rule in rules)
    return [TableBlock("Rules that every new row obeys", ("Rule",), rows)]


def _versions(result: AugmentResult) -> Block:
    versions = result.about.versions
    if not versions:
        return Text(("The versions of the packages are not on record.",))
    return TableBlock("Versions", ("Package", "Version"), tuple(versions.items()))


def _times(result: AugmentResult) -> list[Block]:
    spent = result.about.seconds
    if not spent:
        return []
    rows = [(_STAGES.get(stage, stage), say.seconds(t)) for stage, t in spent.items()]
    rows.append(("Together", say.seconds(sum(spent.values()))))
    return [
        TableBlock(
            "Time spent", ("Stage", "Time"), tuple(rows), align_right=frozenset({1})
        )
    ]


def _licences(result: AugmentResult) -> list[Block]:
    licences = result.about.licences
    if not licences:
        return []
    return [
        TableBlock(
            "Licences of weights", ("Weights", "Licence"), tuple(licences.items())
        )
    ]


def _remarks(result: AugmentResult) -> tuple[str, ...]:
    """Return what there is none of."""
    about, said = result.about, []
    if not about.rules:
        said.append("No rules were given for new rows.")
    if not about.licences:
        said.append("No weights that others trained were used.")
    file = "The file that tabtap saves holds rows, checks and this record"
    return (*said, f"{file}; tabtap verify tells whether they fit each other.")


def _settings(result: AugmentResult) -> list[Block]:
    rows = tuple((name, value) for name, value in _flat(result.about.settings))
    if not rows:
        return [Text(("The settings are not on record.",))]
    return [TableBlock("Every setting", ("Setting", "Value"), rows)]


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", _value(value)


def _value(value: Any) -> str:  # noqa: ANN401  any setting
    if isinstance(value, list):
        return " to ".join(map(_value, value)) if len(value) == 2 else str(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


# ---- What the method cannot do, said on every page.


def limits_section(result: AugmentResult) -> Section:
    """Return the limits of the method, those of this run first."""
    few, *others = limits_of(result)
    rows = (few, _learners(result), *others)
    block = TableBlock("Limits", ("Limit", "What it means here"), rows)
    lead = "What this page cannot promise, whatever its figures."
    return Section("limits", "Limits of the method", lead, (block,))


def _learners(result: AugmentResult) -> tuple[str, str]:
    checks = result.certificates
    asked = list(checks[-1].learners_after) if checks else []
    who = result.about.referee or "nobody"
    if not is_named(result) and asked:
        names = [say.learner_words(name, task_name(result)) for name in asked]
        who = say.listed(names)
    if is_paper(result):
        who = result.about.evaluator or who
    said = f"Asked: {who}. Other learners, and other settings of these, may gain less"
    return (
        "Learners that were not asked",
        f"{said} or lose. Pass the learner you will train as learner.",
    )
