from __future__ import annotations

import copy
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dpsql import errors
from dpsql.ledger import Charged, Failed, Ledger, Opened, Receipt, Released, open_reader
from dpsql.plan.charge import Charge
from tests.ledger.clinic import (
    ALICE,
    PLAN,
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


def test_a_charge_takes_from_every_account_and_gives_a_receipt() -> None:
    with Clinic().open() as ledger:
        receipt = ask(ledger, laplace("0.25"))

        assert {state.account: state.rules["basic"] for state in ledger.accounts()} == {
            UNIT: 0.875,
            VISITS: 0.75,
            ALICE: 0.75,
        }
        assert (receipt.sequence, receipt.hash) == (ledger.head.sequence, ledger.head.hash)
        assert (receipt.charges, receipt.plan_digest) == (charges(laplace("0.25")), PLAN)


def test_an_account_that_is_not_charged_keeps_what_it_has() -> None:
    with Clinic().open() as ledger:
        ask(ledger, laplace("0.5"), UNIT, VISITS)

        rules = {state.account: state.rules for state in ledger.accounts()}
        assert set(rules[ALICE].values()) == {1.0}


def test_a_refused_query_changes_nothing_in_any_account() -> None:
    with Clinic().open() as ledger:
        ask(ledger, laplace("0.9"))
        before = (ledger.head, ledger.accounts())

        with pytest.raises(errors.BudgetExceeded) as refusal:
            ask(ledger, laplace("0.3"))

        assert (ledger.head, ledger.accounts()) == before
        assert refusal.value.account == VISITS
        assert refusal.value.need == (Decimal("0.1"), Decimal(0))
        assert refusal.value.rest == {state.account: state.rules for state in before[1]}[VISITS]


def test_an_account_lives_on_after_a_refusal() -> None:
    with Clinic().open() as ledger:
        with pytest.raises(errors.BudgetExceeded):
            ask(ledger, laplace("1.1"))

        assert ask(ledger, laplace("0.9")).sequence == 2


def test_charges_of_one_query_to_one_account_add_up() -> None:
    with Clinic().open() as ledger:
        twice = charges(laplace("0.6"), UNIT, VISITS) + charges(laplace("0.6"), VISITS)

        assert ledger.admits(twice) == VISITS
        assert ledger.admits(twice[:2]) is None


def test_admits_and_preview_foretell_a_charge_and_change_nothing() -> None:
    with Clinic().open() as ledger:
        head = ledger.head
        wanted = charges(laplace("0.25"))

        foretold = ledger.preview(wanted)

        assert ledger.admits(wanted) is None
        assert ledger.head == head
        ask(ledger, laplace("0.25"))
        assert foretold == {state.account: state.rules for state in ledger.accounts()}


def test_a_preview_shows_no_rules_for_an_account_that_would_refuse() -> None:
    with Clinic().open() as ledger:
        foretold = ledger.preview(charges(laplace("1.5")))

        assert foretold[VISITS] == {}
        assert foretold[UNIT]["basic"] == 0.25


def test_a_gaussian_leaves_no_basic_rule() -> None:
    with Clinic().open() as ledger:
        assert set(ledger.preview(charges(gaussian()))[UNIT]) == {"residue", "rdp", "slack"}


def test_more_counts_the_charges_that_are_then_admitted() -> None:
    with Clinic().budget("d", spec(UNIT, "1", "0", "0")).open() as ledger:
        charge = charges(laplace("0.3"), UNIT)[0]
        assert ledger.more(charge) == 3

        for _ in range(3):
            ask(ledger, laplace("0.3"), UNIT)

        assert ledger.more(charge) == 0
        assert ledger.admits((charge,)) == UNIT
        assert [state.more for state in ledger.accounts()] == [0]


def test_the_deltas_of_thresholds_are_charged_to_the_slack() -> None:
    with Clinic().open() as ledger:
        ask(ledger, thresholded("0.01", "2e-8"))

        slack = {state.account: state.rules["slack"] for state in ledger.accounts()}
        assert slack == {UNIT: 0.9, VISITS: 0.8, ALICE: 0.8}


@pytest.mark.parametrize("accounts", [(), (VISITS,), (VISITS, ALICE)])
def test_no_receipt_without_a_charge_to_the_privacy_unit(accounts: tuple[str, ...]) -> None:
    with Clinic().open() as ledger:
        wanted: tuple[Charge, ...] = charges(laplace("0.1"), *accounts) if accounts else ()

        with pytest.raises(errors.InternalError, match="DP605"):
            ledger.charge(wanted, analyst="a", statement="s", plan_digest="p", data_version=1, replay_key="r")

        assert ledger.head.sequence == 1


def test_a_charge_to_an_unknown_account_is_a_fault_of_the_program() -> None:
    with Clinic().open() as ledger, pytest.raises(errors.InternalError, match="'table:labs'"):
        ask(ledger, laplace("0.1"), UNIT, "table:labs")


def test_a_receipt_pays_for_one_run() -> None:
    with Clinic().open() as ledger:
        receipt = ask(ledger)
        receipt.consume()

        with pytest.raises(errors.InternalError, match="DP604"):
            receipt.consume()


def test_a_receipt_is_neither_copied_nor_made_by_others() -> None:
    with Clinic().open() as ledger:
        receipt = ask(ledger)
        made: Any = Receipt

        with pytest.raises(TypeError, match="copied"):
            copy.copy(receipt)
        with pytest.raises(TypeError, match="copied"):
            copy.deepcopy(receipt)
        with pytest.raises(errors.InternalError, match="Only the ledger"):
            made(object(), 2, receipt.hash, next(e.entry for e in ledger.entries() if e.sequence == 2))


def test_a_receipt_is_closed_once() -> None:
    with Clinic().open() as ledger:
        receipt = answer(ledger)

        with pytest.raises(errors.InternalError, match="closed already"):
            ledger.release(receipt, "{}")
        with pytest.raises(errors.InternalError, match="closed already"):
            ledger.fail(receipt)

        assert ledger.failures("alice") == 0


def test_a_receipt_of_another_ledger_is_refused() -> None:
    with Clinic().open() as mine, Clinic().open() as other:
        receipt = ask(other)
        ask(mine)

        with pytest.raises(errors.InternalError, match="another ledger"):
            mine.release(receipt, "{}")


def test_a_replay_gives_the_released_text_with_a_used_receipt() -> None:
    with Clinic().open() as ledger:
        receipt = answer(ledger, '{"rows":[["é",1]]}')
        spent = ledger.accounts()

        stored = ledger.replay("count", "bob")

        assert stored is not None
        assert (stored.answer, stored.receipt.id) == ('{"rows":[["é",1]]}', receipt.id)
        assert stored.receipt.charges == receipt.charges
        assert ledger.accounts() == spent
        with pytest.raises(errors.InternalError, match="paid for a run already"):
            stored.receipt.consume()


def test_there_is_no_replay_of_an_unanswered_or_failed_run() -> None:
    with Clinic().open() as ledger:
        ask(ledger)
        ledger.fail(ask(ledger))

        assert ledger.replay("count", "alice") is None
        assert ledger.replay("other", "alice") is None


def test_an_idempotency_key_gives_its_stored_answer() -> None:
    with Clinic().open() as ledger:
        assert ledger.by_key("k1", "alice", "count") is None
        answer(ledger, "one", key="k1")
        answer(ledger, "two")

        stored = ledger.by_key("k1", "alice", "count")

        assert stored is not None
        assert stored.answer == "one"


def test_a_key_whose_run_gave_no_answer_may_be_charged_again() -> None:
    with Clinic().open() as ledger:
        ledger.fail(ask(ledger, key="k1"))
        assert ledger.by_key("k1", "alice", "count") is None
        ask(ledger, key="k1")
        assert ledger.by_key("k1", "alice", "count") is None

        answer(ledger, "second", key="k1")

        stored = ledger.by_key("k1", "alice", "count")
        assert stored is not None
        assert stored.answer == "second"


@pytest.mark.parametrize(("analyst", "replay_key"), [("bob", "count"), ("alice", "sum")])
def test_a_key_of_another_analyst_or_query_is_refused(analyst: str, replay_key: str) -> None:
    with Clinic().open() as ledger:
        answer(ledger, key="k1")
        head = ledger.head

        with pytest.raises(errors.ProgrammingError, match="DP603"):
            ledger.by_key("k1", analyst, replay_key)
        with pytest.raises(errors.ProgrammingError, match="DP603"):
            ask(ledger, analyst=analyst, replay_key=replay_key, key="k1")

        assert ledger.head == head


def test_five_failures_lock_the_analyst_and_nobody_else() -> None:
    with Clinic().open() as ledger:
        answer(ledger)
        for _ in range(5):
            ledger.fail(ask(ledger, laplace("0.01")))
        head = ledger.head

        assert ledger.failures("alice") == 5
        for refused in (
            lambda: ask(ledger),
            lambda: ledger.replay("count", "alice"),
            lambda: ledger.by_key("new", "alice", "count"),
        ):
            with pytest.raises(errors.PolicyRefused, match="DP212"):
                refused()
        assert ledger.head == head
        assert ask(ledger, laplace("0.01"), analyst="bob").sequence == head.sequence + 1


def test_an_unlocked_analyst_may_ask_and_fail_again() -> None:
    with Clinic().open() as ledger:
        for _ in range(5):
            ledger.fail(ask(ledger, laplace("0.01")))

        ledger.unlock("alice")

        assert ledger.failures("alice") == 0
        ledger.fail(ask(ledger, laplace("0.01")))
        assert ledger.failures("alice") == 1
        assert faults(ledger.verify()) == set()


def test_a_failed_run_keeps_its_charge() -> None:
    with Clinic().open() as ledger:
        receipt = ask(ledger)
        charged = ledger.accounts()

        ledger.fail(receipt)

        assert ledger.accounts() == charged


def test_a_reopened_ledger_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "clinic.ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger, "one")
        before = (ledger.head, ledger.accounts(), ledger.cap_key)

    with Clinic().open(path) as ledger:
        assert (ledger.head, ledger.accounts(), ledger.cap_key) == before
        stored = ledger.replay("count", "alice")
        assert stored is not None
        assert stored.answer == "one"


def test_each_ledger_has_a_secret_of_its_own_that_no_entry_shows() -> None:
    with Clinic().open() as one, Clinic().open() as other:
        assert len(bytes.fromhex(one.cap_key)) == 32
        assert one.cap_key != other.cap_key
        assert one.cap_key not in repr(tuple(one.entries()))


def test_entries_tell_what_happened_to_the_minute() -> None:
    with Clinic().open() as ledger:
        receipt = answer(ledger, "one")
        ledger.fail(ask(ledger))

        entries = tuple(ledger.entries())

        kinds = [type(numbered.entry) for numbered in entries]
        assert kinds == [Opened, Charged, Released, Charged, Failed]
        assert [numbered.sequence for numbered in entries] == [1, 2, 3, 4, 5]
        assert entries[2].entry == Released(receipt.id, "one")
        assert {len(numbered.time) for numbered in entries} == {len("2026-01-01T00:00Z")}


def test_a_reader_needs_no_policy_and_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "clinic.ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger)
        ledger.fail(ask(ledger))
        with open_reader(path) as reader:
            assert reader.accounts() == ledger.accounts()
            assert reader.head == ledger.head
            assert reader.failures("alice") == 1
            assert faults(reader.verify(ledger.head)) == set()
            assert not isinstance(reader, Ledger)
