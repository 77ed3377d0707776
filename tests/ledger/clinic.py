"""A small policy's terms and charges, for the ledger's tests."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpsql.accounting.event import Composed, DiscreteGaussian, DiscreteLaplace, Event, Threshold
from dpsql.ledger import AccountSpec, Finding, Ledger, Receipt
from dpsql.plan.charge import Charge

UNIT = "unit:patient"
VISITS = "table:visits"
ALICE = "analyst:alice"
PLAN = "0" * 64


def spec(account: str, epsilon: str, delta: str = "1e-6", slack: str = "0.1") -> AccountSpec:
    return AccountSpec(account, Decimal(epsilon), Decimal(delta), Decimal(slack))


@dataclass(frozen=True, slots=True)
class Clinic:
    """The arguments of `Ledger.open`."""

    policy_id: str = "clinic"
    policy_digest: str = "digest-1"
    policy_text: str = '{"id":"clinic"}'
    facts_digest: str = "facts-1"
    accounts: tuple[AccountSpec, ...] = (spec(UNIT, "2", "2e-6"), spec(VISITS, "1"), spec(ALICE, "1"))

    def but(self, **changes: Any) -> Clinic:
        return replace(self, **changes)

    def budget(self, digest: str, *accounts: AccountSpec) -> Clinic:
        return self.but(policy_digest=digest, accounts=accounts)

    def arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def open(self, location: str | Path = ":memory:") -> Ledger:
        return Ledger.open(location, **self.arguments())

    def accept(self, location: str | Path) -> Ledger:
        return Ledger.accept(location, **self.arguments())


def laplace(epsilon: str) -> DiscreteLaplace:
    return DiscreteLaplace(Decimal(epsilon))


def gaussian(mu2: float = 1e-3) -> DiscreteGaussian:
    return DiscreteGaussian(mu2, 100.0)


def thresholded(epsilon: str, delta: str = "1e-9") -> Composed:
    return Composed((laplace(epsilon), Threshold(Decimal(delta))))


def charges(event: Event, *accounts: str, epsilon: str = "0.1", delta: str = "0") -> tuple[Charge, ...]:
    names = accounts or (UNIT, VISITS, ALICE)
    return tuple(Charge(name, event, Decimal(epsilon), Decimal(delta)) for name in names)


def ask(
    ledger: Ledger,
    event: Event | None = None,
    *accounts: str,
    analyst: str = "alice",
    replay_key: str = "count",
    key: str | None = None,
) -> Receipt:
    """Charges one query."""
    return ledger.charge(
        charges(event or laplace("0.1"), *accounts),
        analyst=analyst,
        statement="SELECT COUNT(*) FROM visits",
        plan_digest=PLAN,
        data_version=1,
        replay_key=replay_key,
        key=key,
    )


def answer(ledger: Ledger, text: str = '{"rows":[[12]]}', **asked: Any) -> Receipt:
    """Charges one query and releases its answer."""
    receipt = ask(ledger, **asked)
    ledger.release(receipt, text)
    return receipt


ROOT = Path(__file__).parents[2]
WIDE = Clinic().budget("wide", spec(UNIT, "50"))
# With delta 0 the basic rule is alone: exactly ten queries of 0.1 fit the unit's account.
TIGHT = Clinic().budget("tight", spec(UNIT, "1", "0", "0"), spec(VISITS, "5", "0", "0"))


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process; its program finds this file as `ledger.clinic`."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def faults(findings: tuple[Finding, ...]) -> set[str]:
    """Names of the checks that found something."""
    return {finding.check for finding in findings if not finding.ok}
