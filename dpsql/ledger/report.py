"""What should a data-protection officer know of a ledger? All of it, from its entries, in one value.

Times are rounded to the day and, unless literals are wanted, each literal of a statement is a question mark:
when somebody worked and whom they asked about is personal data of its own. Answers are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final, assert_never

from dpsql import errors
from dpsql.accounting.event import Event
from dpsql.accounting.rounding import EXACT
from dpsql.ledger.account import AccountState, account_state
from dpsql.ledger.audit import Finding
from dpsql.ledger.chain import Anchor
from dpsql.ledger.entry import (
    Account,
    Charged,
    Failed,
    Numbered,
    Opened,
    PolicyChanged,
    Released,
    Restored,
    Unlocked,
)
from dpsql.ledger.reader import LedgerReader
from dpsql.ledger.spending import Meter
from dpsql.ledger.terms import UNIT
from dpsql.plan.charge import Charge
from dpsql.sql.literal import without_literals

TABLE: Final = "table:"
ANSWERED: Final = "answered"
FAILED: Final = "failed"
UNANSWERED: Final = "no answer"
_DAY: Final = len("2026-01-31")


@dataclass(frozen=True, slots=True)
class Question:
    """One paid query: who asked what on which day, who paid, and what became of it."""

    sequence: int
    day: str
    analyst: str
    statement: str
    charges: tuple[Charge, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class OwnerAct:
    """A decision of the data owner.

    `what` is "opened" or "policy_changed" with the text of the policy, "unlocked" with the analyst, or
    "restored" with the number of lost entries (None: unknown).
    """

    sequence: int
    day: str
    what: str
    policy_text: str = ""
    analyst: str | None = None
    lost: int | None = None


@dataclass(frozen=True, slots=True)
class AccountReport:
    """An account, the number of its charges, and a bound on the privacy loss so far.

    `loss` is in nats and holds at all times at once except with probability `loss_delta`; None before the
    first charge, and where a noise with tails meets an account without delta.
    """

    state: AccountState
    charges: int
    loss: float | None
    loss_delta: Decimal


@dataclass(frozen=True, slots=True)
class Report:
    """The ledger up to `head`. `unread` is the first entry that could not be read, with all after it."""

    policy_id: str
    policy_text: str
    policy_digest: str
    head: Anchor
    first_day: str
    last_day: str
    accounts: tuple[AccountReport, ...]
    closed: tuple[str, ...]
    questions: tuple[Question, ...]
    acts: tuple[OwnerAct, ...]
    findings: tuple[Finding, ...]
    unread: int | None
    literals: bool

    @property
    def verified(self) -> bool:
        """Whether every check held."""
        return all(finding.ok for finding in self.findings)

    @property
    def table_sum(self) -> tuple[Decimal, Decimal]:
        """(epsilon, delta) summed over the accounts of the tables."""
        epsilon = delta = Decimal(0)
        for account in self.accounts:
            if account.state.account.startswith(TABLE):
                epsilon = EXACT.add(epsilon, account.state.epsilon)
                delta = EXACT.add(delta, account.state.delta)
        return epsilon, delta


def build_report(reader: LedgerReader, anchor: Anchor | None = None, *, literals: bool = False) -> Report:
    """The report on a ledger, and on what a verification finds; `anchor` is a head kept elsewhere.

    Raises:
        LedgerError: when the store cannot be read, or its first entry is no opening.
    """
    head = reader.head
    gathered = _Gathered(literals)
    unread = gathered.read(reader.entries(), head.sequence)
    if gathered.policy_id is None:
        raise errors.LedgerError(
            errors.LEDGER_BROKEN,
            "The ledger has no readable opening, so there is nothing to report on.",
            hint="`dpsql ledger verify` says what is wrong.",
        )
    order = (UNIT, TABLE)
    names = sorted(gathered.accounts, key=lambda name: [not name.startswith(kind) for kind in order])
    return Report(
        policy_id=gathered.policy_id,
        policy_text=gathered.policy_text,
        policy_digest=gathered.policy_digest,
        head=head,
        first_day=gathered.first_day,
        last_day=gathered.last_day,
        accounts=tuple(gathered.account(name) for name in names),
        closed=tuple(sorted(gathered.last.keys() - gathered.accounts.keys())),
        questions=tuple(gathered.questions.values()),
        acts=tuple(gathered.acts),
        findings=reader.verify(anchor),
        unread=unread,
        literals=literals,
    )


@dataclass(slots=True)
class _Gathered:
    """What the entries said so far."""

    literals: bool
    policy_id: str | None = None
    policy_text: str = ""
    policy_digest: str = ""
    first_day: str = ""
    last_day: str = ""
    accounts: dict[str, Account] = field(default_factory=dict)
    meters: dict[str, Meter] = field(default_factory=dict)
    last: dict[str, Event] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    acts: list[OwnerAct] = field(default_factory=list)

    def read(self, entries: Iterator[Numbered], last: int) -> int | None:
        """Takes the entries in; returns the number of the first that cannot be read, or None."""
        following = 1
        try:
            for numbered in entries:
                if numbered.sequence > last:
                    break
                self._see(numbered)
                following = numbered.sequence + 1
        except errors.LedgerError:
            return following
        return None

    def account(self, name: str) -> AccountReport:
        """The report on one account."""
        held = self.accounts[name]
        if not self.meters[name].touched:
            return AccountReport(account_state(held, None), 0, None, Decimal(0))
        so_far = self.meters[name].read()
        state = account_state(held, self.last.get(name))
        return AccountReport(state, so_far.charges, so_far.loss, so_far.loss_delta)

    def _see(self, numbered: Numbered) -> None:
        entry, day = numbered.entry, numbered.time[:_DAY]
        self.first_day = self.first_day or day
        self.last_day = max(self.last_day, day)
        match entry:
            case Opened() | PolicyChanged():
                self._enter(numbered.sequence, day, entry)
            case Charged():
                self._charge(numbered.sequence, day, entry)
            case Released(receipt):
                self._conclude(receipt, ANSWERED)
            case Failed(receipt):
                self._conclude(receipt, FAILED)
            case Unlocked(analyst):
                self.acts.append(OwnerAct(numbered.sequence, day, "unlocked", analyst=analyst))
            case Restored():
                self._restore(entry)
                self.acts.append(OwnerAct(numbered.sequence, day, "restored", lost=entry.lost))
            case _:
                assert_never(entry)

    def _enter(self, sequence: int, day: str, entry: Opened | PolicyChanged) -> None:
        if isinstance(entry, Opened):
            self.policy_id = entry.policy_id
        self.policy_text, self.policy_digest = entry.policy_text, entry.policy_digest
        self.accounts = {account.spec.account: account for account in entry.accounts}
        for name, account in self.accounts.items():
            self.meters[name] = self.meters.get(name) or Meter.start(account.spec)
        what = "opened" if isinstance(entry, Opened) else "policy_changed"
        self.acts.append(OwnerAct(sequence, day, what, policy_text=entry.policy_text))

    def _restore(self, entry: Restored) -> None:
        for account in entry.accounts:
            name = account.spec.account
            self.accounts[name] = account
            if entry.lost != 0:
                self.meters[name] = self.meters[name].lose(account.spec)

    def _charge(self, sequence: int, day: str, entry: Charged) -> None:
        for debit in entry.debits:
            name = debit.charge.account
            self.last[name] = debit.charge.event
            if name in self.accounts:
                self.meters[name] = self.meters[name].step(debit.charge.event)
                self.accounts[name] = Account(self.accounts[name].spec, debit.after)
        statement = entry.statement if self.literals else without_literals(entry.statement)
        charges = tuple(debit.charge for debit in entry.debits)
        self.questions[entry.receipt] = Question(sequence, day, entry.analyst, statement, charges, UNANSWERED)

    def _conclude(self, receipt: str, outcome: str) -> None:
        if receipt in self.questions:
            self.questions[receipt] = replace(self.questions[receipt], outcome=outcome)
