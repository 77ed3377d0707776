"""The life of a query, once, for every interface."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dpsql import errors
from dpsql.analysis.analysis import Analysis, analyse
from dpsql.engine.backend import Backend
from dpsql.engine.duckdb import DuckDBBackend
from dpsql.engine.postprocess import Postprocessor, statement
from dpsql.engine.release import Release, read_release
from dpsql.engine.rewrite import Program, rewrite
from dpsql.errors import BudgetExceeded, EngineFailure, InterfaceError, PolicyRefused
from dpsql.ledger import AccountSpec, AccountState, Ledger, Receipt
from dpsql.mechanisms import NoiseSource, Sampler
from dpsql.plan.accuracy import Wish, cheapest
from dpsql.plan.plan import Outlook, Plan, PublicPlan
from dpsql.plan.planner import plan as plan_query
from dpsql.plan.price import SMALLEST_EPSILON, Price, price
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from dpsql.sql.expression import Value
from dpsql.sql.parse import parse
from dpsql.sql.relation import Query
from dpsql.sql.resolve import resolve

ANCHOR_FILE: Final = "DPSQL_ANCHOR"
"""Environment variable with the path of the anchor file: for whoever runs the process, not for its policy."""

LOG: Final = logging.getLogger("dpsql.operator")


@dataclass(frozen=True, slots=True)
class Terms:
    """What a query may cost: its epsilon and delta, or the error that is wanted; None takes the default."""

    epsilon: Decimal | None = None
    delta: Decimal | None = None
    error: Wish | None = None


class Session:
    """One analyst's use of one policy: the private database, the ledger, and the way between them."""

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        backend: Backend,
        analyst: str,
        noise: NoiseSource,
    ) -> None:
        self.policy = policy
        self.analyst = analyst
        self._ledger = ledger
        self._backend = backend
        self._noise = noise
        self._postprocessor = Postprocessor()
        self._lock = threading.RLock()
        self._open = True

    @classmethod
    def open(
        cls,
        policy: str | Path | Policy,
        ledger: str | Path | None = None,
        analyst: str | None = None,
        noise: NoiseSource | None = None,
    ) -> Session:
        """Open the source and the ledger of a policy.

        Raises:
            PolicyError: the policy is not valid, or differs from the source or the ledger.
            PolicyRefused: DP211 for an analyst whom the policy does not list.
            OperationalError: the source or the ledger cannot be opened.
        """
        known = policy if isinstance(policy, Policy) else load(policy)
        name = _analyst(known, analyst)
        backend = DuckDBBackend(known)
        try:
            opened = open_ledger(known, backend.facts.digest, ledger)
            return cls(known, opened, backend, name, noise or Sampler())
        except BaseException:
            backend.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- the pipeline -------------------------------------------------------------------------------

    def answer(
        self, sql: str, parameters: Sequence[Value] = (), terms: Terms | None = None, key: str | None = None
    ) -> Release:
        """One query from text to answer: priced, charged, run, recorded; in this order.

        Raises:
            ProgrammingError, NotSupportedError: the query is refused; nothing was charged or read.
            BudgetExceeded: an account has no room; nothing was charged or read.
            EngineFailure: the run failed after it was charged.
        """
        with self._lock:
            query = self._resolve(sql, parameters)
            if not query.private:
                return self._public(query)
            plan, program = self._plan(query, terms or Terms())
            replay_key = self._replay_key(plan)
            stored = self._stored(replay_key, key)
            if stored is not None:
                return stored
            receipt = self._charge(plan, sql, replay_key, key)
            release = self._run(plan, program, receipt)
            self._ledger.release(receipt, release.to_json())
            return release.paid(receipt)

    def explain(
        self, sql: str, parameters: Sequence[Value] = (), terms: Terms | None = None
    ) -> Plan | PublicPlan:
        """The priced plan of a query; spends nothing and reads no row.

        Raises:
            ProgrammingError, NotSupportedError: the query is refused.
        """
        with self._lock:
            query = self._resolve(sql, parameters)
            if not query.private:
                return PublicPlan(self._backend.public_sql(query))
            plan, program = self._plan(query, terms or Terms())
            return replace(plan, sql=program.sql, outlook=self._outlook(plan))

    def _resolve(self, sql: str, parameters: Sequence[Value]) -> Query:
        self.require_open()
        return resolve(parse(sql), self.policy, parameters)

    def _plan(self, query: Query, terms: Terms) -> tuple[Plan, Program]:
        analysis = analyse(query, self.policy, self._backend.facts)
        if terms.error is not None:
            plan = cheapest(
                self._priced(analysis), terms.error, price(self.policy, SMALLEST_EPSILON, terms.delta)
            )
            price(self.policy, plan.price.epsilon, terms.delta)
        else:
            plan = self._priced(analysis)(price(self.policy, terms.epsilon, terms.delta))
        program = rewrite(plan, self.policy)
        self._backend.check(program)
        # What could not be shaped into the answer must be refused before it is paid for.
        statement(plan.analysis.outer, _half_widths(plan))
        return plan, program

    def _public(self, query: Query) -> Release:
        outer, relation = self._backend.public(query)
        return self._postprocessor.answer(outer, {}, relation)

    def _priced(self, analysis: Analysis) -> Callable[[Price], Plan]:
        return lambda asked: plan_query(analysis, asked, self.policy, self.analyst)

    def _charge(self, plan: Plan, sql: str, replay_key: str, key: str | None) -> Receipt:
        try:
            return self._ledger.charge(
                plan.charges,
                analyst=self.analyst,
                statement=sql,
                plan_digest=plan.digest,
                data_version=self.policy.data_version,
                replay_key=replay_key,
                key=key,
            )
        except BudgetExceeded as refusal:
            largest = self._largest_epsilon(plan)
            raise BudgetExceeded(
                refusal.account, need=refusal.need, rest=refusal.rest, largest_epsilon=largest
            ) from None

    def _run(self, plan: Plan, program: Program, receipt: Receipt) -> Release:
        try:
            relation = self._backend.measure(plan, program, receipt, self._ledger.cap_key, self._noise)
            return self._postprocessor.answer(plan.analysis.outer, _half_widths(plan), relation)
        except EngineFailure:
            self._ledger.fail(receipt)
            raise
        except (MemoryError, ValueError, TypeError, ArithmeticError, RuntimeError) as fault:
            # What failed may tell of the rows; the operator learns the kind, the analyst nothing.
            LOG.error("run of receipt %s failed: %s", receipt.id, type(fault).__name__)
            self._ledger.fail(receipt)
            raise EngineFailure(errors.ENGINE_FAILURE, "The run failed; the charge stays.") from None

    # --- around it ----------------------------------------------------------------------------------

    def _replay_key(self, plan: Plan) -> str:
        names = [item.name for item in plan.analysis.outer.items]
        parts = [plan.digest, repr(plan.analysis.outer), names, self.policy.digest, self.policy.data_version]
        return hashlib.sha256(json.dumps([*parts, self._backend.facts.digest]).encode()).hexdigest()

    def _stored(self, replay_key: str, key: str | None) -> Release | None:
        found = None if key is None else self._ledger.by_key(key, self.analyst, replay_key)
        found = found or self._ledger.replay(replay_key, self.analyst)
        return None if found is None else read_release(found.answer).paid(found.receipt, replayed=True)

    def _largest_epsilon(self, plan: Plan) -> Decimal | None:
        """The largest epsilon, to three digits, at which the same query would be admitted now."""
        low, high = Decimal(0), plan.price.epsilon
        asked = self._priced(plan.analysis)
        for _ in range(20):
            middle = Decimal(f"{(low + high) / 2:.3g}")
            if middle in (low, high) or middle < SMALLEST_EPSILON:
                break
            fits = self._ledger.admits(asked(replace(plan.price, epsilon=middle)).charges) is None
            low, high = (middle, high) if fits else (low, middle)
        return low or None

    def _outlook(self, plan: Plan) -> tuple[Outlook, ...]:
        left = self._ledger.preview(plan.charges)
        return tuple(Outlook(c.account, left[c.account], self._ledger.more(c)) for c in plan.charges)

    def budget(self) -> tuple[AccountState, ...]:
        """Every account: its budget, what remains of each rule, how many more queries like the last fit.

        Raises:
            InterfaceError: DP900 when the session is closed.
        """
        self.require_open()
        return self._ledger.accounts()

    def require_open(self) -> None:
        """Refuse the use of a closed session.

        Raises:
            InterfaceError: DP900.
        """
        if not self._open:
            raise InterfaceError(errors.CLOSED, "The connection is closed.")

    def close(self) -> None:
        """Close the database, the ledger and the post-processor; a second call does nothing."""
        with self._lock:
            if self._open:
                self._open = False
                self._postprocessor.close()
                self._backend.close()
                self._ledger.close()


