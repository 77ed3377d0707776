"""Does the connection behave as PEP 249 and the contract say?"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.analysis.sensitivity import UNIT
from dpsql.engine.noise import in_unit
from dpsql.errors import (
    BudgetExceeded,
    Error,
    InterfaceError,
    NotSupportedError,
    PolicyRefused,
    ProgrammingError,
    UnsupportedQuery,
)
from dpsql.mechanisms import Laplace, Sampler, SilentSampler
from dpsql.session import Session
from tests.reference.clinic import POLICY, build


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dbapi")
    (folder / "clinic.yaml").write_text(POLICY.read_text("utf-8"), "utf-8")
    build(folder / "clinic.duckdb")
    return folder / "clinic.yaml"


@pytest.fixture
def connection(policy: Path) -> Iterator[dpsql.Connection]:
    with dpsql.connect(policy, ledger=":memory:", epsilon=0.5) as opened:
        yield opened


def test_the_module_states_what_pep_249_asks_for() -> None:
    assert (dpsql.apilevel, dpsql.paramstyle) == ("2.0", "qmark")
    assert dpsql.threadsafety in (0, 1, 2, 3)
    for name in ("InterfaceError", "DatabaseError", "DataError", "OperationalError", "IntegrityError"):
        assert issubclass(getattr(dpsql, name), Error)
    assert issubclass(dpsql.Warning, Exception)


def test_a_cursor_fetches_rows_one_by_one_in_parts_and_all(connection: dpsql.Connection) -> None:
    cursor = connection.cursor()

    cursor.execute("SELECT hospital, COUNT(*) AS n FROM patients GROUP BY hospital")

    assert cursor.rowcount == 5
    assert [name for name, *_ in cursor.description or ()] == ["hospital", "n"]
    assert (cursor.fetchone() or ("",))[0] == "Alder"
    assert [row[0] for row in cursor.fetchmany(2)] == ["Birch", "Cedar"]
    assert [row[0] for row in cursor] == ["Dogwood", "Elm"]
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []


def test_counts_are_whole_numbers_and_dates_are_dates(connection: dpsql.Connection) -> None:
    cursor = connection.execute("SELECT day, COUNT(*), SUM(charge), AVG(charge) FROM visits GROUP BY day")

    day, count, total, mean = cursor.fetchall()[0]

    assert day == datetime.date(2024, 1, 1)
    assert (type(count), type(total), type(mean)) == (int, float, float)
    assert [column.type.value for column in cursor.release.columns] == ["date", "integer", "double", "double"]


def test_every_noisy_column_has_a_half_width_and_keys_have_none(connection: dpsql.Connection) -> None:
    release = connection.execute("SELECT sex, COUNT(*) AS n, AVG(age) FROM patients GROUP BY sex").release

    assert [column.exact for column in release.columns] == [True, False, False]
    assert release.columns[0].error is None
    assert release.columns[1].error == pytest.approx(connection_error(connection), rel=1e-9)
    assert len(release.columns[2].errors) == len(release.rows)


def connection_error(connection: dpsql.Connection) -> float:
    return (
        connection.explain("SELECT sex, COUNT(*) AS n, AVG(age) FROM patients GROUP BY sex")
        .measurements[0]
        .half_width
    )


def test_a_release_carries_its_receipt_and_charges(connection: dpsql.Connection) -> None:
    release = connection.execute("SELECT COUNT(*) FROM visits").release

    assert release.receipt is not None
    assert {charge.account for charge in release.charges} == {"table:visits", "unit:patient"}
    assert not release.replayed


def test_asking_the_same_again_is_free_and_gives_the_same_answer(connection: dpsql.Connection) -> None:
    first = connection.execute("SELECT COUNT(*) FROM visits WHERE department = ?", ["surgery"]).release
    spent = connection.budget()

    second = connection.execute("select count(*) from VISITS where department = 'surgery'  -- again").release

    assert second.rows == first.rows
    assert second.replayed
    assert second.charges == ()
    assert connection.budget() == spent


def test_parameters_take_part_in_bounds(connection: dpsql.Connection) -> None:
    sql = "SELECT SUM(LEAST(cost, ?)) FROM patients"

    small, large = (connection.explain(sql, [bound]) for bound in (10, 50_000))

    assert (small.measurements[0].l1, large.measurements[0].l1) == (10, 50_000)


@pytest.mark.parametrize("params", [[], [1, 2], [float("nan")], [object()], [2**70]])
def test_parameters_that_do_not_fit_are_refused_at_no_cost(
    connection: dpsql.Connection, params: list[object]
) -> None:
    before = connection.budget()

    with pytest.raises(ProgrammingError):
        connection.execute("SELECT COUNT(*) FROM patients WHERE age > ?", params)  # type: ignore[arg-type]

    assert connection.budget() == before


def test_explain_spends_nothing_and_shows_the_price(connection: dpsql.Connection) -> None:
    before = connection.budget()

    plan = connection.explain("SELECT diagnosis, COUNT(*) FROM patients GROUP BY diagnosis", epsilon=1)

    assert connection.budget() == before
    assert [charge.account for charge in plan.charges] == ["table:patients", "unit:patient"]
    assert all(charge.epsilon == 1 and charge.delta > 0 for charge in plan.charges)
    assert plan.threshold_units is not None
    assert "people will not appear" in str(plan)
    assert "$cap_key" in plan.sql
    assert plan.to_dict()["measurements"]


def test_a_wanted_error_is_turned_into_the_smallest_price(connection: dpsql.Connection) -> None:
    plan = connection.explain("SELECT COUNT(*) AS n, SUM(age) AS years FROM patients", error={"n": "±30"})

    assert plan.measurements[0].half_width <= 30
    cheaper = plan.charges[0].epsilon * Decimal("0.98")
    again = connection.explain("SELECT COUNT(*) AS n, SUM(age) AS years FROM patients", epsilon=cheaper)
    assert again.measurements[0].half_width > 30


def test_a_percentage_is_relative_to_a_public_number_or_refused(connection: dpsql.Connection) -> None:
    plan = connection.explain("SELECT COUNT(*) FROM patients", error="5% of 400")

    assert plan.measurements[0].half_width <= 20
    with pytest.raises(PolicyRefused, match="DP215"):
        connection.explain("SELECT COUNT(*) FROM patients", error="5%")


def test_a_query_over_public_tables_is_exact_and_free(connection: dpsql.Connection) -> None:
    before = connection.budget()

    cursor = connection.execute(
        "SELECT city, SUM(beds) AS beds FROM hospitals GROUP BY city ORDER BY beds DESC, 1"
    )

    assert cursor.fetchall() == [("Northton", 200), ("Southby", 200), ("Eastmere", 60), ("Westfold", 40)]
    assert all(column.exact for column in cursor.release.columns)
    assert cursor.release.receipt is None
    assert connection.explain("SELECT * FROM hospitals").charges == ()
    assert connection.budget() == before


def test_a_refusal_by_the_budget_names_account_need_rest_and_a_way_out(policy: Path) -> None:
    with dpsql.connect(policy, ledger=":memory:", epsilon=1) as connection:
        for bound in range(9):
            connection.execute("SELECT COUNT(*) FROM patients WHERE age > ?", [bound])
        connection.execute("SELECT COUNT(*) FROM patients WHERE age > 50", epsilon="0.75")
        before = connection.budget()

        with pytest.raises(BudgetExceeded) as refused:
            connection.execute("SELECT COUNT(*) FROM patients WHERE age > 60")

        assert refused.value.account == "table:patients"
        assert refused.value.need[0] == 1
        assert refused.value.largest_epsilon is not None
        assert connection.budget() == before
        connection.execute(
            "SELECT COUNT(*) FROM patients WHERE age > 60", epsilon=refused.value.largest_epsilon
        )


def test_an_answer_goes_to_numpy_and_to_arrow(connection: dpsql.Connection) -> None:
    release = connection.execute("SELECT hospital, COUNT(*) AS n FROM patients GROUP BY hospital").release

    assert release.to_numpy()["n"].tolist() == [row[1] for row in release.rows]
    table = release.to_arrow()
    assert table.column_names == ["hospital", "n"]
    assert table.to_pylist() == [dict(zip(("hospital", "n"), row, strict=True)) for row in release.rows]
    assert type(release.__arrow_c_stream__()).__name__ == "PyCapsule"


def test_an_idempotency_key_belongs_to_one_query(connection: dpsql.Connection) -> None:
    cursor = connection.cursor()
    first = cursor.execute("SELECT COUNT(*) FROM visits", key="monday").fetchall()

    assert cursor.execute("SELECT COUNT(*) FROM visits", key="monday").fetchall() == first
    with pytest.raises(ProgrammingError, match="DP603"):
        cursor.execute("SELECT COUNT(*) FROM patients", key="monday")


def test_closed_things_and_missing_results_are_interface_errors(policy: Path) -> None:
    connection = dpsql.connect(policy, ledger=":memory:")
    cursor = connection.cursor()
    with pytest.raises(InterfaceError, match="DP901"):
        cursor.fetchone()
    assert cursor.description is None
    assert cursor.rowcount == -1
    cursor.close()
    with pytest.raises(InterfaceError, match="DP900"):
        cursor.execute("SELECT COUNT(*) FROM patients")
    connection.close()
    connection.close()
    with pytest.raises(InterfaceError, match="DP900"):
        connection.execute("SELECT COUNT(*) FROM patients")


def test_what_pep_249_offers_and_a_ledger_cannot_is_refused(connection: dpsql.Connection) -> None:
    connection.commit()
    with pytest.raises(NotSupportedError):
        connection.rollback()
    with pytest.raises(NotSupportedError):
        connection.cursor().executemany("SELECT COUNT(*) FROM patients", [])
    with pytest.raises(InterfaceError, match="DP903"):
        connection.execute("SELECT COUNT(*) FROM patients", epsilon=1, error="±5")
    with pytest.raises(InterfaceError, match="DP903"):
        connection.execute("SELECT COUNT(*) FROM patients", epsilon="much")


def test_two_connections_share_one_source_in_one_process(policy: Path) -> None:
    with dpsql.connect(policy, ledger=":memory:") as one, dpsql.connect(policy, ledger=":memory:") as other:
        assert one.execute("SELECT COUNT(*) FROM patients").fetchall()
        assert other.execute("SELECT COUNT(*) FROM patients").fetchall()


def test_an_unlisted_analyst_is_refused_at_connect(tmp_path: Path) -> None:
    text = POLICY.read_text("utf-8") + "\nanalysts:\n  alice: {epsilon: 5, delta: 1.0e-6}\n"
    (tmp_path / "clinic.yaml").write_text(text, "utf-8")
    build(tmp_path / "clinic.duckdb")

    with pytest.raises(PolicyRefused, match="DP211"):
        dpsql.connect(tmp_path / "clinic.yaml", ledger=":memory:", analyst="bob")
    with dpsql.connect(tmp_path / "clinic.yaml", ledger=":memory:") as connection:
        accounts = {
            charge.account for charge in connection.execute("SELECT COUNT(*) FROM visits").release.charges
        }
    assert accounts == {"table:visits", "unit:patient", "analyst:alice"}


@pytest.mark.parametrize("params", ["F", 0.5, b"F", {"sex": "F"}])
def test_parameters_that_are_no_list_are_refused_with_a_hint(
    connection: dpsql.Connection, params: object
) -> None:
    with pytest.raises(ProgrammingError, match="DP103"):
        connection.execute("SELECT COUNT(*) FROM patients WHERE sex = ?", params)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_parameters_like_others(connection: dpsql.Connection) -> None:
    plain = connection.explain("SELECT SUM(LEAST(cost, ?)) FROM patients WHERE age > ?", [2.5, 40])

    numbers: list[Any] = [np.float64(2.5), np.int64(40)]
    numpys = connection.explain("SELECT SUM(LEAST(cost, ?)) FROM patients WHERE age > ?", numbers)

    assert numpys.sql == plain.sql


def test_a_wanted_error_may_be_a_number(connection: dpsql.Connection) -> None:
    text, number = (connection.explain("SELECT COUNT(*) FROM patients", error=wish) for wish in ("±20", 20))

    assert text.charges == number.charges


def test_wrong_use_is_an_error_of_ours(policy: Path, connection: dpsql.Connection) -> None:
    with pytest.raises(InterfaceError, match="DP903"):
        connection.execute(None)  # type: ignore[arg-type]
    with pytest.raises(InterfaceError, match="DP903"):
        connection.explain("SELECT COUNT(*) FROM patients", error=[20])  # type: ignore[arg-type]
    with pytest.raises(PolicyRefused, match="DP215"):
        connection.explain("SELECT COUNT(*) AS n FROM patients", error={"n": 20})  # type: ignore[dict-item]
    with pytest.raises(InterfaceError, match="DP903"):
        dpsql.connect(None)  # type: ignore[arg-type]
    with pytest.raises(InterfaceError, match="DP903"):
        dpsql.connect(policy, ledger="a\0b")


def test_a_closed_connection_refuses_everything_but_closing(policy: Path) -> None:
    connection = dpsql.connect(policy, ledger=":memory:")
    connection.close()

    for use in (connection.cursor, connection.commit, connection.budget):
        with pytest.raises(InterfaceError, match="DP900"):
            use()
    connection.close()


def test_the_module_lists_its_public_names() -> None:
    assert {"connect", "Connection", "BudgetExceeded", "apilevel"} <= set(dir(dpsql))
    assert "TYPE_CHECKING" not in dir(dpsql)


INTERRUPTED = """
import os, signal, sys, threading, time
import duckdb, dpsql

