"""How much may be spent, in all and by one query?"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dpsql.policy.number import BudgetEpsilon, Delta, QueryEpsilon
from dpsql.policy.part import Part


class Budget(Part):
    """What an account may lose in all: (epsilon, delta), guarded by a privacy filter."""

    epsilon: BudgetEpsilon = Field(description="Largest privacy loss, in nats. Above 0.")
    delta: Delta = Field(
        description="Probability with which the loss may exceed epsilon. May be 0 (Laplace noise only, no"
        " groups without a public domain), never missing."
    )
    filter: Literal["portfolio"] = Field(
        default="portfolio", description="The privacy filter that admits or refuses each query."
    )


class PerQuery(Part):
    """Price of a query that states none, and the cap on those that do."""

    epsilon: QueryEpsilon = Field(description="Epsilon of a query that states none; between 1e-6 and 50.")
    delta: Delta = Field(description="Delta of a query that states none; 0 or at least 1e-20.")
    max_epsilon: QueryEpsilon | None = Field(
        default=None,
        description="The largest epsilon a query may ask for; without it only the budgets limit it.",
    )
