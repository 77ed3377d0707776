"""How much loss has there been so far, at whatever moment one looks?

M_n = exp(lam (L_n - r_n) - lam^2 r_n) is a supermartingale for lam > 0, with L_n the realised loss and r_n
the sum of rho. By Ville's inequality each bound below holds at all times at once, except with probability
delta. A fixed-time conversion evaluated after each query is not such a statement and is not offered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import log, pi, sqrt
from typing import Final

from dpsql.accounting.conversion import bisect_down, eps_from_zcdp, rho_for
from dpsql.accounting.event import Event
from dpsql.accounting.loss import delta_of, epsilon_of, rho_of
from dpsql.accounting.normal import lower_tail
from dpsql.accounting.rounding import EXACT, RELATIVE, float_up

MILESTONES: Final = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Shares of the largest rho within a budget at which its milestones lie."""

_LINES: Final = 64


def line(rho: float, delta: float, rho_star: float) -> float:
    """Loss at spent `rho`, tightest at the preselected `rho_star`: (1 + lam) rho + ln(1/delta)/lam."""
    level = -log(delta)
    lam = sqrt(level / rho_star)
    return (1.0 + lam) * rho + level / lam


def mixture(rho: float, delta: float, tau2: float) -> float:
    """Loss at spent `rho`: rho + x, from the half-normal mixture of all lam with spread `tau2`.

    x solves (2/sqrt s) exp(x^2 tau2/(2 s)) Phi(x sqrt(tau2/s)) = 1/delta, s = 1 + 2 rho tau2; rounded up.
    """
    spread = 1.0 + 2.0 * rho * tau2
    level = -log(delta)

    def below(x: float) -> bool:
        scaled = x * sqrt(tau2 / spread)
        return log(2.0 / sqrt(spread)) + 0.5 * scaled * scaled + log(lower_tail(scaled)) < level

    high = sqrt(2.0 * spread / tau2 * (level + 0.5 * log(spread) + 1.0))
    return rho + bisect_down(below, 0.0, high) * (1.0 + 1e-12)


def stitched(rho: float, delta: float, rho_0: float) -> float:
    """Loss at spent `rho`: the least of `line`s at rho_0 2^j, each with its share of delta."""
    shares = [6.0 * delta / (pi * pi * (j + 1) ** 2) for j in range(_LINES)]
    return min(line(rho, share, rho_0 * 2.0**j) for j, share in enumerate(shares))


@dataclass(frozen=True, slots=True)
class Milestone:
    """A statement that is fixed before the first release.

    All that is released before the sum of rho exceeds `rho` is (`epsilon`, delta)-DP, delta being that given
    to `milestones`. Each milestone is a zCDP filter of its own, so each statement holds by itself.
    """

    share: float
    rho: float
    epsilon: float


def milestones(epsilon: float, delta: float) -> tuple[Milestone, ...]:
    """The milestones of a budget (epsilon, delta), 0 < delta < 1; none if it has no room for any rho."""
    whole = rho_for(epsilon, delta)
    if whole <= 0.0:
        return ()
    return tuple(Milestone(part, part * whole, eps_from_zcdp(part * whole, delta)) for part in MILESTONES)


@dataclass(frozen=True, slots=True)
class Odometer:
    """Running totals of executed events, for a display; it refuses nothing.

    `loss` holds at all times at once, except with probability `delta` + the summed deltas of the events.
    """

    delta: float
    tau2: float
    rho: float = 0.0
    epsilon: Decimal | None = Decimal(0)
    spent_delta: Decimal = Decimal(0)

    def step(self, event: Event) -> Odometer:
        """The totals after the event."""
        epsilon = epsilon_of(event)
        total = None if epsilon is None or self.epsilon is None else EXACT.add(self.epsilon, epsilon)
        return replace(
            self,
            rho=self.rho + rho_of(event) * (1.0 + RELATIVE),
            epsilon=total,
            spent_delta=EXACT.add(self.spent_delta, delta_of(event)),
        )

    def loss(self) -> float:
        """Loss so far: the sum of epsilons if every event had one, or the mixture if that is less."""
        anytime = mixture(self.rho, self.delta, self.tau2)
        return anytime if self.epsilon is None else min(anytime, float_up(self.epsilon))