def _half_widths(plan: Plan) -> dict[str, float]:
    """The half-width of each noisy column of the released relation."""
    return {f"m{number}": part.half_width for number, part in enumerate(plan.measurements, start=1)}


def open_ledger(policy: Policy, facts_digest: str, location: str | Path | None = None) -> Ledger:
    """The ledger of a policy, at ``location`` or where the policy says.

    Raises:
        PolicyError: DP402 when the policy or its public facts are not those of the ledger.
        LedgerError: when it cannot be opened.
    """
    return _ledger(Ledger.open, policy, facts_digest, location)


def accept_policy(policy: Policy, facts_digest: str, location: str | Path | None = None) -> Ledger:
    """The ledger of a policy, with the policy put in force if it differs; the owner's decision.

    Raises:
        PolicyError: when the privacy unit's account would be left behind, or a budget is impossible.
        LedgerError: when it cannot be opened.
    """
    return _ledger(Ledger.accept, policy, facts_digest, location)


def public_facts(policy: Policy) -> str:
    """The digest of the source's public tables and constraints, after a check that it fits the policy.

    Raises:
        PolicyError: DP403 when the policy's tables or columns are not in the source.
        OperationalError: DP501 when the source cannot be opened.
    """
    backend = DuckDBBackend(policy)
    try:
        return backend.facts.digest
    finally:
        backend.close()


