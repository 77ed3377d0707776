"""Attack: edit the ledger's file so that less was spent, or so that an answer says something else.

Whoever knows the format can write a chain of their own; against that only a head kept elsewhere helps, and
the last tests show that it does.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql import errors
from dpsql.ledger import Anchor, audit
from dpsql.ledger.chain import GENESIS, link
from tests.ledger.clinic import UNIT, VISITS, Clinic, answer, ask, faults, gaussian, laplace


def fill(path: Path) -> Anchor:
    with Clinic().open(path) as ledger:
        answer(ledger, '{"rows":[[12]]}', event=laplace("0.1"), replay_key="a")
        answer(ledger, '{"rows":[[13]]}', event=laplace("0.2"), replay_key="b")
        ledger.fail(ask(ledger, gaussian()))
        return ledger.head


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.ledger.db"
    fill(path)
    return path


@contextmanager
def intruder(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of somebody who may write the file; the tables look untouched afterwards."""
    connection = sqlite3.connect(path)
    triggers = [
        row[0]
        for row in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid")
    ]
    connection.execute("DROP TRIGGER entries_are_not_edited")
    connection.execute("DROP TRIGGER entries_are_not_deleted")
    yield connection
    for trigger in triggers:
        connection.execute(trigger)
    connection.commit()
    connection.close()


def opens(path: Path) -> bool:
    try:
        Clinic().open(path).close()
    except errors.LedgerError:
        return False
    return True


def test_an_untouched_file_passes_the_intruders_door(path: Path) -> None:
    with intruder(path):
        pass

    assert faults(audit(path)) == set()
    assert opens(path)


@pytest.mark.parametrize("sequence", [1, 2, 4, 6, 7])
def test_an_edited_entry_breaks_the_chain_at_its_place(path: Path, sequence: int) -> None:
    with intruder(path) as db:
        body = db.execute("SELECT body FROM entries WHERE sequence = ?", (sequence,)).fetchone()[0]
        edited = body.replace(b'"format":1', b'"format": 1', 1)
        db.execute("UPDATE entries SET body = ? WHERE sequence = ?", (edited, sequence))

    found = [finding for finding in audit(path) if finding.check == "chain"]

    assert [(finding.ok, finding.sequence) for finding in found] == [(False, sequence)]


def test_a_smaller_charge_is_found(path: Path) -> None:
    with intruder(path) as db:
        body = db.execute("SELECT body FROM entries WHERE sequence = 4").fetchone()[0]
        assert body.count(b'"epsilon":"0.2"') == 3
        edited = body.replace(b'"epsilon":"0.2"', b'"epsilon":"0.1"')
        db.execute("UPDATE entries SET body = ? WHERE sequence = 4", (edited,))

    assert {"chain", "sums", "filters"} <= faults(audit(path))


def test_an_edited_time_breaks_the_chain(path: Path) -> None:
    with intruder(path) as db:
        db.execute("UPDATE entries SET time = '1999-01-01T00:00Z' WHERE sequence = 3")

    assert faults(audit(path)) == {"chain"}


@pytest.mark.parametrize("sequence", [1, 2, 3, 5, 6, 7])
def test_a_deleted_entry_is_missed(path: Path, sequence: int) -> None:
    with intruder(path) as db:
        db.execute("DELETE FROM entries WHERE sequence = ?", (sequence,))

    found = {finding.check: finding for finding in audit(path) if not finding.ok}

    if sequence == 7:
        assert "head" in found
    else:
        assert (found["chain"].sequence, found["chain"].detail) == (sequence, f"entry {sequence} is missing")


def test_a_cut_off_end_is_found_and_the_ledger_stays_shut(path: Path) -> None:
    with intruder(path) as db:
        db.execute("DELETE FROM entries WHERE sequence >= 6")

    assert {"head", "states", "index"} <= faults(audit(path))
    assert not opens(path)


def test_an_end_that_is_cut_off_during_a_session_stops_the_session(path: Path) -> None:
    with Clinic().open(path) as ledger:
        with intruder(path) as db:
            db.execute("DELETE FROM entries WHERE sequence >= 6")

        with pytest.raises(errors.LedgerError, match="DP600"):
            ask(ledger)


def test_entries_that_changed_places_are_found(path: Path) -> None:
    with intruder(path) as db:
        db.execute("UPDATE entries SET sequence = 100 WHERE sequence = 2")
        db.execute("UPDATE entries SET sequence = 2 WHERE sequence = 4")
        db.execute("UPDATE entries SET sequence = 4 WHERE sequence = 100")

    assert {"chain", "releases"} <= faults(audit(path))


@pytest.mark.parametrize("sequence", [-3, 0])
def test_an_entry_inserted_below_the_first_is_found(path: Path, sequence: int) -> None:
    with intruder(path) as db:
        row = db.execute("SELECT time, body, hash FROM entries WHERE sequence = 7").fetchone()
        db.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (sequence, *row))

    assert "chain" in faults(audit(path))