signal.signal(signal.SIGINT, signal.default_int_handler)
with dpsql.connect(sys.argv[1]) as connection:
    interrupt = lambda: (time.sleep(0.5), os.kill(os.getpid(), signal.SIGINT))
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        connection.execute("SELECT SUM(a), COUNT(*) FROM many WHERE SQRT(EXP(a % 7)) > LN(a % 11 + 1)")
    except KeyboardInterrupt:
        print("interrupted", [state.rules["basic"] for state in connection.budget()])
"""


def test_an_interrupt_during_a_run_is_a_keyboard_interrupt_and_the_charge_stays(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "many.duckdb")) as database:
        database.execute(
            "CREATE TABLE many AS SELECT range // 3 AS u, range % 1000 AS a FROM range(20000000)"
        )
    (tmp_path / "many.yaml").write_text(
        "version: 1\nid: many\nsource: many.duckdb\nprivacy_unit: {name: u}\n"
        "per_query: {epsilon: 0.1, delta: 0}\ntables:\n  many:\n    unit: u\n    max_rows: 3\n"
        "    budget: {epsilon: 1, delta: 0}\n    columns:\n      u: {type: integer}\n"
        "      a: {type: integer, bounds: [0, 1000]}\n",
        "utf-8",
    )

    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "many.yaml")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ran.stdout.split() == ["interrupted", "[0.9,", "0.9]"], ran.stderr


@pytest.mark.parametrize("epsilon", ["1", "3", "8"])
def test_stated_errors_cover_rounded_answers(policy: Path, epsilon: str) -> None:
    truth = 400
    with dpsql.connect(policy, ledger=":memory:") as connection:
        plan = connection.explain("SELECT COUNT(*) FROM patients", epsilon=1)
    part = plan.measurements[0]
    noise = Laplace(part.noise.mechanism.scale / int(epsilon))  # type: ignore[union-attr]
    exact = replace(part, error=part.error / int(epsilon), noise=replace(part.noise, mechanism=noise))

    released = in_unit(exact, (truth * UNIT + noise.draw(Sampler(), 100_000)).astype(float))

    assert np.mean(np.abs(released - truth) <= exact.half_width) >= 0.945


def test_what_cannot_be_shaped_is_refused_before_it_is_charged(connection: dpsql.Connection) -> None:
    before = connection.budget()

    for sql in (
        "SELECT COUNT(*) * COUNT(*) * COUNT(*) FROM patients",
        "SELECT COUNT(*) FROM patients HAVING COUNT(*) * COUNT(*) * COUNT(*) > 1",
    ):
        with pytest.raises(UnsupportedQuery, match="DP208"):
            connection.execute(sql)

    assert connection.budget() == before


def test_null_counts_nothing_and_decimal_constants_leave_keys_alone(policy: Path) -> None:
    with Session.open(policy, ":memory:", noise=SilentSampler()) as session:
        nothing = session.answer("SELECT COUNT(NULL) AS a, COUNT(1) AS b FROM patients").rows
        ages = session.answer(
            "SELECT age, COUNT(*) FROM patients WHERE age IN (40.0, 41.0) GROUP BY age"
        ).rows
        spelled = session.answer("SELECT COALESCE(age, -1) AS a, COUNT(*) AS n FROM patients GROUP BY a").rows

    assert nothing == [(0, 400)]
    assert {age for age, count in ages if count} == {40, 41}
    assert spelled[0] == (-1, 1)


def test_a_public_answer_is_bounded(policy: Path, connection: dpsql.Connection) -> None:
    joined = " ".join(f"JOIN hospitals h{n} ON h{n}.city <> '' AND h{n}.beds = h{n}.beds" for n in range(2))

    with pytest.raises(UnsupportedQuery):
        connection.execute(f"SELECT COUNT(*) FROM hospitals h {joined}")
    assert connection.execute("SELECT hospital FROM hospitals LIMIT 2").fetchall() == [("Alder",), ("Birch",)]
