"""Any scikit-learn estimator as evaluator or referee."""

from __future__ import annotations

from collections.abc import Sequence

from tabtap.domain import Prediction
from tabtap.errors import bad_setting
from tabtap.evaluate.answers import Estimator
from tabtap.evaluate.fitting import answer_with
from tabtap.table.table import Table


class EstimatorEvaluator:
    """Answers queries with a learner of the user's, fitted anew on each context.

    Parameters
    ----------
    estimator : scikit-learn estimator
        A classifier or regressor, or a pipeline that ends in one.  It is cloned, never
        changed, and sees encoded rows: standardised numbers and one-hot categories.  A
        pipeline that goes by columns (a ``ColumnTransformer`` anywhere in it) sees the
        features as they were given: container, names, dtypes and holes.  Labels arrive
        as codes in the order of the target's levels.
    name : str, optional
        What it is reported by.  Default: the name of its class.
    n_jobs : int, default=1
        Contexts fitted at a time, in processes of their own.

    Notes
    -----
    A random state left open is fixed, so that equal tables get equal answers.  A
    classifier without ``predict_proba`` is asked for its ``decision_function`` (a
    softmax, right in order and not in size) or counted by its labels alone, each with
    probability 1: prefer scores to losses for these.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> EstimatorEvaluator(LogisticRegression()).name
    'LogisticRegression'
    """

    def __init__(
        self,
        estimator: Estimator,
        *,
        name: str | None = None,
        n_jobs: int = 1,
    ) -> None:
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise bad_setting(
                "estimator",
                estimator,
                "be an unfitted scikit-learn estimator with fit and predict",
                "Pass an object such as LogisticRegression().",
            )
        self.estimator = estimator
        self.name = name or type(estimator).__name__
        self.n_jobs = n_jobs

    def predict(
        self, contexts: Sequence[Table], queries: Sequence[Table]
    ) -> list[Prediction]:
        """Return one prediction per (context, queries) pair, in the order given."""
        learners = {self.name: self.estimator}
        answers = answer_with(learners, contexts, queries, n_jobs=self.n_jobs)
        return [answer[self.name] for answer in answers]