def test_an_inserted_entry_is_found(path: Path) -> None:
    with intruder(path) as db:
        row = db.execute("SELECT time, body, hash FROM entries WHERE sequence = 7").fetchone()
        db.execute("INSERT INTO entries VALUES (8, ?, ?, ?)", row)

    assert {"chain", "releases"} <= faults(audit(path))
    assert not opens(path)


def test_a_refilled_account_is_found_and_the_ledger_stays_shut(path: Path) -> None:
    with intruder(path) as db:
        fresh = json.loads(db.execute("SELECT body FROM entries WHERE sequence = 1").fetchone()[0])
        state = next(account["state"] for account in fresh["accounts"] if account["account"] == UNIT)
        held = json.loads(
            db.execute("SELECT value FROM state WHERE kind = 'state' AND name = ?", (UNIT,)).fetchone()[0]
        )
        held["state"] = state
        db.execute("UPDATE state SET value = ? WHERE kind = 'state' AND name = ?", (json.dumps(held), UNIT))

    assert faults(audit(path)) == {"states"}
    assert not opens(path)


def test_an_account_pointed_at_its_opening_is_found(path: Path) -> None:
    with intruder(path) as db:
        fresh = json.loads(db.execute("SELECT body FROM entries WHERE sequence = 1").fetchone()[0])
        for account in fresh["accounts"]:
            held = {"charged": 0, "sequence": 1, "state": account["state"]}
            value = json.dumps(held, sort_keys=True, separators=(",", ":"))
            db.execute(
                "UPDATE state SET value = ? WHERE kind = 'state' AND name = ?", (value, account["account"])
            )

    assert faults(audit(path)) == {"states"}
    # Opening compares a state with the entry it names; that later entries changed it is for `verify` to see.
    assert opens(path)


@pytest.mark.parametrize(
    "value", ["", "null", "{}", "[]", '{"state":{"live":[]},"sequence":1,"charged":0}', "\x00"]
)
def test_a_garbled_state_is_our_error_and_not_a_parsers(path: Path, value: str) -> None:
    with intruder(path) as db:
        db.execute("UPDATE state SET value = ? WHERE kind = 'state' AND name = ?", (value, VISITS))

    assert faults(audit(path)) == {"states"}
    assert not opens(path)


def test_a_forgiven_failure_is_found(path: Path) -> None:
    with intruder(path) as db:
        db.execute("DELETE FROM state WHERE kind = 'failures'")

    assert faults(audit(path)) == {"index"}


def test_a_stored_answer_that_was_edited_is_not_given_out(path: Path) -> None:
    with intruder(path) as db:
        body = db.execute("SELECT body FROM entries WHERE sequence = 3").fetchone()[0]
        db.execute("UPDATE entries SET body = ? WHERE sequence = 3", (body.replace(b"[[12]]", b"[[99]]"),))

    with Clinic().open(path) as ledger, pytest.raises(errors.LedgerError, match=r"DP600 .* Entry 3"):
        ledger.replay("a", "alice")


def test_an_exchanged_secret_is_found(path: Path) -> None:
    with intruder(path) as db:
        db.execute("UPDATE state SET value = ? WHERE kind = 'secret'", ("0" * 64,))

    assert faults(audit(path)) == {"secret"}


@pytest.mark.parametrize("keep", [0, 10, 100, 4096, 12_288])
def test_a_truncated_file_is_found(path: Path, keep: int) -> None:
    content = path.read_bytes()
    assert keep < len(content)
    path.write_bytes(content[:keep])

    assert "storage" in faults(audit(path))


@pytest.mark.parametrize("page", [2, 3])
def test_a_page_that_was_overwritten_is_found(path: Path, page: int) -> None:
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    path.write_bytes(content)

    assert "storage" in faults(audit(path))


def dump(path: Path) -> object:
    connection = sqlite3.connect(path)
    try:
        return (
            connection.execute("SELECT * FROM entries ORDER BY sequence").fetchall(),
            connection.execute("SELECT * FROM state ORDER BY kind, name").fetchall(),
            connection.execute("SELECT sql FROM sqlite_master ORDER BY rowid").fetchall(),
        )
    except (sqlite3.Error, UnicodeError):
        return None
    finally:
        connection.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_that_changes_anything_is_found(path: Path, place: float, bit: int) -> None:
    before = dump(path)
    flipped = path.with_suffix(".flipped")
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    flipped.write_bytes(content)

    findings = audit(flipped)

    for leftover in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{flipped}{leftover}").unlink()
    assert faults(findings) or dump(flipped) == before


