"""The evaluators: what a learner of these rows would predict, and how well.

Importing this loads no torch; evaluators that need it are imported when chosen.
"""

from tabtap.evaluate.choose import ChosenEvaluator, choose_evaluator
from tabtap.evaluate.evaluators import (
    EnsembleEvaluator,
    EstimatorEvaluator,
    HoldoutEvaluator,
    PanelEvaluator,
    PanelPrediction,
)
from tabtap.evaluate.metric import Metric, metric_of, metric_of_loss

__all__ = [
    "ChosenEvaluator",
    "EnsembleEvaluator",
    "EstimatorEvaluator",
    "HoldoutEvaluator",
    "Metric",
    "PanelEvaluator",
    "PanelPrediction",
    "choose_evaluator",
    "metric_of",
    "metric_of_loss",
]
