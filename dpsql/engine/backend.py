"""What must an engine do for us?"""

from __future__ import annotations

from typing import Protocol

from dpsql.analysis.facts import Facts
from dpsql.engine.release import Relation
from dpsql.engine.rewrite import Program
from dpsql.ledger.receipt import Receipt
from dpsql.mechanisms import NoiseSource
from dpsql.plan.plan import Plan
from dpsql.sql.relation import Query


class Backend(Protocol):
    """A private database: its public facts, the check of a program, and its one paid run."""

    @property
    def facts(self) -> Facts:
        """The public facts, pinned when the backend was opened."""
        ...

    def check(self, program: Program) -> None:
        """Bind the program against empty tables; reads nothing.

        Raises:
            InternalError: when it does not bind.
        """
        ...

    def measure(
        self, plan: Plan, program: Program, receipt: Receipt, cap_key: str, noise: NoiseSource
    ) -> Relation:
        """Compute the exact cells, add noise, and give out the sums only.

        Raises:
            EngineFailure: when the run fails; its text is constant.
        """
        ...

    def public(self, query: Query) -> tuple[Query, Relation]:
        """The exact rows or groups of a query over public tables, and the query over them.

        Raises:
            EngineFailure: when it fails.
        """
        ...

    def public_sql(self, query: Query) -> str:
        """The statement that `public` runs."""
        ...

    def close(self) -> None:
        """Give the database back."""
        ...
