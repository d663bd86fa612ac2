"""What the verdict means and does not mean, and what a score is."""

from __future__ import annotations

from dataclasses import dataclass

from tabtap.report import wording as say
from tabtap.report.reading import (
    Case,
    case_of,
    is_panel,
    is_paper,
    metric_name,
    setting,
)
from tabtap.result import AugmentResult


@dataclass(frozen=True, slots=True)
class Point:
    """A paragraph and what it is about."""

    name: str
    text: str


_TRAIN_ONLY = (
    "Use synthetic rows to train and never to test, and keep a row and what was made "
    "of it on one side of every split."
)

_MEANS, _MEANS_NOT = "What this means", "What it does not mean"

_CLAIMS_NOT = (
    "Not every learner, class or single prediction gets better, the rows are no facts "
    f"about anyone, and they protect nobody\u2019s privacy. {_TRAIN_ONLY}"
)

_KNOWN = {
    "loss": "minus the learner\u2019s loss, so 0 is perfect",
    "accuracy": "the share of rows whose label was predicted right",
    "neg_log_loss": "the logarithm of the probability given to the right label, so 0 "
    "is perfect",
    "neg_mean_squared_error": "minus the squared error, so 0 is perfect",
    "neg_mean_absolute_error": "minus the absolute error, so 0 is perfect",
}


_PAPER = (
    Point(
        _MEANS,
        "The evaluator that steered the run was asked about the hardest real rows, "
        "with the new rows and without. The rule goes by the change of its loss.",
    ),
    Point(
        _MEANS_NOT,
        "It does not say that a learner gets better on rows nobody has seen: the "
        f"generator had seen every row that was asked about. {_TRAIN_ONLY}",
    ),
)

_NO_GAIN = (
    Point(
        _MEANS,
        "New rows were made and put to the test, and no set of them was shown to beat "
        "your real rows alone. With few rows a small gain cannot be told from chance, "
        "and then the honest answer is to add nothing.",
    ),
    Point(
        _MEANS_NOT,
        "It does not say that your table is bad, or that no rows could ever help. More "
        "real rows, another referee or another budget may change the answer.",
    ),
)


def meaning_of(result: AugmentResult) -> tuple[Point, ...]:
    """Return what the verdict means and does not mean, a paragraph each."""
    case = case_of(result)
    if case in (Case.UNASKED, Case.UNCHECKED, Case.UNPROVEN):
        said = "Nothing was measured, so this page makes no claim about any rows."
        return (Point(_MEANS, said),)
    if is_paper(result):
        return _PAPER
    if case in (Case.SHOWN, Case.REMOVED):
        return (Point(_MEANS, _how(result)), Point(_MEANS_NOT, _CLAIMS_NOT))
    return _NO_GAIN


def score_meaning(result: AugmentResult) -> str:
    """Say once what a score is."""
    metric = metric_name(result)
    if metric == "score":
        return _own_score(result)
    if metric in _KNOWN:
        return f"The score is {metric}: {_KNOWN[metric]}; larger is better."
    return (
        f"The score is {metric}, taken fold by fold as scikit-learn does; larger is "
        "better."
    )


def _own_score(result: AugmentResult) -> str:
    target = result.real.schema.target
    mean = " Of a panel, each learner is scored and the mean is taken."
    more = mean if is_panel(result) else ""
    if target is not None and target.task == "regression":
        return (
            "The score of a row is 1 / (1 + e\u00b2), where e is the error in standard "
            "deviations of the target: 1 if the prediction is exact, 0.5 if it is one "
            f"standard deviation off. Larger is better.{more}"
        )
    return (
        "The score of a row is the mean of two figures: 1 or 0 for a right or wrong "
        "label, and the probability that was given to the right one. 1 is perfect; "
        f"larger is better.{more}"
    )


def _how(result: AugmentResult) -> str:
    folds = setting(result, "augment", "utility", "n_folds")
    cut = "in parts" if folds is None else f"in {say.count(int(folds))} parts"
    return (
        f"The real rows were cut {cut}. Each part was predicted by learners trained on "
        "the other parts, once with the new rows and once without. Neither the "
        "learners nor the generator of those new rows had seen the part they were "
        "asked about, so the difference is a fair estimate of what the rows are worth "
        "on more rows of the same kind."
    )
