"""Can an auditor read and verify the ledger, and an owner unlock an analyst?"""

from __future__ import annotations

import json
import sqlite3
from decimal import Decimal
from pathlib import Path

from dpsql.policy import load
from dpsql.session import Session, Terms, open_ledger, public_facts
from tests.cli.conftest import Run

COUNT = "SELECT COUNT(*) AS n FROM patients"


def test_show_lists_who_was_charged_for_what(run: Run) -> None:
    run("query", COUNT)

    entries = json.loads(run("ledger", "show", "--format", "json").stdout)
    table = run("ledger", "show").stdout

    assert [entry["what"] for entry in entries] == ["opened for ward", "charged", "released 2"]
    assert (entries[1]["analyst"], entries[1]["statement"]) == ("analyst", COUNT)
    assert {charge["account"] for charge in entries[1]["charges"]} == {"table:patients", "unit:patient"}
    assert entries[1]["charges"][0]["epsilon"] == "0.5"
    assert all(entry["hash"][:12] in table for entry in entries)


def test_show_says_what_a_limit_leaves_out(run: Run) -> None:
    run("query", COUNT)

    newest = run("ledger", "show", "--limit", "1", "--format", "jsonl")
    everything = run("ledger", "show", "--limit", "0", "--format", "jsonl")

    assert [json.loads(line)["sequence"] for line in newest.stdout.splitlines()] == [3]
    assert "newest 1 of 3" in newest.stderr
    assert len(everything.stdout.splitlines()) == 3
    assert everything.stderr == ""


def test_a_ledger_is_read_and_verified_without_its_policy(run: Run, policy_file: Path) -> None:
    run("query", COUNT)
    ledger = policy_file.with_name("ward.ledger.db")
    policy_file.unlink()

    results = [run(*command, "--ledger", str(ledger)) for command in (("ledger", "show"), ("budget",))]
    verified = run("ledger", "verify", "--ledger", str(ledger))

    assert [result.exit_code for result in (*results, verified)] == [0, 0, 0]
    assert "chain" in verified.stdout


def test_the_head_of_one_verification_is_the_anchor_of_the_next(run: Run) -> None:
    run("query", COUNT)
    head = run("ledger", "verify").stderr.split()[-1]
    run("query", "SELECT COUNT(*) AS n FROM patients WHERE age > 50")

    met = run("ledger", "verify", "--anchor", head)
    missed = run("ledger", "verify", "--anchor", f"3:{'0' * 64}")

    assert met.exit_code == 0
    assert "anchor" in missed.stderr
    assert missed.exit_code == 6


def test_an_edited_ledger_fails_its_checks_with_exit_code_6(run: Run, policy_file: Path) -> None:
    run("query", COUNT)
    with sqlite3.connect(policy_file.with_name("ward.ledger.db")) as store:
        (body,) = store.execute("SELECT body FROM entries WHERE sequence = 2").fetchone()
        for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            store.execute(f"DROP TRIGGER {name}")
        edited = bytes(body).replace(b'"epsilon":"0.5"', b'"epsilon":"0.1"')
        store.execute("UPDATE entries SET body = ? WHERE sequence = 2", (edited,))
    store.close()

    result = run("ledger", "verify", "--format", "json")

    findings = json.loads(result.stdout)
    assert result.exit_code == 6
    assert "does not verify" in result.stderr
    assert not all(finding["ok"] for finding in findings)


def test_show_warns_of_an_edited_entry(run: Run, policy_file: Path) -> None:
    run("query", COUNT)
    with sqlite3.connect(policy_file.with_name("ward.ledger.db")) as store:
        triggers = store.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            store.execute(f"DROP TRIGGER {name}")
        store.execute(
            "UPDATE entries SET body = CAST(replace(body, '\"0.5\"', '\"0.1\"') AS BLOB) WHERE sequence = 2"
        )
        for _, statement in triggers:
            store.execute(statement)
    store.close()

    listed = run("ledger", "show")

    assert listed.exit_code == 6
    assert "the chain breaks at entry 2" in listed.stderr
    assert "epsilon 0.1" in listed.stdout


def test_show_warns_of_a_removed_last_entry(run: Run, policy_file: Path) -> None:
    run("query", COUNT)
    with sqlite3.connect(policy_file.with_name("ward.ledger.db")) as store:
        store.execute("UPDATE state SET value = '4:' || hex(zeroblob(32)) WHERE kind = 'head'")
    store.close()

    listed = run("ledger", "show")

    assert listed.exit_code == 6
    assert "the chain breaks at entry 4" in listed.stderr


def test_budget_shows_what_a_query_left(run: Run) -> None:
    before = json.loads(run("budget", "--format", "json").stdout)
    run("query", COUNT)
    after = json.loads(run("budget", "--format", "json").stdout)
    table = run("budget").stdout

    assert [account["account"] for account in after] == ["unit:patient", "table:patients"]
    assert [account["rules"]["basic"] for account in before] == [1.0, 1.0]
    assert [account["rules"]["basic"] for account in after] == [0.75, 0.75]
    assert after[0].keys() == {"account", "epsilon", "delta", "rules", "more", "spent"}
    assert before[0]["more"] is None
    assert "75.0%" in table
    assert "█" in table


def test_looking_at_the_budget_creates_no_ledger(run: Run, policy_file: Path) -> None:
    result = run("budget")

    assert result.exit_code == 0
    assert not policy_file.with_name("ward.ledger.db").exists()


def test_an_analyst_locked_by_failed_runs_asks_again_after_the_owner_unlocks(
    run: Run, policy_file: Path
) -> None:
    policy = load(policy_file)
    session = Session.open(policy)
    plan = session.explain(COUNT, terms=Terms(epsilon=Decimal("0.01")))
    session.close()
    with open_ledger(policy, public_facts(policy)) as ledger:
        for number in range(5):
            receipt = ledger.charge(
                plan.charges,
                analyst="analyst",
                statement=COUNT,
                plan_digest=f"{number}",
                data_version=1,
                replay_key=f"{number}",
            )
            ledger.fail(receipt)

    locked = run("query", COUNT, "--epsilon", "0.01")
    unlocked = run("ledger", "unlock", "analyst")
    again = run("query", COUNT, "--epsilon", "0.01")
    nothing = run("ledger", "unlock", "analyst")

    assert (locked.exit_code, locked.stderr[:5]) == (4, "DP212")
    assert unlocked.exit_code == 0
    assert again.exit_code == 0, again.stderr
    assert "nothing was written" in nothing.stderr
    assert "unlocked" in run("ledger", "show", "--limit", "0").stdout
