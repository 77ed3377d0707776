from __future__ import annotations

from pathlib import Path

import pytest

from dpsql import errors
from dpsql.ledger import PolicyChanged, open_reader
from tests.ledger.clinic import (
    ALICE,
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
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger.db"


def test_a_ledger_refuses_another_policy_id(path: Path) -> None:
    Clinic().open(path).close()

    for enter in (Clinic(policy_id="other").open, Clinic(policy_id="other").accept):
        with pytest.raises(errors.LedgerError, match=r"DP602 .*'clinic'.*'other'"):
            enter(path)


def test_a_changed_policy_is_refused_with_its_differences(path: Path) -> None:
    Clinic(policy_text="old text").open(path).close()
    seen: list[str] = []

    def describe(text: str) -> tuple[str, ...]:
        seen.append(text)
        return ("tables.visits.max_rows: 20 -> 30", "per_query: removed")

    with pytest.raises(errors.PolicyError) as refusal:
        Clinic().open(path).open(
            path, **Clinic(policy_digest="digest-2").arguments(), describe_difference=describe
        )

    assert seen == ["old text"]
    assert refusal.value.code is errors.POLICY_CHANGED
    assert "max_rows: 20 -> 30" in refusal.value.message
    assert "per_query: removed" in refusal.value.message
    assert "dpsql policy accept" in (refusal.value.hint or "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy_digest": "digest-2"}, "its digest"),
        ({"facts_digest": "facts-2"}, "public facts"),
        ({"accounts": (spec(UNIT, "3"), spec(VISITS, "1"), spec(ALICE, "1"))}, "budgets"),
    ],
)
def test_policy_facts_and_budgets_are_each_pinned(path: Path, change: dict[str, str], said: str) -> None:
    Clinic().open(path).close()

    with pytest.raises(errors.PolicyError, match=said):
        Clinic().but(**change).open(path)

    Clinic().but(**change).accept(path).close()
    Clinic().but(**change).open(path).close()


def test_accepting_the_policy_in_force_writes_nothing(path: Path) -> None:
    with Clinic().open(path) as ledger:
        head = ledger.head

    with Clinic().accept(path) as ledger:
        assert ledger.head == head


def test_accept_opens_a_ledger_where_there_is_none(path: Path) -> None:
    with Clinic().accept(path) as ledger:
        assert ledger.head.sequence == 1


def test_a_raised_budget_keeps_what_was_spent(path: Path) -> None:
    with Clinic().open(path) as ledger:
        ask(ledger, laplace("0.75"))
        assert ledger.admits(charges(laplace("0.75"))) == VISITS

    raised = Clinic().budget("digest-2", spec(UNIT, "2", "2e-6"), spec(VISITS, "3"), spec(ALICE, "3"))
    with raised.accept(path) as ledger:
        rules = {state.account: state.rules["basic"] for state in ledger.accounts()}
        assert rules == {UNIT: 0.625, VISITS: 0.75, ALICE: 0.75}
        ask(ledger, laplace("0.75"))
        assert faults(ledger.verify()) == set()


def test_a_budget_below_what_is_spent_refuses_all_later_queries_until_it_is_raised(path: Path) -> None:
    with Clinic().open(path) as ledger:
        ask(ledger, laplace("0.75"))

    lowered = Clinic().budget(
        "digest-2", spec(UNIT, "2", "2e-6"), spec(VISITS, "0.5", "0", "0"), spec(ALICE, "1")
    )
    with lowered.accept(path) as ledger:
        state = {state.account: state for state in ledger.accounts()}[VISITS]
        assert (state.rules, state.more) == ({}, 0)
        assert ledger.more(charges(laplace("0.1"), VISITS)[0]) == 0
        assert ledger.preview(charges(laplace("0.1")))[VISITS] == {}
        with pytest.raises(errors.BudgetExceeded) as refusal:
            ask(ledger, laplace("0.01"))
        assert (refusal.value.account, refusal.value.rest) == (VISITS, {})
        assert faults(ledger.verify()) == set()

    with Clinic(policy_digest="digest-3").accept(path) as ledger:
        assert {state.account: state.rules for state in ledger.accounts()}[VISITS]["basic"] == 0.25
        assert faults(ledger.verify()) == set()


def test_a_new_slack_share_prices_the_account_again(path: Path) -> None:
    with Clinic().open(path) as ledger:
        ask(ledger, gaussian())

    fresh = Clinic().budget("digest-2", spec(UNIT, "2", "2e-6", "0"), spec(VISITS, "1"), spec(ALICE, "1"))
    with fresh.accept(path) as ledger:
        assert set(ledger.accounts()[2].rules) == {"residue", "rdp"}
        assert faults(ledger.verify()) == set()


def test_a_new_account_opens_unspent(path: Path) -> None:
    with Clinic().open(path) as ledger:
        ask(ledger)

    more = Clinic().but(policy_digest="digest-2", accounts=(*Clinic().accounts, spec("table:labs", "1")))
    with more.accept(path) as ledger:
        assert {state.account: state.rules for state in ledger.accounts()}["table:labs"]["basic"] == 1.0


def test_an_account_that_left_and_came_back_has_spent_what_it_had(path: Path) -> None:
    with Clinic().open(path) as ledger:
        ask(ledger, laplace("0.25"))
    with Clinic().budget("digest-2", *Clinic().accounts[:2]).accept(path) as ledger:
        with pytest.raises(errors.InternalError, match="DP605"):
            ask(ledger)
        ask(ledger, laplace("0.25"), UNIT, VISITS)

    with Clinic(policy_digest="digest-3").accept(path) as ledger:
        rules = {state.account: state.rules["basic"] for state in ledger.accounts()}
        assert rules == {UNIT: 0.75, VISITS: 0.5, ALICE: 0.75}
        assert faults(ledger.verify()) == set()


def test_the_privacy_unit_cannot_be_renamed_into_a_fresh_account(path: Path) -> None:
    with Clinic().open(path) as ledger:
        ask(ledger)

    renamed = Clinic().budget("digest-2", spec("unit:person", "2", "2e-6"), *Clinic().accounts[1:])
    with pytest.raises(errors.PolicyError, match="'unit:patient'"):
        renamed.accept(path)


@pytest.mark.parametrize("epsilon", ["0", "100000"])
def test_an_impossible_budget_is_refused_and_nothing_is_written(path: Path, epsilon: str) -> None:
    with Clinic().open(path) as ledger:
        head = ledger.head
    impossible = Clinic().budget("digest-2", spec(UNIT, epsilon), *Clinic().accounts[1:])

    with pytest.raises(errors.PolicyError, match="DP401"):
        impossible.accept(path)
    with pytest.raises(errors.PolicyError, match="DP401"):
        impossible.open()

    with open_reader(path) as reader:
        assert reader.head == head


def test_a_session_of_the_old_policy_can_no_longer_charge(path: Path) -> None:
    with Clinic().open(path) as old, Clinic(policy_digest="digest-2").accept(path) as new:
        with pytest.raises(errors.PolicyError, match="accepted another policy"):
            ask(old)

        assert answer(new).sequence == 3


def test_the_change_is_an_entry_with_the_whole_policy(path: Path) -> None:
    Clinic().open(path).close()
    with Clinic(policy_digest="digest-2", policy_text="new text").accept(path) as ledger:
        entry = tuple(ledger.entries())[-1].entry

        assert isinstance(entry, PolicyChanged)
        assert (entry.policy_digest, entry.policy_text) == ("digest-2", "new text")
        assert [account.spec for account in entry.accounts] == list(Clinic().accounts)
