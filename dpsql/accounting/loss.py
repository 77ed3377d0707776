"""How much privacy loss is in one event, in each currency?

Currencies: epsilon (pure), rho (zCDP), Renyi divergence at an order, mu^2 (Gaussian DP), and the delta that
an event needs besides. All but delta price an event *without* its delta (the primed event of
docs/proofs/slack.md).
Results are within a few ulp of the formula; whoever spends them surcharges (`rounding.spend`).
"""

from __future__ import annotations

from decimal import Decimal
from math import cosh, exp, expm1, inf, log1p, sinh, tanh
from typing import Final, assert_never

from dpsql.accounting.event import (
    Approximate,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exponential,
    Gaussian,
    Laplace,
    NoisyMax,
    NonPrivate,
    Pure,
    SubsampledGaussian,
    SubsampledPure,
    Threshold,
    parts,
)
from dpsql.accounting.normal import central_quantile, lower_quantile
from dpsql.accounting.rounding import EXACT, float_up
from dpsql.accounting.subsampling import amplified, renyi_subsampled, unsampled_mu2

_LARGE: Final = 600.0
"""Products alpha * epsilon above this would overflow cosh; there the asymptotic form has no cancellation."""


def epsilon_of(event: Event) -> Decimal | None:
    """Pure epsilon of the event, exact; None if the event is not pure."""
    match event:
        case Pure() | DiscreteLaplace() | Laplace() | Exponential() | NoisyMax() | Approximate():
            return event.epsilon
        case SubsampledPure():
            return amplified(event.probability, event.epsilon)
        case Gaussian() | DiscreteGaussian() | SubsampledGaussian() | NonPrivate():
            return None
        case Threshold():
            return Decimal(0)
        case Composed():
            return _sum_epsilon(event)
        case _:
            assert_never(event)


def _sum_epsilon(event: Composed) -> Decimal | None:
    total = Decimal(0)
    for part in event.events:
        epsilon = epsilon_of(part)
        if epsilon is None:
            return None
        total = EXACT.add(total, epsilon)
    return total


def delta_of(event: Event) -> Decimal:
    """The delta an event needs besides its loss: thresholds and (epsilon, delta) boxes; exact."""
    total = Decimal(0)
    for part in parts(event):
        if isinstance(part, Threshold | Approximate):
            total = EXACT.add(total, part.delta)
    return total


def _amplified(event: SubsampledPure) -> float:
    return float_up(amplified(event.probability, event.epsilon))


def rho_of(event: Event) -> float:
    """The rho of the event: it is rho-zCDP; infinite if nothing is known.

    The sampling of a subsampled Gaussian is not counted: no smaller rho holds at every order.
    """
    match event:
        case Pure() | DiscreteLaplace() | NoisyMax() | Approximate():
            return zcdp_pure(float_up(event.epsilon))
        case SubsampledPure():
            return zcdp_pure(_amplified(event))
        case SubsampledGaussian():
            return 0.5 * unsampled_mu2(event.noise_multiplier, event.steps)
        case NonPrivate():
            return inf
        case Laplace():
            return zcdp_laplace(float_up(event.epsilon))
        case Exponential():
            return zcdp_exponential(float_up(event.epsilon))
        case Gaussian() | DiscreteGaussian():
            return 0.5 * event.mu2
        case Threshold():
            return 0.0
        case Composed():
            return sum(rho_of(part) for part in event.events)
        case _:
            assert_never(event)


def renyi_of(event: Event, alpha: float) -> float:
    """Renyi divergence of order `alpha` > 1 between the event's outputs on neighbours, both directions."""
    match event:
        case Pure() | DiscreteLaplace() | NoisyMax() | Approximate():
            return rdp_pure(float_up(event.epsilon), alpha)
        case SubsampledPure():
            return rdp_pure(_amplified(event), alpha)
        case SubsampledGaussian():
            return event.steps * renyi_subsampled(event.probability, event.noise_multiplier, alpha)
        case NonPrivate():
            return inf
        case Laplace():
            return rdp_laplace(float_up(event.epsilon), alpha)
        case Exponential():
            epsilon = float_up(event.epsilon)
            return min(epsilon, alpha * zcdp_exponential(epsilon))
        case Gaussian() | DiscreteGaussian():
            return 0.5 * alpha * event.mu2
        case Threshold():
            return 0.0
        case Composed():
            return sum(renyi_of(part, alpha) for part in event.events)
        case _:
            assert_never(event)


