"""What does it cost? Events, losses, conversions and privacy filters; knows no SQL and reads no data."""

from __future__ import annotations

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
    from_dict,
    to_dict,
)
from dpsql.accounting.filters import Portfolio, PrivacyFilter, check_open, check_step
from dpsql.accounting.odometers import Odometer

__all__ = [
    "Approximate",
    "Composed",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "Exponential",
    "Gaussian",
    "Laplace",
    "NoisyMax",
    "NonPrivate",
    "Odometer",
    "Portfolio",
    "PrivacyFilter",
    "Pure",
    "SubsampledGaussian",
    "SubsampledPure",
    "Threshold",
    "check_open",
    "check_step",
    "from_dict",
    "to_dict",
]
