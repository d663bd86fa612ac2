"""The steering of a run: a sensor reads, a policy decides, a critic says how it went.

The three learn together and are kept together, so the loop has one thing to ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from tabtap.archive import Archive
from tabtap.config import PolicyConfig
from tabtap.domain import Action, ActionOutcome, Experience, Feedback, LearnerState
from tabtap.policy.learned import FeedbackMemory, LearnedPolicy
from tabtap.policy.reference import ReferencePolicy
from tabtap.policy.sensor import PassRates, TableSensor, Wish
from tabtap.stages import ActionPolicy, Critic, Sensor, SpreadingPolicy
from tabtap.table.schema import FloatArray
from tabtap.table.table import Table


@dataclass(frozen=True, slots=True)
class PolicySteering:
    """A policy that is told the learner's state and whether its actions did well."""

    policy: ActionPolicy
    sensor: Sensor
    critic: Critic

    @classmethod
    def start(
        cls, real: Table, mixture: Wish, config: PolicyConfig, rng: np.random.Generator
    ) -> PolicySteering:
        """Return the steering of a table before the first step."""
        sensor = TableSensor.of(real, mixture)
        policy: ActionPolicy = ReferencePolicy(config, sensor.wanted)
        if config.updates_per_step:
            policy = LearnedPolicy.start(cast("ReferencePolicy", policy), rng)
        return cls(policy, sensor, FeedbackMemory(config))

    def decide(
        self,
        real: Table,
        committed: Table,
        pool: Table,
        uncertainty: FloatArray,
        rngs: Sequence[np.random.Generator],
    ) -> tuple[LearnerState, list[Action]]:
        """Return the state of the learner, and an action for each generator."""
        state = self.sensor.read(real, committed, pool, uncertainty)
        if len(rngs) > 1 and isinstance(self.policy, SpreadingPolicy):
            return state, self.policy.spread(state, len(rngs), rngs[0])
        return state, [self.policy.sample(state, rng) for rng in rngs]

    def learn(
        self, state: LearnerState, outcomes: Sequence[ActionOutcome]
    ) -> tuple[list[tuple[Feedback, float]], PolicySteering]:
        """Return feedback and advantage of each action, and the steering after it."""
        sensor, critic = self.sensor, self.critic
        judged, experience = [], []
        for action, n_passed, n_proposed, gain in outcomes:
            sensor = sensor.noted(action.template, n_passed, n_proposed)
            feedback, advantage, critic = critic.judged(gain, n_passed)
            judged.append((feedback, advantage))
            experience.append(Experience(state, action, feedback))
        policy = self.policy.improved(experience)
        return judged, replace(self, policy=policy, sensor=sensor, critic=critic)

    def save(self) -> Archive:
        """Return what was learned as arrays, and lists and numbers for JSON."""
        policy = self.policy
        arrays = policy.to_arrays() if isinstance(policy, LearnedPolicy) else {}
        rates = cast("TableSensor", self.sensor).pass_rates.to_lists()
        memory = cast("FeedbackMemory", self.critic).to_lists()
        return Archive(arrays, {"pass_rates": rates, "feedback": memory})

    def restore(self, saved: Archive) -> PolicySteering:
        """Return the steering that was saved; this one says what it is made of."""
        policy = self.policy
        if isinstance(policy, LearnedPolicy):
            policy = LearnedPolicy.from_arrays(saved.arrays, policy.reference)
        rates = PassRates.from_lists(saved.about["pass_rates"])
        config = cast("FeedbackMemory", self.critic).config
        return PolicySteering(
            policy,
            cast("TableSensor", self.sensor).with_rates(rates),
            FeedbackMemory.from_lists(saved.about["feedback"], config),
        )
