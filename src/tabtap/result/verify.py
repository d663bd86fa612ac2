"""Whether a result is what its certificates say: everything recomputed that can be.

Hashes show that rows are those that were checked, evidence that bounds and decisions
follow from the scores.  Whoever changes rows, hashes and scores together, so that they
agree, is not found out: nothing here is signed.  No hash covers the settings, labels of
rows and groups, figures beside the scores, advice, notes, versions and times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tabtap.archive import DAMAGE
from tabtap.domain import Bound, Certificate, GroupEffect
from tabtap.domain.judgement import (
    Bars,
    confidence_at,
    gain_bound,
    is_best_of_several,
    table_sha256,
    two_sided_fold_margin,
    worth_of,
)
from tabtap.loop.augment import attempts_used
from tabtap.loop.commit import group_effects, named_columns
from tabtap.result.files import content_hashes, readable_copies
from tabtap.result.forgetting import as_given
from tabtap.result.frames import row_windows
from tabtap.result.loading import read_members
from tabtap.result.result import AugmentResult
from tabtap.table.schema import IntArray
from tabtap.wording import counted

_EVIDENCE = {"crossfit": ("real", "before", "after"), "paper": ("fold_gains",)}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as certified, or that can no longer be checked."""

    kind: Literal["wrong", "unknown", "forgotten"]
    """Not as certified; not covered; or no longer to be checked without rows that were
    forgotten."""

    window: int | None
    """None if it is about the result as a whole."""

    text: str

    def __str__(self) -> str:
        """Return the finding as one line, beginning with the place."""
        place = "result" if self.window is None else f"window {self.window}"
        return f"{place}: {self.text}"


# Scores of a file may be any numbers, and warnings are for those who run something.
@np.errstate(all="ignore")
def verify(result: AugmentResult) -> list[Finding]:
    """Recompute hashes, bounds and decisions of a result.

    Parameters
    ----------
    result : AugmentResult
        Of a run, or loaded from a file.

    Returns
    -------
    list of Finding
        Empty if everything is as certified.  After ``forget`` the hashes of what was
        changed cannot be recomputed: those findings are ``forgotten``, not ``wrong``.
        What an older tabtap has no hashes of is ``unknown``.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from tabtap.datasets import load_penguins
    >>> from tabtap.domain import Candidates
    >>> from tabtap.loop import Stop
    >>> from tabtap.result import RunAbout
    >>> from tabtap.table import read_frame
    >>> birds = read_frame(load_penguins(), target="species")
    >>> none = Candidates.none(birds)
    >>> result = AugmentResult(
    ...     real=birds,
    ...     delivered=none,
    ...     stop=Stop.BUDGET,
    ...     about=RunAbout(seed=0, budget=0, settings={}),
    ...     real_sha256=table_sha256(birds),
    ...     content_sha256=content_hashes(birds, none, ()),
    ... )
    >>> verify(result)
    []
    >>> print(*verify(replace(result, real=birds.take(np.arange(9)))))
    result: the real rows are not those that the run was given
    """
    hashes = content_hashes(result.real, result.delivered, result.steps)
    findings = [
        *_covered(result, hashes),
        *_real_rows(result, hashes),
        *_delivered_rows(result, hashes),
    ]
    commit = result.about.settings.get("augment", {}).get("commit", {})
    known = {"confidence", "increment_confidence", "min_gain"} <= set(commit)
    if result.certificates and not known:
        text = "the settings do not say when a pool is committed"
        findings.append(Finding("unknown", None, text))
    for place, certificate in enumerate(result.certificates):
        before = result.certificates[:place]
        if certificate.protocol == "crossfit" and not certificate.n_folds:
            text = "it was judged by the rule of an older tabtap, which is not known"
            findings.append(Finding("unknown", certificate.window, text))
            continue
        texts = [*_order(certificate, before), *_usable(certificate)]
        if not texts:
            texts += [*_measured(certificate), *_standing(certificate, before)]
            texts += _groups(result, certificate)
            texts += _decided(certificate, before, commit) if known else ()
        findings += [Finding("wrong", certificate.window, text) for text in texts]
    return findings


def _covered(result: AugmentResult, hashes: Mapping[str, str]) -> Iterator[Finding]:
    if not result.content_sha256:
        text = (
            "an older tabtap has written no hashes of names, dtypes and levels, of "
            "ancestors and redrawn cells: whether they were changed is not known"
        )
        yield Finding("unknown", None, text)
    elif not result.forgotten and _is_other("steps", result, hashes):
        yield Finding("wrong", None, "the steps are not those of the run")


