"""The augmentation data sheet: what an audit asks of a table with synthetic rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabtap.archive import put_in_place
from tabtap.domain import Certificate
from tabtap.domain.written import certificate_to_json
from tabtap.errors import UserInputError
from tabtap.result.files import finite
from tabtap.result.frames import condition_names
from tabtap.result.privacy import privacy_of
from tabtap.result.why import bound_of, group_verdict, is_taught, n_given
from tabtap.wording import count_of

if TYPE_CHECKING:
    from tabtap.result.result import AugmentResult

FORMS = (".md", ".json")
"""Extensions of a data sheet: for people, and for programs."""

_PURPOSE = (
    "Synthetic rows for the training of one learner, added only if they were shown to "
    "help it. Not for tests, not for release in place of the real rows, and no facts "
    "about anyone."
)
_WHERE = (
    "After the real rows, which come first and unchanged. The saved result names the "
    "real ancestor of each row, the cells that were generated, and the check it passed."
)


def datasheet(result: AugmentResult) -> dict[str, Any]:
    """Return everything that the sheet says, by section, as plain JSON values."""
    about = result.about
    learners: dict[str, str] = {}
    for check in result.certificates:
        learners |= check.learners
    sheet: dict[str, Any] = {
        "purpose": _PURPOSE,
        "verdict": result.verdict,
        "why": result.why,
        "table": _table(result),
        "rows_added": _added(result),
        "certificates": [_certificate(check) for check in result.certificates],
        "learners": learners,
        "teacher": _teacher(result),
        "privacy": _privacy(result),
        "rules": list(about.rules),
        "licences": dict(about.licences),
        "run": {
            "seed": about.seed,
            "budget": about.budget,
            "ended_because": result.stop.value,
            "notes": list(about.notes),
            "forgotten_rows": list(result.forgotten),
        },
        "versions": dict(about.versions),
        "limits": dict(limits_of(result)),
    }
    found: dict[str, Any] = finite(sheet)
    return found


def datasheet_text(result: AugmentResult, form: str) -> str:
    """Return the sheet in a form of ``FORMS``."""
    sheet = datasheet(result)
    if form == ".json":
        return json.dumps(sheet, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    return "\n".join(_markdown(sheet)) + "\n"


def write_datasheet(result: AugmentResult, path: str | Path) -> None:
    """Write the sheet to a file, whole or not at all; its extension says the form."""
    form = check_form(path)
    put_in_place(datasheet_text(result, form).encode("utf-8", "replace"), path)


def check_form(path: str | Path) -> str:
    """Return the form that the name of a file asks for."""
    form = Path(path).suffix.lower()
    if form not in FORMS:
        raise UserInputError(
            f"{str(path)!r} is not usable for a data sheet: its name must end in .md "
            f"(for people) or .json (for programs). Try "
            f"{Path(path).with_suffix('.md').name!r}."
        )
    return form


def _table(result: AugmentResult) -> dict[str, Any]:
    schema, groups = result.real.schema, result.about.groups
    target = schema.target
    return {
        "real_rows": n_given(result),
        "features": len(schema.features),
        "target": None if target is None else str(target.column.name),
        "task": None if target is None else target.task,
        "groups": None if groups is None else len(np.unique(groups.astype(str))),
        "sha256": result.real_sha256 or None,
    }


def _added(result: AugmentResult) -> dict[str, Any]:
    names = [str(name) for name in condition_names(result.real.schema)]
    real, new = (
        np.bincount(rows.condition, minlength=len(names)).tolist()
        for rows in (result.real, result.delivered.rows)
    )
    n_new = len(result.delivered)
    return {
        "rows": n_new,
        "share_of_the_table": n_new / (n_new + len(result.real)),
        "where": _WHERE if n_new else "None were added.",
        "by_target": {
            name: {"real": real[place], "synthetic": new[place]}
            for place, name in enumerate(names)
        },
    }


def _certificate(check: Certificate) -> dict[str, Any]:
    """Return what a check found; its scores by row are in the saved result."""
    bound, whole = bound_of(check), certificate_to_json(check)
    return {
        "window": check.window,
        "rows": check.n_rows,
        "passed": check.committed,
        "reason": check.reason,
        "learner": check.learner or check.scorer,
        "best_without_rows": check.best_alone or None,
        "score_without": check.score_real,
        "score_with": check.expected,
        "gain": bound.gain,
        "gain_at_least": bound.lower,
        "share_of_loss_at_least": check.share_at_least,
        "confidence": bound.confidence,
        "figures": whole.get("figures", []),
        "groups_not_to_be_harmed": groups_json(check),
        "rows_sha256": check.pool_sha256,
    }


def groups_json(check: Certificate) -> list[dict[str, Any]]:
    """Return what the rows do to each group that may not be harmed."""
    found: list[dict[str, Any]] = []
    for group in check.groups:
        change = group.change
        told = {
            "column": group.column,
            "value": group.value,
            "rows": group.n_rows,
            "change": None if change is None else change.gain,
            "margin": None if change is None else change.margin,
            "may_lose": group.allowed_loss,
            "verdict": group_verdict(group),
        }
        found.append(finite(told))
    return found


def _teacher(result: AugmentResult) -> dict[str, Any] | None:
    about = result.about
    if not is_taught(result):
        return None
    return {
        "name": about.teacher,
        "why": about.teacher_why,
        "made_of": dict(about.teacher_members),
        "condition": about.teacher_condition or None,
    }


def _privacy(result: AugmentResult) -> dict[str, Any] | None:
    known = privacy_of(result)
    if known is None:
        return None
    return {
        "a_row_carries_more_of_one_real_row_than_real_rows_share": known.carries_cells,
        "nearness_tells_who_was_learned_from": known.tells_members,
        **known.to_json(),
    }


# ---- The same for people.


def _markdown(sheet: Mapping[str, Any]) -> Iterator[str]:
    yield "# Augmentation data sheet"
    for section, content in sheet.items():
        yield f"\n## {_words(section)}\n"
        yield from _lines(content, section)


_NAMED = ("by_target", "learners", "licences", "made_of", "versions")
"""Parts whose keys are names of others, to be kept as they are."""


def _lines(content: Any, under: str, depth: int = 0) -> Iterator[str]:  # noqa: ANN401
    if not isinstance(content, (Mapping, list)) or not content:
        yield _cell(content)
        return
    for name, part in _parts(content):
        said = _escaped(name if under in _NAMED else _words(name))
        start = "  " * depth + (f"- **{said}**:" if name else "-")
        if isinstance(part, (Mapping, list)) and part:
            yield start
            yield from _lines(part, name, depth + 1)
        else:
            yield f"{start} {_cell(part)}"


def _parts(content: Mapping[str, Any] | list[Any]) -> Sequence[tuple[str, Any]]:
    if isinstance(content, Mapping):
        return list(content.items())
    is_plain = not any(isinstance(part, (Mapping, list)) for part in content)
    return [
        ("" if is_plain else str(number), part)
        for number, part in enumerate(content, start=1)
    ]


def _cell(value: Any) -> str:  # noqa: ANN401 - JSON
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _escaped(f"{value:.4g}" if isinstance(value, float) else str(value))


def _words(name: str) -> str:
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def _escaped(text: str) -> str:
    """Return text as one line in which nothing is markup: names are strangers'."""
    line = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_<>[]|#!&" else sign for sign in line)


