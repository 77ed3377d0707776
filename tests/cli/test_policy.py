"""Does an owner learn what is wrong with a policy, and put a change of it in force?"""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

from tests.cli.conftest import POLICY, Run

COUNT = "SELECT COUNT(*) AS n FROM patients"


def test_check_prints_accounts_notices_and_a_verdict(run: Run, policy_file: Path) -> None:
    by_option = run("policy", "check")
    by_argument = run("policy", "check", str(policy_file), "--format", "json")

    document = json.loads(by_argument.stdout)
    assert (by_option.exit_code, by_argument.exit_code) == (0, 0)
    assert "unit:patient" in by_option.stdout
    assert "note: Each account keeps 10%" in by_option.stderr
    assert "those of the source" in by_option.stderr
    assert document["accounts"][0] == {"account": "unit:patient", "epsilon": "2", "delta": "1e-6"}
    assert document["source_checked"] is True
    assert not policy_file.with_name("ward.ledger.db").exists()


def test_check_points_at_every_fault_with_exit_code_2(run: Run, policy_file: Path) -> None:
    policy_file.write_text(POLICY.replace("max_rows: 1", "max_row: 1").replace("type: date", "type: dates"))

    result = run("policy", "check")

    assert result.exit_code == 2
    assert result.stderr.startswith("DP401")
    assert f"{policy_file}:13:5: " in result.stderr
    assert "did you mean `max_rows`?" in result.stderr
    assert "dates" in result.stderr


def test_check_finds_a_column_that_the_source_does_not_have(run: Run, policy_file: Path) -> None:
    policy_file.write_text(POLICY.replace("illness:", "disease:"))

    result = run("policy", "check")

    assert (result.exit_code, result.stderr[:5]) == (2, "DP403")


def test_check_says_when_there_is_no_source_to_compare_with(run: Run, policy_file: Path) -> None:
    policy_file.with_name("ward.duckdb").unlink()

    result = run("policy", "check")

    assert result.exit_code == 0
    assert "was not compared" in result.stderr


def test_schema_describes_the_keys_of_a_policy(run: Run) -> None:
    schema = json.loads(run("policy", "schema").stdout)

    assert {"version", "id", "source", "tables", "privacy_unit"} <= schema["properties"].keys()


def test_a_changed_policy_needs_the_owners_acceptance(run: Run, policy_file: Path) -> None:
    run("query", COUNT)
    policy_file.write_text(POLICY.replace("{epsilon: 2, delta: 1.0e-6}", "{epsilon: 3, delta: 1.0e-6}"))

    refused = run("query", COUNT)
    declined = run("policy", "accept", input="n\n")
    still = run("query", COUNT)
    accepted = run("policy", "accept", input="y\n")
    answered = run("query", "SELECT COUNT(*) AS n FROM patients WHERE age > 3")

    assert (refused.exit_code, refused.stderr[:5]) == (2, "DP402")
    assert (declined.exit_code, still.exit_code) == (130, 2)
    assert "epsilon" in declined.stderr
    assert "Nothing was written" in declined.stderr
    assert accepted.exit_code == 0
    assert answered.exit_code == 0, answered.stderr
    assert "policy accepted" in run("ledger", "show").stdout


def test_accept_with_yes_asks_nothing_and_repeats_nothing(run: Run, policy_file: Path) -> None:
    run("query", COUNT)
    policy_file.write_text(POLICY.replace("max_epsilon: 1.0", "max_epsilon: 0.9"))

    accepted = run("policy", "accept", "--yes")
    again = run("policy", "accept", "--yes")

    assert "in force" in accepted.stderr
    assert "nothing was written" in again.stderr
    assert run("ledger", "show", "--format", "csv").stdout.count("policy accepted") == 1


def test_accept_without_a_ledger_says_that_it_opens_one(run: Run, policy_file: Path) -> None:
    result = run("policy", "accept", "--yes")

    assert result.exit_code == 0
    assert policy_file.with_name("ward.ledger.db").exists()
    assert "nothing was written" not in result.stderr
    assert "is opened" in result.stderr


def test_accept_without_an_answer_writes_nothing_and_says_so(run: Run, policy_file: Path) -> None:
    run("query", COUNT)
    policy_file.write_text(POLICY.replace("max_epsilon: 1.0", "max_epsilon: 0.9"))

    result = run("policy", "accept", input="")

    assert result.exit_code == 130
    assert "Nothing was written" in result.stderr
    assert "charged" not in result.stderr
    assert "policy accepted" not in run("ledger", "show").stdout


def test_check_counts_the_units_that_the_data_gives_too_many_rows(run: Run, policy_file: Path) -> None:
    with duckdb.connect(str(policy_file.with_name("ward.duckdb"))) as connection:
        connection.execute("INSERT INTO patients SELECT * FROM patients WHERE patient_id < 3")

    shown = run("policy", "check")
    document = json.loads(run("policy", "check", "--format", "json").stdout)

    assert "data, exact and not for analysts: tables.patients.max_rows: 3 units" in shown.stderr
    assert len(document["exceeded"]) == 1
