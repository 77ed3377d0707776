"""What did a fixed list of releases cost, by each accountant?

For reports: each statement is about a list that was fixed beforehand, and all of them hold, so the least may
be quoted. Accounts, whose queries follow earlier answers, are guarded by `filters`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import inf, sqrt
from typing import TypeAlias, assert_never

from dpsql.accounting.composition import heterogeneous_advanced, heterogeneous_epsilon
from dpsql.accounting.conversion import eps_from_gdp, eps_from_rdp, eps_from_zcdp, least_order
from dpsql.accounting.event import (
    Approximate,
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
from dpsql.accounting.loss import delta_of, epsilon_of, mu2_of, renyi_of, rho_of
from dpsql.accounting.rounding import EXACT, RELATIVE, float_down, float_up

History: TypeAlias = Sequence[tuple[Event, int]]
"""Releases, each with how often it was made; order does not matter."""

_UP = 1.0 + RELATIVE


@dataclass(frozen=True, slots=True)
class Reading:
    """The (epsilon, delta) that one accountant gives a history; epsilon is None if it cannot.

    The epsilon is rounded up; `delta` includes what the events need themselves.
    """

    accountant: str
    epsilon: float | None
    delta: Decimal


def own_delta(history: History) -> Decimal:
    """The summed deltas of thresholds and (epsilon, delta) boxes, exact."""
    total = Decimal(0)
    for event, count in history:
        total = EXACT.add(total, EXACT.multiply(delta_of(event), Decimal(count)))
    return total


def readings(history: History, delta: Decimal) -> tuple[Reading, ...]:
    """What each accountant says at a total of `delta`, from the simplest to the tightest.

    `basic` needs the events' own delta only. The others need some delta beyond it; without it they say None.
    """
    own = own_delta(history)
    conversion = float_down(EXACT.subtract(delta, own))
    found = [Reading("basic", basic_epsilon(history), own)]
    for name, epsilon in (
        ("advanced", advanced_epsilon),
        ("zcdp", zcdp_epsilon),
        ("rdp", rdp_epsilon),
        ("gdp", gdp_epsilon),
        ("optimal", optimal_epsilon),
    ):
        value = epsilon(history, conversion) if conversion > 0.0 else None
        found.append(Reading(name, value, max(delta, own)))
    return tuple(found)


def basic_epsilon(history: History) -> float | None:
    """Sum of epsilons, exact before it is made a float; None if an event has none."""
    total = Decimal(0)
    for event, count in history:
        epsilon = epsilon_of(event)
        if epsilon is None:
            return None
        total = EXACT.add(total, EXACT.multiply(epsilon, Decimal(count)))
    return float_up(total)


def advanced_epsilon(history: History, delta: float) -> float | None:
    """Advanced composition of different epsilons; None if an event has none."""
    steps: list[tuple[float, float]] = []
    for event, count in history:
        for part in parts(event):
            epsilon = epsilon_of(part)
            if epsilon is None:
                return None
            steps += [(float_up(epsilon), 0.0)] * count
    return heterogeneous_advanced(steps, delta)[0]


def zcdp_epsilon(history: History, delta: float) -> float | None:
    """By the sum of rho, converted by the best order; None if it is infinite."""
    rho = sum(count * rho_of(event) for event, count in history) * _UP
    return eps_from_zcdp(rho, delta) if rho < inf else None


def rdp_epsilon(history: History, delta: float) -> float | None:
    """By the best Renyi order; None if no divergence is finite."""
    if _is_unknown(history):
        return None

    def at(alpha: float) -> float:
        divergence = sum(count * renyi_of(event, alpha) for event, count in history)
        return eps_from_rdp(alpha, divergence * _UP, delta)

    return least_order(at)[1]


def gdp_epsilon(history: History, delta: float) -> float | None:
    """By the sum of mu^2, which the exact curve of a Gaussian converts; None if it is infinite."""
    mu2 = sum(count * mu2_of(event) for event, count in history) * _UP
    epsilon = eps_from_gdp(sqrt(mu2), delta) if mu2 < inf else inf
    return epsilon if epsilon < inf else None


def optimal_epsilon(history: History, delta: float) -> float | None:
    """By the losses' exact law: randomised responses for pure events, one Gaussian for all Gaussian ones.

    The worst case of each epsilon: nothing tighter holds for `Pure` and `Gaussian`; from above for the
    others. None if the history holds what has no such law.
    """
    responses: dict[float, int] = {}
    mu2 = 0.0
    for event, count in history:
        for part in parts(event):
            match part:
                case Gaussian() | DiscreteGaussian():
                    mu2 += count * mu2_of(part)
                case Pure() | DiscreteLaplace() | Laplace() | Exponential() | NoisyMax() | SubsampledPure():
                    _add(responses, epsilon_of(part), count)
                case Approximate():
                    _add(responses, part.epsilon, count)
                case Threshold():
                    pass
                case SubsampledGaussian() | NonPrivate():
                    return None
                case _:
                    assert_never(part)
    epsilon = heterogeneous_epsilon(responses, mu2 * _UP, delta)
    return epsilon if epsilon < inf else None


def _add(responses: dict[float, int], epsilon: Decimal | None, count: int) -> None:
    if epsilon is not None:
        value = float_up(epsilon)
        responses[value] = responses.get(value, 0) + count


def _is_unknown(history: History) -> bool:
    return any(isinstance(part, NonPrivate) for event, _ in history for part in parts(event))