def rewrite_chain(path: Path, replacements: dict[int, tuple[bytes, bytes]]) -> None:
    """What somebody who knows the format does: edits entries, computes the chain anew and sets the head."""
    with intruder(path) as db:
        previous = GENESIS
        last = 0
        for sequence, time, body in db.execute(
            "SELECT sequence, time, body FROM entries ORDER BY sequence"
        ).fetchall():
            edited = body.replace(*replacements.get(sequence, (b"", b"")))
            previous = link(previous, sequence, time, edited)
            db.execute(
                "UPDATE entries SET body = ?, hash = ? WHERE sequence = ?", (edited, previous, sequence)
            )
            last = sequence
        db.execute("UPDATE state SET value = ? WHERE kind = 'head'", (f"{last}:{previous}",))


def test_a_rewritten_chain_is_found_by_the_anchor_alone(path: Path) -> None:
    with Clinic().open(path) as ledger:
        anchor = ledger.head

    rewrite_chain(path, {3: (b"[[12]]", b"[[99]]")})

    assert faults(audit(path)) == set()
    assert faults(audit(path, anchor)) == {"anchor"}


def test_a_rewritten_chain_does_not_hide_a_smaller_charge(path: Path) -> None:
    rewrite_chain(path, {4: (b'"epsilon":"0.2"', b'"epsilon":"0.1"')})

    assert faults(audit(path)) == {"sums", "filters"}


def test_a_restored_backup_is_found_by_the_anchor(path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(path, backup)
    with Clinic().open(path) as ledger:
        answer(ledger, event=laplace("0.3"), replay_key="c")
        anchor = ledger.head

    shutil.copy(backup, path)

    assert faults(audit(path)) == set()
    assert faults(audit(path, anchor)) == {"anchor"}


def set_state(db: sqlite3.Connection, kind: str, name: str, **changes: object) -> None:
    where = (kind, name)
    value = json.loads(db.execute("SELECT value FROM state WHERE kind = ? AND name = ?", where).fetchone()[0])
    text = json.dumps({**value, **changes}, sort_keys=True, separators=(",", ":"))
    db.execute("UPDATE state SET value = ? WHERE kind = ? AND name = ?", (text, *where))


@pytest.mark.parametrize(
    ("kind", "name", "check"),
    [("policy", "", "states"), ("state", UNIT, "states"), ("account", UNIT, "states"), ("head", "", "head")],
)
def test_an_index_that_lost_a_value_keeps_the_ledger_shut(
    path: Path, kind: str, name: str, check: str
) -> None:
    with intruder(path) as db:
        db.execute("DELETE FROM state WHERE kind = ? AND name = ?", (kind, name))

    assert faults(audit(path)) == {check}
    with pytest.raises(errors.Error):
        Clinic().open(path)


def test_a_lost_secret_is_not_replaced_by_another(path: Path) -> None:
    with intruder(path) as db:
        db.execute("DELETE FROM state WHERE kind = 'secret'")

    assert faults(audit(path)) == {"secret"}
    with Clinic().open(path) as ledger, pytest.raises(errors.LedgerError, match="secret"):
        _ = ledger.cap_key


def test_a_secret_that_is_no_number_is_found(path: Path) -> None:
    with intruder(path) as db:
        db.execute("UPDATE state SET value = 'nonsense' WHERE kind = 'secret'")

    assert faults(audit(path)) == {"secret"}


def test_an_account_pointed_at_an_entry_that_is_no_charge_is_found(path: Path) -> None:
    with intruder(path) as db:
        set_state(db, "state", UNIT, sequence=7)

    assert faults(audit(path)) == {"states"}
    assert not opens(path)


def test_an_account_pointed_at_an_entry_that_does_not_exist_is_found(path: Path) -> None:
    with intruder(path) as db:
        set_state(db, "state", UNIT, sequence=70)

    assert not opens(path)


def test_a_last_charge_that_is_none_is_found_when_it_is_shown(path: Path) -> None:
    with intruder(path) as db:
        set_state(db, "state", UNIT, charged=7)

    assert faults(audit(path)) == {"states"}
    with Clinic().open(path) as ledger, pytest.raises(errors.LedgerError, match="does not charge"):
        ledger.accounts()


def test_a_policy_pointed_at_an_entry_that_is_none_is_found_when_it_is_compared(path: Path) -> None:
    with intruder(path) as db:
        set_state(db, "policy", "", sequence=7)

    assert faults(audit(path)) == {"states"}
    with pytest.raises(errors.LedgerError, match="puts no policy in force"):
        Clinic(policy_digest="digest-2").open(path)


@pytest.mark.parametrize("sequence", [5, 7])
def test_the_answer_of_another_receipt_is_not_given_out(path: Path, sequence: int) -> None:
    with Clinic().open(path) as ledger:
        stored = ledger.replay("a", "alice")
    assert stored is not None
    with intruder(path) as db:
        set_state(db, "receipt", stored.receipt.id, closed=sequence)

    assert faults(audit(path)) == {"index"}
    with Clinic().open(path) as ledger, pytest.raises(errors.LedgerError, match="DP600"):
        ledger.replay("a", "alice")
