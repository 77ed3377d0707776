"""Whatever was done to a ledger, its entries alone give back its accounts."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql import errors
from dpsql.accounting.event import Event
from dpsql.accounting.filters import Portfolio
from dpsql.ledger import Charged, Ledger
from tests.ledger.clinic import ALICE, UNIT, VISITS, Clinic, ask, faults, gaussian, laplace, thresholded

events: st.SearchStrategy[Event] = st.one_of(
    st.sampled_from(["0.01", "0.1", "0.3", "0.7", "1.2"]).map(laplace),
    st.sampled_from([1e-4, 1e-3, 1e-2]).map(gaussian),
    st.sampled_from(["1e-9", "4e-8"]).map(lambda delta: thresholded("0.05", delta)),
)
accounts = st.sampled_from([(UNIT,), (UNIT, VISITS), (UNIT, VISITS, ALICE)])
Act = Callable[[Ledger], None]


def pay(event: Event, names: tuple[str, ...], end: str) -> Act:
    def act(ledger: Ledger) -> None:
        receipt = ask(ledger, event, *names, key=end if end == "key" else None)
        if end == "release":
            ledger.release(receipt, "{}")
        elif end == "fail":
            ledger.fail(receipt)

    return act


acts: st.SearchStrategy[Act] = st.one_of(
    st.builds(pay, events, accounts, st.sampled_from(["release", "fail", "key", "crash"])),
    st.just(lambda ledger: ledger.unlock("alice")),
)


def replayed(ledger: Ledger) -> dict[str, Portfolio]:
    states = {
        spec.account: Portfolio.open(spec.epsilon, spec.delta, slack_share=spec.slack_share)
        for spec in Clinic().accounts
    }
    for numbered in ledger.entries():
        if isinstance(numbered.entry, Charged):
            for debit in numbered.entry.debits:
                after = states[debit.charge.account].step(debit.charge.event)
                assert after is not None
                states[debit.charge.account] = after
    return states


@settings(max_examples=60, deadline=None)
@given(st.lists(acts, max_size=14))
def test_a_replay_of_the_entries_gives_the_accounts(done: list[Act]) -> None:
    with Clinic().open() as ledger:
        for act in done:
            before = (ledger.head, ledger.accounts())
            try:
                act(ledger)
            except (errors.BudgetExceeded, errors.PolicyRefused):
                assert (ledger.head, ledger.accounts()) == before

        states = replayed(ledger)

        assert {state.account: state.rules for state in ledger.accounts()} == {
            name: portfolio.rules() for name, portfolio in states.items()
        }
        assert faults(ledger.verify(ledger.head)) == set()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["0.01", "0.1", "0.3", "0.7"]), max_size=30))
def test_pure_charges_never_add_up_to_more_than_the_budget(asked: list[str]) -> None:
    with Clinic().budget("d", *(spec for spec in Clinic().accounts if spec.account == UNIT)).open() as ledger:
        spent = Decimal(0)
        for epsilon in asked:
            try:
                ask(ledger, laplace(epsilon), UNIT)
            except errors.BudgetExceeded:
                # Other rules than the sum may admit more, so it must not have fitted the sum.
                assert spent + Decimal(epsilon) > 2
                continue
            spent += Decimal(epsilon)

        state = replayed_unit(ledger)
        assert state.step(laplace("0.01")) is not None or spent + Decimal("0.01") > 2


def replayed_unit(ledger: Ledger) -> Portfolio:
    last = [n.entry for n in ledger.entries() if isinstance(n.entry, Charged)]
    if not last:
        return Portfolio.open(Decimal(2), Decimal("2e-6"), slack_share=Decimal("0.1"))
    return last[-1].debits[0].after
