"""What remains of a Gaussian budget after one pure step?

Proof: docs/proofs/residue.md (Theorem R). The idea of a residue is that of arXiv:2602.15815v2; the closed
form and its proof are this project's.
"""

from __future__ import annotations

from math import exp, tanh
from typing import Final

from dpsql.accounting.loss import zcdp_pure
from dpsql.accounting.normal import central_quantile, hockey_stick, hockey_stick_complement, lower_quantile
from dpsql.accounting.rounding import RELATIVE

AUDIT_MARGIN: Final = 1e-11
"""An auditor's own libm may differ: the audited inequality is v_needed (1 + margin) <= v."""

_MARGIN: Final = 2.0 * AUDIT_MARGIN
_PRECISION: Final = 1e-10


def v_needed(v_after: float, epsilon: float) -> float:
    """The budget v that an `epsilon`-DP step needs if `v_after` is to remain, v_after >= 0.

    The step together with a sqrt(v_after)-GDP future is dominated by a sqrt(v)-GDP mechanism exactly if their
    total variations are in order: v = 4 Phi^-1((1 + TV)/2)^2 with
    TV = tanh(eps/2) + 2/(1 + e^eps) H, H the hockey stick of v_after at eps.

    Source: Theorem R, derived in docs/proofs/residue.md.
    """
    outer = exp(-epsilon) / (1.0 + exp(-epsilon))
    variation = tanh(0.5 * epsilon) + 2.0 * outer * hockey_stick(epsilon, v_after)
    if variation < 0.5:
        quantile = central_quantile(variation)
    else:  # far in the tail only 1 - TV keeps its digits
        quantile = -lower_quantile(outer * hockey_stick_complement(epsilon, v_after))
    return 4.0 * quantile * quantile


def floor_pure(epsilon: float) -> float:
    """The least any `epsilon`-DP step takes: twice the divergence of randomised response, 2 eps tanh(eps/2).

    Domination at all thresholds implies domination in Kullback-Leibler divergence, where budgets add.
    """
    return 2.0 * zcdp_pure(epsilon) * (1.0 + RELATIVE)


def needed_before(v_after: float, epsilon: float) -> float:
    """What must be there before an `epsilon`-DP step: `v_needed` with the filter's margin, and the floor."""
    return max(v_needed(v_after, epsilon) * (1.0 + _MARGIN), v_after + floor_pure(epsilon))


def residue_pure(v: float, epsilon: float) -> float | None:
    """The largest v_after with `needed_before`(v_after) <= v, or None: refuse.

    From below, to 1e-10 of the charge.
    """
    least = v_needed(0.0, epsilon) * (1.0 + _MARGIN)
    high = v - floor_pure(epsilon)
    if least > v or high < 0.0:
        return None
    # At v_after = 0 a step is dearest, so what it takes there bounds the charge; checked, not assumed.
    low = max(0.0, v - least)
    if v_needed(low, epsilon) * (1.0 + _MARGIN) > v:
        low = 0.0
    while high - low > _PRECISION * (v - high):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if v_needed(middle, epsilon) * (1.0 + _MARGIN) <= v:
            low = middle
        else:
            high = middle
    return low
