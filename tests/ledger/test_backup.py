"""Is a backup whole, and does a restored one assume no less than what may have been spent?"""

from __future__ import annotations

import os
import stat
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from dpsql import errors
from dpsql.accounting.event import Approximate, NonPrivate
from dpsql.ledger import Anchor, Ledger, Restored, audit, open_reader
from dpsql.ledger.account import all_spent
from dpsql.ledger.backup import back_up, gap, restore
from tests.ledger.clinic import ALICE, TIGHT, UNIT, VISITS, Clinic, answer, ask, faults, laplace, spec


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger.db"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


def lose(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def rests(ledger: Ledger) -> list[dict[str, float]]:
    return [account.rules for account in ledger.accounts()]


def test_a_backup_of_a_ledger_in_use_holds_all_that_was_charged(path: Path, copy: Path) -> None:
    with Clinic().open(path) as ledger:
        answer(ledger)
        head = back_up(path, copy)

        assert head == ledger.head
    assert faults(audit(copy)) == set()
    assert stat.S_IMODE(os.stat(copy).st_mode) == 0o600
    assert sorted(file.name for file in copy.parent.glob("copy.db*")) == ["copy.db"]


def test_a_backup_made_between_charges_verifies(path: Path, copy: Path) -> None:
    with TIGHT.open(path) as ledger:
        charging = threading.Thread(target=lambda: [ask(ledger, laplace("0.001"), UNIT) for _ in range(200)])
        charging.start()
        heads = [back_up(path, copy.with_suffix(f".{number}")) for number in range(5)]
        charging.join()

    assert [head.sequence for head in heads] == sorted(head.sequence for head in heads)


@pytest.mark.parametrize("end", ["", "-wal"])
def test_a_backup_overwrites_nothing(path: Path, copy: Path, end: str) -> None:
    Clinic().open(path).close()
    Path(f"{copy}{end}").write_text("precious")

    with pytest.raises(errors.LedgerError) as caught:
        back_up(path, copy)

    assert caught.value.code is errors.LEDGER_STORE
    assert Path(f"{copy}{end}").read_text() == "precious"


def test_a_backup_with_the_newest_entry_is_restored_with_what_was_left(path: Path, copy: Path) -> None:
    with Clinic().open(path) as ledger:
        answer(ledger)
        before = rests(ledger)
    head = back_up(path, copy)
    lose(path)

    restored = restore(copy, path, head)

    assert restored.sequence == head.sequence + 1
    assert faults(audit(path)) == set()
    with Clinic().open(path) as ledger:
        assert rests(ledger) == before
        ask(ledger)
    assert faults(audit(path)) == set()


def test_a_backup_that_lacks_only_what_followed_the_last_charge_lacks_no_charge(
    path: Path, copy: Path
) -> None:
    with Clinic().open(path) as ledger:
        receipt = ask(ledger)
        back_up(path, copy)
        ledger.release(receipt, "answer")
        early = Anchor(receipt.sequence, receipt.hash)
    late = copy.with_name("late.db")
    back_up(path, late)

    assert [gap(backup, early) for backup in (copy, late)] == [0, 0]


@pytest.mark.parametrize("known", ["later", "earlier", "nothing"])
def test_a_backup_that_may_lack_charges_is_restored_with_every_budget_spent(
    path: Path, copy: Path, known: str
) -> None:
    with Clinic().open(path) as ledger:
        first = ledger.head
        answer(ledger)
        back_up(path, copy)
        answer(ledger, replay_key="lost")
        later = ledger.head
    newest = {"later": later, "earlier": first, "nothing": None}[known]
    lose(path)

    restore(copy, path, newest)

    assert faults(audit(path)) == set()
    with Clinic().open(path) as ledger:
        assert rests(ledger) == [{}, {}, {}]
        with pytest.raises(errors.BudgetExceeded):
            ask(ledger)
        assert ledger.replay("count", "alice") is not None
    with open_reader(path) as reader:
        *_, last = reader.entries()
    assert isinstance(last.entry, Restored)
    assert last.entry.lost == (2 if known == "later" else None)


def test_after_a_gap_a_raised_budget_has_room_only_above_the_old_one(path: Path, copy: Path) -> None:
    before = Clinic().budget("small", spec(UNIT, "1", "0", "0"))
    with before.open(path) as ledger:
        ask(ledger, laplace("0.1"), UNIT)
    back_up(path, copy)
    lose(path)
    restore(copy, path, None)

    with Clinic().budget("large", spec(UNIT, "1.5", "0", "0")).accept(path) as ledger:
        rest = rests(ledger)
        ask(ledger, laplace("0.5"), UNIT)
        with pytest.raises(errors.BudgetExceeded):
            ask(ledger, laplace("0.001"), UNIT)

    assert rest == [{"basic": pytest.approx(1 / 3)}]
    assert faults(audit(path)) == set()


def test_a_history_that_no_event_can_tell_counts_as_no_privacy() -> None:
    assert all_spent(spec(UNIT, "5", "1e-6")) == (Approximate(Decimal(5), Decimal("1e-6")),)
    assert all_spent(spec(UNIT, "60", "0")) == (NonPrivate(),)


def test_a_restored_entry_that_leaves_something_after_a_gap_is_a_fault(path: Path) -> None:
    from dpsql.ledger import index
    from dpsql.ledger.log import append
    from dpsql.ledger.store import SQLiteStore

    Clinic().open(path).close()
    store = SQLiteStore(str(path))
    with store.writing():
        accounts = tuple(standing.account for standing in index.read_standings(store).values())
        append(store, Restored(1, accounts))
    store.close()

    assert faults(audit(path)) == {"filters"}


def test_an_anchor_of_another_ledger_restores_nothing(path: Path, copy: Path) -> None:
    Clinic().open(path).close()
    back_up(path, copy)
    lose(path)

    with pytest.raises(errors.LedgerError) as caught:
        restore(copy, path, Anchor(1, "0" * 64))

    assert caught.value.code is errors.LEDGER_BROKEN
    assert not path.exists()


def test_a_restored_backup_overwrites_nothing_and_leaves_no_draft(path: Path, copy: Path) -> None:
    Clinic().open(path).close()
    back_up(path, copy)

    with pytest.raises(errors.LedgerError, match="Move it away"):
        restore(copy, path, None)

    assert gap(copy, None) is None
    assert [file.name for file in path.parent.iterdir() if "restoring" in file.name] == []


def test_a_backup_that_does_not_verify_is_not_restored(path: Path, copy: Path) -> None:
    import sqlite3

    Clinic().open(path).close()
    back_up(path, copy)
    lose(path)
    connection = sqlite3.connect(copy)
    with connection:
        connection.execute("UPDATE state SET value = '0' WHERE kind = 'head'")
    connection.close()

    with pytest.raises(errors.LedgerError, match="head"):
        restore(copy, path, None)

    assert [file.name for file in path.parent.iterdir()] == [copy.name]


def test_accounts_of_a_restored_ledger_are_those_it_had(path: Path, copy: Path) -> None:
    Clinic().open(path).close()
    back_up(path, copy)
    lose(path)
    restore(copy, path, None)

    with open_reader(path) as reader:
        assert {account.account for account in reader.accounts()} == {UNIT, VISITS, ALICE}
        assert {account.more for account in reader.accounts()} == {0}
