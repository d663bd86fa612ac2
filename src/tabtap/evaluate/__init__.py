"""The judges: what a learner of these rows would predict, and how well.

Importing this loads no torch; evaluators that need it are imported when chosen.
"""

from tabtap.evaluate.choose import ChosenEvaluator, choose_evaluator
from tabtap.evaluate.ensemble import EnsembleEvaluator
from tabtap.evaluate.estimator import EstimatorEvaluator
from tabtap.evaluate.holdout import HoldoutEvaluator
from tabtap.evaluate.metric import Metric, metric_of, metric_of_loss
from tabtap.evaluate.panel import PanelEvaluator, PanelPrediction

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
