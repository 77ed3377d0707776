"""Is no accountant ever below an independent lower bound of the truth, and is the best one close to it?"""

from __future__ import annotations

from decimal import Decimal
from math import exp
from random import Random
from typing import Any

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from dpsql.accounting import (
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
    Portfolio,
    Pure,
    SubsampledGaussian,
    SubsampledPure,
    Threshold,
)
from dpsql.accounting.history import History, Reading, basic_epsilon, own_delta, readings
from dpsql.accounting.loss import delta_of, epsilon_of
from dpsql.accounting.subsampling import whole_order_epsilon

TENTH = Decimal("0.1")
INTERVAL = 2e-3
FACTOR = 1.05
"""The best reading is at most this far above an upper bound of the truth.

Not with choices in the history, for which the other accountant has an instance and no worst case.
"""
LAPLACE_FACTOR = 1.25
"""With continuous Laplace noise, which is priced as randomised response, its worst case."""
SAMPLED_FACTOR = 2.0
SAMPLED_EXCESS = 0.6
"""Renyi divergence alone prices sampled Gaussians, and its conversion is loose, most for small losses."""


def _between(random: Random, low: float, high: float) -> Decimal:
    return Decimal(f"{10 ** random.uniform(low, high):.4g}")


def _event(random: Random) -> Event:
    epsilon, tiny = _between(random, -2, 0), _between(random, -12, -8)
    mu2 = 10 ** random.uniform(-4, -1)
    events: list[Event] = [
        *(kind(epsilon) for kind in (Pure, DiscreteLaplace, Laplace, Exponential, NoisyMax)),
        SubsampledPure(_between(random, -1, 0), epsilon),
        Gaussian(mu2),
        DiscreteGaussian(mu2, 100.0),
        Threshold(tiny),
        Approximate(epsilon, tiny),
    ]
    return random.choice(events)


def _history(random: Random) -> list[tuple[Event, int]]:
    history = [(_event(random), random.randint(1, 12)) for _ in range(random.randint(1, 5))]
    if random.random() < 0.1:
        rate, noise = 10 ** random.uniform(-3, -1), random.uniform(0.8, 4.0)
        history.append((SubsampledGaussian(rate, noise, random.randint(1, 50)), 1))
    return history


def _law(event: Event, pessimistic: bool) -> Any:
    """The loss of the worst mechanism of an event's kind that the other accountant knows, or None."""
    options = {"pessimistic_estimate": pessimistic, "value_discretization_interval": INTERVAL}
    dots = {"use_connect_dots": pessimistic, **options}
    match event:
        case Laplace():
            return pld.from_laplace_mechanism(1.0 / float(event.epsilon), **dots)
        case Gaussian() | DiscreteGaussian():
            return pld.from_gaussian_mechanism(event.mu2**-0.5, **dots)
        case SubsampledGaussian(rate, noise, steps):
            return pld.from_gaussian_mechanism(noise, sampling_prob=rate, **dots).self_compose(steps)
        case Threshold():
            return None
        case Exponential():  # two candidates, one made better and one worse
            epsilon = 0.5 * float(event.epsilon)
        case _:
            epsilon = float(epsilon_of(event) or 0)
    return pld.from_randomized_response(2.0 / (1.0 + exp(epsilon)), 2, **options)


def _true_epsilon(history: History, delta: Decimal, pessimistic: bool) -> float:
    """Epsilon by the composed loss distribution; boxes and thresholds fail with their own delta first."""
    whole, safe = None, 1.0
    for event, count in history:
        safe *= (1.0 - float(delta_of(event))) ** count
        law = _law(event, pessimistic)
        if law is not None:
            law = law.self_compose(count)
            whole = law if whole is None else whole.compose(law)
    share = (float(delta) - (1.0 - safe)) / safe
    return 0.0 if whole is None else float(whole.get_epsilon_for_delta(share))


