"""Attack: spend the last of a budget twice, by racing, by using a receipt again, or by making one up."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dpsql import errors
from dpsql.ledger import Charged, Ledger
from tests.ledger.clinic import TIGHT, UNIT, VISITS, ask, faults, laplace, spec, start

RACER = """
import sys
from dpsql import errors
from ledger.clinic import TIGHT, UNIT, VISITS, ask, laplace

with TIGHT.open(sys.argv[1]) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    won = 0
    for _ in range(int(sys.argv[2])):
        try:
            ask(ledger, laplace("0.1"), UNIT, VISITS).consume()
            won += 1
        except errors.BudgetExceeded:
            pass
    print(won)
"""


def race(path: Path, processes: int, tries: int) -> list[int]:
    racers = [start(RACER, path, tries) for _ in range(processes)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    return [int(racer.communicate()[0]) for racer in racers]


def charged(ledger: Ledger) -> int:
    return sum(isinstance(numbered.entry, Charged) for numbered in ledger.entries())


def test_two_processes_racing_for_the_last_query_have_one_winner(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with TIGHT.open(path) as ledger:
        for _ in range(9):
            ask(ledger, laplace("0.1"), UNIT, VISITS)

        assert sorted(race(path, processes=2, tries=1)) == [0, 1]

        assert charged(ledger) == 10
        assert {state.account: state.rules["basic"] for state in ledger.accounts()} == {
            UNIT: 0.0,
            VISITS: 0.8,
        }
        assert faults(ledger.verify()) == set()


def test_many_processes_spend_the_budget_exactly_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    won = race(path, processes=4, tries=10)

    assert sum(won) == 10
    with TIGHT.open(path) as ledger:
        assert charged(ledger) == 10
        assert faults(ledger.verify()) == set()


def test_threads_on_one_ledger_spend_the_budget_exactly_once(tmp_path: Path) -> None:
    won: list[str] = []
    with TIGHT.open(tmp_path / "ledger.db") as ledger:

        def spend() -> None:
            for _ in range(5):
                try:
                    won.append(ask(ledger, laplace("0.1"), UNIT, VISITS).id)
                except errors.BudgetExceeded:
                    continue

        threads = [threading.Thread(target=spend) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(won) == len(set(won)) == 10
        assert charged(ledger) == 10
        assert faults(ledger.verify()) == set()


def test_threads_racing_for_one_receipt_have_one_winner() -> None:
    with TIGHT.open() as ledger:
        receipt = ask(ledger, laplace("0.1"), UNIT, VISITS)
        barrier = threading.Barrier(8)
        won: list[bool] = []

        def consume() -> None:
            barrier.wait()
            try:
                receipt.consume()
            except errors.InternalError:
                return
            won.append(True)

        threads = [threading.Thread(target=consume) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert won == [True]


def test_an_account_that_is_exhausted_stops_the_others_from_being_charged() -> None:
    with TIGHT.open() as ledger:
        for _ in range(10):
            ask(ledger, laplace("0.1"), UNIT, VISITS)

        for _ in range(3):
            with pytest.raises(errors.BudgetExceeded):
                ask(ledger, laplace("0.1"), VISITS, UNIT)

        assert {state.account: state.rules["basic"] for state in ledger.accounts()}[VISITS] == 0.8


def test_neither_a_failure_nor_a_crash_refunds(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with TIGHT.open(path) as ledger:
        for _ in range(4):
            ledger.fail(ask(ledger, laplace("0.1"), UNIT, VISITS))
        for _ in range(6):
            ask(ledger, laplace("0.1"), UNIT, VISITS)

    with TIGHT.open(path) as ledger, pytest.raises(errors.BudgetExceeded):
        ask(ledger, laplace("0.1"), UNIT, VISITS)


def test_a_larger_budget_in_the_callers_hands_is_not_the_ledgers(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    TIGHT.open(path).close()
    rich = TIGHT.but(accounts=(spec(UNIT, "100", "0", "0"), spec(VISITS, "100", "0", "0")))

    with pytest.raises(errors.PolicyError, match="DP402"):
        rich.open(path)
