"""Kill -9 at any point, a full disk, many processes at once: the file is still a ledger."""

from __future__ import annotations

import itertools
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from dpsql import errors
from dpsql.ledger import Charged, Ledger, Released, audit, open_reader
from dpsql.ledger.store import SQLiteStore
from dpsql.ledger.terms import Terms
from tests.ledger.clinic import UNIT, WIDE, ask, faults, laplace, start

SPENDER = """
import sys
from ledger.clinic import UNIT, WIDE, ask, laplace

with WIDE.open(sys.argv[1]) as ledger:
    while True:
        receipt = ask(ledger, laplace("0.0001"), UNIT)
        print(receipt.id, receipt.hash, flush=True)
        ledger.release(receipt, '{"rows":[[12]]}')
        print("released", receipt.id, flush=True)
"""

OPENER = """
import sys
from ledger.clinic import WIDE

sys.stdin.readline()
with WIDE.open(sys.argv[1]) as ledger:
    print(ledger.cap_key)
"""

FULL_DISK = """
import resource, sys
from dpsql import errors
from ledger.clinic import UNIT, WIDE, ask, faults, laplace

unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
with WIDE.open(sys.argv[1]) as ledger:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), unlimited[1]))
    paid = 0
    try:
        while True:
            ask(ledger, laplace("0.0001"), UNIT)
            paid += 1
    except errors.LedgerError as error:
        assert error.code is errors.LEDGER_STORE, error
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert ledger.head.sequence == 1 + paid, (ledger.head, paid)
    assert faults(ledger.verify()) == set()
    ask(ledger, laplace("0.0001"), UNIT)
    assert ledger.head.sequence == 2 + paid
    print(paid)
"""


@pytest.mark.parametrize("moment", [0.0, 0.005, 0.017, 0.031, 0.05])
def test_kill_9_loses_no_receipt_and_leaves_a_ledger_that_verifies(tmp_path: Path, moment: float) -> None:
    path = tmp_path / "ledger.db"
    spender = start(SPENDER, path)
    assert spender.stdout is not None
    first = spender.stdout.readline()
    time.sleep(moment)

    spender.send_signal(signal.SIGKILL)
    told = [first, *spender.communicate()[0].splitlines(keepends=True)]

    whole = [line.split() for line in told if line.endswith("\n")]
    paid = {line[0] for line in whole if line[0] != "released"}
    answered = {line[1] for line in whole if line[0] == "released"}
    with WIDE.open(path) as ledger:
        entries = [numbered.entry for numbered in ledger.entries()]
        assert paid <= {entry.receipt for entry in entries if isinstance(entry, Charged)}
        assert answered <= {entry.receipt for entry in entries if isinstance(entry, Released)}
        assert faults(ledger.verify()) == set()
        ask(ledger, laplace("0.0001"), UNIT)


@pytest.mark.parametrize("moment", [0.0, 0.002, 0.004, 0.006, 0.008, 0.012])
def test_kill_9_while_the_ledger_is_created_leaves_nothing_in_the_way(tmp_path: Path, moment: float) -> None:
    path = tmp_path / "ledger.db"
    opener = start(OPENER, path)
    assert opener.stdin is not None
    opener.stdin.write("go\n")
    opener.stdin.flush()
    deadline = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.0005)
    time.sleep(moment)

    opener.send_signal(signal.SIGKILL)
    opener.communicate()

    with WIDE.open(path) as ledger:
        assert faults(ledger.verify()) == set()
        assert ledger.head.sequence == 1


def test_processes_that_create_a_ledger_at_once_share_one(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    openers = [start(OPENER, path) for _ in range(4)]

    secrets = [opener.communicate("go\n")[0] for opener in openers]

    assert {opener.returncode for opener in openers} == {0}
    assert len(set(secrets)) == 1
    with open_reader(path) as reader:
        assert reader.head.sequence == 1


class FailingStore(SQLiteStore):
    """A disk that fails at the statement `countdown`."""

    countdown = -1

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        self.countdown -= 1
        if self.countdown == 0:
            raise sqlite3.OperationalError("disk I/O error")
        return super()._execute(statement, values)


def test_a_failure_at_any_statement_changes_nothing() -> None:
    store = FailingStore(":memory:")
    terms = Terms(**WIDE.arguments())
    ledger = Ledger(store, terms)
    ledger._or_close(ledger._begin)
    failed = []
    for countdown in itertools.count(1):
        before = (ledger.head, ledger.accounts())
        store.countdown = countdown
        try:
            receipt = ask(ledger, laplace("0.0001"), UNIT)
        except errors.LedgerError as error:
            failed.append(error.code)
            assert (ledger.head, ledger.accounts()) == before
            continue
        break

    assert len(failed) > 8
    assert set(failed) == {errors.LEDGER_STORE}
    store.countdown = -1
    assert ledger.head.sequence == receipt.sequence == 2
    assert faults(ledger.verify()) == set()
    ledger.close()


@pytest.mark.parametrize("room", [70_000, 90_000])
def test_a_full_disk_refuses_the_charge_and_changes_nothing(tmp_path: Path, room: int) -> None:
    child = start(FULL_DISK, tmp_path / "ledger.db", room)

    told = child.communicate()[0]

    assert child.returncode == 0
    assert int(told) > 0
    assert faults(audit(tmp_path / "ledger.db")) == set()


def test_a_charge_that_does_not_become_durable_gives_no_receipt(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with WIDE.open(path) as ledger:
        with ledger._store.writing():
            pages = ledger._store._execute("PRAGMA page_count").fetchone()[0]  # type: ignore[attr-defined]
        ledger._store._connection.execute(f"PRAGMA max_page_count={pages}")  # type: ignore[attr-defined]

        paid = 0
        refused = None
        while refused is None and paid < 100:
            before = ledger.accounts()
            try:
                ask(ledger, laplace("0.0001"), UNIT)
                paid += 1
            except errors.LedgerError as error:
                refused = error

        assert refused is not None
        assert refused.code is errors.LEDGER_STORE
        assert ledger.accounts() == before
        assert ledger.head.sequence == 1 + paid
        assert faults(ledger.verify()) == set()