def mu2_of(event: Event) -> float:
    """Squared Gaussian-DP parameter of the event, taken alone (the residue filter has a lower price)."""
    match event:
        case Pure() | DiscreteLaplace() | Laplace() | NoisyMax() | Approximate():
            return mu_pure(float_up(event.epsilon)) ** 2
        case SubsampledPure():
            return mu_pure(_amplified(event)) ** 2
        case SubsampledGaussian():
            return unsampled_mu2(event.noise_multiplier, event.steps)
        case NonPrivate():
            return inf
        case Exponential():
            return mu_pure(0.5 * float_up(event.epsilon)) ** 2
        case Gaussian():
            return event.mu2
        case DiscreteGaussian():
            return discrete_mu2(event)
        case Threshold():
            return 0.0
        case Composed():
            return sum(mu2_of(part) for part in event.events)
        case _:
            assert_never(event)


def discrete_mu2(event: DiscreteGaussian) -> float:
    """mu^2 of a discrete Gaussian: the continuous one and 1/(6 s^2), twice the leading term of the excess.

    Checked numerically, not proved for all D (docs/proofs/residue.md).
    """
    return event.mu2 * (1.0 + 1.0 / (6.0 * event.variance))


def zcdp_pure(epsilon: float) -> float:
    """The rho of an `epsilon`-DP mechanism: epsilon tanh(epsilon/2), the supremum of D_alpha/alpha."""
    return epsilon * tanh(0.5 * epsilon)


def zcdp_laplace(epsilon: float) -> float:
    """The rho of continuous Laplace noise: epsilon - 1 + e^-epsilon (checked numerically)."""
    if epsilon < 1e-3:  # the closed form cancels; the series stops at a positive term and so errs high
        return 0.5 * epsilon**2 * (1.0 - epsilon / 3.0 * (1.0 - epsilon / 4.0))
    return epsilon + expm1(-epsilon)


def zcdp_exponential(epsilon: float) -> float:
    """The rho of a mechanism whose loss has range `epsilon`: epsilon^2/8 (Cesar & Rogers 2021)."""
    return 0.125 * epsilon * epsilon


def rdp_pure(epsilon: float, alpha: float) -> float:
    """Renyi divergence of order `alpha` of randomised response, the worst `epsilon`-DP mechanism.

    ln(cosh((alpha - 1/2) eps) / cosh(eps/2)) / (alpha - 1), with the quotient of cosh written as 1 plus a
    product of sinh: no term cancels, so tiny epsilons are not undercharged.
    """
    if alpha * epsilon > _LARGE:
        return epsilon + (log1p(exp(-(2.0 * alpha - 1.0) * epsilon)) - log1p(exp(-epsilon))) / (alpha - 1.0)
    excess = 2.0 * sinh(0.5 * alpha * epsilon) * sinh(0.5 * (alpha - 1.0) * epsilon) / cosh(0.5 * epsilon)
    return log1p(excess) / (alpha - 1.0)


def rdp_laplace(epsilon: float, alpha: float) -> float:
    """Renyi divergence of order `alpha` of continuous Laplace noise, sensitivity/scale = `epsilon`.

    Convex in epsilon and 0 at 0, so one coordinate with the sum of the epsilons bounds a vector.

    Source: Mironov 2017, Table II.
    """
    if alpha * epsilon < 1e-3:  # the closed form cancels; alpha * rho is an upper bound
        return alpha * zcdp_laplace(epsilon)
    near = alpha / (2.0 * alpha - 1.0)
    if alpha * epsilon > _LARGE:
        tail = (1.0 - near) / near * exp(-(2.0 * alpha - 1.0) * epsilon)
        return epsilon + (log1p(near - 1.0) + log1p(tail)) / (alpha - 1.0)
    excess = near * expm1((alpha - 1.0) * epsilon) + (1.0 - near) * expm1(-alpha * epsilon)
    return log1p(excess) / (alpha - 1.0)


def mu_pure(epsilon: float) -> float:
    """Gaussian-DP parameter of an `epsilon`-DP mechanism: -2 Phi^-1(1/(1 + e^epsilon))."""
    if epsilon < 1.0:
        return 2.0 * central_quantile(tanh(0.5 * epsilon))
    return -2.0 * lower_quantile(1.0 / (1.0 + exp(epsilon)))
