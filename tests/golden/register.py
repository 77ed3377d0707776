"""The rows of the register: few, fixed, and wrong in the ways that bounding has to put right."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from tests.reference.clinic import Database, opened

TABLES: Final = """
CREATE TABLE regions(region VARCHAR, zone VARCHAR);
INSERT INTO regions VALUES ('north', 'a'), ('north', 'b'), ('south', 'a'), ('east', 'c');
CREATE TABLE members(member INTEGER PRIMARY KEY, region VARCHAR, age INTEGER NOT NULL, active BOOLEAN);
INSERT INTO members
    SELECT i, ['north', 'south', 'west', NULL][i % 4 + 1], 10 + i % 100, [TRUE, FALSE, NULL][i % 3 + 1]
    FROM range(60) t(i);
CREATE TABLE orders(
    order_id INTEGER, member INTEGER, placed DATE, amount DOUBLE,
    channel VARCHAR, status VARCHAR, tag VARCHAR);
INSERT INTO orders
    SELECT i, CASE WHEN i % 50 = 0 THEN NULL ELSE i % 40 END, DATE '2023-12-25' + (i % 110)::INTEGER,
        (i * 7 % 1300)::DOUBLE, ['web', 'shop', NULL, 'fax'][i % 4 + 1], ['new', 'old'][i // 7 % 2 + 1],
        ['gift', 'sale', 'gift', 'it''s', NULL][i % 5 + 1]
    FROM range(300) t(i);
CREATE TABLE items(order_id INTEGER, product VARCHAR, quantity INTEGER, price DOUBLE);
INSERT INTO items
    SELECT i % 320, ['pen', 'ink', 'paper', 'glue'][i % 4 + 1], i % 9, (i % 31)::DOUBLE - 1
    FROM range(900) t(i);
"""


@contextmanager
def register(folder: Path) -> Iterator[Database]:
    """The register in a folder, open under its policy."""
    shutil.copy(Path(__file__).with_name("register.yaml"), folder)
    with duckdb.connect(str(folder / "register.duckdb")) as connection:
        connection.execute(TABLES)
    with opened(folder / "register.yaml") as database:
        yield database
