"""Equation 48: realised utility is the fall of the validation loss, over learners."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from tabtap.evaluate import PanelEvaluator
from tabtap.evaluate.evaluators import panel_learners
from tabtap.evaluate.learners import encode
from tabtap.evaluate.metric import metric_of
from tabtap.table.table import concat


# The network is ended before it converges.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_panel_scores_the_mean_over_its_learners_of_the_fall_of_their_loss(
    real, make_rows
):
    training, validation = real.take(np.arange(20)), real.take(np.arange(20, 30))
    contexts = [training, concat([training, make_rows(0, 30)])]
    metric = metric_of("neg_log_loss")

    answers = PanelEvaluator().predict(contexts, [validation, validation])
    before, after = (metric.score(answer, validation).mean() for answer in answers)

    falls = []
    for learner in panel_learners("classification").values():
        losses = []
        for context in contexts:
            seen, (unseen,) = encode(context, [validation])
            model = clone(learner).fit(seen, context.target)
            stated = model.predict_proba(unseen)
            losses.append(log_loss(validation.target, stated, labels=[0, 1]))
        falls.append(losses[0] - losses[1])
    assert len(falls) == 6
    assert after - before == pytest.approx(np.mean(falls), rel=1e-4)