def exceeded_promises(policy: Policy) -> tuple[str, ...]:
    """What the data does not keep of the policy's promises about units, a line each with an exact count.

    For the owner only: the counts are private, and no analyst's answer depends on them.

    Raises:
        PolicyError, OperationalError: as `public_facts`.
    """
    backend = DuckDBBackend(policy)
    try:
        return tuple(map(str, backend.exceeded()))
    finally:
        backend.close()


def _ledger(
    opener: Callable[..., Ledger], policy: Policy, facts_digest: str, location: str | Path | None
) -> Ledger:
    where = str(policy.ledger_location() if location is None else location)
    anchor = os.environ.get(ANCHOR_FILE) if where != ":memory:" else None
    return opener(
        where,
        policy_id=policy.id,
        policy_digest=policy.digest,
        policy_text=policy.canonical(),
        facts_digest=facts_digest,
        accounts=account_specs(policy),
        describe_difference=policy.difference,
        anchor_file=Path(anchor) if anchor else None,
    )


def account_specs(policy: Policy) -> tuple[AccountSpec, ...]:
    """The accounts a policy opens: its unit's, each private table's, each listed analyst's."""
    unit = policy.unit_budget()
    budgets = {f"unit:{policy.privacy_unit.name}": unit}
    budgets |= {
        f"table:{table.name}": table.budget for table in policy.private_tables if table.budget is not None
    }
    budgets |= {f"analyst:{name}": budget for name, budget in (policy.analysts or {}).items()}
    return tuple(
        AccountSpec(
            name, budget.epsilon, budget.delta, policy.slack_share if budget.delta > 0 else Decimal(0)
        )
        for name, budget in budgets.items()
    )


def _analyst(policy: Policy, name: str | None) -> str:
    listed = tuple(policy.analysts or ())
    if name is None and len(listed) <= 1:
        return listed[0] if listed else "analyst"
    if name is None:
        raise PolicyRefused(
            errors.ANALYST_UNKNOWN,
            "The policy lists several analysts; say which one is asking.",
            hint="Give analyst=..., or --analyst on the command line.",
        )
    if listed and name not in listed:
        raise PolicyRefused(errors.ANALYST_UNKNOWN, f"The policy does not list an analyst {name!r}.")
    return name
