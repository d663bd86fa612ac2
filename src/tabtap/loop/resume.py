"""Save a run between two windows, and go on with it as if nothing had happened.

The file belongs to one run: it carries fingerprints of the real rows, the folds, the
settings and the seed, and is refused where one of them differs.  What the stages that
learn remember is theirs to write down: see ``Steering``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabtap.archive import (
    Archive,
    Arrays,
    add_prefix,
    read_archive,
    reading,
    strip_prefix,
    write_archive,
)
from tabtap.config import settings_of
from tabtap.domain import RefereeScores, ScoresToBeat
from tabtap.domain.judgement import table_sha256
from tabtap.domain.written import (
    candidates_from_arrays,
    candidates_to_arrays,
    certificate_from_json,
    certificate_to_json,
    steps_from_saved,
    steps_to_arrays,
    steps_to_json,
)
from tabtap.errors import FileFormatError
from tabtap.loop.augment import Progress, RunContext
from tabtap.stages import Steering

FORMAT_NAME = "tabtap-progress"
FORMAT_VERSION = 1
"""Raised whenever an older reader would misread what is written."""


def save_progress(
    progress: Progress,
    path: str | Path,
    *,
    context: RunContext,
    others: Mapping[str, str] | None = None,
) -> None:
    """Write where a run stands to one file, whole or not at all.

    Parameters
    ----------
    progress : Progress
        What ``keep`` was given.
    path : str or Path
        Where to; an older file is replaced.
    context : RunContext
        The run it belongs to.
    others : mapping of str to str, optional
        What else must be the same when the run goes on: who judges, which rules.

    Raises
    ------
    UserInputError
        If the folder does not exist.
    """
    learned = progress.steering.save()
    standing, standing_about = _standing_written(progress.standing)
    arrays = add_prefix("committed", candidates_to_arrays(progress.committed))
    arrays |= add_prefix("steps", steps_to_arrays(progress.steps))
    arrays |= add_prefix("standing", standing) | add_prefix("memory", learned.arrays)
    for place, certificate in enumerate(progress.certificates):
        arrays |= add_prefix(f"certificate{place}", certificate.evidence)
    about = {
        "run": _fingerprints(context, others),
        "memory": learned.about,
        "standing": standing_about,
        "steps": steps_to_json(progress.steps),
        "certificates": [certificate_to_json(c) for c in progress.certificates],
        "seconds": progress.seconds,
    }
    write_archive(
        Archive(arrays, about), path, name=FORMAT_NAME, version=FORMAT_VERSION
    )


def load_progress(
    path: str | Path,
    *,
    context: RunContext,
    start: Steering,
    others: Mapping[str, str] | None = None,
) -> Progress:
    """Return the progress that ``save_progress`` wrote.

    Parameters
    ----------
    path : str or Path
        The file.
    context : RunContext
        The run that is to go on.
    start : Steering
        That of the run's beginning, which reads back what was learned since.
    others : mapping of str to str, optional
        As when it was saved.

    Returns
    -------
    Progress
        Hand it to ``augment`` with the same context: the run ends as if it had never
        been interrupted.

    Raises
    ------
    FileFormatError
        If the file is damaged, of another program or version, or of another run.
    """
    archive = read_archive(path, name=FORMAT_NAME, version=FORMAT_VERSION)
    with reading(path, "run"):
        other = _differing(archive.about["run"], _fingerprints(context, others))
    if other:
        raise FileFormatError(
            f"{str(path)!r} was saved by another run, with other {' and '.join(other)}."
            " Go on with what it was saved with, or remove the file to begin anew."
        )
    with reading(path, "run"):
        progress = _progress(archive, context, start)
        _check_rows(progress, context)
        return progress


def _progress(archive: Archive, context: RunContext, start: Steering) -> Progress:
    about, arrays = archive.about, archive.arrays
    learned = Archive(strip_prefix("memory", arrays), about["memory"])
    return Progress(
        committed=candidates_from_arrays(
            context.real.schema, strip_prefix("committed", arrays)
        ),
        steering=start.restore(learned),
        standing=_standing(
            about["standing"],
            strip_prefix("standing", arrays),
            context.n_judged or len(context.real),
        ),
        steps=steps_from_saved(about["steps"], strip_prefix("steps", arrays)),
        certificates=tuple(
            certificate_from_json(saved, strip_prefix(f"certificate{place}", arrays))
            for place, saved in enumerate(about["certificates"])
        ),
        seconds=float(about["seconds"]),
    )


def _check_rows(progress: Progress, context: RunContext) -> None:
    """Raise ValueError unless the rows are those that the certificates are about."""
    rows = progress.committed.rows
    if not np.isin(rows.origin, context.real.origin).all():
        raise ValueError("a row descends from no real row")
    window_of = {record.step: record.window for record in progress.steps}
    steps = progress.committed.step.tolist()
    window = np.array([window_of.get(step) for step in steps], dtype=object)
    is_delivered = np.zeros(len(rows), np.bool_)
    is_delivered[context.lineages.delivered(rows)] = True
    committed = [c for c in progress.certificates if c.committed]
    if len(rows) != sum(certificate.n_judged for certificate in committed):
        raise ValueError("rows that no certificate is about, or too few")
    for certificate in committed:
        own = window == certificate.window
        pool = table_sha256(rows.take(own & is_delivered))
        if own.sum() != certificate.n_judged or pool != certificate.pool_sha256:
            raise ValueError(
                f"the rows of window {certificate.window} are not those that were "
                "checked"
            )


def _standing_written(
    standing: ScoresToBeat,
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    about: dict[str, Any] = {"learner": standing.learner}
    if standing.promised is not None:
        arrays["promised"] = standing.promised
    for name in ("real", "incumbent"):
        scores: RefereeScores | None = getattr(standing, name)
        if scores is not None:
            about[name] = [list(scores.by_learner), scores.is_mean]
            arrays |= add_prefix(f"{name}.learner", scores.by_learner)
            arrays |= add_prefix(f"{name}.answers", scores.answers)
    return arrays, about


def _standing(about: Mapping[str, Any], arrays: Arrays, n_real: int) -> ScoresToBeat:
    scores = {}
    for name in ("real", "incumbent"):
        if name not in about:
            continue
        learners, is_mean = about[name]
        by_learner, answers = (
            strip_prefix(f"{name}.{part}", arrays) for part in ("learner", "answers")
        )
        if any(part.shape != (n_real,) for part in by_learner.values()):
            raise ValueError(f"scores of other than {n_real} rows")
        scores[name] = RefereeScores(
            {learner: by_learner[learner] for learner in learners},
            {learner: answers[learner] for learner in learners if learner in answers},
            is_mean,
        )
    return ScoresToBeat(
        **scores, promised=arrays.get("promised"), learner=about["learner"]
    )


def _fingerprints(
    context: RunContext, others: Mapping[str, str] | None
) -> dict[str, str]:
    """Return what makes a run this run, by the name that a message calls it."""
    lineages = context.lineages
    folds = [lineages.crossfit, lineages.partitions.tolist()]
    schema = repr((context.real.schema.features, context.real.schema.target))
    settings = json.dumps(settings_of(context.config), sort_keys=True)
    return {
        "real rows": _sha256(table_sha256(context.real) + schema),
        "folds": _sha256(json.dumps(folds)),
        "settings": _sha256(settings),
        "seed": str(context.seed),
        **(others or {}),
    }


def _differing(saved: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    names = dict.fromkeys([*wanted, *saved])
    return [name for name in names if saved.get(name) != wanted.get(name)]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
