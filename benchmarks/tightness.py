"""How many queries does an account admit, next to other accountants and to the exact optimum?

Prints the two tables of docs/accounting.md: `python benchmarks/tightness.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

from dpsql.accounting import Composed, Event, Gaussian, Portfolio, Pure
from dpsql.accounting.calibration import discrete_laplace_threshold, gaussian_sigma, gaussian_threshold
from dpsql.accounting.composition import drv_advanced, optimal_delta
from dpsql.accounting.filters.library import open_concentrated, open_gaussian_dp, open_residue
from dpsql.accounting.selection import keep_probabilities

BUDGETS = (("1", "1e-6"), ("3", "1e-5"), ("5", "1.1e-4"))
EPSILONS = ("0.01", "0.1", "0.5")
GAUSSIAN_DELTA = 1e-9
HEADER = (
    "budget",
    "one query",
    "workload",
    "basic",
    "advanced",
    "zCDP",
    "GDP",
    "residue",
    "portfolio",
    "optimum",
    "share",
)


def largest(holds: Callable[[int], bool]) -> int:
    """The largest n >= 0 for which a monotone condition holds."""
    high = 1
    while holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def workloads(eps0: str) -> dict[str, tuple[tuple[Event, ...], int, float]]:
    """Name -> (the steps of one round, pure steps in it, mu^2 in it)."""
    pure = Pure(Decimal(eps0))
    mu2 = gaussian_sigma(float(eps0), GAUSSIAN_DELTA) ** -2
    gaussian = Gaussian(mu2)
    return {
        "Laplace": ((pure,), 1, 0.0),
        "Gaussian": ((gaussian,), 0, mu2),
        "both in turn": ((pure, gaussian), 1, mu2),
    }


def admitted(account: Portfolio, steps: tuple[Event, ...]) -> int:
    """Rounds an account admits, each event a step of its own."""
    return account.more(Composed(steps))


def tightness_rows() -> Iterator[tuple[str, ...]]:
    """One row a budget, query size and workload; counts are rounds."""
    for epsilon, delta in BUDGETS:
        for eps0 in EPSILONS:
            for name, (steps, pure, mu2) in workloads(eps0).items():
                yield _row(epsilon, delta, eps0, name, steps, pure, mu2)


def _row(
    epsilon: str, delta: str, eps0: str, name: str, steps: tuple[Event, ...], pure: int, mu2: float
) -> tuple[str, ...]:
    budget = Decimal(epsilon), Decimal(delta)
    total, slack = float(epsilon), float(delta)
    optimum = largest(lambda n: optimal_delta(n * pure, float(eps0), n * mu2, total) <= slack)
    portfolio = admitted(Portfolio.open(*budget), steps)
    spent = len(steps) - pure

    def advanced(n: int) -> bool:
        rest = slack - n * spent * GAUSSIAN_DELTA
        return rest > 0.0 and drv_advanced(n * len(steps), float(eps0), 0.0, rest)[0] <= total

    counts = (
        int(Decimal(epsilon) / (Decimal(eps0) * len(steps))),
        largest(advanced),
        admitted(open_concentrated(*budget), steps),
        admitted(open_gaussian_dp(*budget), steps),
        admitted(open_residue(*budget), steps),
        portfolio,
        optimum,
    )
    share = f"{portfolio / optimum:.2f}" if optimum else "-"
    return (f"({epsilon}, {delta})", eps0, name, *(str(count) for count in counts), share)


def threshold_rows() -> Iterator[tuple[str, ...]]:
    """One row a number of groups: thresholds at (1, 1e-6) in units."""
    for l0 in (1, 4, 16):
        sigma = gaussian_sigma(1.0, 0.5e-6, l0**0.5)
        yield (
            str(l0),
            str(discrete_laplace_threshold(1.0, 1e-6, l0)),
            f"{gaussian_threshold(sigma, 0.5e-6, l0):.1f}",
            str(_half_shown(1.0 / l0, 1e-6 / l0)),
        )


def _half_shown(epsilon: float, delta: float) -> int:
    shown = keep_probabilities(epsilon, delta, 1000)
    return next(units for units, probability in enumerate(shown) if probability >= 0.5)


def markdown(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables() -> tuple[str, str]:
    """Both tables as Markdown."""
    thresholds = ("groups a unit can be in", "Laplace", "Gaussian", "optimum shows half at")
    return markdown(HEADER, tightness_rows()), markdown(thresholds, threshold_rows())


if __name__ == "__main__":
    print("\n\n".join(tables()))
