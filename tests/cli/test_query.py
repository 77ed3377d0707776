"""Does the command line answer as Python does, in every format?"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import dpsql
from tests.cli.conftest import Run

BY_WARD = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward ORDER BY ward"


def test_the_formats_agree_on_one_answer_that_is_paid_once(run: Run) -> None:
    first = run("query", BY_WARD, "--format", "json")
    texts = {form: run("query", BY_WARD, "--format", form) for form in ("csv", "jsonl", "markdown", "table")}

    answer = json.loads(first.stdout)
    (_, a), (_, b) = answer["rows"]
    error = answer["columns"][1]["error"]
    assert "Paid epsilon 0.5 from table:patients, unit:patient" in first.stderr
    assert all("free of charge" in result.stderr for result in texts.values())
    rows = list(csv.reader(io.StringIO(texts["csv"].stdout)))
    assert rows == [["ward", "n", "n_error"], ["A", str(a), str(error)], ["B|C", str(b), str(error)]]
    assert [json.loads(line) for line in texts["jsonl"].stdout.splitlines()] == [
        {"ward": "A", "n": a, "n_error": error},
        {"ward": "B|C", "n": b, "n_error": error},
    ]
    assert f"| B\\|C | {b} ± 7 |" in texts["markdown"].stdout
    assert f"{a} ± 7" in texts["table"].stdout


def test_json_keys_are_the_names_of_the_python_attributes(run: Run) -> None:
    answer = json.loads(run("query", BY_WARD, "--format", "json").stdout)

    assert {"rows", "columns", "charges", "receipt", "replayed"} == answer.keys()
    assert {"name", "type", "error", "exact", "errors"} == answer["columns"][0].keys()
    assert answer["charges"][0] == {"account": "table:patients", "epsilon": "0.5", "delta": "0"}
    assert answer["receipt"]["sequence"] == 2
    assert answer["replayed"] is False


def test_stdout_holds_nothing_but_the_answer(run: Run) -> None:
    result = run("query", "SELECT ward, beds FROM wards ORDER BY ward", "--format", "csv")

    assert result.exit_code == 0
    assert result.stdout == "ward,beds\nA,30\nB|C,12\n"
    assert "exact and free" in result.stderr


def test_the_sql_comes_from_an_argument_a_file_or_stdin(run: Run, tmp_path: Path) -> None:
    sql = "SELECT beds FROM wards WHERE ward = 'A'"
    file = tmp_path / "beds.sql"
    file.write_text(sql)

    answers = [
        run("query", sql, "--format", "csv"),
        run("query", "-", "--format", "csv", input=sql),
        run("query", "--file", str(file), "--format", "csv"),
    ]

    assert [answer.stdout for answer in answers] == ["beds\n30\n"] * 3


@pytest.mark.parametrize("arguments", [(), ("SELECT 1", "--file", "x.sql"), ("--file", "absent.sql")])
def test_no_sql_two_sqls_and_a_file_that_is_not_there_are_wrong_use(
    run: Run, arguments: tuple[str, ...]
) -> None:
    result = run("query", *arguments)

    assert result.exit_code == 2
    assert result.stderr.startswith("DP903")


def test_sql_that_is_not_utf8_is_wrong_use(run: Run) -> None:
    assert run("query", "-", input=b"SELECT '\xff'").exit_code == 2
    assert run("query", "SELECT '\udcff'").exit_code == 2


def test_parameters_are_typed_and_quotes_force_a_text(run: Run) -> None:
    sql = "SELECT COUNT(*) AS n FROM patients WHERE admitted >= ? AND age < ? AND illness <> ?"

    typed = run("query", sql, "--param", "2024-03-01", "--param", "50.5", "--param", "'42'")
    untyped = run("query", sql, "--param", "2024-03-01", "--param", "50", "--param", "42")

    assert typed.exit_code == 0, typed.stderr
    assert untyped.exit_code == 1


def test_a_wanted_error_replaces_the_epsilon(run: Run) -> None:
    plain = run("explain", BY_WARD, "--error", "±30", "--delta", "0", "--format", "json")
    named = run("explain", BY_WARD, "--error", "n=5% of 600", "--delta", "0", "--format", "json")
    both = run("explain", BY_WARD, "--error", "±30", "--epsilon", "1")

    assert json.loads(plain.stdout)["measurements"][0]["error"] <= 30
    assert json.loads(plain.stdout)["epsilon"] == json.loads(named.stdout)["epsilon"]
    assert both.exit_code == 2


def test_explain_prices_a_query_and_spends_nothing(run: Run) -> None:
    table = run("explain", BY_WARD)
    document = json.loads(run("explain", BY_WARD, "--format", "json").stdout)
    sheet = list(csv.DictReader(io.StringIO(run("explain", BY_WARD, "--format", "csv").stdout)))

    assert "epsilon 0.5" in table.stdout
    assert "unit:patient" in table.stdout
    assert "SELECT" in table.stdout
    assert document["charges"][0] == {"account": "table:patients", "epsilon": "0.5", "delta": "0"}
    assert (sheet[0]["sql"], sheet[0]["mechanism"]) == ("COUNT(*)", "laplace")
    assert "nothing charged yet" in run("budget").stdout


def test_explain_says_that_public_tables_are_free(run: Run) -> None:
    result = run("explain", "SELECT beds FROM wards")

    assert result.exit_code == 0
    assert "exact and free" in result.stdout


def test_values_cannot_steer_the_terminal(run: Run) -> None:
    sql = "SELECT illness, COUNT(*) AS n FROM patients GROUP BY illness"

    shown = [run("query", sql, "--format", form).stdout for form in ("table", "markdown")]

    assert all("flu\\x1b[31m" in text.replace("\\\\", "\\") for text in shown)
    assert all("\x1b" not in text for text in shown)


def test_an_idempotency_key_repeats_the_answer_and_refuses_another_query(run: Run, policy_file: Path) -> None:
    first = run("query", BY_WARD, "--key", "monday", "--format", "csv")
    again = run("query", BY_WARD, "--key", "monday", "--format", "csv")
    other = run("query", "SELECT COUNT(*) AS n FROM patients", "--key", "monday")

    assert first.stdout == again.stdout
    assert other.exit_code == 2
    assert other.stderr.startswith("DP603")
    with dpsql.connect(policy_file) as connection:
        assert {account.rules["basic"] for account in connection.budget()} == {0.75}


def test_the_budget_says_what_was_lost_so_far_and_not_of_quotas(run: Run) -> None:
    run("query", BY_WARD, "--epsilon", "0.1")

    table = run("budget").stdout
    accounts = {
        account["account"]: account for account in json.loads(run("budget", "--format", "json").stdout)
    }
    sheet = run("budget", "--format", "csv").stdout.splitlines()

    assert "so far   loss at most 0.1, the sum of epsilons, whenever you look" in table
    assert "milestone, still ahead, is (" in table
    assert accounts["unit:patient"]["spent"].pop("milestone") > 0.5
    assert accounts["unit:patient"]["spent"] == {
        "milestone_delta": "1e-6",
        "charges": 1,
        "epsilon": "0.1",
        "delta": "0",
        "loss": 0.1,
        "loss_delta": "1e-6",
    }
    assert sheet[0].endswith(
        "more,spent_charges,spent_epsilon,spent_delta,spent_loss,spent_loss_delta,spent_milestone,spent_milestone_delta"
    )
    assert all(account["spent"] is None for name, account in accounts.items() if name.startswith("analyst:"))
