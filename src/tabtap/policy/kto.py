"""Two losses that draw a policy to desirable actions and away from undesirable ones.

Appendix C.3 prints Kahneman-Tversky optimisation with log-sigmoids and without the
strength that Table 4 gives; its own paper (Ethayarajh et al. 2024, arXiv:2402.01306)
has plain sigmoids and counts from the divergence.  Both are here, both with the
strength: see ``DECISIONS.md``, 10.
"""

from __future__ import annotations

import torch
from torch import Tensor


def kto_loss(
    log_ratios: Tensor,
    desirable: Tensor,
    kl_reference: Tensor,
    desirable_weight: float,
    undesirable_weight: float,
    strength: float,
) -> Tensor:
    """Return the mean KTO loss of some labelled actions.

    Parameters
    ----------
    log_ratios : tensor of shape (n,)
        Log of the policy's density over the reference's (equation 42); r.
    desirable : boolean tensor of shape (n,)
        Whether each action turned out desirable; the others are undesirable.
    kl_reference : tensor, scalar or of shape (n,)
        Divergence of the policy from the reference, at least 0; z0 of the KTO paper,
        the point from which gains and losses are felt.  No gradient flows into it.
    desirable_weight, undesirable_weight : float
        Weights of the two kinds; lambda_D and lambda_U.
    strength : float
        How soon values saturate, and so how far the policy goes from the reference;
        beta.

    Returns
    -------
    scalar tensor
        Mean of lambda - value, where the value is lambda sigmoid(beta (r - z0)) of a
        desirable action and lambda sigmoid(beta (z0 - r)) of an undesirable one.

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

    Notes
    -----
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
