"""A policy that starts at its reference and learns which actions are desirable.

A policy is a value: learning returns another one.  It carries its weights, what the
optimiser remembers, and its latest lessons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabtap.domain import Action, Experience, Feedback, LearnerState
from tabtap.errors import UserInputError
from tabtap.policy.distribution import ActionBatch, ActionDistribution
from tabtap.policy.kto import adaptive_weights, kto_loss, logistic_loss
from tabtap.policy.lessons import (
    Arrays,
    experience_arrays,
    experience_of,
    labelled,
    state_matrix,
)
from tabtap.policy.network import PolicyNetwork
from tabtap.policy.optimiser import AdamState, adamw_step, shortened
from tabtap.policy.reference import ReferencePolicy
from tabtap.torch_device import one_thread

_CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPolicy:
    """The reference policy and what experience adds to it (appendices C.2.2 and C.3).

    Notes
    -----
    The lessons, the last ``feedback_window`` labelled actions, are kept: about two
    actions of five get a label, and a batch of a handful is too few for a gradient.
    Each update takes a random ``batch_size`` of them.  An action is compared with the
    reference, not with the policy that drew it, so old lessons remain valid.  A batch
    of actions without any label teaches nothing and leaves the policy as it is.
    """

    reference: ReferencePolicy

    weights: Tensor
    """The network's, in one vector."""

    adam: AdamState

    seed: int
    """Decides, with the number of updates, which lessons an update takes."""

    lessons: tuple[Experience, ...] = ()
    """Oldest first."""

    @classmethod
    def start(
        cls, reference: ReferencePolicy, rng: np.random.Generator
    ) -> LearnedPolicy:
        """Return a policy that acts as its reference until it has learned."""
        weights = _network(reference).initial(rng)
        seed = int(rng.integers(2**62))
        return cls(reference, weights, AdamState.fresh(weights), seed)

    def distribution(self, states: Sequence[LearnerState]) -> ActionDistribution:
        """Return the distributions of the actions in some states."""
        with one_thread(_CPU), torch.no_grad():
            reference = self.reference.distribution(states)
            network = _network(self.reference)
            return network.shifted(self.weights, state_matrix(states), reference)

    def sample(self, state: LearnerState, rng: np.random.Generator) -> Action:
        """Draw an action; targets that are not available are never drawn."""
        return self.distribution([state]).draw(rng)

    def spread(
        self, state: LearnerState, n_actions: int, rng: np.random.Generator
    ) -> list[Action]:
        """Draw several actions whose targets come as often as they should."""
        return self.distribution([state]).draw_spread(n_actions, rng)

    def log_prob(self, state: LearnerState, action: Action) -> float:
        """Return the log density of an action, before clamping."""
        return float(self.distribution([state]).log_prob(ActionBatch.of([action])))

    def log_ratio(self, state: LearnerState, action: Action) -> float:
        """Return log pi - log pi_ref (equation 42); 0 where neither can draw it."""
        before = self.reference.log_prob(state, action)
        return 0.0 if before == -np.inf else self.log_prob(state, action) - before

    def improved(self, experience: Sequence[Experience]) -> LearnedPolicy:
        """Return the policy after learning from a batch; this one stays as it is."""
        fresh = labelled(experience)
        if not fresh:
            return self
        window = self.reference.config.feedback_window
        policy = replace(self, lessons=(*self.lessons, *fresh)[-window:])
        with one_thread(_CPU):
            course = _Course.of(policy)
            for _ in range(self.reference.config.updates_per_step):
                policy = policy._updated(course)
        return policy

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays from which ``from_arrays`` makes the same policy."""
        lessons = experience_arrays(self.lessons)
        return {
            "weights": self.weights.numpy().copy(),
            "adam.first": self.adam.first.numpy().copy(),
            "adam.second": self.adam.second.numpy().copy(),
            "counters": np.array([self.adam.n_updates, self.seed], dtype=np.int64),
            **{f"lessons.{name}": array for name, array in lessons.items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, reference: ReferencePolicy) -> LearnedPolicy:
        """Return the policy that ``to_arrays`` wrote down.

        Raises
        ------
        UserInputError
            If it belongs to a network of another shape.
        """
        expected, found = _network(reference).n_weights, len(arrays["weights"])
        if found != expected:
            raise UserInputError(
                f"This policy has {found} weights, but these settings and targets ask "
                f"for {expected}. Use the settings and the table it was saved with."
            )
        tensors = [
            torch.from_numpy(np.array(arrays[name], dtype=np.float64))
            for name in ("weights", "adam.first", "adam.second")
        ]
        n_updates, seed = (int(count) for count in arrays["counters"])
        start = "lessons."
        lessons = experience_of(
            {n[len(start) :]: a for n, a in arrays.items() if n.startswith(start)}
        )
        adam = AdamState(tensors[1], tensors[2], n_updates)
        return cls(reference, tensors[0], adam, seed, lessons)

    def _updated(self, course: _Course) -> LearnedPolicy:
        config = self.reference.config
        rng = np.random.default_rng([self.seed, self.adam.n_updates])
        size = min(config.batch_size, len(self.lessons))
        rows = torch.from_numpy(rng.choice(len(self.lessons), size, replace=False))
        weights = self.weights.clone().requires_grad_()
        loss = course.take(rows).loss(weights, _network(self.reference))
        (gradient,) = torch.autograd.grad(loss, weights)
        gradient = shortened(gradient, config.max_grad_norm)
        after, adam = adamw_step(
            self.weights, gradient, self.adam, config.learning_rate
        )
        return replace(self, weights=after, adam=adam)


@dataclass(frozen=True, slots=True, eq=False)
class _Course:
    """Lessons as tensors, with what the reference policy says of them."""

    states: Tensor
    reference: ActionDistribution
    actions: ActionBatch
    desirable: Tensor

    @classmethod
    def of(cls, policy: LearnedPolicy) -> _Course:
        states = [lesson.state for lesson in policy.lessons]
        good = [lesson.feedback is Feedback.DESIRABLE for lesson in policy.lessons]
        return cls(
            state_matrix(states),
            policy.reference.distribution(states),
            ActionBatch.of([lesson.action for lesson in policy.lessons]),
            torch.tensor(good),
        )

    def take(self, rows: Tensor) -> _Course:
        return _Course(
            self.states[rows],
            self.reference.take(rows),
            self.actions.take(rows),
            self.desirable[rows],
        )

    def loss(self, weights: Tensor, network: PolicyNetwork) -> Tensor:
        policy = network.shifted(weights, self.states, self.reference)
        before = self.reference.log_prob(self.actions)
        ratios = policy.log_prob(self.actions) - before
        n_desirable = int(self.desirable.sum())
        wanted, unwanted = adaptive_weights(
            n_desirable, len(self.desirable) - n_desirable
        )
        strength = network.config.kl_strength
        if network.config.loss == "logistic":
            return logistic_loss(ratios, self.desirable, wanted, unwanted, strength)
        away = policy.divergence(self.reference)
        return kto_loss(ratios, self.desirable, away, wanted, unwanted, strength)


def _network(reference: ReferencePolicy) -> PolicyNetwork:
    return PolicyNetwork(len(reference.wanted), reference.config)
