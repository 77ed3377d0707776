"""Hypothesis strategies for events and budgets."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from dpsql.accounting import (
    Approximate,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    NoisyMax,
    Pure,
    SubsampledGaussian,
    SubsampledPure,
    Threshold,
)


def decimals(low: str, high: str) -> st.SearchStrategy[Decimal]:
    """Decimals spread evenly over the orders of magnitude between two bounds."""
    first, last = Decimal(low), Decimal(high)
    exponents = st.integers(first.adjusted(), last.adjusted())
    digits = st.integers(1000, 9999)
    numbers = st.builds(lambda digit, exponent: Decimal(digit).scaleb(exponent - 3), digits, exponents)
    return numbers.filter(lambda number: first <= number <= last)


EPSILONS = decimals("1e-6", "2")
DELTAS = st.one_of(st.just(Decimal(0)), decimals("1e-20", "1e-6"))
MU2 = st.floats(-12, 0).map(lambda power: max(1e-12, 10.0**power))
VARIANCES = st.floats(4.0, 1e12)

SIMPLE = st.one_of(
    st.builds(Pure, EPSILONS),
    st.builds(DiscreteLaplace, EPSILONS),
    st.builds(Laplace, EPSILONS),
    st.builds(Exponential, EPSILONS),
    st.builds(NoisyMax, EPSILONS),
    st.builds(SubsampledPure, decimals("0.01", "1"), decimals("1e-3", "2")),
    st.builds(Gaussian, MU2),
    st.builds(DiscreteGaussian, MU2, VARIANCES),
    st.builds(
        SubsampledGaussian,
        st.floats(-6, 0).map(lambda p: 10.0**p),
        st.floats(0.5, 100.0),
        st.integers(1, 2000),
    ),
    st.builds(Threshold, DELTAS),
    st.builds(Approximate, EPSILONS, DELTAS),
)
EVENTS = st.one_of(
    SIMPLE, st.builds(Composed, st.lists(SIMPLE, min_size=1, max_size=4).map(tuple)).map(lambda event: event)
)
BUDGETS = st.tuples(decimals("0.1", "9"), st.one_of(st.just(Decimal(0)), decimals("1e-12", "1e-3")))
SHARES = st.sampled_from([Decimal(0), Decimal("0.1"), Decimal("0.5")])
