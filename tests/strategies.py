"""A registry of people whose rows are as bad as rows can be, for property tests.

The policy has every kind of column, key, bound and unit path. Its databases hold values far outside both
bounds, NaN, infinities, NULL owners, constants that differ within a unit, parents with duplicate keys,
dangling references, and texts that look like SQL.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import duckdb
import pyarrow as pa
from hypothesis import strategies as st

from dpsql.policy.load import parse
from dpsql.policy.model import Policy

Row = tuple[Any, ...]

POLICY: Final = """
version: 1
id: registry
source: registry.duckdb
privacy_unit: {name: person, table: members, key: person_id}
budget: {epsilon: 50, delta: 1.0e-3}
per_query: {epsilon: 1, delta: 1.0e-6}
tables:
  hospitals:
    public: true
    columns: {hospital: {type: text}, city: {type: text}, beds: {type: integer, bounds: [0, 500]}}
  wards:
    public: true
    columns: {ward: {type: text}, nurse: {type: text}, floor: {type: integer, bounds: [-2, 9]}}
  days:
    public: true
    columns: {day: {type: date}, season: {type: text}}
  members:
    budget: {epsilon: 50, delta: 1.0e-3}
    max_rows: 1
    columns:
      person_id: {type: integer}
      colour: {type: text, domain: [red, green, "it's; -- blue"]}
      team: {type: text}
      level: {type: integer, bounds: [-3, 12]}
      active: {type: boolean}
      income: {type: double, bounds: [-1000, 9000]}
  patients:
    unit: person_id
    budget: {epsilon: 50, delta: 1.0e-3}
    max_rows: 1
    columns:
      person_id: {type: integer}
      hospital: {type: text, domain: hospitals.hospital, constant: true}
      sex: {type: text, domain: [F, M, null], constant: true}
      diagnosis: {type: text}
      age: {type: integer, bounds: [0, 110]}
      cost: {type: double, bounds: [-200, 50000], step: 0.01}
  visits:
    unit: person_id
    budget: {epsilon: 50, delta: 1.0e-3}
    max_rows: 4
    max_groups: {department: 2, note: 2, room: 3}
    columns:
      visit_id: {type: integer}
      person_id: {type: integer}
      region: {type: text, domain: [north, south], constant: true}
      clan: {type: text, constant: true}
      day: {type: date, domain: {from: 2024-01-01, to: 2024-12-31}}
      department: {type: text, domain: [cardiology, oncology, surgery, null]}
      room: {type: integer, bounds: [1, 100]}
      ward: {type: text}
      note: {type: text}
      urgent: {type: boolean}
      charge: {type: double, bounds: [10, 5000], step: 0.01}
      minutes: {type: integer, bounds: [-30, 240], max_sum: 300}
      weight: {type: double, bounds: [-2.5, 7]}
  labs:
    unit: {column: visit_id, references: visits.visit_id}
    budget: {epsilon: 50, delta: 1.0e-3}
    max_rows: 3
    max_groups: {test: 2}
    min_group_units: 2
    columns:
      lab_id: {type: integer}
      visit_id: {type: integer}
      test: {type: text}
      result: {type: double, bounds: [-1, 1]}
      grade: {type: integer, bounds: [-9, 9]}
  samples:
    unit: {column: lab_id, references: labs.lab_id}
    budget: {epsilon: 50, delta: 1.0e-3}
    max_rows: 2
    columns: {lab_id: {type: integer}, kind: {type: text, domain: [blood, urine], constant: true},
              ml: {type: integer, bounds: [0, 50]}}
"""

_PUBLIC: Final = """
CREATE TABLE hospitals (hospital VARCHAR, city VARCHAR, beds BIGINT);
CREATE TABLE wards (ward VARCHAR, nurse VARCHAR, floor BIGINT);
CREATE TABLE days (day DATE, season VARCHAR);
INSERT INTO hospitals VALUES
  ('Elm', 'North', 100), ('Oak', 'South', 50), ('O''Brien', 'North', 7), (NULL, 'Void', 1);
INSERT INTO wards VALUES
  ('w1', 'Ann', 1), ('w1', 'Bob', 1), ('w1', 'Cy', 99), ('w2', 'Dee', 2), (NULL, 'Eve', 3);
