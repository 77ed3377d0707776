"""Which filters guard a budget, and what is left in them?"""

from __future__ import annotations

from dpsql.accounting.filters.additive import Additive, Concentrated, GaussianDp, Renyi
from dpsql.accounting.filters.basic import Basic, Slack
from dpsql.accounting.filters.portfolio import Portfolio, check_open, check_step
from dpsql.accounting.filters.remainder import Residue
from dpsql.accounting.filters.rule import LIMIT, PrivacyFilter, Rule

__all__ = [
    "LIMIT",
    "Additive",
    "Basic",
    "Concentrated",
    "GaussianDp",
    "Portfolio",
    "PrivacyFilter",
    "Renyi",
    "Residue",
    "Rule",
    "Slack",
    "check_open",
    "check_step",
]
