"""TabPFN v2 and later as evaluators, through the package that its authors publish.

The package fetches weights that it does not find, after a login in a browser for the
later ones.  Here it is only ever given weights that are on this machine: files that it
knows, or the tensors that ``fetch_weights`` brought.  Those reach it as a safetensors
file of a moment, so that nothing pickled is written or read.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from tabtap.domain import Prediction
from tabtap.errors import UserInputError, WeightsError, bad_setting
from tabtap.evaluate.in_context import Asked, answer_in_context, smallest_question
from tabtap.evaluate.weights import load_weights, weights_path, weights_settings
from tabtap.table.schema import FloatArray, Task
from tabtap.table.table import Table
from tabtap.torch_device import choose_device

Version = Literal["v2", "v2.5", "v2.6", "v3", "v3.5"]

VERSIONS: tuple[Version, ...] = ("v2", "v2.5", "v2.6", "v3", "v3.5")

_OUR_REGRESSOR = "tabpfn-v2-regressor"
"""What ``fetch_weights`` calls the only ones it can bring."""

_INSTALL = "the package tabpfn is not installed. Run pip install 'tabtap[tabpfn]'."

Model = Any
"""An estimator or a network of the package, which is optional."""


class TabPFNPackage:
    """Predicts labels or numbers with the ``tabpfn`` package, one context at a time.

    Parameters
    ----------
    version : {"v2", "v2.5", "v2.6", "v3", "v3.5"}, default="v2"
        Which weights.  Those of v2 are free for every use; all later ones are not.
    n_estimators : int, default=1
        Views of the table that answers are averaged over; each costs as much as the
        first.
    model_path : str or Path, optional
        A checkpoint file.  Default: for the regressor of v2 what
        ``fetch_weights("tabpfn-v2-regressor")`` brought, else the file in the package's
        own cache folder (``TABPFN_MODEL_CACHE_DIR``).
    device : str, default="auto"
        A torch device; ``auto`` takes CUDA, then MPS, then the CPU.
    seed : int, default=0
        Fixes the package's shuffles.

    Notes
    -----
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

        Raises
        ------
        UserInputError
            If the package is not installed or refuses the rows.
        WeightsError
            If the weights are not on this machine; they are not looked for elsewhere.
        """
        return answer_in_context(
            contexts, queries, classify=self._classify, estimate=self._estimate
        )

    def _classify(self, asked: Asked) -> FloatArray:
        model = self._fitted("classification", asked)
        return np.asarray(model.predict_proba(asked.queries))

    def _estimate(self, asked: Asked) -> tuple[FloatArray, FloatArray]:
        model = self._fitted("regression", asked)
        told = model.predict(asked.queries, output_type="full")
        variance = told["criterion"].variance(told["logits"])
        return np.asarray(told["mean"], np.float64), np.asarray(variance.cpu())

    def _fitted(self, task: Task, asked: Asked) -> Model:
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
        return f"{_INSTALL}{first}"
    if _have_fetched(version, task) or _package_file(version, task).is_file():
        return None
    if ours:
        return f"its weights are not on this machine.{_fetch_sentence()}"
    kind, place = _class_name(task), _package_file(version, task)
    login = "" if version == "v2" else ", after a login (they are not free for all use)"
    return (
        f"{str(place)!r} is not on this machine. Put it there, or have the package "
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
    return getattr(_package("tabpfn"), _class_name(task))


def _class_name(task: Task) -> str:
    return "TabPFNClassifier" if task == "classification" else "TabPFNRegressor"


def _package(name: str) -> Any:  # noqa: ANN401  a module
    if find_spec("tabpfn") is None:
        raise UserInputError(f"{name} cannot be used: {_INSTALL}")
    return importlib.import_module("tabpfn")