def _is_other(name: str, result: AugmentResult, hashes: Mapping[str, str]) -> bool:
    """Tell whether a part has changed, if the result has hashes at all."""
    known = result.content_sha256
    return bool(known) and known.get(name) != hashes.get(name)


def _real_rows(result: AugmentResult, hashes: Mapping[str, str]) -> Iterator[Finding]:
    if result.forgotten:
        n_rows = counted(len(result.forgotten), "real row")
        text = f"{n_rows} forgotten, so the hash of the table given is no help"
        yield Finding("forgotten", None, text)
        yield from _without_forgotten(result)
    elif table_sha256(result.real) != result.real_sha256:
        text = "the real rows are not those that the run was given"
        yield Finding("wrong", None, text)
    elif _is_other("real", result, hashes):
        text = "names, dtypes or levels are not those of the table given"
        yield Finding("wrong", None, text)


def _without_forgotten(result: AugmentResult) -> Iterator[Finding]:
    aside = () if result.set_aside is None else result.set_aside.places.tolist()
    given = sorted([*result.real.origin.tolist(), *result.forgotten, *aside])
    if given != list(range(len(given))):
        text = "the real rows and those forgotten do not make up the table given"
        yield Finding("wrong", None, text)
    certified = sum(c.n_rows for c in result.certificates if c.committed)
    if certified - len(result.delivered) != result.n_removed:
        text = f"other than {result.n_removed} synthetic rows were removed"
        yield Finding("wrong", None, text)


def _delivered_rows(
    result: AugmentResult, hashes: Mapping[str, str]
) -> Iterator[Finding]:
    window = row_windows(result.delivered, result.steps)
    delivered = as_given(result.delivered.rows, result.codes_given)
    accepted = {c.window for c in result.certificates if c.committed}
    if strays := int(np.sum(~np.isin(window, sorted(accepted)))):
        text = f"{counted(strays, 'synthetic row')} of no committed window"
        yield Finding("wrong", None, text)
    for certificate in result.certificates:
        if not certificate.committed:
            continue
        rows = delivered.take(window == certificate.window)
        lost = certificate.n_rows - len(rows)
        if result.forgotten and lost > 0:
            text = f"{counted(lost, 'row')} forgotten, so its hash is no help"
            yield Finding("forgotten", certificate.window, text)
        elif lost:
            text = f"{counted(len(rows), 'row')} instead of {certificate.n_rows}"
            yield Finding("wrong", certificate.window, text)
        elif table_sha256(rows) != certificate.pool_sha256:
            text = "the rows are not those that were checked: another hash"
            yield Finding("wrong", certificate.window, text)
        elif _is_other(f"window {certificate.window}", result, hashes):
            text = (
                "names, dtypes, levels, ancestors or redrawn cells of the rows are not "
                "those of the run"
            )
            yield Finding("wrong", certificate.window, text)


# ---- The copies in a saved file that are for people and other programs.


def verify_copies(result: AugmentResult, path: str | Path) -> list[Finding]:
    """Write the readable copies of a result anew, and compare them with a file's.

    Bytes of parquet differ between versions of what writes them: where they do, values
    are compared.
    """
    members = read_members(path)
    try:
        copies = readable_copies(result)
    except ImportError as error:  # of polars, if the table was given in it
        text = f"the copies for other programs were not compared ({error})"
        return [Finding("unknown", None, text)]
    return [
        Finding("wrong", None, f"{name} is not what the result says")
        for name, wanted in copies.items()
        if members.get(name) != wanted
        and not _says_the_same(name, members.get(name, b""), wanted)
    ]


def _says_the_same(name: str, found: bytes, wanted: bytes) -> bool:
    try:
        if name.endswith(".json"):
            return _holds(json.loads(found), json.loads(wanted))
        return _holds(*(_parquet_columns(part, wanted) for part in (found, wanted)))
    except (*DAMAGE, OSError, pa.ArrowException):
        return False


def _parquet_columns(content: bytes, like: bytes) -> dict[str, list[Any]]:
    """Return the columns of a parquet file, if it is not larger than it may be."""
    from pyarrow import parquet

    file, own = (parquet.ParquetFile(BytesIO(part)) for part in (content, like))
    if file.metadata.num_rows != own.metadata.num_rows:
        raise ValueError("another number of rows")
    if _unpacked(file) > _MOST_TIMES * _unpacked(own) + _MOST_BYTES:
        raise ValueError("much larger than what was written")
    table = file.read()
    return {name: table.column(name).to_pylist() for name in table.column_names}


_MOST_TIMES, _MOST_BYTES = 4, 2**20
"""A copy that another version has written may be larger by so much."""


def _unpacked(file: Any) -> int:  # noqa: ANN401 - pyarrow is untyped
    about = file.metadata
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    return sum(group.total_byte_size for group in groups)


