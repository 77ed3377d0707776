"""What was spent? One durable, hash-chained record of every charge, kept for all accounts or for none.

A charge is one serialised transaction: every account's filter is asked, all admit or nothing is written, and
only then is there a `Receipt`. Reading rows needs a receipt, and nothing is ever refunded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from dpsql import errors
from dpsql.accounting.filters import Portfolio
from dpsql.ledger import index
from dpsql.ledger.anchor_file import AnchorFile
from dpsql.ledger.chain import Anchor
from dpsql.ledger.damage import broken
from dpsql.ledger.entry import AccountSpec, Charged, Debit, Failed, Opened, PolicyChanged, Released, Unlocked
from dpsql.ledger.log import append, numbered, read_entry, read_rows
from dpsql.ledger.reader import LedgerReader
from dpsql.ledger.receipt import Receipt, Stored, issue, issue_used
from dpsql.ledger.store import Store, open_store
from dpsql.ledger.terms import UNIT, Describe, Terms, changed, differs, opened, refuse_change, refuse_foreign
from dpsql.plan.charge import Charge

MAX_FAILURES: Final = 5


class Ledger(LedgerReader):
    """The accounts of one policy. Invariant: each account's filter admits all that was charged to it.

    Safe for threads, and for several processes on one machine. Made by `Ledger.open`.
    """

    def __init__(self, store: Store, terms: Terms, anchor: AnchorFile | None = None) -> None:
        super().__init__(store)
        self._terms = terms
        self._anchor = anchor

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        policy_id: str,
        policy_digest: str,
        policy_text: str,
        facts_digest: str,
        accounts: tuple[AccountSpec, ...],
        describe_difference: Describe | None = None,
        anchor_file: Path | None = None,
    ) -> Self:
        """The ledger of a policy at a path or ":memory:"; created when there is none.

        `describe_difference` gets the ledger's policy text and returns how this policy differs from it.
        `anchor_file` is compared with the ledger now and renewed with every charge; made if it is absent.

        Raises:
            LedgerError: when it cannot be opened, does not hold together, lacks the anchor, or belongs
                to another policy id.
            PolicyError: when the policy, its public facts or its budgets are not those of the ledger.
        """
        terms = Terms(policy_id, policy_digest, policy_text, facts_digest, accounts, describe_difference)
        ledger = cls(open_store(location), terms, None if anchor_file is None else AnchorFile(anchor_file))
        ledger._or_close(ledger._begin)
        return ledger

    @classmethod
    def accept(
        cls,
        location: str | Path,
        *,
        policy_id: str,
        policy_digest: str,
        policy_text: str,
        facts_digest: str,
        accounts: tuple[AccountSpec, ...],
        describe_difference: Describe | None = None,
        anchor_file: Path | None = None,
    ) -> Self:
        """Opens the ledger as `open` does and puts the policy in force if it differs; the owner's decision.

        An account with another budget is priced again from its first charge on. Where that does not fit, it
        refuses all later queries. An account that the policy no longer has is closed; should it come back,
        its charges come back with it.

        Raises:
            LedgerError: as `open`.
            PolicyError: when the privacy unit's account would be left behind, or a budget is impossible.
        """
        terms = Terms(policy_id, policy_digest, policy_text, facts_digest, accounts, describe_difference)
        ledger = cls(open_store(location), terms, None if anchor_file is None else AnchorFile(anchor_file))
        ledger._or_close(ledger._change)
        return ledger

    @property
    def cap_key(self) -> str:
        """The ledger's secret (64 hexadecimal digits) for keyed choices of groups; never to be shown."""
        with self._store.reading():
            return self._secret()

    def charge(
        self,
        charges: tuple[Charge, ...],
        *,
        analyst: str,
        statement: str,
        plan_digest: str,
        data_version: int,
        replay_key: str,
        key: str | None = None,
    ) -> Receipt:
        """Charges every account or none; when this returns, the charge survives a power cut.

        Args:
            charges: one for each account the query touches; the privacy unit's is always among them.
            analyst: who asks; recorded, and refused after five failed runs.
            statement: the text as asked; recorded.
            plan_digest: SHA-256 of the canonical plan; recorded.
            data_version: the owner's number of the data; recorded.
            replay_key: what an answer must agree in to be given again at no charge.
            key: the caller's idempotency key; bound to this analyst and replay key.

        Raises:
            BudgetExceeded: when an account's filter refuses; nothing is written.
            PolicyRefused: when the analyst is locked.
            PolicyError: when the owner accepted another policy since this ledger was opened.
            ProgrammingError: when `key` belongs to another query.
            LedgerError: when the charge cannot be made durable; nothing is written.
        """
        self._require_unit(charges)
        with self._store.writing():
            self._require_policy()
            self._refuse_locked(analyst)
            self._require_binding(key, analyst, replay_key)
            entry = Charged(
                receipt=os.urandom(16).hex(),
                analyst=analyst,
                statement=statement,
                policy_digest=self._terms.policy_digest,
                data_version=data_version,
                plan_digest=plan_digest,
                replay_key=replay_key,
                key=key,
                debits=self._admit(charges),
            )
            written = append(self._store, entry)
        self._note_head()
        return issue(written.sequence, written.hash, entry)

    def admits(self, charges: tuple[Charge, ...]) -> str | None:
        """The first account that would refuse the charges now, or None; changes nothing."""
        try:
            with self._store.reading():
                self._admit(charges)
        except errors.BudgetExceeded as refusal:
            return refusal.account
        return None

    def preview(self, charges: tuple[Charge, ...]) -> dict[str, dict[str, float]]:
        """For each account charged, what would remain of each rule that survives; none if it would refuse."""
        states = self._states(charges)
        for charge in charges:
            state = states[charge.account]
            states[charge.account] = None if state is None else state.step(charge.event)
        return {account: {} if state is None else state.rules() for account, state in states.items()}

    def more(self, charge: Charge) -> int:
        """How many charges like this one its account would admit from now on."""
        state = self._states((charge,))[charge.account]
        return 0 if state is None else state.more(charge.event)

    def release(self, receipt: Receipt, answer: str) -> None:
        """Records the answer, durably; to be called before it leaves. A replay gives the same text again.

        Raises:
            LedgerError: when it cannot be made durable; the answer must not leave then.
            InternalError: when the receipt is not this ledger's, or is answered or failed already.
        """
        self._close_receipt(receipt, Released(receipt.id, answer))

    def fail(self, receipt: Receipt) -> None:
        """Records that the run failed; the charge stays, and counts against the analyst's five failures.

        Raises:
            InternalError: when the receipt is not this ledger's, or is answered or failed already.
        """
        self._close_receipt(receipt, Failed(receipt.id))

    def unlock(self, analyst: str) -> None:
        """Forgets an analyst's failed runs; the owner's decision."""
        with self._store.writing():
            append(self._store, Unlocked(analyst))

    def replay(self, replay_key: str, analyst: str) -> Stored | None:
        """The last answer released under a replay key, to whomever; None when there is none.

        Raises:
            PolicyRefused: when the analyst is locked.
            LedgerError: when the stored answer is not what was written.
        """
        with self._store.reading():
            self._refuse_locked(analyst)
            receipt = self._store.get(index.REPLAY, replay_key)
            return None if receipt is None else self._stored(receipt)

    def by_key(self, key: str, analyst: str, replay_key: str) -> Stored | None:
        """The answer released under an idempotency key; None when the key is new or its run gave no answer.

        Raises:
            ProgrammingError: when the key belongs to another analyst or another query.
            PolicyRefused: when the analyst is locked.
            LedgerError: when the stored answer is not what was written.
        """
        with self._store.reading():
            self._require_binding(key, analyst, replay_key)
            self._refuse_locked(analyst)
            receipt = self._store.get(index.KEY, key)
            return None if receipt is None else self._stored(receipt)

    def _or_close(self, action: Callable[[], None]) -> None:
        try:
            with self._store.writing():
                if self._anchor is not None:
                    self._anchor.check(self._store)
                action()
            self._note_head()
        except BaseException:
            self.close()
            raise

    def _note_head(self) -> None:
        # Between a charge and this a rollback goes unseen, but until this is done there is no receipt.
        if self._anchor is not None:
            self._anchor.advance(self._store)

    def _begin(self) -> None:
        if self._store.last() is None:
            self._create()
            return
        policy = self._current()
        if differs(self._terms, policy, index.read_standings(self._store).values()):
            raise refuse_change(self._terms, policy, self._policy_text(policy))

    def _change(self) -> None:
        if self._store.last() is None:
            self._create()
            return
        policy, standings = self._current(), index.read_standings(self._store).values()
        if differs(self._terms, policy, standings):
            log = (numbered(row) for row in read_rows(self._store))
            append(self._store, changed(self._terms, standings, log))

    def _create(self) -> None:
        secret = os.urandom(32)
        self._store.put(index.SECRET, index.ONLY, secret.hex)
        append(self._store, opened(self._terms, hashlib.sha256(secret).hexdigest()))

    def _current(self) -> index.CurrentPolicy:
        self._hold_together()
        policy = index.read_policy(self._store)
        if policy is None:
            raise broken("It does not say which policy is in force")
        refuse_foreign(self._terms, policy)
        return policy

    def _hold_together(self) -> None:
        """Compares the index with the entries it follows from; the whole chain is `verify`'s to check."""
        last = self._store.last()
        head = "" if last is None else str(Anchor(last.sequence, last.hash))
        if self._store.get(index.HEAD, index.ONLY) != head:
            raise broken("Its last entry is not the one that was written last")
        for name, standing in index.read_standings(self._store).items():
            if not index.agrees(standing, read_entry(self._store, standing.sequence).entry):
                raise broken(f"The stored state of account {name!r} is not that of entry {standing.sequence}")

    def _policy_text(self, policy: index.CurrentPolicy) -> str:
        entry = read_entry(self._store, policy.sequence).entry
        if not isinstance(entry, Opened | PolicyChanged):
            raise broken(f"Entry {policy.sequence} puts no policy in force")
        return entry.policy_text

    def _require_unit(self, charges: tuple[Charge, ...]) -> None:
        charged = {charge.account for charge in charges}
        units = {spec.account for spec in self._terms.accounts if spec.account.startswith(UNIT)}
        if not charged or (units and not units & charged):
            raise errors.InternalError(errors.NO_ACCOUNT, "The charges leave out the privacy unit's account.")

    def _require_policy(self) -> None:
        policy = index.read_policy(self._store)
        if policy is None or (policy.policy_digest, policy.facts_digest) != (
            self._terms.policy_digest,
            self._terms.facts_digest,
        ):
            raise errors.PolicyError(
                errors.POLICY_CHANGED,
                "The data owner has accepted another policy since this session began.",
                hint="Connect again.",
            )

    def _refuse_locked(self, analyst: str) -> None:
        if index.read_failures(self._store, analyst) >= MAX_FAILURES:
            raise errors.PolicyRefused(
                errors.ANALYST_LOCKED,
                f"Analyst {analyst!r} is locked after {MAX_FAILURES} failed runs.",
                hint="The data owner can unlock the name.",
            )

    def _require_binding(self, key: str | None, analyst: str, replay_key: str) -> None:
        receipt = None if key is None else self._store.get(index.KEY, key)
        outcome = None if receipt is None else index.read_outcome(self._store, receipt)
        if outcome is not None and (outcome.analyst, outcome.replay_key) != (analyst, replay_key):
            raise errors.ProgrammingError(
                errors.IDEMPOTENCY,
                "The idempotency key was first used by another analyst or for another query.",
                hint="Use a new key for each query.",
            )

    def _admit(self, charges: tuple[Charge, ...]) -> tuple[Debit, ...]:
        states = self._held(charges)
        debits = []
        for charge in charges:
            before = states[charge.account]
            after = None if before is None else before.step(charge.event)
            if after is None:
                raise errors.BudgetExceeded(
                    charge.account,
                    need=(charge.epsilon, charge.delta),
                    rest={} if before is None else before.rules(),
                )
            states[charge.account] = after
            debits.append(Debit(charge, after))
        return tuple(debits)

    def _states(self, charges: tuple[Charge, ...]) -> dict[str, Portfolio | None]:
        with self._store.reading():
            return self._held(charges)

    def _held(self, charges: tuple[Charge, ...]) -> dict[str, Portfolio | None]:
        states: dict[str, Portfolio | None] = {}
        for charge in charges:
            try:
                states[charge.account] = index.read_state(self._store, charge.account)
            except KeyError:
                raise errors.InternalError(
                    errors.NO_ACCOUNT, f"The ledger has no account {charge.account!r}."
                ) from None
        return states

    def _close_receipt(self, receipt: Receipt, entry: Released | Failed) -> None:
        with self._store.writing():
            outcome = index.read_outcome(self._store, receipt.id)
            if outcome is None:
                raise errors.InternalError(errors.RECEIPT, f"Receipt {receipt.id} is of another ledger.")
            if outcome.closed is not None:
                raise errors.InternalError(errors.RECEIPT, f"Receipt {receipt.id} is closed already.")
            append(self._store, entry)

    def _stored(self, receipt: str) -> Stored | None:
        outcome = index.read_outcome(self._store, receipt)
        if outcome is None or outcome.closed is None or not outcome.released:
            return None
        charge, answer = (
            read_entry(self._store, outcome.charged),
            read_entry(self._store, outcome.closed).entry,
        )
        if not (isinstance(charge.entry, Charged) and isinstance(answer, Released)):
            raise broken(f"Receipt {receipt} does not lead to a charge and an answer")
        if not charge.entry.receipt == answer.receipt == receipt:
            raise broken(f"Receipt {receipt} leads to the answer of another")
        return Stored(answer.answer, issue_used(charge.sequence, charge.hash, charge.entry))

    def _secret(self) -> str:
        secret = self._store.get(index.SECRET, index.ONLY)
        if secret is None:
            raise broken("Its secret is missing")
        return secret
