"""What did the owner promise? A policy file, its rules and its digest."""

from __future__ import annotations

from dpsql.policy.domain import Domain, Range, Reference, Values
from dpsql.policy.load import load, parse
from dpsql.policy.model import (
    Bounds,
    Budget,
    ColumnPolicy,
    ColumnType,
    PerQuery,
    Policy,
    PrivacyUnit,
    TablePolicy,
    UnitPath,
    UnitStep,
)

__all__ = [
    "Bounds",
    "Budget",
    "ColumnPolicy",
    "ColumnType",
    "Domain",
    "PerQuery",
    "Policy",
    "PrivacyUnit",
    "Range",
    "Reference",
    "TablePolicy",
    "UnitPath",
    "UnitStep",
    "Values",
    "load",
    "parse",
]
