"""A row belongs to one unit, and a unit has at most its bound of joined rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpsql import errors
from tests.analysis.test_partitions import analysed
from tests.golden.register import register
from tests.reference.clinic import Database


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with register(tmp_path_factory.mktemp("register")) as database:
        yield database


@pytest.mark.parametrize(
    ("source", "bound"),
    [
        ("members", 1),
        ("orders", 5),
        ("items", 10),
        ("members m JOIN regions r ON m.region = r.region", 2),
        ("members m LEFT JOIN regions r ON m.region = r.region", 2),
        ("members m JOIN regions r ON m.region = r.region AND r.zone = 'a'", 2),
        ("members m JOIN regions r ON m.region = r.region AND m.region = r.zone", 1),
        ("members m JOIN regions r ON m.region = r.region JOIN regions s ON s.zone = r.zone", 4),
        ("members m JOIN regions r USING (region)", 2),
        ("regions r JOIN members m ON m.region = r.region", 2),
    ],
)
def test_the_row_bound_is_the_tables_times_each_joins_fan_out(
    shop: Database, source: str, bound: int
) -> None:
    """The fan-out is read from the public table, pinned when the session opened."""
    assert analysed(shop, f"SELECT COUNT(*) FROM {source}").rows.bound == bound


def test_weights_are_left_out_only_where_the_catalog_enforces_one_row_a_unit(shop: Database) -> None:
    single = analysed(shop, "SELECT COUNT(*) FROM members")
    repeated = analysed(shop, "SELECT COUNT(*) FROM members m JOIN regions r ON m.region = r.region")

    assert not single.weighted
    assert repeated.weighted
    assert analysed(shop, "SELECT COUNT(*) FROM orders").weighted


def test_max_rows_alone_does_not_make_a_table_single(hospital: Database) -> None:
    """`max_rows: 1` is a promise to enforce, not a fact of the data."""
    analysis = analysed(hospital, "SELECT COUNT(*) FROM patients")

    assert not analysis.owner.single
    assert analysis.weighted


def test_a_path_reads_and_charges_every_table_on_it(shop: Database) -> None:
    owner = analysed(shop, "SELECT COUNT(*) FROM items").owner

    assert owner.tables == ("items", "orders")
    assert owner.unit_column is None
    assert not owner.path[0].unique, "so the least unit owns the rows of an order"


def test_constants_are_made_so_unless_there_is_one_row_a_unit(shop: Database) -> None:
    assert analysed(shop, "SELECT COUNT(*) FROM orders").owner.constants == {"status"}
    assert analysed(shop, "SELECT COUNT(*) FROM members").owner.constants == frozenset()


@pytest.mark.parametrize(
    ("sql", "constant"),
    [
        ("SELECT status, COUNT(*) FROM orders GROUP BY status", True),
        ("SELECT channel, COUNT(*) FROM orders GROUP BY channel", False),
        ("SELECT region, active, COUNT(*) FROM members GROUP BY ALL", True),
        ("SELECT r.zone, COUNT(*) FROM members m JOIN regions r USING (region) GROUP BY r.zone", False),
        ("SELECT h.city, COUNT(*) FROM patients p JOIN hospitals h USING (hospital) GROUP BY h.city", True),
    ],
)
def test_a_key_is_constant_when_a_unit_has_one_value_of_it(
    shop: Database, hospital: Database, sql: str, constant: bool
) -> None:
    database = hospital if "hospital" in sql else shop

    assert analysed(database, sql).partitioning.constant == constant


def test_max_sum_bounds_a_sum_below_rows_times_the_largest_value(shop: Database) -> None:
    measure = analysed(shop, "SELECT SUM(amount) FROM orders").measures[0]

    assert measure.grid is not None
    assert measure.limit == 1500 * measure.grid.scale


@pytest.mark.parametrize(
    "source",
    [
        "members m JOIN regions r ON r.region = r.zone",
        "members, regions",
        "members m JOIN regions r ON m.age > 50",
    ],
)
def test_a_source_that_hangs_on_nothing_is_refused(shop: Database, source: str) -> None:
    with pytest.raises(errors.UnsupportedQuery):
        analysed(shop, f"SELECT COUNT(*) FROM {source}")


def test_joins_that_repeat_a_row_too_often_are_refused(shop: Database) -> None:
    """A weight is computed in 63 bits."""
    joins = " ".join(f"JOIN regions r{n} ON m.region = r{n}.region" for n in range(32))

    with pytest.raises(errors.UnsupportedQuery) as refusal:
        analysed(shop, f"SELECT COUNT(*) FROM members m {joins}")

    assert refusal.value.code is errors.UNBOUNDED


def test_the_parts_of_an_unknown_day_are_public(shop: Database) -> None:
    """`placed` may hold any day outside its domain; a month is one of twelve all the same."""
    sql = "SELECT EXTRACT({} FROM TRY_CAST(tag AS DATE)) AS part, COUNT(*) FROM orders GROUP BY part"
    sizes = {
        part: analysed(shop, sql.format(part)).partitioning.cells for part in ("month", "dow", "week", "doy")
    }

    assert sizes == {"month": 12, "dow": 7, "week": 53, "doy": 366}
    assert analysed(shop, sql.format("year")).partitioning.cells is None