def _check(seed: int) -> None:
    random = Random(seed)
    history, delta = _history(random), _between(random, -6, -3)

    found = [reading.epsilon for reading in readings(history, delta) if reading.epsilon is not None]

    truth = _true_epsilon(history, delta, pessimistic=False)
    assert all(epsilon >= truth - 1e-9 for epsilon in found), (seed, truth, found)
    kinds = {type(event) for event, _ in history}
    bound = _true_epsilon(history, delta, pessimistic=True)
    if SubsampledGaussian in kinds:
        bound = SAMPLED_FACTOR * bound + SAMPLED_EXCESS
    if Exponential not in kinds:
        assert min(found) <= (LAPLACE_FACTOR if Laplace in kinds else FACTOR) * bound, seed


def test_no_accountant_is_below_the_truth_and_the_best_is_close_to_it() -> None:
    for seed in range(200):
        _check(seed)


@pytest.mark.slow
def test_no_accountant_is_below_the_truth_in_ten_thousand_histories() -> None:
    for seed in range(200, 10_200):
        _check(seed)


@pytest.mark.parametrize("seed", range(12))
def test_what_an_account_admits_stays_within_its_budget(seed: int) -> None:
    random = Random(seed)
    account = Portfolio.open(Decimal(1), Decimal("1e-5"), slack_share=TENTH)
    admitted: list[tuple[Event, int]] = []
    for _ in range(60):
        event = _event(random)
        after = account.step(event)
        if after is not None:
            account, admitted = after, [*admitted, (event, 1)]

    assert len(admitted) > 2
    assert _true_epsilon(admitted, account.delta, pessimistic=False) <= 1.0


def _by_name(history: History, delta: str) -> dict[str, Reading]:
    return {reading.accountant: reading for reading in readings(history, Decimal(delta))}


def test_a_hundred_boxes_cost_what_the_literature_says() -> None:
    found = _by_name([(Approximate(Decimal("0.05"), Decimal("1e-6")), 100)], "1.1e-4")

    assert (found["basic"].epsilon, found["basic"].delta) == (5.0, Decimal("1e-4"))
    assert found["optimal"].epsilon == pytest.approx(1.968, abs=5e-4)
    assert found["optimal"].delta == Decimal("1.1e-4")


def test_an_accountant_that_cannot_price_an_event_says_so() -> None:
    gaussian = _by_name([(Gaussian(0.01), 3), (Threshold(Decimal("1e-9")), 1)], "1e-6")
    sampled = _by_name([(SubsampledGaussian(256 / 60000, 1.1, 1000), 1)], "1e-5")
    unknown = _by_name([(Composed((NonPrivate(), Pure(TENTH))), 1)], "1e-6")

    assert [name for name, reading in gaussian.items() if reading.epsilon is None] == ["basic", "advanced"]
    assert gaussian["gdp"].epsilon == pytest.approx(gaussian["optimal"].epsilon, rel=1e-6)
    assert sampled["optimal"].epsilon is None
    assert (sampled["rdp"].epsilon or 9.0) < whole_order_epsilon(256 / 60000, 1.1, 1000, 1e-5)[0]
    assert all(reading.epsilon is None for reading in unknown.values())


def test_without_delta_beyond_the_events_own_only_basic_speaks() -> None:
    found = _by_name([(Approximate(TENTH, Decimal("1e-6")), 10)], "1e-5")

    assert {name for name, reading in found.items() if reading.epsilon is not None} == {"basic"}
    assert found["basic"].delta == own_delta([(Approximate(TENTH, Decimal("1e-6")), 10)])


def test_the_order_and_grouping_of_a_history_do_not_matter() -> None:
    apart = readings([(Pure(TENTH), 1), (Gaussian(0.01), 1), (Pure(TENTH), 1)], Decimal("1e-6"))
    together = readings([(Gaussian(0.01), 1), (Composed((Pure(TENTH), Pure(TENTH))), 1)], Decimal("1e-6"))

    for name in ("zcdp", "rdp", "gdp", "optimal"):
        first, second = (
            {each.accountant: each.epsilon for each in found}[name] for found in (apart, together)
        )
        assert first is not None
        assert first == pytest.approx(second, rel=1e-6)


def test_sums_of_decimals_are_exact() -> None:
    assert basic_epsilon([(Pure(Decimal("0.01")), 100)]) == 1.0
