"""Is an old copy of the ledger noticed before anything is charged to it?"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from dpsql import errors
from dpsql.ledger import Anchor, Ledger
from dpsql.ledger.backup import back_up
from tests.ledger.clinic import UNIT, WIDE, Clinic, answer, ask, laplace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger.db"


@pytest.fixture
def anchor(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere" / "anchor"


@pytest.fixture(autouse=True)
def elsewhere(anchor: Path) -> None:
    anchor.parent.mkdir()


def opened(path: Path, anchor: Path, clinic: Clinic = WIDE) -> Ledger:
    return Ledger.open(path, **clinic.arguments(), anchor_file=anchor)


def test_the_anchor_is_the_newest_charge(path: Path, anchor: Path) -> None:
    with opened(path, anchor) as ledger:
        receipt = ask(ledger, laplace("0.1"), UNIT)

        assert Anchor.parse(anchor.read_text()) == Anchor(receipt.sequence, receipt.hash)
    opened(path, anchor).close()
    assert [file.name for file in anchor.parent.iterdir()] == ["anchor"]


def test_an_old_copy_of_the_ledger_is_refused_before_it_is_charged(path: Path, anchor: Path) -> None:
    old = path.with_name("old.db")
    with opened(path, anchor) as ledger:
        back_up(path, old)
        ask(ledger, laplace("0.1"), UNIT)
    shutil.copy(old, path)

    with pytest.raises(errors.LedgerError) as caught:
        opened(path, anchor)

    assert caught.value.code is errors.LEDGER_BROKEN
    assert "old copy" in caught.value.message


def test_a_rollback_below_an_open_session_gives_no_receipt(path: Path, anchor: Path) -> None:
    with opened(path, anchor) as ledger:
        anchor.write_text(f"9:{'0' * 64}\n")

        with pytest.raises(errors.LedgerError, match="does not hold entry 9"):
            ask(ledger, laplace("0.1"), UNIT)


def test_a_ledger_that_was_removed_is_not_begun_again(path: Path, anchor: Path) -> None:
    with opened(path, anchor) as ledger:
        ask(ledger, laplace("0.1"), UNIT)
    path.unlink()

    for _ in range(2):
        with pytest.raises(errors.LedgerError, match="does not hold entry 2"):
            opened(path, anchor)


def test_the_owner_cannot_accept_a_policy_on_an_old_copy_unseen(path: Path, anchor: Path) -> None:
    opened(path, anchor).close()
    anchor.write_text(f"7:{'0' * 64}\n")

    with pytest.raises(errors.LedgerError, match="does not hold entry 7"):
        Ledger.accept(path, **WIDE.arguments(), anchor_file=anchor)


def test_without_the_anchor_there_is_no_receipt_and_the_charge_stays(path: Path, anchor: Path) -> None:
    with opened(path, anchor) as ledger:
        shutil.rmtree(anchor.parent)

        with pytest.raises(errors.LedgerError, match="cannot be written"):
            ask(ledger, laplace("0.1"), UNIT)

        assert ledger.head.sequence == 2


@pytest.mark.parametrize("text", ["", "2", "ledger", "é"])
def test_a_file_that_holds_no_anchor_is_refused(path: Path, anchor: Path, text: str) -> None:
    anchor.write_text(text)

    with pytest.raises(errors.LedgerError, match="holds no anchor"):
        opened(path, anchor)


def test_the_anchor_never_falls_although_charges_race(path: Path, anchor: Path) -> None:
    seen: list[int] = []

    def charge() -> None:
        with opened(path, anchor) as ledger:
            for _ in range(5):
                ask(ledger, laplace("0.001"), UNIT)
                seen.append(Anchor.parse(anchor.read_text()).sequence)

    threads = [threading.Thread(target=charge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert Anchor.parse(anchor.read_text()).sequence == 21
    assert len(seen) == 20


def test_answers_need_no_anchor_of_their_own(path: Path, anchor: Path) -> None:
    with opened(path, anchor, Clinic()) as ledger:
        answer(ledger)
        before = anchor.read_text()

        assert ledger.head.sequence == 3
    assert before.startswith("2:")
