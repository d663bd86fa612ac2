"""The learned policy: its network, its losses, and the feedback that it learns from.

A policy is a value: learning returns another one.  It carries its weights, what the
optimiser remembers, and its latest lessons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabtap.archive import Arrays, add_prefix, strip_prefix
from tabtap.config import PolicyConfig
from tabtap.domain import TEMPLATES, Action, Experience, Feedback, LearnerState
from tabtap.errors import UserInputError
from tabtap.policy.reference import ActionBatch, ActionDistribution, ReferencePolicy
from tabtap.torch_device import one_thread

_CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPolicy:
    """The reference policy and what experience adds to it (appendices C.2.2 and C.3).

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
        fresh = with_feedback(experience)
        if not fresh:
            return self
        window = self.reference.config.feedback_window
        policy = replace(self, lessons=(*self.lessons, *fresh)[-window:])
        with one_thread(_CPU):
            course = _Course.of(policy)
            for _ in range(self.reference.config.updates_per_step):
                policy = policy._update(course)
        return policy

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays from which ``from_arrays`` makes the same policy."""
        return {
            "weights": self.weights.numpy().copy(),
            "adam.first": self.adam.first.numpy().copy(),
            "adam.second": self.adam.second.numpy().copy(),
            "counters": np.array([self.adam.n_updates, self.seed], dtype=np.int64),
            **add_prefix("lessons", experience_arrays(self.lessons)),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, reference: ReferencePolicy) -> LearnedPolicy:
        """Return the policy that ``to_arrays`` wrote down."""
        expected, held = _network(reference).n_weights, len(arrays["weights"])
        if held != expected:
            raise UserInputError(
                f"This policy has {held} weights, but these settings and targets ask "
                f"for {expected}. Use the settings and the table it was saved with."
            )
        tensors = [
            torch.from_numpy(np.array(arrays[name], dtype=np.float64))
            for name in ("weights", "adam.first", "adam.second")
        ]
        n_updates, seed = (int(count) for count in arrays["counters"])
        lessons = experience_of(strip_prefix("lessons", arrays))
        adam = AdamState(tensors[1], tensors[2], n_updates)
        return cls(reference, tensors[0], adam, seed, lessons)

    def _update(self, course: _Course) -> LearnedPolicy:
        config = self.reference.config
        rng = np.random.default_rng([self.seed, self.adam.n_updates])
        size = min(config.batch_size, len(self.lessons))
        rows = torch.from_numpy(rng.choice(len(self.lessons), size, replace=False))
        weights = self.weights.clone().requires_grad_()
        loss = course.take(rows).loss(weights, _network(self.reference))
        (gradient,) = torch.autograd.grad(loss, weights)
        gradient = clip_gradient(gradient, config.max_grad_norm)
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


# ---- Labelled actions that a policy learns from, as arrays.


def with_feedback(experience: Sequence[Experience]) -> tuple[Experience, ...]:
    """Return what has feedback; the rest is too small to learn from."""
    return tuple(e for e in experience if e.feedback is not Feedback.NONE)


def state_matrix(states: Sequence[LearnerState]) -> Tensor:
    """Return what a network reads of some states, one in each row."""
    return torch.from_numpy(np.stack([state.vector() for state in states]))


def experience_arrays(experience: Sequence[Experience]) -> dict[str, NDArray[Any]]:
    """Return arrays from which ``experience_of`` makes the same experiences."""
    if not experience:
        return {}
    actions = [e.action for e in experience]
    numbers = [[a.exploration, a.raw_exploration] for a in actions]
    codes = [[a.target, TEMPLATES.index(a.template)] for a in actions]
    states = {
        field.name: np.stack([getattr(e.state, field.name) for e in experience])
        for field in fields(LearnerState)
    }
    return {
        **states,
        "exploration": np.array(numbers),
        "action": np.array(codes, dtype=np.int64),
        "feedback": np.array([int(e.feedback) for e in experience], dtype=np.int64),
    }


def experience_of(arrays: Arrays) -> tuple[Experience, ...]:
    """Return the experiences that ``experience_arrays`` wrote down."""
    return tuple(_one(arrays, row) for row in range(len(arrays.get("feedback", ()))))


def _one(arrays: Arrays, row: int) -> Experience:
    parts: dict[str, Any] = {f.name: arrays[f.name][row] for f in fields(LearnerState)}
    state = LearnerState(**{**parts, "novelty": float(parts["novelty"])})
    target, template = (int(code) for code in arrays["action"][row])
    clamped, raw = (float(value) for value in arrays["exploration"][row])
    action = Action(target, TEMPLATES[template], clamped, raw)
    return Experience(state, action, Feedback(int(arrays["feedback"][row])))


# ---- A small network that says how far a policy departs from its reference.
#
# The network does not name an action's distribution but what to add to the reference's.
# Its last layer starts at 0, so the policy starts exactly at the reference.


_INNER = 0.01
"""Nearest to 0 or 1 that a mean of the exploration counts as, so that it can move."""


@dataclass(frozen=True, slots=True)
class PolicyNetwork:
    """The shape of the network; its weights are a vector that it is given."""

    n_targets: int
    config: PolicyConfig

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers in a state, units of each hidden layer, and outputs."""
        n_inputs = 2 * self.n_targets + len(TEMPLATES) + 1
        n_outputs = self.n_targets + len(TEMPLATES) + 2
        return (n_inputs, *[self.config.width] * self.config.n_layers, n_outputs)

    @property
    def n_weights(self) -> int:
        """Length of the vector of weights."""
        return sum(math.prod(shape) for shape in self._shapes())

    def initial(self, rng: np.random.Generator) -> Tensor:
        """Draw first weights: uniform of unit gain; biases and last layer are 0."""
        parts = [np.zeros(shape) for shape in self._shapes()]
        for weight in parts[:-2:2]:
            reach = math.sqrt(3.0 / len(weight))
            weight[:] = rng.uniform(-reach, reach, weight.shape)
        return torch.from_numpy(np.concatenate([part.ravel() for part in parts]))

    def outputs(self, weights: Tensor, states: Tensor) -> Tensor:
        """Return the raw outputs for some states, shape (n, n_outputs)."""
        shapes = self._shapes()
        flat = torch.split(weights, [math.prod(shape) for shape in shapes])
        parts = [part.view(shape) for part, shape in zip(flat, shapes, strict=True)]
        hidden = states
        for matrix, bias in zip(parts[:-2:2], parts[1:-2:2], strict=True):
            hidden = torch.tanh(torch.addmm(bias, hidden, matrix))
        return torch.addmm(parts[-1], hidden, parts[-2])

    def shifted(
        self, weights: Tensor, states: Tensor, reference: ActionDistribution
    ) -> ActionDistribution:
        """Return the policy's distributions, given the reference's in the same states.

        Logits add up.  The mean of the exploration moves on the logistic scale, so that
        it stays in [0, 1]; its deviation changes by a factor of e at most.  Targets
        that are not available stay so.
        """
        outputs = self.outputs(weights, states)
        heads = [self.n_targets, len(TEMPLATES), 1, 1]
        target, template, mean, scale = torch.split(outputs, heads, 1)
        inner = reference.mean.clamp(_INNER, 1.0 - _INNER)
        moved = torch.sigmoid(torch.logit(inner) + mean[:, 0])
        # The difference is exactly 0 at the start, which the sum of logits is not.
        unmoved = torch.sigmoid(torch.logit(inner))
        return replace(
            reference,
            target_logits=reference.target_logits + target,
            template_logits=reference.template_logits + template,
            mean=reference.mean + (moved - unmoved),
            scale=reference.scale * torch.exp(torch.tanh(scale[:, 0])),
        )

    def _shapes(self) -> list[tuple[int, ...]]:
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        return [shape for n_in, n_out in pairs for shape in ((n_in, n_out), (n_out,))]


