"""How the inpainter is built, trained and sampled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tabtap.errors import bad_setting

Size = Literal["compact", "paper"]
Schedule = Literal["fixed", "learned"]
Conditioning = Literal["clean", "overwrite"]
Scale = Literal["standard", "quantile"]

_CHOICES = {
    "size": ("compact", "paper"),
    "schedule": ("fixed", "learned"),
    "conditioning": ("clean", "overwrite"),
    "scale": ("standard", "quantile"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionConfig:
    """How the inpainter is built, trained and sampled; the default is the compact one.

    Every default was chosen by measurement: docs/results/backbone.md, DECISIONS.md.
    """

    size: Size = "compact"
    """Network: a small MLP, or TabDiff's transformer around a large MLP."""

    width: int = 192
    """Hidden units of each layer of the MLP."""

    depth: int = 3
    """Residual layers of the compact MLP."""

    n_steps: int | None = None
    """Most training steps; None: 1,000 for small tables, more for large ones."""

    batch_size: int | None = None
    """Rows per training step; None: 128 for small tables, more for large ones."""

    early_stopping: bool = True
    """Whether training ends before its last step once the loss has levelled off."""

    learning_rate: float = 2e-3
    """Highest step size of AdamW."""

    ema_decay: float = 0.995
    """Decay of the averaged weights that are used for sampling."""

    schedule: Schedule = "fixed"
    """One noise schedule for all columns, or TabDiff's, learned for each column."""

    conditioning: Conditioning = "clean"
    """How kept cells are given: clean with an indicator, or by equation 9."""

    scale: Scale = "standard"
    """Scale of the numbers: standard deviations, or TabDiff's quantile-normal one."""

    smoothing: float | None = None
    """Bandwidth, in [0, 1), of the smoothed table that is learned; None: by rows."""

    clip_quantiles: tuple[float, float] = (0.0, 1.0)
    """Quantiles of the real column between which drawn numbers stay."""

    n_sample_steps: int = 18
    """Steps of the reverse process, two network calls each."""

    sigma_min: float = 0.01
    sigma_max: float = 10.0
    """Smallest and largest noise of a sampled number, in its standard deviations."""

    churn: float = 0.3
    """Share of fresh noise added before each reverse step; 0 is the plain ODE."""

    category_phase: float = 0.35
    """Share of the reverse steps, the last ones, in which categories appear."""

    max_levels: int = 64
    """Most levels of a category with a token of their own; the rest share one."""

    device: str = "auto"
    """``auto`` takes CUDA, then MPS, then the CPU; or any torch device."""

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_counts()
        self._check_numbers()
        self._check_ranges()

    @classmethod
    def paper(cls) -> DiffusionConfig:
        """Return TabDiff as the paper uses it (appendix D.2.1)."""
        return cls(
            size="paper",
            width=1024,
            n_steps=8000,
            batch_size=4096,
            early_stopping=False,
            learning_rate=1e-3,
            ema_decay=0.997,
            schedule="learned",
            conditioning="overwrite",
            scale="quantile",
            smoothing=0.0,
            clip_quantiles=(0.01, 0.99),
            n_sample_steps=50,
            sigma_min=0.002,
            sigma_max=80.0,
            churn=1.0,
        )

    def _check_choices(self) -> None:
        for name, accepted in _CHOICES.items():
            if getattr(self, name) not in accepted:
                must = f"be one of {', '.join(map(repr, accepted))}"
                raise bad_setting(
                    name, getattr(self, name), must, f"Try {accepted[0]!r}."
                )

    def _check_counts(self) -> None:
        for name, least, hint in (
            ("width", 1, 192),
            ("depth", 1, 3),
            ("n_steps", 1, 1000),
            ("batch_size", 1, 128),
            ("n_sample_steps", 2, 18),
            ("max_levels", 2, 64),
        ):
            got = getattr(self, name)
            if got is None and name in ("n_steps", "batch_size"):
                continue
            whole = isinstance(got, int) and not isinstance(got, bool)
            if not whole or got < least:
                must = f"be a whole number, at least {least}"
                raise bad_setting(name, got, must, f"Try {hint}.")

    def _check_numbers(self) -> None:
        for name in ("learning_rate", "ema_decay", "sigma_min", "sigma_max", "churn",
                     "category_phase"):  # fmt: skip
            got = getattr(self, name)
            if not isinstance(got, (int, float)) or not math.isfinite(got):
                raise bad_setting(name, got, "be a finite number", "Leave it out.")
        pair = self.clip_quantiles
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise bad_setting(
                "clip_quantiles", pair, "be a pair of numbers", "Try (0.01, 0.99)."
            )

    def _check_ranges(self) -> None:
        low, high = self.clip_quantiles
        for name, fine, must, fix in (
            ("learning_rate", self.learning_rate > 0, "be positive", "Try 0.002."),
            ("ema_decay", 0 <= self.ema_decay < 1, "lie in [0, 1)", "Try 0.995."),
            ("smoothing", 0 <= (self.smoothing or 0) < 1, "lie in [0, 1)", "Try 0.5."),
            ("sigma_min", 0 < self.sigma_min < self.sigma_max, "lie between 0 and "
             f"sigma_max={self.sigma_max}", "Try 0.01."),
            ("clip_quantiles", 0 <= low < high <= 1, "be two rising numbers in [0, 1]",
             "Try (0.01, 0.99)."),
            ("category_phase", 0 < self.category_phase <= 1, "lie in (0, 1]",
             "Try 0.35."),
            ("churn", self.churn >= 0, "not be negative", "Try 0.3."),
        ):  # fmt: skip
            if not fine:
                raise bad_setting(name, getattr(self, name), must, fix)