INSERT INTO days SELECT d::DATE, CASE WHEN MONTH(d) < 7 THEN 'early' ELSE 'late' END
  FROM range(DATE '2024-01-01', DATE '2025-01-01', INTERVAL 1 DAY) t(d);
"""

_DECLARED: Final = {
    "members": "person_id BIGINT PRIMARY KEY, colour VARCHAR, team VARCHAR, level BIGINT, active BOOLEAN,"
    " income DOUBLE",
    "patients": "person_id BIGINT, hospital VARCHAR, sex VARCHAR, diagnosis VARCHAR, age BIGINT, cost DOUBLE",
    "visits": "visit_id BIGINT, person_id BIGINT, region VARCHAR, clan VARCHAR, day DATE, department VARCHAR,"
    " room BIGINT, ward VARCHAR, note VARCHAR, urgent BOOLEAN, charge DOUBLE, minutes BIGINT, weight DOUBLE",
    "labs": "lab_id BIGINT, visit_id BIGINT, test VARCHAR, result DOUBLE, grade BIGINT",
    "samples": "lab_id BIGINT, kind VARCHAR, ml BIGINT",
}

PRIVATE: Final[dict[str, tuple[tuple[str, pa.DataType], ...]]] = {
    "members": (
        ("person_id", pa.int64()),
        ("colour", pa.string()),
        ("team", pa.string()),
        ("level", pa.int64()),
        ("active", pa.bool_()),
        ("income", pa.float64()),
    ),
    "patients": (
        ("person_id", pa.int64()),
        ("hospital", pa.string()),
        ("sex", pa.string()),
        ("diagnosis", pa.string()),
        ("age", pa.int64()),
        ("cost", pa.float64()),
    ),
    "visits": (
        ("visit_id", pa.int64()),
        ("person_id", pa.int64()),
        ("region", pa.string()),
        ("clan", pa.string()),
        ("day", pa.date32()),
        ("department", pa.string()),
        ("room", pa.int64()),
        ("ward", pa.string()),
        ("note", pa.string()),
        ("urgent", pa.bool_()),
        ("charge", pa.float64()),
        ("minutes", pa.int64()),
        ("weight", pa.float64()),
    ),
    "labs": (
        ("lab_id", pa.int64()),
        ("visit_id", pa.int64()),
        ("test", pa.string()),
        ("result", pa.float64()),
        ("grade", pa.int64()),
    ),
    "samples": (("lab_id", pa.int64()), ("kind", pa.string()), ("ml", pa.int64())),
}

_NUMBERS: Final = (
    *(0.0, -0.0, 1.0, -1.0, 0.005, 9.99, 10.0, 4999.995, 5000.0, 5000.01, -2.5, 7.0, 3.3e-9, 123.456),
    *(float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 1e12, -1e12, 60000.0, -60000.0, None),
)
_INTEGERS: Final = (
    *range(-4, 14),
    50,
    99,
    100,
    101,
    110,
    111,
    240,
    241,
    10**9,
    -(10**9),
    2**62,
    -(2**63),
    None,
)
_TEXTS: Final = (
    "a",
    "b",
    "A",
    " a",
    "",
    "a\x1fb",
    "v1",
    "n",
    "it's",
    '"q"',
    "'; DROP TABLE visits; --",
    "é",
    None,
)
_DAYS: Final = (
    *(datetime.date(2024, month, day) for month in (1, 2, 7, 12) for day in (1, 29)),
    *(datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2023, 12, 31), None),
)

_SHARED: Final = tuple(range(1, 9))
"""Keys that rows of different people have, so that their parents are not unique."""

_POOLS: Final[dict[str, tuple[Any, ...]]] = {
    "colour": ("red", "green", "it's; -- blue", "RED", "pink", None),
    "hospital": ("Elm", "Oak", "O'Brien", "elm", "Yew", None),
    "sex": ("F", "M", "X", "f", None),
    "region": ("north", "south", "west", None),
    "department": ("cardiology", "oncology", "surgery", "Surgery", "nowhere", None),
    "ward": ("w1", "w2", "w3", None),
    "test": ("a", "it's", "a\x1fb", None),
    "kind": ("blood", "urine", "hair", None),
    "active": (True, False, None),
    "urgent": (True, False, None),
    "day": _DAYS,
    "visit_id": (*_SHARED, None),
    "lab_id": (*range(1, 13), None),
    "room": (*range(1, 101), 0, -7, 500, None),
}

_ROW_COUNTS: Final = (0, 1, 1, 2, 3, 5, 9, 40, 500)


@dataclass(frozen=True)
class Database:
    """Rows of the private tables; ``owners`` names each row's unit, None where it has none."""

    rows: dict[str, list[Row]] = field(repr=False)
    owners: dict[str, list[int | None]] = field(repr=False)

    @property
    def units(self) -> list[int]:
        """Every unit that owns a row."""
        return sorted({owner for owners in self.owners.values() for owner in owners if owner is not None})

    def without(self, unit: int) -> Database:
        """The neighbour: all rows of one unit removed, in all tables."""
        kept = {
            table: [i for i, owner in enumerate(owners) if owner != unit]
            for table, owners in self.owners.items()
        }
        return Database(
            {table: [self.rows[table][i] for i in places] for table, places in kept.items()},
            {table: [self.owners[table][i] for i in places] for table, places in kept.items()},
        )