# ---- AdamW on one vector of weights, as a pure function.


_BETAS = (0.9, 0.999)
_EPSILON = 1e-8
_WEIGHT_DECAY = 0.01
"""The usual values.  Decay draws the last layer to 0: towards the reference policy."""


@dataclass(frozen=True, slots=True, eq=False)
class AdamState:
    """What AdamW remembers between two steps."""

    first: Tensor
    second: Tensor
    """Shape of the weights: running means of the gradient and of its square."""

    n_updates: int = 0

    @classmethod
    def fresh(cls, weights: Tensor) -> AdamState:
        """Return the memory before the first step."""
        return cls(torch.zeros_like(weights), torch.zeros_like(weights))


def clip_gradient(gradient: Tensor, max_norm: float) -> Tensor:
    """Return the gradient, or the one of length ``max_norm`` in its direction."""
    norm = float(gradient.norm())
    return gradient * (max_norm / norm) if norm > max_norm else gradient


def adamw_step(
    weights: Tensor, gradient: Tensor, state: AdamState, learning_rate: float
) -> tuple[Tensor, AdamState]:
    """Return the weights and the memory after one step; what was given stays."""
    n_updates = state.n_updates + 1
    fast, slow = _BETAS
    first = state.first.lerp(gradient, 1.0 - fast)
    second = state.second.lerp(gradient**2, 1.0 - slow)
    mean = first / (1.0 - fast**n_updates)
    size = (second / (1.0 - slow**n_updates)).sqrt()
    kept = weights * (1.0 - learning_rate * _WEIGHT_DECAY)
    after = kept - learning_rate * mean / (size + _EPSILON)
    return after, AdamState(first, second, n_updates)


