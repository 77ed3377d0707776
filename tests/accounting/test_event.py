from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

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
    Pure,
    SubsampledGaussian,
    SubsampledPure,
    Threshold,
    from_dict,
    to_dict,
)
from dpsql.accounting.event import parts
from tests.accounting.strategies import EVENTS

BAD_EPSILONS = ["NaN", "sNaN", "Infinity", "-1", "0", "-0.1", "9.99e-7", "1e-19", "50.01", "800", "1e400"]
BAD_DELTAS = ["NaN", "Infinity", "-1e-9", "1e-21", "1e-25", "1", "1.5"]
BAD_SQUARES = [float("nan"), float("inf"), -5.0, 0.0, 1e-19, 9e-13, 1e7]


@pytest.mark.parametrize("kind", [Pure, DiscreteLaplace, Laplace, Exponential, NoisyMax])
@pytest.mark.parametrize("epsilon", BAD_EPSILONS)
def test_an_epsilon_that_could_spend_nothing_or_negative_is_refused(kind: Any, epsilon: str) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        kind(Decimal(epsilon))


@pytest.mark.parametrize("delta", BAD_DELTAS)
def test_a_delta_that_could_poison_the_slack_is_refused(delta: str) -> None:
    with pytest.raises(ValueError, match="delta"):
        Threshold(Decimal(delta))
    with pytest.raises(ValueError, match="delta"):
        Approximate(Decimal("0.1"), Decimal(delta))


@pytest.mark.parametrize("mu2", BAD_SQUARES)
def test_a_square_that_could_grow_the_budget_is_refused(mu2: float) -> None:
    with pytest.raises(ValueError, match="mu2"):
        Gaussian(mu2)
    with pytest.raises(ValueError, match="mu2"):
        DiscreteGaussian(mu2, 100.0)


@pytest.mark.parametrize("variance", [float("nan"), float("inf"), -4.0, 0.25, 3.999])
def test_a_discrete_gaussian_on_too_coarse_a_lattice_is_refused(variance: float) -> None:
    with pytest.raises(ValueError, match="variance"):
        DiscreteGaussian(0.1, variance)


@pytest.mark.parametrize(
    ("probability", "epsilon"), [("0", "1"), ("-0.1", "1"), ("1.1", "1"), ("NaN", "1"), ("1e-4", "0.001")]
)
def test_a_sample_that_could_amplify_to_nothing_is_refused(probability: str, epsilon: str) -> None:
    with pytest.raises(ValueError, match=r"probability|amplified"):
        SubsampledPure(Decimal(probability), Decimal(epsilon))


@pytest.mark.parametrize(
    ("probability", "noise_multiplier", "steps"),
    [
        (0.0, 1.0, 1),
        (1.5, 1.0, 1),
        (float("nan"), 1.0, 1),
        (0.1, 0.0, 1),
        (0.1, -1.0, 1),
        (0.1, float("inf"), 1),
        (0.1, 1.0, 0),
        (0.1, 1.0, True),
        (0.1, 1.0, 1.0),
        (1, 1.0, 1),
    ],
)
def test_a_subsampled_gaussian_out_of_range_is_refused(
    probability: Any, noise_multiplier: Any, steps: Any
) -> None:
    with pytest.raises(ValueError, match=r"probability|noise_multiplier|steps"):
        SubsampledGaussian(probability, noise_multiplier, steps)


def test_a_float_epsilon_is_refused_because_sums_would_not_be_exact() -> None:
    wrong: Any = 0.1

    with pytest.raises(ValueError, match="Decimal"):
        Pure(wrong)


def test_an_integer_square_is_refused_because_it_has_no_hex_form() -> None:
    wrong: Any = 1

    with pytest.raises(ValueError, match="mu2"):
        Gaussian(wrong)


def test_more_digits_than_exact_sums_can_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="digits"):
        Pure(Decimal("0.1" + "1" * 120))


def test_the_extreme_events_are_accepted() -> None:
    events: list[Event] = [
        Pure(Decimal("1e-6")),
        Pure(Decimal(50)),
        Threshold(Decimal("1e-20")),
        Threshold(Decimal(0)),
    ]

    assert all(from_dict(to_dict(event)) == event for event in events)


