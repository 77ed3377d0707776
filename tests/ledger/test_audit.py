from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dpsql.accounting.filters import Portfolio
from dpsql.ledger import Anchor, Charged, Entry, Finding, Numbered, Opened, PolicyChanged, Released, audit
from dpsql.ledger.chain import GENESIS, link
from dpsql.ledger.entry import Account, Debit, canonical
from dpsql.ledger.log import append
from dpsql.ledger.store import Row, open_store
from tests.ledger.clinic import (
    UNIT,
    VISITS,
    Clinic,
    answer,
    ask,
    charges,
    faults,
    gaussian,
    laplace,
    spec,
    thresholded,
)

CHECKS = {
    "storage",
    "format",
    "chain",
    "policy",
    "sums",
    "filters",
    "releases",
    "secret",
    "head",
    "states",
    "index",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger.db"


def write(path: Path) -> list[Entry]:
    """A ledger with every kind of entry; returns the entries."""
    with Clinic().open(path) as ledger:
        answer(ledger, event=laplace("0.1"), replay_key="first")
        answer(ledger, event=thresholded("0.05"), replay_key="second", key="k")
        ledger.fail(ask(ledger, gaussian()))
        ledger.unlock("alice")
    raised = Clinic().budget("digest-2", spec(UNIT, "3", "3e-6"), *Clinic().accounts[1:])
    with raised.accept(path) as ledger:
        answer(ledger, event=gaussian(), replay_key="third")
        return [numbered.entry for numbered in ledger.entries()]


def forge(path: Path, entries: list[Entry]) -> set[str]:
    """A ledger of other entries whose chain and index are consistent; returns the checks that object."""
    secret = read_secret(path)
    forged = path.with_suffix(".forged")
    store = open_store(forged)
    with store.writing():
        store.put("secret", "", lambda: secret)
        for entry in entries:
            append(store, entry)
    store.close()
    return faults(audit(forged))


def read_secret(path: Path) -> str:
    store = open_store(path, read_only=True)
    with store.reading():
        secret = store.get("secret", "")
    store.close()
    assert secret is not None
    return secret


def test_an_untouched_ledger_passes_every_check(path: Path) -> None:
    write(path)

    findings = audit(path)

    assert {finding.check for finding in findings} == CHECKS
    assert all(finding.ok for finding in findings)
    assert findings[0] == Finding("storage", True, None, "11 entries")


def test_an_empty_store_has_nothing_to_object_to(path: Path) -> None:
    open_store(path).close()

    assert faults(audit(path)) == set()


def test_the_same_entries_written_anew_pass(path: Path) -> None:
    entries = write(path)

    assert forge(path, entries) == set()


def edited(entries: list[Entry], sequence: int, **changes: Any) -> list[Entry]:
    entry: Any = entries[sequence - 1]
    return [*entries[: sequence - 1], replace(entry, **changes), *entries[sequence:]]


def charge_at(entries: list[Entry], sequence: int) -> Charged:
    entry = entries[sequence - 1]
    assert isinstance(entry, Charged)
    return entry


def debits(entries: list[Entry], sequence: int, change: Callable[[Debit], Debit]) -> list[Entry]:
    changed = tuple(change(debit) for debit in charge_at(entries, sequence).debits)
    return edited(entries, sequence, debits=changed)


def test_a_smaller_event_for_the_same_states_is_found_in_the_sums(path: Path) -> None:
    entries = write(path)

    def shrink(debit: Debit) -> Debit:
        return replace(debit, charge=replace(debit.charge, event=laplace("0.01")))

    assert {"sums", "filters"} <= forge(path, debits(entries, 2, shrink))


def test_a_smaller_delta_for_the_same_slack_is_found_in_the_sums(path: Path) -> None:
    entries = write(path)

    def shrink(debit: Debit) -> Debit:
        return replace(debit, charge=replace(debit.charge, event=thresholded("0.05", "1e-10")))

    assert forge(path, debits(entries, 4, shrink)) == {"sums", "filters"}


def test_a_larger_gaussian_for_the_same_states_is_found_by_the_filters(path: Path) -> None:
    entries = write(path)

    def grow(debit: Debit) -> Debit:
        return replace(debit, charge=replace(debit.charge, event=gaussian(1.1e-3)))

    assert forge(path, debits(entries, 10, grow)) == {"filters"}


def test_a_state_that_gained_is_found_by_the_filters(path: Path) -> None:
    entries = write(path)

    def refill(debit: Debit) -> Debit:
        fields = json.loads(json.dumps(debit.after.to_dict()))
        for rule in fields["live"]:
            rule["rest"] = rule["budget"]
        return replace(debit, after=type(debit.after).from_dict(fields))

    assert forge(path, debits(entries, 10, refill)) == {"filters"}


def test_a_rule_that_rose_from_the_dead_is_found(path: Path) -> None:
    entries = write(path)
    opening = entries[0]
    assert isinstance(opening, Opened)
    fresh = {account.spec.account: account.state for account in opening.accounts}

    def revive(debit: Debit) -> Debit:
        state = fresh[VISITS]
        assert state is not None
        basic = next(rule for rule in state.live if rule.name == "basic")
        return replace(debit, after=replace(debit.after, live=(basic, *debit.after.live)))

    found = forge(path, debits(entries, 10, lambda d: revive(d) if d.charge.account == VISITS else d))

    assert found == {"filters", "sums"}


def test_a_charge_that_an_account_was_left_out_of_is_found_by_the_next_state(path: Path) -> None:
    entries = write(path)
    kept = charge_at(entries, 2).debits[:1]

    assert {"filters", "sums"} <= forge(path, edited(entries, 2, debits=kept))


def test_a_charge_without_the_privacy_unit_is_found(path: Path) -> None:
    entries = write(path)
    kept = charge_at(entries, 10).debits[1:]

    assert "policy" in forge(path, edited(entries, 10, debits=kept))


def test_a_charge_under_a_policy_not_in_force_is_found(path: Path) -> None:
    entries = write(path)

    assert forge(path, edited(entries, 10, policy_digest="digest-1")) == {"policy"}


def test_an_account_opened_with_more_than_its_budget_is_found(path: Path) -> None:
    entries = write(path)
    opening = entries[0]
    assert isinstance(opening, Opened)
    state = opening.accounts[0].state
    assert state is not None
    rich = replace(state, live=Portfolio.open(Decimal(4), Decimal("4e-6")).live)
    accounts = (replace(opening.accounts[0], state=rich), *opening.accounts[1:])

    assert forge(path, edited(entries[:1], 1, accounts=accounts)) == {"filters", "sums"}


def test_an_account_refilled_by_a_policy_change_is_found(path: Path) -> None:
    entries = write(path)
    change = entries[8]
    opening = entries[0]
    assert isinstance(change, PolicyChanged)
    assert isinstance(opening, Opened)
    refilled = (change.accounts[0], opening.accounts[1], *change.accounts[2:])

    # Without the entries after it, nothing but the change itself can be at fault.
    assert "filters" in forge(path, edited(entries[:9], 9, accounts=refilled))


def test_an_account_priced_again_with_charges_missing_is_found(path: Path) -> None:
    entries = write(path)
    change = entries[8]
    assert isinstance(change, PolicyChanged)
    raised = change.accounts[0].spec
    with Clinic().budget("d", raised).open() as fresh:
        unspent = next(n.entry for n in fresh.entries())
    assert isinstance(unspent, Opened)
    accounts = (unspent.accounts[0], *change.accounts[1:])

    assert "filters" in forge(path, edited(entries[:9], 9, accounts=accounts))


def test_a_state_of_another_budget_is_found(path: Path) -> None:
    entries = write(path)
    opening = entries[0]
    assert isinstance(opening, Opened)
    swapped = replace(opening.accounts[1], state=opening.accounts[0].state)
    accounts = (opening.accounts[0], swapped, opening.accounts[2])

    assert forge(path, edited(entries[:1], 1, accounts=accounts)) == {"filters"}


def test_a_lowered_budget_that_the_charges_exceed_has_no_state_to_give(path: Path) -> None:
    entries = write(path)
    change = entries[8]
    assert isinstance(change, PolicyChanged)
    lowered = spec(VISITS, "0.01", "0", "0")
    fresh = Account(lowered, Portfolio.open(lowered.epsilon, lowered.delta))
    accounts = (change.accounts[0], fresh, change.accounts[2])

    assert "filters" in forge(path, edited(entries[:9], 9, accounts=accounts))


def test_a_second_opening_is_found(path: Path) -> None:
    entries = write(path)

    assert "policy" in forge(path, [*entries, entries[0]])


def test_a_policy_that_left_the_unit_behind_is_found(path: Path) -> None:
    entries = write(path)
    change = entries[8]
    assert isinstance(change, PolicyChanged)

    assert "policy" in forge(path, edited(entries[:9], 9, accounts=change.accounts[1:]))


def test_an_answer_without_a_charge_is_found(path: Path) -> None:
    entries = write(path)
    store = open_store(path)
    anchor = None
    with store.reading():
        last = store.last()
        assert last is not None
        anchor = Anchor(last.sequence, last.hash)
    store.close()

    # The writer refuses such an entry, so it is forged below it.
    forged = forge_raw(path, [*entries, Released("never charged", "{}")])

    assert {"releases", "index"} <= faults(audit(forged))
    assert "anchor" not in faults(audit(forged, None))
    assert "anchor" in faults(audit(forged, anchor))


def test_two_answers_for_one_charge_are_found(path: Path) -> None:
    entries = write(path)

    assert "releases" in faults(audit(forge_raw(path, [*entries, entries[-1]])))


def test_a_receipt_charged_twice_is_found(path: Path) -> None:
    entries = write(path)

    assert "releases" in faults(audit(forge_raw(path, [*entries, entries[1]])))


def test_a_time_of_another_form_is_found(path: Path) -> None:
    entries = write(path)

    assert "format" not in faults(audit(forge_raw(path, entries)))
    assert "format" in faults(audit(forge_raw(path, entries, "2026-01-01T00:00:07Z")))


def forge_raw(path: Path, entries: list[Entry], time: str = "2026-01-01T00:00Z") -> Path:
    """Entries in a good chain without an index."""
    forged = path.with_suffix(".raw")
    forged.unlink(missing_ok=True)
    store = open_store(forged)
    previous = GENESIS
    with store.writing():
        for sequence, entry in enumerate(entries, start=1):
            body = canonical(entry)
            previous = link(previous, sequence, time, body)
            store.append(Row(sequence, time, body, previous))
    store.close()
    return forged


def test_the_anchor_of_any_earlier_head_is_met(path: Path) -> None:
    write(path)
    with (
        Clinic()
        .but(policy_digest="digest-2", accounts=(spec(UNIT, "3", "3e-6"), *Clinic().accounts[1:]))
        .open(path) as ledger
    ):
        heads = [Anchor(numbered.sequence, numbered.hash) for numbered in ledger.entries()]

    assert all(faults(audit(path, head)) == set() for head in heads)
    assert "anchor" in {finding.check for finding in audit(path, heads[0])}


def test_many_faults_of_one_check_are_counted_not_listed(path: Path) -> None:
    entries = write(path)
    forged = forge_raw(path, [*entries, *([entries[-1]] * 30)])

    found = [finding for finding in audit(forged) if finding.check == "releases"]

    assert len(found) == 11
    assert found[-1].detail == "20 more faults"


def test_a_charge_beyond_the_budget_is_found_even_with_agreeing_sums(path: Path) -> None:
    with Clinic().budget("d", spec(UNIT, "1", "0", "0")).open(path) as ledger:
        ask(ledger, laplace("0.9"), UNIT)
        entries = [numbered.entry for numbered in ledger.entries()]
    paid = charge_at(entries, 2)
    free = Debit(charges(laplace("0.9"), UNIT)[0], paid.debits[0].after)
    entries.append(replace(paid, receipt="free", debits=(free,)))

    assert {"filters", "sums"} <= forge(path, entries)


def test_numbered_entries_are_what_was_written(path: Path) -> None:
    entries = write(path)
    with Clinic().budget("digest-2", spec(UNIT, "3", "3e-6"), *Clinic().accounts[1:]).open(path) as ledger:
        found: list[Numbered] = list(ledger.entries())

    assert [numbered.entry for numbered in found] == entries
    assert sum(debit.charge.epsilon for debit in charge_at(entries, 2).debits) == Decimal("0.3")