# ---- Two losses that draw a policy to desirable actions and away from undesirable
# ones.
#
# Appendix C.3 prints Kahneman-Tversky optimisation with log-sigmoids and without the
# strength that Table 4 gives; its own paper (Ethayarajh et al. 2024, arXiv:2402.01306)
# has plain sigmoids and counts from the divergence.  Both are here, both with the
# strength: see ``DECISIONS.md``, 10.


def kto_loss(
    log_ratios: Tensor,
    desirable: Tensor,
    kl_reference: Tensor,
    desirable_weight: float,
    undesirable_weight: float,
    strength: float,
) -> Tensor:
    """Return the mean KTO loss of some labelled actions.

    The mean of lambda - value, where the value is lambda sigmoid(beta (r - z0)) of a
    desirable action and lambda sigmoid(beta (z0 - r)) of an undesirable one.  Here r is
    ``log_ratios``, the log of the policy's density over the reference's (equation 42);
    z0 is ``kl_reference``, the divergence of the policy from the reference, one for all
    or one each, at least 0: the point from which gains and losses are felt, into which
    no gradient flows; lambda is the weight of each kind; and beta is ``strength``: how
    soon values saturate, and so how far the policy goes from the reference.

    Examples
    --------
    >>> ratios, labels = torch.zeros(2), torch.tensor([True, False])
    >>> kto_loss(ratios, labels, torch.tensor(0.0), 1.0, 1.0, strength=3.0)
    tensor(0.5000)
    """
    origin = kl_reference.detach().clamp(min=0.0)
    side = torch.where(desirable, 1.0, -1.0)
    weight = torch.where(desirable, desirable_weight, undesirable_weight)
    value = torch.sigmoid(strength * side * (log_ratios - origin))
    return (weight * (1.0 - value)).mean()


def logistic_loss(
    log_ratios: Tensor,
    desirable: Tensor,
    desirable_weight: float,
    undesirable_weight: float,
    strength: float,
) -> Tensor:
    """Return the mean logistic loss of some labelled actions (equation 43).

    The parameters are those of ``kto_loss``; with a strength of 1 it is the equation as
    printed.

    It is least where sigmoid(beta r) is the weighted share q of desirable labels of an
    action: r = logit(q) / beta.  So the policy is the reference tilted by evidence over
    beta, as the solution of equation 40 is, and stays at the reference where labels are
    as good as tossed.  The loss of the KTO paper is linear in the sigmoid and least at
    an end: it follows the majority, however small, as far as it is let.

    Examples
    --------
    >>> ratios, labels = torch.zeros(2), torch.tensor([True, False])
    >>> logistic_loss(ratios, labels, 1.0, 1.0, strength=3.0)
    tensor(0.6931)
    """
    side = torch.where(desirable, 1.0, -1.0)
    weight = torch.where(desirable, desirable_weight, undesirable_weight)
    value = torch.nn.functional.logsigmoid(strength * side * log_ratios)
    return -(weight * value).mean()