def _holds(found: Any, wanted: Any) -> bool:  # noqa: ANN401 - of JSON or parquet
    """Tell whether two values are the same; a field that is empty may be missing.

    Copies of older versions lack fields that results have got since.
    """
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() <= wanted.keys() and all(
            _holds(found[key], part) if key in found else _is_empty(part)
            for key, part in wanted.items()
        )
    if isinstance(found, list) and isinstance(wanted, list):
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(_holds(*pair) for pair in pairs)
    return bool(found == wanted or (found != found and wanted != wanted))


def _is_empty(part: Any) -> bool:  # noqa: ANN401
    return not part or (isinstance(part, list) and not any(part))


# ---- Certificates: their order, evidence, bounds and decisions.


def _order(certificate: Certificate, before: Sequence[Certificate]) -> Iterator[str]:
    if certificate.window != len(before):
        yield f"it is the certificate number {len(before)}"
    look = 1 + attempts_used(before)
    if certificate.look != look:
        yield f"look {certificate.look} is stated, but it is look {look}"


def _usable(certificate: Certificate) -> Iterator[str]:
    """Say what keeps the evidence from being used, if anything does."""
    wanted = _EVIDENCE.get(certificate.protocol)
    if wanted is None:
        yield f"there is no protocol {certificate.protocol!r}"
        return
    if missing := [name for name in wanted if name not in certificate.evidence]:
        yield f"there is no evidence {missing[0]!r}"
        return
    if len({certificate.evidence[name].shape for name in wanted}) > 1:
        yield "there are not as many scores with the pool as without"
    if certificate.protocol == "paper":
        return
    if certificate.over_real is None:
        yield "the gain over real rows is not stated"
    if certificate.n_folds < 2:
        yield f"{certificate.n_folds} fold is stated, there must be two or more"


def _measured(certificate: Certificate) -> Iterator[str]:
    """Recompute the bounds from the scores, and the means that are stated."""
    if certificate.protocol == "paper":
        yield from _measured_by_folds(certificate)
    else:
        yield from _measured_by_scores(certificate)


def _measured_by_folds(certificate: Certificate) -> Iterator[str]:
    gains, stated = certificate.evidence["fold_gains"], certificate.over_incumbent
    margin = two_sided_fold_margin(gains, stated.confidence)
    if not _same(margin, stated.margin):
        yield f"the error bar is {stated.margin:.6g}, the folds give {margin:.6g}"
    # A mean over focus rows, of which folds may have different numbers.
    if len(gains) and not _within(stated.gain, gains):
        yield f"the gain {stated.gain:.6g} is outside what any fold gained"


def _measured_by_scores(certificate: Certificate) -> Iterator[str]:
    stated = certificate.over_incumbent
    for name, bound, base in (
        ("the gain over the incumbent", stated, "before"),
        ("the gain over real rows", certificate.over_real, "real"),
    ):
        if bound is None:
            yield f"{name} is not stated"
            continue
        found = _bound(certificate, base, bound.confidence)
        if not _same_bound(bound, found):
            yield f"{name} is not what the scores give: {found.lower:.6g} at least"
    for name in _EVIDENCE["crossfit"]:
        score = getattr(certificate, f"score_{name}")
        mean = float(np.mean(certificate.evidence[name]))
        if not _same(score, mean):
            yield f"score_{name} is {score:.6g}, the scores have mean {mean:.6g}"


def _groups(result: AugmentResult, certificate: Certificate) -> Iterator[str]:
    """Recompute what the rows do to groups that may not be harmed."""
    stated, evidence = certificate.groups, certificate.evidence
    no_harm = {group.column: group.allowed_loss for group in stated}
    if no_harm != result.about.settings.get("no_harm", {}):
        yield "the groups that may not be harmed are not those of the settings"
    elif no_harm and not result.forgotten:
        scores = [evidence.get(name, np.zeros(0)) for name in ("real", "after")]
        known = {str(column.name) for column in named_columns(result.real)}
        if scores[0].shape != (len(result.real),) or not no_harm.keys() <= known:
            yield "the groups that may not be harmed are not those of the table"
            return
        bars, clusters = _bars(certificate), _clusters(certificate)
        weights = evidence.get("weights")
        if weights is not None and weights.shape != (len(result.real),):
            yield "the weights of rows are not those of the table"
            return
        found = group_effects(
            *(result.real, no_harm, scores, bars, clusters), weights=weights
        )
        pairs = zip(found, stated, strict=False)
        if len(found) != len(stated) or not all(_same_group(*p) for p in pairs):
            yield "what the rows do to groups is not what the scores give"


