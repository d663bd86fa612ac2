"""What to generate next: the learner's state, two policies, and feedback."""

from tabtap.policy.learned import (
    FeedbackMemory,
    Judgement,
    LearnedPolicy,
    adaptive_weights,
    kto_loss,
    logistic_loss,
)
from tabtap.policy.reference import ReferencePolicy
from tabtap.policy.sensor import (
    PassRates,
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