def owned(rows: dict[str, list[Row]]) -> Database:
    """The rows with their owners by the policy's rule: the least unit among a key's parent rows."""
    owners: dict[str, list[int | None]] = {
        "members": [row[0] for row in rows["members"]],
        "patients": [row[0] for row in rows["patients"]],
        "visits": [row[1] for row in rows["visits"]],
    }
    by_visit = _least([row[0] for row in rows["visits"]], owners["visits"])
    owners["labs"] = [by_visit.get(row[1]) for row in rows["labs"]]
    by_lab = _least([row[0] for row in rows["labs"]], owners["labs"])
    owners["samples"] = [by_lab.get(row[0]) for row in rows["samples"]]
    return Database(rows, owners)


def _least(keys: list[int | None], owners: list[int | None]) -> dict[int | None, int]:
    found: dict[int | None, int] = {}
    for key, owner in zip(keys, owners, strict=True):
        if key is not None and owner is not None:
            found[key] = min(owner, found.get(key, owner))
    return found


def databases(units: int = 7) -> st.SearchStrategy[Database]:
    """Databases of up to ``units`` people, with 0 to 500 rows a person and table."""
    counts = st.lists(st.sampled_from(_ROW_COUNTS), min_size=3, max_size=3)
    return st.builds(_database, st.integers(0, 2**32), st.lists(counts, min_size=1, max_size=units))


def random_database(seed: int, units: int | None = None) -> Database:
    """One database of such kind for each seed, of up to seven people or of ``units``."""
    source = random.Random(seed)
    people = range(source.randint(1, 7) if units is None else units)
    return _database(seed, [source.choices(_ROW_COUNTS, k=3) for _ in people])


def _database(seed: int, counts: list[list[int]]) -> Database:
    source = random.Random(seed)
    rows: dict[str, list[Row]] = {table: [] for table in PRIVATE}
    visit_ids = (*range(10 * len(counts) + 10), None)
    for unit, (few, many, linked) in enumerate(counts, start=1):
        me = {"person_id": (unit,)}
        visits = (*range(10 * unit, 10 * unit + 10), *_SHARED, None)
        rows["members"] += _rows("members", min(few, 1), me, source)
        rows["patients"] += _rows("patients", min(few, 40), me, source)
        rows["visits"] += _rows("visits", many, {**me, "visit_id": visits}, source)
        rows["labs"] += _rows("labs", linked, {"visit_id": visit_ids}, source)
        rows["samples"] += _rows("samples", min(linked, 40), {}, source)
    # Rows of nobody: they must never be read.
    for table in ("patients", "visits"):
        rows[table] += _rows(table, source.choice((0, 1, 30)), {"person_id": (None,)}, source)
    for table in rows:
        source.shuffle(rows[table])
    return owned(rows)


Pools: TypeAlias = Mapping[str, tuple[Any, ...]]


def _rows(table: str, count: int, pools: Pools, source: random.Random) -> list[Row]:
    columns = [_column(name, kind, count, pools, source) for name, kind in PRIVATE[table]]
    return list(zip(*columns, strict=True))


def _column(name: str, kind: pa.DataType, count: int, pools: Pools, source: random.Random) -> list[Any]:
    """One value throughout, a few, or anything: extremes add up only where they are alike."""
    pool = pools.get(name) or _POOLS.get(name) or _by_type(kind)
    shape = source.random()
    if shape < 0.4:
        return [source.choice(pool)] * count
    if shape < 0.6 and len(pool) > 2:
        pool = tuple(source.sample(pool, 2))
    return source.choices(pool, k=count)


