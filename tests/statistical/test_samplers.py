"""Do the draws follow their law, and would a wrong scale be noticed?"""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpsql.mechanisms import Gaussian, Laplace, Mechanism, Sampler, tau

pytestmark = pytest.mark.statistical

DRAWS = 100_000
"""Enough that a scale wrong by 30 % has a p-value far below `NEVER`."""

NEVER = 1e-20
"""A right sampler falls below this p-value once in 10^20 runs, so these tests do not flicker."""

SCALES = [
    Fraction(1, 3),
    Fraction(1),
    Fraction(5, 2),
    Fraction(100),
    Fraction(12345, 7),
    Fraction(30720),
    Fraction(10**6),
]
MECHANISMS: list[Mechanism] = [law(scale) for law in (Laplace, Gaussian) for scale in SCALES]

LEVELS = [1e-5, 1e-4, 1e-3, *np.linspace(0.01, 0.99, 99), 0.999, 0.9999, 0.99999]
"""Where the bins of the chi-square test end, as shares of the law."""

Law = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def law(mechanism: Mechanism) -> tuple[Law, float]:
    """P(X <= x) and the scale of `mechanism`."""
    match mechanism:
        case Laplace(scale=scale):
            return laplace_law(float(scale)), float(scale)
        case Gaussian(sigma=sigma):
            return gaussian_law(float(sigma)), float(sigma)


def laplace_law(scale: float) -> Law:
    def below(x: NDArray[np.float64]) -> NDArray[np.float64]:
        rest = np.exp(-(np.abs(x + 0.5) + 0.5) / scale) / (1 + np.exp(-1 / scale))
        return np.asarray(np.where(x >= 0, 1 - rest, rest))

    return below


def gaussian_law(sigma: float) -> Law:
    if sigma > 1e5:
        # The normal law from halves of a step; the difference is of the order of sigma^-2.
        return lambda x: np.asarray(stats.norm.cdf((x + 0.5) / sigma))
    reach = int(12 * sigma) + 3
    grid = np.arange(-reach, reach + 1)
    weights = np.exp(-grid * grid / (2 * sigma * sigma))
    sums = np.cumsum(weights) / weights.sum()
    return lambda x: sums[np.clip(x.astype(np.int64) + reach, 0, 2 * reach)]


def edges(below: Law, scale: float) -> NDArray[np.float64]:
    """Integers near the levels of the law, found on a grid over 14 scales."""
    grid = np.unique(np.floor(np.linspace(-14 * scale - 3, 14 * scale + 3, 200_001)))
    return np.unique(grid[np.searchsorted(below(grid), LEVELS)])


def fit(draws: NDArray[np.int64], below: Law, scale: float) -> float:
    """p-value of the chi-square test of `draws` against the law, in bins of ten expected draws or more."""
    ends = edges(below, scale)
    chances = np.diff(np.concatenate([[0.0], below(ends), [1.0]]))
    counts = np.bincount(np.searchsorted(ends, draws), minlength=len(ends) + 1)
    starts = wide_enough(chances * len(draws), 10.0)
    expected = np.add.reduceat(chances, starts) * len(draws)
    return float(stats.chisquare(np.add.reduceat(counts, starts), expected).pvalue)


def wide_enough(expected: NDArray[np.float64], least: float) -> list[int]:
    """Where bins must start so that each expects at least `least`."""
    starts, held = [0], 0.0
    for place, share in enumerate(expected):
        if held >= least and expected[place:].sum() >= least:
            starts.append(place)
            held = 0.0
        held += share
    return starts


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_draws_fit_their_law_and_no_law_that_is_30_percent_off(mechanism: Mechanism) -> None:
    below, scale = law(mechanism)
    make_law = laplace_law if isinstance(mechanism, Laplace) else gaussian_law

    draws = mechanism.draw(Sampler(), DRAWS)

    assert fit(draws, below, scale) > NEVER
    assert fit(draws, make_law(0.7 * scale), 0.7 * scale) < NEVER
    assert fit(draws, make_law(1.3 * scale), 1.3 * scale) < NEVER


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_half_a_million_draws_of_known_entropy_fit_the_exact_law(mechanism: Mechanism) -> None:
    """The entropy is fixed, so an ordinary p-threshold does not flicker."""
    below, scale = law(mechanism)

    draws = mechanism.draw(Sampler(random.Random(20).randbytes), 500_000)

    assert fit(draws, below, scale) > 1e-3


@pytest.mark.parametrize("mechanism", [Laplace(Fraction(30720)), Gaussian(Fraction(30720))], ids=str)
def test_both_signs_and_both_parities_are_equally_frequent(mechanism: Mechanism) -> None:
    draws = mechanism.draw(Sampler(), DRAWS)

    for hits in (np.count_nonzero(draws & 1), np.count_nonzero(draws > 0)):
        assert stats.binomtest(int(hits), DRAWS, 0.5).pvalue > NEVER


@pytest.mark.parametrize("mechanism", [Laplace(Fraction(3)), Gaussian(Fraction(3))], ids=str)
def test_neighbouring_draws_and_repeated_calls_are_independent(mechanism: Mechanism) -> None:
    sampler = Sampler()
    first, second = mechanism.draw(sampler, DRAWS), mechanism.draw(sampler, DRAWS)

    for left, right in ((first, second), (first[:-1], first[1:]), (np.abs(first[:-1]), np.abs(first[1:]))):
        table = np.zeros((9, 9))
        np.add.at(table, (np.clip(left, -4, 4) + 4, np.clip(right, -4, 4) + 4), 1)
        table = table[table.any(axis=1)][:, table.any(axis=0)]
        assert stats.chi2_contingency(table).pvalue > NEVER


def test_the_test_of_independence_notices_a_repeated_call() -> None:
    draws = np.clip(Laplace(Fraction(3)).draw(Sampler(), 2000), -4, 4)
    table = np.zeros((9, 9))

    np.add.at(table, (draws + 4, draws + 4), 1)

    assert stats.chi2_contingency(table).pvalue < NEVER


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_the_stated_half_width_covers_95_percent_and_half_of_it_does_not(mechanism: Mechanism) -> None:
    width = mechanism.half_width()

    misses = np.abs(mechanism.draw(Sampler(), DRAWS))

    beyond = int(np.count_nonzero(misses > width))
    beyond_half = int(np.count_nonzero(misses > width // 2))
    assert stats.binomtest(beyond, DRAWS, 0.05, alternative="greater").pvalue > NEVER
    assert stats.binomtest(beyond_half, DRAWS, 0.05, alternative="greater").pvalue < NEVER or width <= 1


@pytest.mark.parametrize("l0", [1, 5])
@pytest.mark.parametrize(
    "mechanism",
    [Laplace(Fraction(1)), Laplace(Fraction(2048)), Gaussian(Fraction(3)), Gaussian(Fraction(2048))],
)
def test_groups_of_one_person_are_shown_with_probability_at_most_delta(mechanism: Mechanism, l0: int) -> None:
    unit, delta = 1024, 0.05
    bar = tau(mechanism, unit=unit, delta=Decimal("0.05"), l0=l0)

    counts = unit + mechanism.draw(Sampler(), DRAWS * l0).reshape(DRAWS, l0)

    shown = int((counts >= bar).any(axis=1).sum())
    assert stats.binomtest(shown, DRAWS, delta, alternative="greater").pvalue > NEVER
    lower = int((counts >= bar - max(1, round(mechanism.std() / 2))).any(axis=1).sum())
    assert stats.binomtest(lower, DRAWS, delta, alternative="greater").pvalue < NEVER
