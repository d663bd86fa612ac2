"""In-context networks of other packages as evaluators: TabPFN v2 and later, TabICL.

Such a package takes numbers, categories and holes as they are, and a context at a time.
What it cannot be asked (a single class, a constant target, no column that varies) is
answered here.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from tabtap.domain import ClassPrediction, Prediction, TargetUnit, ValuePrediction
from tabtap.errors import UserInputError, WeightsError, bad_setting
from tabtap.evaluate.learners import codes_of, numbers_of, task_of
from tabtap.evaluate.weights import load_weights, weights_path, weights_settings
from tabtap.table.schema import BoolArray, CodeArray, FloatArray, IntArray, Task
from tabtap.table.table import Table
from tabtap.torch_device import choose_device

_BLOCK = 16
"""Queries are filled up to a multiple of this: a matrix product of few rows rounds in
its own way, and a query's answer must not depend on its company."""

_SAFE_EXPONENT = 30
"""Columns whose largest number is within 2**30 or 2**-30 have squares in float32."""

_FAR = 2.0**60
"""Queries beyond this are as far from any context as a network can tell."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One context and its queries as matrices; NaN where a value is missing."""

    context: FloatArray
    """Numbers, then codes of categories; every column varies."""

    queries: FloatArray
    """The same columns, the rows repeated to fill a block; a level that the context
    does not have is missing."""

    categorical: list[int]
    """Which columns are codes."""

    target: FloatArray | IntArray
    """Class codes without gaps, or the standardised target."""


Classify = Callable[[Asked], FloatArray]
"""Gives probabilities of shape (n_queries, n_classes of the context)."""

Estimate = Callable[[Asked], tuple[FloatArray, FloatArray]]
"""Gives mean and variance of the standardised target, each of shape (n_queries,)."""


def answer_in_context(
    contexts: Sequence[Table],
    queries: Sequence[Table],
    *,
    classify: Classify,
    estimate: Estimate,
) -> list[Prediction]:
    """Return one prediction per (context, queries) pair, in the order given."""
    task = task_of(contexts, queries)
    pairs = zip(contexts, queries, strict=True)
    if task == "classification":
        return [_labels(context, asked, classify) for context, asked in pairs]
    return [_values(context, asked, estimate) for context, asked in pairs]


def smallest_question(task: Task) -> Asked:
    """Return the smallest question there is, to have a network loaded."""
    target = np.array([0, 1]) if task == "classification" else np.array([-1.0, 1.0])
    rows = np.array([[0.0], [1.0]])
    return Asked(rows, rows, [], target)


def _labels(context: Table, queries: Table, classify: Classify) -> ClassPrediction:
    present, codes = np.unique(context.target.astype(np.int64), return_inverse=True)
    everything = np.zeros((len(queries), context.schema.n_conditions))
    asked = _question(context, queries, codes)
    if len(present) == 1 or len(queries) == 0 or asked.context.shape[1] == 0:
        everything[:, present] = np.bincount(codes) / len(codes)
    else:
        likely = np.asarray(classify(asked), dtype=np.float64)[: len(queries)]
        everything[:, present] = likely / likely.sum(axis=1, keepdims=True)
    return ClassPrediction(everything)


def _values(context: Table, queries: Table, estimate: Estimate) -> ValuePrediction:
    # Standardised here in float64: a network's float32 has seven digits, and a target
    # around 1e6 would leave few of them for what differs.
    unit = TargetUnit.of(context)
    target = unit.standardise(context.target_values)
    asked = _question(context, queries, target)
    if np.ptp(target) == 0 or len(queries) == 0 or asked.context.shape[1] == 0:
        size = len(queries)
        mean, variance = np.full(size, target.mean()), np.full(size, target.var())
    else:
        mean, variance = (figure[: len(queries)] for figure in estimate(asked))
    return ValuePrediction(unit.center + unit.spread * mean, unit.spread**2 * variance)


