"""A small ward, its policy and a terminal to ask from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from dpsql.cli.main import program

Run = Callable[..., Result]

POLICY = """\
version: 1
id: ward
source: ward.duckdb
privacy_unit: {name: patient, table: patients, key: patient_id}
budget: {epsilon: 2, delta: 1.0e-6}
per_query: {epsilon: 0.5, delta: 1.0e-9, max_epsilon: 1.0}
tables:
  wards:
    public: true
    columns: {ward: {type: text, unique: true}, beds: {type: integer}}
  patients:
    budget: {epsilon: 2, delta: 1.0e-6}
    max_rows: 1
    columns:
      patient_id: {type: integer}
      ward: {type: text, domain: wards.ward, constant: true}
      illness: {type: text}
      admitted: {type: date}
      age: {type: integer, bounds: [0, 110]}
"""


@pytest.fixture
def policy_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DPSQL_POLICY", "DPSQL_LEDGER", "DPSQL_ANALYST", "DPSQL_LOG"):
        monkeypatch.delenv(name, raising=False)
    with duckdb.connect(str(tmp_path / "ward.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE wards (ward VARCHAR PRIMARY KEY, beds INTEGER);"
            "INSERT INTO wards VALUES ('A', 30), ('B|C', 12);"
            "CREATE TABLE patients AS SELECT i AS patient_id,"
            " CASE WHEN i % 3 = 0 THEN 'A' ELSE 'B|C' END AS ward,"
            " CASE WHEN i % 2 = 0 THEN 'flu' || chr(27) || '[31m' ELSE 'cold' END AS illness,"
            " DATE '2024-01-01' + CAST(i % 300 AS INTEGER) AS admitted, CAST(i % 90 AS INTEGER) AS age"
            " FROM range(600) t(i)"
        )
    file = tmp_path / "ward.yaml"
    file.write_text(POLICY)
    return file


@pytest.fixture
def run(policy_file: Path) -> Run:
    """Runs a command of the program under the ward's policy."""

    def running(*arguments: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(program, arguments, input=input, env={"DPSQL_POLICY": str(policy_file)})

    return running
