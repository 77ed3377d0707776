from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dpsql import errors
from dpsql.ledger import audit, open_reader, store
from tests.ledger.clinic import Clinic, answer, ask

NOBODY = 65534  # a user without rights


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger.db"


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_a_ledger_and_its_side_files_are_for_the_owner_only(path: Path) -> None:
    before = os.umask(0)
    try:
        with Clinic().open(path) as ledger:
            ask(ledger)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)

    assert modes == {path.name: 0o600, f"{path.name}-wal": 0o600, f"{path.name}-shm": 0o600}


def test_every_commit_reaches_the_disk(path: Path) -> None:
    kept = store.SQLiteStore(str(path))

    connection = kept._connection
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    kept.close()


@pytest.mark.parametrize("statement", ["DELETE FROM entries", "UPDATE entries SET time = 'never'"])
def test_entries_are_neither_edited_nor_deleted_by_statements(path: Path, statement: str) -> None:
    Clinic().open(path).close()

    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        edit(path, statement)


def test_a_ledger_of_a_later_format_is_refused(path: Path) -> None:
    Clinic().open(path).close()
    edit(path, "PRAGMA user_version=2")

    for enter in (Clinic().open, open_reader):
        with pytest.raises(errors.LedgerError, match="format 2"):
            enter(path)


def test_a_database_of_somebody_else_is_refused_and_left_alone(path: Path) -> None:
    edit(path, "CREATE TABLE people (name TEXT)")
    before = path.read_bytes()

    with pytest.raises(errors.LedgerError, match="is not a ledger"):
        Clinic().open(path)

    edit(path, "PRAGMA journal_mode=DELETE")
    assert b"people" in path.read_bytes()
    assert len(path.read_bytes()) == len(before)


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"not a database, " * 100)

    for enter in (Clinic().open, open_reader):
        with pytest.raises(errors.LedgerError, match="DP601"):
            enter(path)
    assert [finding.check for finding in audit(path)] == ["storage"]


def test_a_trigger_of_a_stranger_is_refused(path: Path) -> None:
    Clinic().open(path).close()
    edit(path, "CREATE TRIGGER refill AFTER INSERT ON entries BEGIN DELETE FROM state; END")

    with pytest.raises(errors.LedgerError, match="DP600"):
        Clinic().open(path)


@pytest.mark.parametrize("place", ["absent/clinic.db", "file/clinic.db", "."])
def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(errors.LedgerError, match="DP601"):
        Clinic().open(tmp_path / place)


def test_a_read_only_folder_is_refused() -> None:
    with pytest.raises(errors.LedgerError, match="DP601"):
        Clinic().open("/proc/clinic.ledger.db")


def test_a_reader_creates_no_file(path: Path) -> None:
    with pytest.raises(errors.LedgerError, match="DP601"):
        open_reader(path)

    assert not path.exists()


def test_a_url_is_refused_rather_than_taken_for_a_file_name() -> None:
    with pytest.raises(errors.LedgerError, match="URL"):
        Clinic().open("postgresql://host/ledger")


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()

    with Clinic().open(path) as ledger:
        assert answer(ledger).sequence == 2


def test_a_ledger_locked_by_another_process_is_refused_after_some_patience(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_PATIENCE", 0.05)
    with Clinic().open(path) as ledger:
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")

        with pytest.raises(errors.LedgerError, match="locked"):
            ask(ledger)

        blocker.execute("ROLLBACK")
        blocker.close()
        assert ask(ledger).sequence == 2


@pytest.mark.parametrize("hold", ["BEGIN EXCLUSIVE", "BEGIN; SELECT * FROM sqlite_master"])
@pytest.mark.parametrize(("held", "patience"), [(0.1, 10.0), (0.5, 0.05)])
def test_a_new_file_that_somebody_holds_is_waited_for_with_some_patience(
    path: Path, monkeypatch: pytest.MonkeyPatch, hold: str, held: float, patience: float
) -> None:
    monkeypatch.setattr(store, "_PATIENCE", patience)
    blocker = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for statement in hold.split("; "):
        blocker.execute(statement).fetchall()
    release = threading.Timer(held, lambda: blocker.execute("ROLLBACK"))
    release.start()

    if held < patience:
        with Clinic().open(path) as ledger:
            assert ledger.head.sequence == 1
    else:
        with pytest.raises(errors.LedgerError, match="locked"):
            Clinic().open(path)

    release.join()
    blocker.close()


def test_a_closed_ledger_says_so_in_our_words() -> None:
    ledger = Clinic().open()
    ledger.close()
    ledger.close()

    with pytest.raises(errors.LedgerError, match="DP601"):
        ask(ledger)


def test_a_key_that_is_no_unicode_is_refused_and_changes_nothing() -> None:
    with Clinic().open() as ledger:
        with pytest.raises(errors.LedgerError, match="Unicode"):
            ask(ledger, key="\ud800")

        assert ledger.head.sequence == 1


def test_a_forked_process_cannot_use_the_ledger_of_its_parent(path: Path) -> None:
    with Clinic().open(path) as ledger:
        child = os.fork()
        if child == 0:
            try:
                ask(ledger)
            except errors.LedgerError:
                os._exit(42)
            os._exit(0)
        _, status = os.waitpid(child, 0)

        assert os.waitstatus_to_exitcode(status) == 42
        assert ledger.head.sequence == 1


def test_a_sealed_copy_is_audited_and_nothing_appears_beside_it(path: Path) -> None:
    with Clinic().open(path) as ledger:
        ask(ledger)
    path.chmod(0o400)

    findings = audit(path)
    with open_reader(path) as reader:
        head = reader.head

    assert all(finding.ok for finding in findings)
    assert head.sequence == 2
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_sealed_copy_with_its_side_file_is_read_with_what_waits_there(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with Clinic().open(path) as ledger:
        ask(ledger)
        copy.write_bytes(path.read_bytes())
        Path(f"{copy}-wal").write_bytes(Path(f"{path}-wal").read_bytes())
    copy.chmod(0o400)

    with open_reader(copy) as reader:
        assert reader.head.sequence == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not write the folder")
def test_a_ledger_in_a_folder_that_cannot_be_written_is_audited() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clinic.ledger.db"
        Clinic().open(path).close()
        path.parent.chmod(0o755)
        path.chmod(0o644)

        os.setresuid(NOBODY, NOBODY, 0)
        try:
            findings = audit(path)
        finally:
            os.setresuid(0, 0, 0)

        assert all(finding.ok for finding in findings)
        assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("place", ["absent.db", "."])
def test_no_file_to_audit_is_no_finding(tmp_path: Path, place: str) -> None:
    with pytest.raises(errors.LedgerError, match="DP601"):
        audit(tmp_path / place)
