"""A table of people whose every column holds the worst values of its type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from tests.reference.clinic import Database, opened

POLICY: Final = """\
version: 1
id: hostile
source: hostile.duckdb
data_version: 1
privacy_unit: {name: person}
budget: {epsilon: 50, delta: 1.0e-5}
per_query: {epsilon: 0.0005, delta: 1.0e-10}
tables:
  places:
    public: true
    columns: {place: {type: text}, size: {type: integer}, opened: {type: date}, rate: {type: double}}
  events:
    unit: person
    budget: {epsilon: 50, delta: 1.0e-5}
    max_rows: 3
    max_groups: {label: 2, note: 1}
    columns:
      person: {type: text}
      small: {type: integer, bounds: [-10, 10]}
      large: {type: integer, bounds: [-4000000000, 4000000000]}
      wild: {type: integer}
      ratio: {type: double, bounds: [-1000, 1000], step: 0.01}
      free: {type: double}
      label: {type: text, domain: [a, b, "it's"], constant: true}
      place: {type: text, domain: places.place}
      note: {type: text}
      born: {type: date, domain: {from: 1999-01-01, to: 2001-12-31}}
      seen: {type: timestamp}
      flag: {type: boolean}
"""

TABLES: Final = """
CREATE TABLE places(place VARCHAR, size INTEGER, opened DATE, rate DOUBLE);
INSERT INTO places VALUES
    ('oak', 3, '2000-02-29', 0.5), ('it''s', -3, '1999-12-31', -1e308), ('', NULL, 'infinity', 'nan');
CREATE TABLE events(
    person VARCHAR, small BIGINT, large BIGINT, wild BIGINT, ratio DOUBLE, free DOUBLE, label VARCHAR,
    place VARCHAR, note VARCHAR, born DATE, seen TIMESTAMP, flag BOOLEAN);
INSERT INTO events
SELECT
    CASE WHEN i % 11 = 0 THEN NULL ELSE 'p' || (i % 40) END,
    [0, 5, -11, 9223372036854775807, -9223372036854775808, NULL, 1][i % 7 + 1],
    [0, -4000000001, 9223372036854775807, -9223372036854775808, NULL][i % 5 + 1],
    [0, 1, -1, 9223372036854775807, -9223372036854775808, NULL][i % 6 + 1],
    [0, 0.005, 1e308, -1e308, 'nan', 'inf', '-inf', NULL, 1e-320][i % 9 + 1]::DOUBLE,
    [0, -0.0, 1e308, -1e308, 'nan', 'inf', '-inf', NULL, 4.5][i % 9 + 1]::DOUBLE,
    ['a', 'b', 'it''s', 'A', '', NULL][i % 6 + 1],
    ['oak', 'it''s', '', 'ash', NULL][i % 5 + 1],
    ['', '''', '%_\\', repeat('long', 2000), 'a|b', chr(31), '1e999', '-1', '2000-02-30', NULL, 'ÄÖ',
        chr(128512)][i % 12 + 1],
    ['1999-06-01', '2000-02-29', 'infinity', '-infinity', '0001-01-01', '9999-12-31',
        '5877642-06-25 (BC)', NULL][i % 8 + 1]::DATE,
    ['1999-06-01 12:00', 'infinity', '-infinity', '0001-01-01', '290309-12-22 (BC) 00:00:00', NULL]
        [i % 6 + 1]::TIMESTAMP,
    [TRUE, FALSE, NULL][i % 3 + 1]
FROM range(400) t(i);
"""


@contextmanager
def hostile(folder: Path) -> Iterator[Database]:
    """The table in a folder, open under its policy."""
    (folder / "hostile.yaml").write_text(POLICY, encoding="utf-8")
    with duckdb.connect(str(folder / "hostile.duckdb")) as connection:
        connection.execute(TABLES)
    with opened(folder / "hostile.yaml") as database:
        yield database