# ---- What the method cannot do, said on every page and sheet.


FEW_ROWS = 100
"""Below this many real rows their number is warned of."""


def limits_of(result: AugmentResult) -> tuple[tuple[str, str], ...]:
    """Return the limits of a result by name, those of this run first."""
    return (_few_rows(result), _groups_limit(result), *_ALWAYS)


def _few_rows(result: AugmentResult) -> tuple[str, str]:
    rows = count_of(n_given(result), "real row")
    said = f"All evidence comes from your {rows}."
    if n_given(result) < FEW_ROWS:
        said += (
            " With so few, a gain of one or two points cannot be told from chance, and "
            "figures of single classes are rough."
        )
    return "The table is small", said


def _groups_limit(result: AugmentResult) -> tuple[str, str]:
    name = "Rows that belong together"
    if result.about.groups is not None:
        return (
            name,
            "Groups were given and kept apart; the bars count groups, not rows.",
        )
    return (
        name,
        "No groups were given. If rows share a person, a device or a day, every figure "
        "here is too good: run again with groups.",
    )


_ALWAYS = (
    (
        "Rows of another kind",
        "The gain is for rows like yours. Where the rows you will predict differ "
        "(another hospital, branch or year), nothing was measured.",
    ),
    (
        "Order in time",
        "Rows were split at random. If the past must predict the future, test on later "
        "rows of your own before you rely on this.",
    ),
    (
        "Not a privacy tool",
        "Synthetic rows descend from real ones and may come near to them. Treat them "
        "as you treat the real rows.",
    ),
    (
        "Bias stays",
        "What the real rows get wrong or leave out, the new ones repeat: nothing new "
        "about the world is in them.",
    ),
    (
        "Training only",
        "Scores on synthetic rows say nothing. Never put them into a test set.",
    ),
)