def test_an_empty_composition_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Composed(())


def test_nested_compositions_are_flat_and_in_order() -> None:
    first, second, third = Gaussian(0.1), Pure(Decimal(1)), Threshold(Decimal("1e-9"))

    nested = Composed((Composed((first, second)), third))

    assert nested == Composed((first, second, third))
    assert parts(nested) == (first, second, third)


@given(EVENTS)
def test_an_event_survives_its_stored_form(event: Event) -> None:
    stored = json.dumps(to_dict(event), sort_keys=True)

    assert from_dict(json.loads(stored)) == event


def test_equal_events_have_one_stored_form() -> None:
    assert to_dict(Pure(Decimal("0.10"))) == to_dict(Pure(Decimal("0.1")))


def test_the_stored_forms_of_the_first_version_are_read_for_ever() -> None:
    stored: list[tuple[dict[str, object], Event]] = [
        ({"event": "pure", "epsilon": "0.1"}, Pure(Decimal("0.1"))),
        ({"event": "discrete_laplace", "epsilon": "1E-6"}, DiscreteLaplace(Decimal("0.000001"))),
        ({"event": "laplace", "epsilon": "2"}, Laplace(Decimal(2))),
        ({"event": "exponential", "epsilon": "0.5"}, Exponential(Decimal("0.5"))),
        ({"event": "gaussian", "mu2": "0x1.0p-1"}, Gaussian(0.5)),
        (
            {"event": "discrete_gaussian", "mu2": "0x1.0p-1", "variance": "0x1.0p+2"},
            DiscreteGaussian(0.5, 4.0),
        ),
        ({"event": "threshold", "delta": "1E-9"}, Threshold(Decimal("1e-9"))),
        (
            {"event": "approximate", "epsilon": "1", "delta": "1E-9"},
            Approximate(Decimal(1), Decimal("1e-9")),
        ),
        ({"event": "composed", "events": [{"event": "pure", "epsilon": "1"}]}, Composed((Pure(Decimal(1)),))),
    ]

    assert [from_dict(form) for form, _ in stored] == [event for _, event in stored]


def test_the_stored_forms_of_later_events_are_read_for_ever() -> None:
    stored: list[tuple[dict[str, object], Event]] = [
        ({"event": "noisy_max", "epsilon": "0.1"}, NoisyMax(Decimal("0.1"))),
        (
            {"event": "subsampled_pure", "probability": "0.01", "epsilon": "1"},
            SubsampledPure(Decimal("0.01"), Decimal(1)),
        ),
        (
            {
                "event": "subsampled_gaussian",
                "probability": "0x1.0p-8",
                "noise_multiplier": "0x1.0p+0",
                "steps": 9,
            },
            SubsampledGaussian(2.0**-8, 1.0, 9),
        ),
        ({"event": "non_private"}, NonPrivate()),
    ]

    assert [from_dict(form) for form, _ in stored] == [event for _, event in stored]
    assert [from_dict(to_dict(event)) for _, event in stored] == [event for _, event in stored]


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"event": "non_private", "epsilon": "1"},
        {
            "event": "subsampled_gaussian",
            "probability": "0x1.0p-8",
            "noise_multiplier": "0x1.0p+0",
            "steps": "9",
        },
        {"event": "pure"},
        {"event": "pure", "epsilon": 0.1},
        {"event": "pure", "epsilon": "one"},
        {"event": "pure", "epsilon": "NaN"},
        {"event": "pure", "epsilon": "0.1", "delta": "0"},
        {"event": "gaussian", "mu2": 0.5},
        {"event": "gaussian", "mu2": "zz"},
        {"event": "gaussian", "mu2": "0x1p+99999"},
        {"event": "gaussian", "mu2": "nan"},
        {"event": "sorcery", "epsilon": "1"},
        {"event": ["pure"], "epsilon": "1"},
        {"event": "composed", "events": "all"},
        {"event": "composed", "events": [1]},
        {"event": "composed", "events": []},
        {"event": "composed", "events": [{"event": "composed", "events": []}]},
    ],
)
def test_an_edited_stored_form_is_refused(form: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_dict(form)
