"""Does the report say what the entries say, and nothing that it should hide?"""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest

from dpsql import errors
from dpsql.ledger import Anchor, Ledger, open_reader
from dpsql.ledger.report import Report, build_report
from tests.ledger.clinic import (
    ALICE,
    PLAN,
    UNIT,
    VISITS,
    WIDE,
    Clinic,
    answer,
    ask,
    charges,
    faults,
    gaussian,
    laplace,
    spec,
)


def reported(path: Path, anchor: Anchor | None = None, *, literals: bool = False) -> Report:
    with open_reader(path) as reader:
        return build_report(reader, anchor, literals=literals)


def charge(ledger: Ledger, statement: str) -> None:
    ledger.charge(
        charges(laplace("0.1"), UNIT),
        analyst="alice",
        statement=statement,
        plan_digest=PLAN,
        data_version=1,
        replay_key="k",
    )


def test_the_report_lists_every_question_with_its_outcome(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger)
        ledger.fail(ask(ledger))
        ask(ledger)

    report = reported(path)

    assert [(q.sequence, q.analyst, q.outcome) for q in report.questions] == [
        (2, "alice", "answered"),
        (4, "alice", "failed"),
        (6, "alice", "no answer"),
    ]
    assert report.head.sequence == 6
    assert report.verified
    assert [account.charges for account in report.accounts] == [3, 3, 3]


def test_what_is_left_is_what_the_ledger_says(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger)
        answer(ledger, event=gaussian())
        expected = {account.account: account for account in ledger.accounts()}

    report = reported(path)

    assert {account.state.account: account.state for account in report.accounts} == expected
    assert [account.state.account for account in report.accounts] == [UNIT, VISITS, ALICE]


def test_times_are_rounded_to_the_day_and_literals_are_hidden_unless_wanted(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with WIDE.open(path) as ledger:
        charge(ledger, "SELECT COUNT(*) FROM visits WHERE name = 'Ada'")

    hidden, shown = reported(path), reported(path, literals=True)

    assert hidden.questions[0].statement == "SELECT COUNT(*) FROM visits WHERE name = ?"
    assert shown.questions[0].statement == "SELECT COUNT(*) FROM visits WHERE name = 'Ada'"
    assert all(len(day) == 10 for day in (hidden.first_day, hidden.last_day, hidden.questions[0].day))


def test_the_loss_so_far_of_pure_questions_is_at_most_the_sum_of_their_epsilons(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with WIDE.open(path) as ledger:
        for _ in range(3):
            ask(ledger, laplace("0.1"), UNIT)

    (unit,) = reported(path).accounts

    assert unit.loss == pytest.approx(0.3)
    assert unit.loss_delta == Decimal("1e-6")


def test_the_loss_so_far_of_gaussian_questions_grows_from_its_anytime_bound(tmp_path: Path) -> None:
    losses = []
    for count in (1, 4):
        path = tmp_path / f"{count}.db"
        with WIDE.open(path) as ledger:
            for _ in range(count):
                ask(ledger, gaussian(0.01), UNIT)
        losses.append(reported(path).accounts[0].loss)

    once, four_times = losses

    assert once is not None
    assert four_times is not None
    # A Gaussian of mu^2 = 0.01 alone has loss 0.48 at delta 1e-6; no anytime bound may be below it.
    assert 0.48 < once < four_times


def test_an_account_without_delta_reports_the_exact_sum(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().budget("exact", spec(UNIT, "1", "0", "0")).open(path) as ledger:
        ask(ledger, laplace("0.25"), UNIT)

    (unit,) = reported(path).accounts

    assert (unit.loss, unit.loss_delta) == (0.25, Decimal(0))


def test_the_spread_of_the_bound_stays_that_of_the_first_budget(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().budget("first", spec(UNIT, "5")).open(path) as ledger:
        ask(ledger, gaussian(0.01), UNIT)
    before = reported(path).accounts[0].loss
    Clinic().budget("second", spec(UNIT, "20", "1e-5")).accept(path).close()

    after = reported(path).accounts[0]

    assert after.state.epsilon == 20
    assert after.loss == before


def test_decisions_of_the_owner_and_closed_accounts_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger)
        ledger.unlock("alice")
    Clinic().but(policy_text='{"id":"clinic","v":2}').budget("less", spec(UNIT, "2", "2e-6")).accept(
        path
    ).close()

    report = reported(path)

    assert [(act.sequence, act.analyst) for act in report.acts] == [(1, None), (4, "alice"), (5, None)]
    assert report.policy_text == '{"id":"clinic","v":2}'
    assert report.closed == (ALICE, VISITS)


def test_an_edited_entry_is_reported_by_the_checks(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger)
    _overwrite(path, 2, lambda body: body.replace(b'"analyst":"alice"', b'"analyst":"bobby"'))

    report = reported(path)

    assert not report.verified
    assert faults(report.findings) == {"chain", "index"}
    assert report.unread is None


def test_the_report_says_from_where_on_entries_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Clinic().open(path) as ledger:
        answer(ledger)
        answer(ledger)
    _overwrite(path, 4, lambda body: b"{}")

    report = reported(path)

    assert report.unread == 4
    assert [question.sequence for question in report.questions] == [2]
    assert "format" in faults(report.findings)


def test_a_ledger_without_a_readable_opening_has_no_report(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Clinic().open(path).close()
    _overwrite(path, 1, lambda body: b"{}")

    with pytest.raises(errors.LedgerError) as caught:
        reported(path)

    assert caught.value.code is errors.LEDGER_BROKEN


def test_an_anchor_of_another_history_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Clinic().open(path).close()

    report = reported(path, Anchor(1, "0" * 64))

    assert faults(report.findings) == {"anchor"}


def _overwrite(path: Path, sequence: int, edit: object) -> None:
    assert callable(edit)
    connection = sqlite3.connect(path)
    with connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        (body,) = connection.execute("SELECT body FROM entries WHERE sequence = ?", (sequence,)).fetchone()
        connection.execute("UPDATE entries SET body = ? WHERE sequence = ?", (edit(bytes(body)), sequence))
        for _, statement in triggers:
            connection.execute(statement)
    connection.close()
