"""The regressor of the package tabpfn with the weights of v2, used as its manual says.

Read by: contenders.

Beside it stands tabtap's evaluator, which asks the same package: the difference is what
the evaluator adds or saves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from safetensors.torch import save_file

from tabtap.domain import Prediction, ValuePrediction
from tabtap.errors import UserInputError
from tabtap.evaluate.learners import numbers_of
from tabtap.evaluate.weights import load_weights, weights_path, weights_settings
from tabtap.table import Table

WEIGHTS = "tabpfn-v2-regressor"


class PackageRegressor:
    """Fits ``TabPFNRegressor(n_estimators=1)`` on each context, all else by default."""

    name = "tabpfn's own regressor, v2"

    def __init__(self) -> None:
        if find_spec("tabpfn") is None or weights_path(WEIGHTS) is None:
            raise UserInputError(
                "the package tabpfn (9 or later) or its v2 regressor weights are not "
                "here"
            )

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return means; their variances are not asked for."""
        found: list[Prediction] = []
        for context, asked in zip(contexts, queries, strict=True):
            model = self._model.fit(numbers_of(context), context.target_values)
            mean = np.asarray(model.predict(numbers_of(asked)), np.float64)
            found.append(ValuePrediction(mean, np.zeros(len(mean))))
        return found

    @cached_property
    def _model(self) -> Any:  # noqa: ANN401  of a package that may not be here
        from tabpfn import TabPFNRegressor

        return TabPFNRegressor(
            model_path=str(self._file), n_estimators=1, device="cpu", random_state=0
        )

    @cached_property
    def _folder(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory()

    @cached_property
    def _file(self) -> Path:
        path = Path(self._folder.name, f"{WEIGHTS}.safetensors")
        settings = json.dumps(weights_settings(WEIGHTS))
        save_file(load_weights(WEIGHTS), path, metadata={"config": settings})
        return path