def _question(context: Table, queries: Table, target: FloatArray | IntArray) -> Asked:
    numbers = _tame(numbers_of(context), numbers_of(queries))
    levels = _known_levels(codes_of(context), codes_of(queries))
    known, asked = (np.hstack(both) for both in zip(numbers, levels, strict=True))
    varies = _varies(known)
    is_code = np.arange(known.shape[1]) >= numbers[0].shape[1]
    categorical = np.flatnonzero(is_code[varies]).tolist()
    filled = np.arange(-(-len(asked) // _BLOCK) * _BLOCK) % max(len(asked), 1)
    return Asked(known[:, varies], asked[filled][:, varies], categorical, target)


def _tame(known: FloatArray, asked: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bring columns that float32 cannot hold near 1, and leave all others alone."""
    whole = np.isfinite(known)
    peak = np.where(whole, np.abs(known), 0.0).max(axis=0, initial=0.0)
    exponent = -np.frexp(peak)[1]
    exponent[np.abs(exponent) <= _SAFE_EXPONENT] = 0
    known, asked = np.ldexp(known, exponent), np.ldexp(asked, exponent)
    asked = np.where(np.isfinite(asked), np.clip(asked, -_FAR, _FAR), np.nan)
    return np.where(whole, known, np.nan), asked


def _known_levels(known: CodeArray, asked: CodeArray) -> tuple[FloatArray, FloatArray]:
    met = np.zeros(asked.shape, dtype=np.bool_)
    for column_index, column in enumerate(known.T):
        met[:, column_index] = np.isin(asked[:, column_index], column)
    return (
        np.where(known >= 0, known, np.nan),
        np.where(met & (asked >= 0), asked, np.nan),
    )


def _varies(known: FloatArray) -> BoolArray:
    """Tell which columns have two values, one of which may be a hole."""
    first = known[:1]
    same = (known == first) | (np.isnan(known) & np.isnan(first))
    return np.asarray(~same.all(axis=0))


# ---- TabPFN v2 and later as evaluators, through the package that its authors publish.
#
# The package fetches weights that it does not find, after a login in a browser for the
# later ones. Here it is only ever given weights that are on this machine: files that it
# knows, or the tensors that ``fetch_weights`` brought. Those reach it as a safetensors
# file of a moment, so that nothing pickled is written or read.


Version = Literal["v2", "v2.5", "v2.6", "v3", "v3.5"]

VERSIONS: tuple[Version, ...] = ("v2", "v2.5", "v2.6", "v3", "v3.5")

_OUR_REGRESSOR = "tabpfn-v2-regressor"
"""What ``fetch_weights`` calls the only ones it can bring."""

_INSTALL_TABPFN = (
    "the package tabpfn is not installed. Run pip install 'tabtap[tabpfn]'."
)

Model = Any
"""An estimator or a network of the package, which is optional."""


class TabPFNPackage:
    """Predicts labels or numbers with the ``tabpfn`` package, one context at a time.

    The weights of ``version`` v2 are free for every use; those of all later ones are
    not.  ``model_path`` is a checkpoint file; by default, for the regressor of v2, what
    ``fetch_weights("tabpfn-v2-regressor")`` brought, else the file in the package's own
    cache folder (``TABPFN_MODEL_CACHE_DIR``).  Answers are averaged over
    ``n_estimators`` views of the table, each as costly as the first; ``seed`` fixes the
    package's shuffles.  ``device="auto"`` is CUDA, else MPS, else the CPU.

    Categories and holes are handed over as such.  The variance of a predicted number is
    that of the distribution the network states.  The limits the package sets itself
    (1,000 rows on a CPU for v2) are lifted: it answers, slowly.
    """

    def __init__(
        self,
        version: Version = "v2",
        *,
        n_estimators: int = 1,
        model_path: str | Path | None = None,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        if version not in VERSIONS:
            names = ", ".join(map(repr, VERSIONS))
            raise bad_setting("version", version, f"be one of {names}", "Try 'v2'.")
        if n_estimators < 1:
            raise bad_setting("n_estimators", n_estimators, "be at least 1", "Try 1.")
        self.version = version
        self.n_estimators = n_estimators
        self.model_path = model_path
        self.device = device
        self.seed = seed
        self._networks: dict[Task, Model] = {}

    @property
    def name(self) -> str:
        """The name it is asked for and reported by."""
        return f"tabpfn-{self.version}"

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given.

        Weights that are not on this machine are a ``WeightsError``: nothing is fetched.
        """
        return answer_in_context(
            contexts, queries, classify=self._classify, estimate=self._estimate
        )

    def _classify(self, asked: Asked) -> FloatArray:
        model = self._fit("classification", asked)
        return np.asarray(model.predict_proba(asked.queries))

    def _estimate(self, asked: Asked) -> tuple[FloatArray, FloatArray]:
        model = self._fit("regression", asked)
        answer = model.predict(asked.queries, output_type="full")
        variance = answer["criterion"].variance(answer["logits"])
        return np.asarray(answer["mean"], np.float64), np.asarray(variance.cpu())

    def _fit(self, task: Task, asked: Asked) -> Model:
        if task not in self._networks:
            self._networks[task] = self._load(task)
        model = self._estimator(task, self._networks[task])
        model.categorical_features_indices = asked.categorical
        try:
            return model.fit(asked.context, asked.target)
        except ValueError as error:
            raise UserInputError(
                f"{self.name} cannot learn a context of {len(asked.context)} rows: "
                f"{error} Choose another evaluator for this table."
            ) from error

    def _load(self, task: Task) -> Model:
        """Return a network that fits share, from weights on this machine."""
        if self.model_path is not None:
            if not Path(self.model_path).is_file():
                raise WeightsError(
                    f"There is no file {str(self.model_path)!r}. Pass the path of a "
                    "TabPFN checkpoint, or none to have the usual places searched."
                )
            _package(self.name)
            return self._read(task, self.model_path)
        if (lacking := missing_part(self.version, task)) is not None:
            raise WeightsError(f"{self.name} cannot be used: {lacking}")
        if not _have_fetched(self.version, task):
            return self._read(task, _package_file(self.version, task))
        with TemporaryDirectory() as folder:
            path = Path(folder, f"{_OUR_REGRESSOR}.safetensors")
            _write_checkpoint(path)
            return self._read(task, path)

    def _read(self, task: Task, path: str | Path) -> Model:
        asked = smallest_question(task)
        model = self._estimator(task, str(path)).fit(asked.context, asked.target)
        bars = getattr(model, "znorm_space_bardist_", None)
        network, config = model.models_[0], model.configs_[0]
        specs = _package(self.name).ModelSpecs
        return specs(network, config, model.inference_config_, bars)

    def _estimator(self, task: Task, model_path: Model) -> Model:
        return _estimator_class(task)(
            model_path=model_path,
            n_estimators=self.n_estimators,
            device=str(choose_device(self.device)),
            random_state=self.seed,
            ignore_pretraining_limits=True,
            fit_mode="low_memory",  # nothing is asked twice of one fit
        )


def missing_part(version: Version, task: Task) -> str | None:
    """Say what is lacking here, and the way to get it; None if nothing is.

    Nothing is fetched, and no network is asked.
    """
    ours = version == "v2" and task == "regression"
    if find_spec("tabpfn") is None:
        first = _fetch_sentence() if ours and not _have_fetched(version, task) else ""
        return f"{_INSTALL_TABPFN}{first}"
    if _have_fetched(version, task) or _package_file(version, task).is_file():
        return None
    if ours:
        return f"its weights are not on this machine.{_fetch_sentence()}"
    kind, path = _tabpfn_class(task), _package_file(version, task)
    login = "" if version == "v2" else ", after a login (they are not free for all use)"
    return (
        f"{str(path)!r} is not on this machine. Put it there, or have the package "
        f"fetch it{login}: tabpfn.{kind}.create_default_for_version("
        f"tabpfn.constants.ModelVersion({version!r})).fit([[0.0], [1.0]], [0, 1])."
    )


def _fetch_sentence() -> str:
    fetch = f"tabtap.evaluate.weights.fetch_weights({_OUR_REGRESSOR!r})"
    return f" Fetch the weights once (43 MB): {fetch}."


def _have_fetched(version: Version, task: Task) -> bool:
    ours = version == "v2" and task == "regression"
    return ours and weights_path(_OUR_REGRESSOR) is not None


def _write_checkpoint(path: Path) -> None:
    """Write the fetched tensors, checked, in the form the package reads."""
    from safetensors.torch import save_file

    settings = json.dumps(weights_settings(_OUR_REGRESSOR))
    save_file(load_weights(_OUR_REGRESSOR), path, metadata={"config": settings})


def _package_file(version: Version, task: Task) -> Path:
    """Return where the package keeps, or would keep, its weights."""
    constants = importlib.import_module("tabpfn.constants")
    kind = _estimator_class(task)
    model = kind.create_default_for_version(constants.ModelVersion(version))
    return Path(model.model_path)


def _estimator_class(task: Task) -> Model:
    return getattr(_package("tabpfn"), _tabpfn_class(task))


def _tabpfn_class(task: Task) -> str:
    return "TabPFNClassifier" if task == "classification" else "TabPFNRegressor"


def _package(name: str) -> Any:  # noqa: ANN401  a module
    if find_spec("tabpfn") is None:
        raise UserInputError(f"{name} cannot be used: {_INSTALL_TABPFN}")
    return importlib.import_module("tabpfn")


# ---- TabICL as an evaluator, through the package that its authors publish.
#
# The package would fetch weights that it does not find. Here it is told not to: what is
# not on this machine is said, with the way to get it, and no network is asked.


_INSTALL_TABICL = (
    "the package tabicl is not installed. Run pip install 'tabtap[tabicl]'."
)

_LEVELS = (np.arange(100) + 0.5) / 100


class TabICL:
    """Predicts labels or numbers with the ``tabicl`` package, one context at a time.

    ``model_path`` is a checkpoint file of the kind that the table asks for (labels or
    numbers); by default what the package has fetched before.  The other settings are
    those of ``TabPFNPackage``.

    A missing number is the context's mean and a missing category a level of its own:
    the package leaves out a column that is missing in all queries, so its answer to a
    query with holes would depend on the other queries.  The variance of a predicted
    number is that of 100 quantiles.  Weights are read anew for each context.
    """

    name = "tabicl"

    def __init__(
        self,
        *,
        n_estimators: int = 1,
        model_path: str | Path | None = None,
        device: str = "auto",
        seed: int = 0,
    ) -> None:
        if n_estimators < 1:
            raise bad_setting("n_estimators", n_estimators, "be at least 1", "Try 1.")
        self.n_estimators = n_estimators
        self.model_path = model_path
        self.device = device
        self.seed = seed
        self._found: set[Task] = set()

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given.

        Weights that are not on this machine are a ``WeightsError``: nothing is fetched.
        """
        return answer_in_context(
            contexts, queries, classify=self._classify, estimate=self._estimate
        )

    def missing_part(self, task: Task) -> str | None:
        """Say what is lacking here, and the way to get it; None if nothing is.

        Nothing is fetched, and no network is asked.
        """
        if find_spec("tabicl") is None:
            return _INSTALL_TABICL
        question = smallest_question(task)
        try:
            self._estimator(task).fit(question.context, question.target)
        except ValueError:  # the only one that this question can meet
            return self._how_to_get(task)
        return None

    def _classify(self, asked: Asked) -> FloatArray:
        context, queries = _fill_holes(asked)
        model = self._fit("classification", context, asked.target)
        return np.asarray(model.predict_proba(queries))

    def _estimate(self, asked: Asked) -> tuple[FloatArray, FloatArray]:
        context, queries = _fill_holes(asked)
        model = self._fit("regression", context, asked.target)
        wanted = ["mean", "quantiles"]
        answer = model.predict(queries, output_type=wanted, alphas=list(_LEVELS))
        mean, quantiles = (np.asarray(answer[key], np.float64) for key in wanted)
        return mean, np.asarray(quantiles.var(axis=1))

    def _fit(
        self, task: Task, context: FloatArray, target: FloatArray | IntArray
    ) -> Model:
        if task not in self._found:
            if (lacking := self.missing_part(task)) is not None:
                raise WeightsError(f"{self.name} cannot be used: {lacking}")
            self._found.add(task)
        try:
            return self._estimator(task).fit(context, target)
        except ValueError as error:
            raise UserInputError(
                f"{self.name} cannot learn a context of {len(context)} rows: {error} "
                "Choose another evaluator for this table."
            ) from error

    def _estimator(self, task: Task) -> Model:
        return getattr(importlib.import_module("tabicl"), _tabicl_class(task))(
            n_estimators=self.n_estimators,
            model_path=self.model_path,
            allow_auto_download=False,
            device=str(choose_device(self.device)),
            random_state=self.seed,
        )

    def _how_to_get(self, task: Task) -> str:
        if self.model_path is not None:
            return (
                f"there is no file {str(self.model_path)!r}. Pass the path of a TabICL "
                "checkpoint, or none to use what the package has fetched."
            )
        return (
            "its weights are not on this machine. Have the package fetch them once: "
            f"tabicl.{_tabicl_class(task)}().fit([[0.0], [1.0]], [0, 1])."
        )


def _tabicl_class(task: Task) -> str:
    return "TabICLClassifier" if task == "classification" else "TabICLRegressor"


def _fill_holes(asked: Asked) -> tuple[FloatArray, FloatArray]:
    """Return both matrices without holes."""
    whole = ~np.isnan(asked.context)
    total = np.where(whole, asked.context, 0.0).sum(axis=0)
    stand_in = total / np.maximum(whole.sum(axis=0), 1)
    stand_in[asked.categorical] = -1.0
    context = np.where(whole, asked.context, stand_in)
    return context, np.where(np.isnan(asked.queries), stand_in, asked.queries)