def _by_type(kind: pa.DataType) -> tuple[Any, ...]:
    if pa.types.is_integer(kind):
        return _INTEGERS
    return _NUMBERS if pa.types.is_floating(kind) else _TEXTS


def registry_policy(folder: Path) -> Policy:
    """The policy, as a file of that folder would be; its source is ``registry.duckdb`` in it."""
    return parse(POLICY, folder / "registry.yaml")


def public_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create and fill the public tables."""
    connection.execute(_PUBLIC).fetchall()


def fill(connection: duckdb.DuckDBPyConnection, database: Database, tables: Iterable[str] = PRIVATE) -> None:
    """Create private tables anew with the database's rows."""
    for table in tables:
        columns = PRIVATE[table]
        values = list(zip(*database.rows[table], strict=True)) or [()] * len(columns)
        arrays = {name: pa.array(column, kind) for (name, kind), column in zip(columns, values, strict=True)}
        connection.execute(f"CREATE OR REPLACE TABLE {table} ({_DECLARED[table]})").fetchall()
        connection.register("arrived", pa.table(arrays))
        connection.execute(f"INSERT INTO {table} SELECT * FROM arrived").fetchall()
        connection.unregister("arrived")


def store(folder: Path, database: Database | None = None) -> Policy:
    """Write the database into the folder and give its policy."""
    connection = duckdb.connect(str(folder / "registry.duckdb"))
    public_tables(connection)
    fill(connection, database or owned({table: [] for table in PRIVATE}))
    connection.close()
    return registry_policy(folder)


_NUMERIC: Final = (
    "charge",
    "minutes",
    "weight",
    "room",
    "minutes * 2 - room",
    "ABS(weight)",
    "room % 7",
    "-charge",
)
_CONDITIONS: Final = (
    *("urgent", "NOT urgent", "charge > 100", "minutes < 0 OR minutes IS NULL", "note LIKE '%a%'"),
    *("region = 'north'", "clan IS NULL", "weight / charge > 0", "department IN ('oncology', 'surgery')"),
    *("day < '2024-06-01'", "room BETWEEN 5 AND 50", "LENGTH(note) = minutes", "COALESCE(note, 'z') > 'b'"),
)
_KEYS: Final = (
    *("department", "region", "clan", "note", "urgent", "room", "room // 10", "MONTH(day)", "DAYOFWEEK(day)"),
    *(
        "LEFT(note, 1)",
        "CASE WHEN charge > 50 THEN 'dear' ELSE 'cheap' END",
        "region || 'x'",
        "UPPER(department)",
    ),
)
_JOINS: Final = (
    *("", "", "", " JOIN wards USING (ward)", " LEFT JOIN wards USING (ward)"),
    " LEFT JOIN days d ON d.day = visits.day",
)


@st.composite
def visit_queries(draw: st.DrawFn) -> str:
    """Queries over visits: any aggregates, keys, conditions and public join together."""
    condition = st.sampled_from(_CONDITIONS)
    plain = st.one_of(
        st.sampled_from(("COUNT(*)", "COUNT(note)", "COUNT(DISTINCT person_id)", "COUNT(urgent)")),
        st.builds("{}({})".format, st.sampled_from(("SUM", "AVG", "COUNT")), st.sampled_from(_NUMERIC)),
    )
    filtered = st.builds("{} FILTER (WHERE {})".format, plain, condition)
    aggregates = draw(st.lists(st.one_of(plain, filtered), min_size=1, max_size=3))
    keys = draw(st.lists(st.sampled_from(_KEYS), max_size=2, unique=True))
    conditions = draw(st.lists(condition, max_size=2))
    where = f" WHERE {' AND '.join(f'({c})' for c in conditions)}" if conditions else ""
    by = f" GROUP BY {', '.join(str(n) for n in range(1, len(keys) + 1))}" if keys else ""
    text = f"SELECT {', '.join([*keys, *aggregates])} FROM visits{draw(st.sampled_from(_JOINS))}{where}{by}"
    # Two tables have a day.
    return text.replace("day)", "visits.day)").replace("day <", "visits.day <") if " days " in text else text
