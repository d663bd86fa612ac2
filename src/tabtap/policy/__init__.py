"""What to generate next: the learner's state, two policies, and feedback."""

from tabtap.policy.feedback import FeedbackMemory, Judgement
from tabtap.policy.kto import adaptive_weights, kto_loss, logistic_loss
from tabtap.policy.learned import LearnedPolicy
from tabtap.policy.pass_rates import PassRates
from tabtap.policy.reference import ReferencePolicy
from tabtap.policy.sensor import (
    deficit,
    novelty_of,
    read_state,
    uncertainty_by_target,
    wanted_mixture,
)

__all__ = [
    "FeedbackMemory",
    "Judgement",
    "LearnedPolicy",
    "PassRates",
    "ReferencePolicy",
    "adaptive_weights",
    "deficit",
    "kto_loss",
    "logistic_loss",
    "novelty_of",
    "read_state",
    "uncertainty_by_target",
    "wanted_mixture",
]
