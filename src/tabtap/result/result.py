"""The result of a run: what was added, where it comes from, and on what evidence.

A result holds tables, not frames: frames are written when asked for, in the container
and dtypes that the user gave.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tabtap.domain import (
    Alternative,
    Candidates,
    Certificate,
    Lineages,
    StepRecord,
)
from tabtap.domain.judgement import table_sha256
from tabtap.loop import Outcome, Stop
from tabtap.result.datasheet import datasheet, write_datasheet
from tabtap.result.files import (
    RunAbout,
    certificates_for_people,
    content_hashes,
    save_result,
)
from tabtap.result.forgetting import forget_rows
from tabtap.result.frames import (
    Waterfall,
    continued,
    provenance_frame,
    told_apart,
    trace_frame,
    waterfall,
)
from tabtap.result.privacy import Privacy, privacy_of
from tabtap.result.set_aside import SetAside, in_order, put_back
from tabtap.result.why import Case, case_of, why_sentence
from tabtap.table.frame import write_frame, write_target
from tabtap.table.schema import BoolArray, IntArray
from tabtap.table.table import Table, concat
from tabtap.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AugmentResult:
    """What a run returns.  Frozen: ``forget`` returns a new result.

    Examples
    --------
    A run makes one; here is one by hand, with two copies as its synthetic rows.

    >>> from tabtap.datasets import load_penguins
    >>> from tabtap.table import read_frame
    >>> birds = read_frame(load_penguins(), target="species")
    >>> copies = birds.take(np.array([0, 300]))
    >>> result = AugmentResult(
    ...     real=birds,
    ...     delivered=Candidates(copies, copies.missing < 0, np.array([0, 0])),
    ...     stop=Stop.BUDGET,
    ...     about=RunAbout(seed=0, budget=2, settings={}),
    ... )
    >>> result
    AugmentResult(augment, 2 synthetic rows beside 344 real rows)
    >>> X, y = result.augmented()
    >>> X.index[-2:].tolist(), y.tail(2).tolist()
    ([344, 345], ['Adelie', 'Chinstrap'])
    >>> result.forget(300).parent_indices
    array([0])
    """

    real: Table
    """The user's rows; their ``origin`` is their place in the table given."""

    delivered: Candidates
    """The synthetic rows, in the order in which they were committed."""

    certificates: tuple[Certificate, ...] = ()
    """One per window, committed or not."""

    steps: tuple[StepRecord, ...] = ()
    """One per action."""

    stop: Stop
    """Why the run ended."""

    about: RunAbout
    """Seed, settings, judges, versions, times and notes."""

    index: pd.Index | None = None
    """pandas' labels of the rows given, those set aside too; None counts them."""

    real_sha256: str = ""
    """Of the real rows that the run was given: of their codes."""

    content_sha256: Mapping[str, str] = field(default_factory=dict)
    """Of the real rows, of each window's rows and of the steps, as values under their
    names; see ``content_hashes``.  Empty in results of older versions."""

    forgotten: tuple[int, ...] = ()
    """Real rows that were removed since, by their place in the table given."""

    n_removed: int = 0
    """Synthetic rows that were removed with them."""

    codes_given: Mapping[str, IntArray] = field(default_factory=dict)
    """The run's codes, which hashes are of, where levels went with those rows."""

    set_aside: SetAside | None = None
    """Rows without a label: not learned, not judged, and in ``augmented()`` as they
    were given, in their place."""

    folds: IntArray | None = None
    """Shape (n_partitions, n_real): the folds of each real row, as ``provenance`` names
    them.  None in results of older versions, and where generators saw all rows."""

    @classmethod
    def of(
        cls,
        real: Table,
        outcome: Outcome,
        lineages: Lineages,
        about: RunAbout,
        *,
        index: pd.Index | None = None,
        set_aside: SetAside | None = None,
    ) -> AugmentResult:
        """Return the result of a finished run.

        Parameters
        ----------
        real : Table
            The rows that the run was given.
        outcome : Outcome
            What the loop returned.
        lineages : Lineages
            Who has seen what; says which of the committed rows are delivered.
        about : RunAbout
            How the run was made.
        index : pandas.Index, optional
            Labels of the rows given, if they came in pandas.
        set_aside : SetAside, optional
            The rows given that have no label.
        """
        progress = outcome.progress
        delivered = progress.committed.take(lineages.delivered(progress.committed.rows))
        if not np.isin(delivered.rows.origin, real.origin).all():
            raise AssertionError("a synthetic row descends from no real row")
        return cls(
            real=real,
            delivered=delivered,
            certificates=progress.certificates,
            steps=progress.steps,
            stop=outcome.stop,
            about=about,
            index=index,
            set_aside=set_aside,
            real_sha256=table_sha256(real),
            content_sha256=content_hashes(real, delivered, progress.steps),
            # Of a sample of many rows they are not those of the rows given.
            folds=lineages.partitions
            if lineages.crossfit and lineages.n_real == len(real)
            else None,
        )

    def __repr__(self) -> str:
        synthetic = counted(len(self.delivered), "synthetic row")
        real = counted(len(self.real), "real row")
        return f"AugmentResult({self.verdict}, {synthetic} beside {real})"

    def _repr_html_(self) -> str:
        # By name: the report reads results, so no result can read the report.
        report = import_module("tabtap.report")
        return str(report.verdict_box(report.verdict_of(self)))

    def plot(self, part: str = "evidence") -> Any:  # noqa: ANN401 - of the report
        """Return the figures of one part of the report, which a notebook shows.

        Parameters
        ----------
        part : str, default="evidence"
            ``"added"``, ``"evidence"``, ``"gates"``, ``"policy"``, ``"where"`` or
            ``"closeness"``; a result without rows has fewer.

        Raises
        ------
        UserInputError
            If there is no such part, or it has no figure.
        """
        return import_module("tabtap.report").plot(self, part)

    @property
    def verdict(self) -> Literal["augment", "gain_too_small", "no_gain"]:
        """Whether there are rows to add; a gain may be too small to matter."""
        if len(self.delivered):
            return "augment"
        return "gain_too_small" if case_of(self) is Case.TOO_SMALL else "no_gain"

    @property
    def advice(self) -> tuple[Alternative, ...]:
        """What else can be done with these rows, the cheapest that is enough first."""
        return self.about.advice

    @property
    def why(self) -> str:
        """The verdict as a sentence, with its figures."""
        return why_sentence(self)

    @property
    def privacy(self) -> Privacy | None:
        """What the synthetic rows give away of single real ones; None without rows.

        Figures to know, not a proof that nobody can be recognised.  They are measured
        each time they are asked for.
        """
        return privacy_of(self)

    @property
    def synthetic(self) -> Any:  # noqa: ANN401 - the user's container
        """The synthetic rows as X was given; with the target if X had it."""
        index = None if self.index is None else self._labels()[self._n_given :]
        return write_frame(self.delivered.rows, index=index)

    @property
    def synthetic_target(self) -> Any:  # noqa: ANN401 - the user's container
        """The targets of the synthetic rows, as y was given."""
        index = None if self.index is None else self._labels()[self._n_given :]
        return write_target(self.delivered.rows, index=index)

    @property
    def synthetic_mask(self) -> BoolArray:
        """Over the rows of ``augmented()``: true where a row is synthetic."""
        n_given = self._n_given
        return np.arange(n_given + len(self.delivered)) >= n_given

    @property
    def parent_indices(self) -> IntArray:
        """Of every synthetic row: the place of its ancestor in ``augmented()``."""
        place = {int(origin): i for i, origin in enumerate(self.given_places)}
        found = [place[int(origin)] for origin in self.delivered.rows.origin]
        return np.array(found, dtype=np.int64)

    @property
    def groups(self) -> NDArray[Any]:
        """Over the rows of ``augmented()``: who a row belongs to.

        The user's labels, or else every real row for itself; a synthetic row has its
        ancestor's.  A row whose label is missing is alone with its descendants: a
        negative number among numbers, else ``"row <place>"``.  Give them to
        ``GroupKFold`` to keep a row and what was made of it on one side of every split.
        """
        own: NDArray[Any] = self.given_places
        if self.about.groups is not None:
            labels, aside = self.about.groups, self.set_aside
            if aside is not None and aside.groups is not None:
                labels = np.concatenate([labels, aside.groups])
            labels = labels[in_order(self.real.origin, aside)]
            own = told_apart(labels, self.given_places)
        return np.concatenate([own, own[self.parent_indices]])

    @property
    def real_groups(self) -> NDArray[Any]:
        """Over the real rows that were learned: who a row belongs to."""
        is_real = in_order(self.real.origin, self.set_aside) < len(self.real)
        return self.groups[: self._n_given][is_real]

    @property
    def provenance(self) -> pd.DataFrame:
        """One row per synthetic row.

        ``anchor_row`` (place of its real ancestor in the table given), ``redrawn``
        (names of the columns that were generated), ``target``, ``template``,
        ``exploration``, ``step``, ``window``, ``fold`` (which its generator never saw;
        -1 if it saw all rows), and a ``score: ...`` for all that gates measured.  Of
        rows that a teacher labelled also ``teacher``, ``asked_target`` (the one that
        the row was drawn for) and ``score: teacher``: the probability that it gives to
        the class, or the standard deviation of the number.
        """
        return provenance_frame(self.delivered, self.steps, self.about.teacher)

    @property
    def trace(self) -> pd.DataFrame:
        """One row per step: state, action, refusals, gain and feedback."""
        return trace_frame(self.steps, self.certificates, self.real.schema)

    @property
    def waterfall(self) -> Waterfall:
        """How many rows were proposed, refused, admitted, committed, delivered."""
        return waterfall(self.steps, self.certificates, len(self.delivered))

    def certificates_json(self) -> str:
        """Return every commitment check as JSON text, with its evidence.

        What is not a number, or not finite, is null.
        """
        return json.dumps(certificates_for_people(self), indent=2, allow_nan=False)

    def datasheet(self) -> dict[str, Any]:
        """Return what an audit asks: purpose, rows, checks, learners, privacy, limits.

        Plain JSON values by section.  ``write_datasheet`` writes them to a file, as
        Markdown or as JSON.
        """
        return datasheet(self)

    def write_datasheet(self, path: str | Path) -> None:
        """Write the data sheet to a file whose name ends in ``.md`` or ``.json``.

        Raises
        ------
        UserInputError
            If the name ends otherwise, or the folder does not exist.
        """
        write_datasheet(self, path)

    def augmented(self) -> tuple[Any, Any]:
        """Return X and y: the rows given as they were, then the synthetic ones.

        Returns
        -------
        X : pandas.DataFrame, polars.DataFrame or numpy array
            As it was given: with the target among its columns if it was there.
        y : pandas.Series, polars.Series or numpy array
            The target alone.

        Notes
        -----
        Rows that came without a label are among them, in their place and without one:
        no learner takes them, ``y.notna()`` leaves them out.

        Row labels of pandas stay.  New rows go on counting after a RangeIndex or after
        the largest of integer labels, and are called ``"synthetic 0"`` and so on after
        labels of any other kind.
        """
        everything = concat([self.real, self.delivered.rows])
        written = write_frame(everything), write_target(everything)
        if self.set_aside is not None and len(self.set_aside):
            written = put_back(written, self.real.origin, self.set_aside)
        if self.index is None:
            return written
        labels = self._labels()
        frame, target = (
            part.set_axis(labels, axis=0) if hasattr(part, "set_axis") else part
            for part in written
        )
        return frame, target

    def forget(
        self,
        row: int | Sequence[int] = (),
        *,
        group: Any = None,  # noqa: ANN401 - a label, some, or a value by column
    ) -> AugmentResult:
        """Return a result without some rows given and without their descendants.

        Parameters
        ----------
        row : int or sequence of int
            Places in the table that was given, counted from 0.  They stay the same
            however much is forgotten; rows without a label count too.
        group : label, list of labels, or mapping of column to value, optional
            All rows of a group of the run, such as ``17``, or all that have a value in
            a column, such as ``{"patient": 17}``.

        Raises
        ------
        UserInputError
            If there is no such row or group, or it was forgotten already.

        Notes
        -----
        No level that only these rows had stays, except categories that a pandas dtype
        or a polars Enum declares.  The certificates stay, with a score per row, and are
        marked as describing the table before.  The generators of the other rows had
        seen the forgotten ones, except those of the fold they were in: to remove that
        influence too, run again without the rows.
        """
        return forget_rows(self, row, group)

    def save(self, path: str | Path) -> None:
        """Write everything to one file, whole or not at all; ``load_result`` reads it.

        The file is a zip.  ``result.safetensors`` holds all of it exactly, real rows
        included; ``synthetic.parquet``, ``provenance.parquet`` and
        ``certificates.json`` are there for other programs.  There is no pickle.

        Raises
        ------
        UserInputError
            If the folder does not exist, or a label cannot be saved.
        """
        save_result(self, path)

    @property
    def _n_given(self) -> int:
        return len(self.given_places)

    @property
    def given_places(self) -> IntArray:
        """Places, in the table given, of the first rows of ``augmented()``.

        Those of real rows and of rows set aside that were not forgotten since.
        """
        if self.set_aside is None:
            return self.real.origin
        places = np.concatenate([self.real.origin, self.set_aside.rows.origin])
        return np.asarray(places[in_order(self.real.origin, self.set_aside)])

    def _labels(self) -> pd.Index:
        return continued(self.index, len(self.delivered))
