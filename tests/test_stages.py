import pytest
from sklearn.linear_model import Ridge

from tabtap.diffusion import Backbone
from tabtap.evaluate import (
    EnsembleEvaluator,
    EstimatorEvaluator,
    HoldoutEvaluator,
    PanelEvaluator,
)
from tabtap.stages import Evaluator, Inpainter


def test_a_backbone_is_an_inpainter():
    assert issubclass(Backbone, Inpainter)


@pytest.mark.parametrize(
    "stage", [EnsembleEvaluator(), HoldoutEvaluator(), PanelEvaluator()]
)
def test_the_evaluators_that_fit_are_evaluators(stage):
    assert isinstance(stage, Evaluator)


def test_an_estimator_becomes_an_evaluator_when_wrapped():
    assert not isinstance(Ridge(), Evaluator)
    assert isinstance(EstimatorEvaluator(Ridge()), Evaluator)
