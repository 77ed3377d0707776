"""Aggregates are taken apart into as few noisy sums as they need."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpsql import errors
from dpsql.analysis.aggregates import Grid, Measure, MeasureKind
from dpsql.analysis.analysis import Analysis
from dpsql.analysis.sensitivity import UNIT
from tests.analysis.test_partitions import analysed
from tests.reference.clinic import Database


def shown(analysis: Analysis) -> list[str]:
    return [f"{measure.kind.value}: {measure.label}" for measure in analysis.measures]


@pytest.mark.parametrize(
    ("items", "measures"),
    [
        ("COUNT(*)", ["rows: COUNT(*)"]),
        ("COUNT(*), COUNT(*) + 1", ["rows: COUNT(*)"]),
        ("COUNT(*), COUNT(1)", ["rows: COUNT(*)"]),
        ("COUNT(age), AVG(age)", ["rows: COUNT(age)", "sum: AVG(age) centred"]),
        ("AVG(age), COUNT(age)", ["sum: AVG(age) centred", "rows: COUNT of AVG(age)"]),
        ("SUM(age), SUM(age)", ["sum: SUM(age)"]),
        ("COUNT(*), COUNT(age)", ["rows: COUNT(*)", "rows: COUNT(age)"]),
        ("COUNT_IF(age > 3), COUNT(*) FILTER (WHERE age > 3)", ["rows: COUNT_IF(age > 3)"]),
        ("COUNT(DISTINCT patient_id), COUNT(*)", ["units: COUNT(DISTINCT patient_id)", "rows: COUNT(*)"]),
    ],
)
def test_equal_parts_are_measured_once(hospital: Database, items: str, measures: list[str]) -> None:
    assert shown(analysed(hospital, f"SELECT {items} FROM patients")) == measures


def test_a_count_of_rows_does_not_serve_an_average_of_a_column_with_nulls(hospital: Database) -> None:
    analysis = analysed(hospital, "SELECT COUNT(*), AVG(age) FROM patients")

    assert len(analysis.measures) == 3


def test_private_groups_are_counted_in_units_and_that_serves_one_row_a_unit(hospital: Database) -> None:
    patients = analysed(hospital, "SELECT diagnosis, COUNT(*) FROM patients GROUP BY diagnosis")
    visits = analysed(hospital, "SELECT department || 'x' AS d, COUNT(*) FROM visits GROUP BY d")
    private = analysed(
        hospital, "SELECT diagnosis, SUM(age) FROM patients GROUP BY diagnosis HAVING COUNT(*) > 5"
    )

    assert shown(patients) == ["units: COUNT(*)"]
    assert visits.threshold is None
    assert patients.threshold == 0
    assert private.threshold == 1


@pytest.mark.parametrize(
    ("sql", "l1"),
    [
        ("SELECT COUNT(*) FROM patients", 1),
        ("SELECT COUNT(*) FROM visits", 20),
        ("SELECT COUNT(DISTINCT patient_id) FROM visits", 1),
        ("SELECT department, COUNT(DISTINCT patient_id) FROM visits GROUP BY department", 3),
        ("SELECT department, COUNT(*) FROM visits GROUP BY department", 20),
        ("SELECT SUM(age) FROM patients", 110),
        ("SELECT SUM(-age) FROM patients", 110),
        ("SELECT SUM(age - 100) FROM patients", 100),
        ("SELECT SUM(charge) FROM visits", 20 * 5000 * 100),
        ("SELECT AVG(age) FROM patients", 55),
        ("SELECT AVG(charge) FROM visits", 20 * 2500 * 100),
        ("SELECT SUM(LEAST(cost, 512)) FROM patients", 512 * 2048),
    ],
)
def test_one_unit_moves_a_measure_by_its_rows_times_the_largest_value(
    hospital: Database, sql: str, l1: int
) -> None:
    """In steps of the value's grid, each worth 1024 lattice steps."""
    found = analysed(hospital, sql).sensitivities[0]

    assert found.l1 == l1 * UNIT
    assert found.l2_squared <= found.l1**2


def test_counted_units_of_several_groups_have_the_root_as_l2(hospital: Database) -> None:
    sql = "SELECT department, COUNT(DISTINCT patient_id) FROM visits GROUP BY department"

    assert analysed(hospital, sql).sensitivities[0].l2_squared == 3 * UNIT**2


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ("SUM(patient_id)", "DP202"),
        ("SUM(cost / age)", "DP208"),
        ("SUM(cost * 1e30)", "DP208"),
        ("SUM(0)", "DP208"),
        ("COUNT(DISTINCT sex)", "DP201"),
    ],
)
def test_what_cannot_be_bounded_is_refused_with_the_aggregate_and_its_place(
    hospital: Database, item: str, code: str
) -> None:
    with pytest.raises(errors.NotSupportedError) as refusal:
        analysed(hospital, f"SELECT COUNT(*),\n  {item} FROM patients")

    assert refusal.value.code.name == code
    assert refusal.value.position is None or refusal.value.position.line == 2


@pytest.mark.parametrize(("low", "high"), [(0, 110), (-7, 8), (5, 5), (-3, -1), (0, 1)])
def test_a_centred_grid_halves_the_largest_index(low: int, high: int) -> None:
    grid = Grid(Fraction(low), Fraction(high), Fraction(1), integer=True).centred()

    assert grid.largest == -(-(high - low) // 2)


def test_the_index_of_a_bound_is_the_engines(hospital: Database) -> None:
    """The clip and the grid are doubles: the bound's index must come from the same arithmetic."""
    grid = Grid(Fraction(0), Fraction("0.1"), Fraction("0.01"), integer=False)
    sql = f"SELECT CAST(FLOOR(0.1e0 * {grid.scale!r}::DOUBLE + 0.5e0) AS BIGINT)"

    assert grid.index(Fraction("0.1")) == hospital.backend._connection.execute(sql).fetchall()[0][0]


def test_labels_do_not_tell_measures_apart() -> None:
    first, second = (Measure(MeasureKind.ROWS, None, None, None, None, label) for label in ("a", "b"))

    assert first == second