def adaptive_weights(n_desirable: int, n_undesirable: int) -> tuple[float, float]:
    """Return lambda_D and lambda_U: each kind gets half of the batch's weight.

    Inverse to their counts (appendix C.3), in such a measure that the weights of all
    actions have mean 1.  A kind that is alone keeps its half: with nothing to weigh it
    against it should not pull harder.

    Examples
    --------
    >>> adaptive_weights(2, 6)
    (2.0, 0.6666666666666666)
    """
    half = (n_desirable + n_undesirable) / 2
    return half / max(1, n_desirable), half / max(1, n_undesirable)


# ---- Whether an action did clearly better or worse than usual.
#
# Gains drift over a run: the first rows teach most.  So the baseline forgets: it is the
# mean of the gains before, each counting 5 % less than the one after it.  It starts as
# the plain mean of what there is and so does not stick to the first gain.


DECAY = 0.95
"""Weight of a gain in the baseline against that of the next one: it looks back over
about twenty, one window."""


class Judgement(NamedTuple):
    """What an action turned out to be."""

    feedback: Feedback

    advantage: float
    """Gain minus baseline; NaN if the gain is not known."""

    memory: FeedbackMemory
    """What to judge the next action with."""


@dataclass(frozen=True, slots=True)
class FeedbackMemory:
    """What is remembered of earlier gains (appendix C.3)."""

    config: PolicyConfig

    baseline: float = 0.0
    """Discounted mean of the gains so far."""

    weight: float = 0.0
    """Discounted number of the gains so far."""

    advantages: tuple[float, ...] = ()
    """The latest, at most ``feedback_window``, oldest first."""

    @property
    def deadband(self) -> float:
        """How large an advantage must be to count; kappa in equation 41."""
        if not self.advantages:
            return math.inf
        sizes = np.abs(self.advantages)
        return float(np.quantile(sizes, self.config.feedback_quantile))

    def judged(self, gain: float, n_admitted: int) -> Judgement:
        """Judge the gain of one action (equation 41).

        An advantage beyond the deadband is desirable or undesirable; the deadband
        counts the advantage itself among the recent ones.  The first gain has nothing
        to be compared with and gets no feedback, nor does a gain that is NaN or
        infinite, which is forgotten at once.

        An action of which no row was admitted is undesirable, whatever its gain: by
        equation 15 it is worth nothing and it cost a step.  It is kept out of the
        memory, which is of gains of rows.
        """
        if n_admitted == 0:
            return Judgement(Feedback.UNDESIRABLE, min(-self.baseline, 0.0), self)
        if not math.isfinite(gain):
            return Judgement(Feedback.NONE, math.nan, self)
        if self.weight == 0.0:
            return Judgement(Feedback.NONE, 0.0, self._remember(gain))
        advantage = gain - self.baseline
        latest = (*self.advantages, advantage)[-self.config.feedback_window :]
        memory = replace(self._remember(gain), advantages=latest)
        return Judgement(_feedback_for(advantage, memory.deadband), advantage, memory)

    def to_lists(self) -> dict[str, list[float]]:
        """Return plain lists from which ``from_lists`` makes the same value."""
        return {
            "baseline": [self.baseline, self.weight],
            "advantages": list(self.advantages),
        }

    @classmethod
    def from_lists(
        cls, lists: Mapping[str, Sequence[float]], config: PolicyConfig
    ) -> FeedbackMemory:
        """Return the value that ``to_lists`` wrote down."""
        baseline, weight = lists["baseline"]
        return cls(config, baseline, weight, tuple(lists["advantages"]))

    def _remember(self, gain: float) -> FeedbackMemory:
        weight = DECAY * self.weight + 1.0
        baseline = self.baseline + (gain - self.baseline) / weight
        return replace(self, baseline=baseline, weight=weight)


def _feedback_for(advantage: float, deadband: float) -> Feedback:
    if advantage > deadband:
        return Feedback.DESIRABLE
    if advantage < -deadband:
        return Feedback.UNDESIRABLE
    return Feedback.NONE
