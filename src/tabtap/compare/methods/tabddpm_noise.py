"""The two noise processes of TabDDPM: Gaussian for numbers, multinomial for codes.

Kotelnikov et al., "TabDDPM: modelling tabular data with diffusion models", 2023,
section 3.  Both processes share the cosine schedule of Nichol and Dhariwal 2021.  A
code keeps its level with probability alpha, and otherwise gets any level alike
(Hoogeboom et al. 2021).  Step 0 is the least noisy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tabtap.compare.methods.blocks import Blocks

_OFFSET = 0.008
_MOST_NOISE = 0.999
_LEAST = 1e-30
"""Stands for a probability of zero, whose logarithm is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """How much of a clean value is left at every step."""

    kept: Tensor
    """Share kept by each step alone: the papers' alpha."""

    left: Tensor
    """Share of the clean value left after each step: alpha with a bar."""

    left_before: Tensor
    """The same before each step; 1 at the first."""

    @classmethod
    def cosine(cls, n_steps: int) -> Schedule:
        """Return the schedule of so many steps."""
        time = torch.arange(n_steps + 1, dtype=torch.float64) / n_steps
        curve = ((time + _OFFSET) / (1 + _OFFSET) * math.pi / 2).cos() ** 2
        kept = 1 - (1 - curve[1:] / curve[:-1]).clamp(max=_MOST_NOISE)
        left = kept.cumprod(0)
        before = torch.cat([torch.ones(1, dtype=torch.float64), left[:-1]])
        return cls(kept.float(), left.float(), before.float())

    def __len__(self) -> int:
        return len(self.kept)


@dataclass(frozen=True, slots=True, eq=False)
class GaussianNoise:
    """Noise on numbers; a network predicts it."""

    schedule: Schedule

    reach: float | None = None
    """Largest clean number, of either sign, that a step back may take for true."""

    def add(self, clean: Tensor, noise: Tensor, steps: Tensor) -> Tensor:
        """Return numbers as they are after their row's step."""
        left = self.schedule.left[steps, None]
        return left.sqrt() * clean + (1 - left).sqrt() * noise

    def reverse(
        self, numbers: Tensor, predicted: Tensor, step: int, generator: torch.Generator
    ) -> Tensor:
        """Take one step back, given the noise that the network sees in the numbers.

        The variance is that of the forward step, the choice of the authors' code; the
        last step adds no noise.
        """
        kept, left, before = (
            float(part[step])
            for part in (
                self.schedule.kept,
                self.schedule.left,
                self.schedule.left_before,
            )
        )
        clean = (numbers - math.sqrt(1 - left) * predicted) / math.sqrt(left)
        if self.reach is not None:
            clean = clean.clamp(-self.reach, self.reach)
        mean = (
            math.sqrt(before) * (1 - kept) * clean
            + math.sqrt(kept) * (1 - before) * numbers
        ) / (1 - left)
        if step == 0:
            return mean
        noise = torch.randn(numbers.shape, generator=generator)
        return mean + math.sqrt(1 - kept) * noise


@dataclass(frozen=True, slots=True, eq=False)
class MultinomialNoise:
    """Noise on codes; a network predicts the clean ones."""

    schedule: Schedule
    blocks: Blocks

    chance: Tensor
    """Probability of each matrix column under pure noise."""

    @classmethod
    def of(cls, schedule: Schedule, blocks: Blocks) -> MultinomialNoise:
        """Prepare for blocks of these sizes."""
        sizes = torch.tensor(blocks.sizes, dtype=torch.float32)
        return cls(schedule, blocks, 1 / blocks.expanded(sizes))

    def add(self, clean: Tensor, steps: Tensor, generator: torch.Generator) -> Tensor:
        """Draw codes as they are after their row's step, from clean one-hot rows."""
        return self.blocks.draw(
            self._blurred(clean, self.schedule.left[steps]), generator
        )

    def before(self, clean: Tensor, noisy: Tensor, steps: Tensor) -> Tensor:
        """Return log probabilities of the codes one step earlier.

        Parameters
        ----------
        clean : Tensor
            Probabilities of the clean codes: zeros and ones, or a prediction.
        noisy : Tensor
            Codes after the step, as zeros and ones.
        steps : Tensor of shape (n_rows,)
            The step of each row.
        """
        earlier = self._blurred(clean, self.schedule.left_before[steps])
        later = self._blurred(noisy, self.schedule.kept[steps])
        return self.blocks.log_softmax(earlier + later)

    def divergence(
        self, clean: Tensor, noisy: Tensor, logits: Tensor, steps: Tensor
    ) -> Tensor:
        """Return, for each row, how far the predicted step back is from the true one.

        The mean over the code columns of the Kullback-Leibler divergence.  At step 0
        the true one is certain, and this is minus the log probability of the code.
        """
        true = self.before(clean, noisy, steps)
        predicted = self.before(self.blocks.log_softmax(logits).exp(), noisy, steps)
        gap = (true.exp() * (true - predicted)).sum(dim=1)
        return gap / max(1, len(self.blocks.sizes))

    def start(self, n_rows: int, generator: torch.Generator) -> Tensor:
        """Draw codes of pure noise."""
        return self.blocks.draw(self.chance.log().expand(n_rows, -1), generator)

    def reverse(
        self, noisy: Tensor, logits: Tensor, step: int, generator: torch.Generator
    ) -> Tensor:
        """Draw codes one step earlier, given the network's logits of the clean ones."""
        steps = torch.full((len(noisy),), step)
        clean = self.blocks.log_softmax(logits).exp()
        return self.blocks.draw(self.before(clean, noisy, steps), generator)

    def _blurred(self, rows: Tensor, share: Tensor) -> Tensor:
        """Return log probabilities after all but a share of the rows became noise."""
        share = share[:, None]
        return (share * rows + (1 - share) * self.chance).clamp(min=_LEAST).log()