def _same_group(left: GroupEffect, right: GroupEffect) -> bool:
    one, other = left.change, right.change
    if replace(left, change=None) != replace(right, change=None):
        return False
    if one is None or other is None:
        return one is other
    return _same_bound(one, other)


def _standing(certificate: Certificate, before: Sequence[Certificate]) -> Iterator[str]:
    """Check that scores before a pool are those after the last one committed."""
    if certificate.protocol != "crossfit":
        return
    accepted = [earlier for earlier in before if earlier.committed]
    first = before[0] if before else certificate
    last = accepted[-1].evidence.get("after") if accepted else None
    for name, wanted in (
        ("real", first.evidence.get("real")),
        ("before", last if accepted else first.evidence.get("real")),
    ):
        found = certificate.evidence.get(name)
        if found is None or wanted is None or not _same(found, wanted):
            yield f"the scores {name!r} are not those of the windows before"


def _decided(
    certificate: Certificate, before: Sequence[Certificate], commit: Mapping[str, Any]
) -> Iterator[str]:
    """Apply the rule of the protocol to what is stated."""
    for bound, wanted in _wanted_confidence(certificate, commit):
        if not _same(bound.confidence, wanted):
            yield f"confidence is {bound.confidence:.6g}, it should be {wanted:.6g}"
    # Attempts that showed no gain use up confidence, so this may not be left unsaid.
    if _shows(certificate) != certificate.shown:
        yield f"shown={certificate.shown} is not what the bound says"
    if _rule(certificate, before, commit["min_gain"]) != certificate.committed:
        done = "committed" if certificate.committed else "refused"
        yield f"the pool was {done}, against the rule"


def _wanted_confidence(
    certificate: Certificate, commit: Mapping[str, Any]
) -> Iterator[tuple[Bound, float]]:
    if certificate.over_real is None:
        yield certificate.over_incumbent, commit["confidence"]
        return
    yield certificate.over_incumbent, commit["increment_confidence"]
    yield certificate.over_real, confidence_at(certificate.look, commit["confidence"])


def _shows(certificate: Certificate) -> bool:
    if certificate.over_real is None:
        return certificate.committed
    return bool(certificate.over_real.lower > 0.0)


def _rule(
    certificate: Certificate, before: Sequence[Certificate], min_gain: float
) -> bool:
    """Tell what the rule of the protocol decides; see ``loop.commit``."""
    bound, over_real = certificate.over_incumbent, certificate.over_real
    if not certificate.n_rows:  # of what may be committed a row must be delivered
        return False
    if over_real is None:
        return bool(bound.gain > min_gain + bound.margin)
    first = not any(earlier.committed for earlier in before)
    adds = first or bound.lower > 0.0
    plain = certificate.figures[0].gain if certificate.figures else 0.0
    large = worth_of(certificate.scorer, over_real, certificate.figures) >= min_gain
    harmless = plain >= 0.0 and not certificate.harmed
    return bool(over_real.lower > 0.0 and large and harmless and adds)


def _bound(certificate: Certificate, base: str, confidence: float) -> Bound:
    evidence = certificate.evidence
    before, after = (np.asarray(evidence[name]) for name in (base, "after"))
    bars, clusters = _bars(certificate), _clusters(certificate)
    if base != "real":
        bars = replace(bars, usual=0.0)
    return gain_bound(before, after, confidence, bars, clusters)


def _bars(certificate: Certificate) -> Bars:
    n_folds = certificate.n_folds
    return Bars(
        certificate.widening or float(np.sqrt(1.0 + n_folds / (n_folds - 1))),
        is_squared=certificate.is_squared,
        is_strict=is_best_of_several(certificate.scorer),
        usual=certificate.usual,
    )


def _clusters(certificate: Certificate) -> IntArray | None:
    clusters = certificate.evidence.get("clusters")
    return None if clusters is None else clusters.astype(np.int64)


def _same_bound(left: Bound, right: Bound) -> bool:
    pairs = ((left.gain, right.gain), (left.margin, right.margin),
             (left.confidence, right.confidence))  # fmt: skip
    return all(_same(one, other) for one, other in pairs)


def _same(left: Any, right: Any) -> bool:  # noqa: ANN401 - numbers or arrays
    if np.shape(left) != np.shape(right):
        return False
    # Another version of numpy may add up in another order.
    return bool(np.allclose(left, right, rtol=1e-9, atol=1e-12, equal_nan=True))


def _within(value: float, parts: Any) -> bool:  # noqa: ANN401
    slack = 1e-9 * (1 + float(np.abs(parts).max()))
    low, high = float(np.min(parts)) - slack, float(np.max(parts)) + slack
    return bool(np.isnan(value) or low <= value <= high)
