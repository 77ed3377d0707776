"""The people workload: a million rows of 100,000 invented users, in a DuckDB file, and its policies.

About ten rows a user (Poisson, at most 26; 42 % of the users have more than ten), eight regions of unequal
size, one row in ten outside the user's home region. Every draw is seeded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb
import numpy as np

USERS: Final = 100_000
ROWS: Final = 1_000_000
SEED: Final = 20260101
REGIONS: Final = ("north", "south", "east", "west", "centre", "coast", "isles", "hills")
SHARES: Final = (0.30, 0.20, 0.15, 0.12, 0.09, 0.07, 0.05, 0.02)
LOG_INCOMES: Final = (10.3, 10.2, 10.4, 10.25, 10.6, 10.45, 10.0, 9.9)

QUERIES: Final = {
    "a": "SELECT COUNT(*) FROM people",
    "b": "SELECT region, COUNT(*), SUM(income), AVG(age) FROM people GROUP BY region",
    "c": "SELECT region, sex, visits // 5 AS fives, COUNT(*) FROM people GROUP BY region, sex, fives",
    "d": "SELECT region, COUNT(DISTINCT user_id) FROM people GROUP BY region",
}

_POLICY: Final = """
version: 1
id: people
source: {source}
ledger: ":memory:"
privacy_unit: {{name: user}}
budget: {{epsilon: 50, delta: 1.0e-4}}
per_query: {{epsilon: 1, delta: 1.0e-6}}
tables:
  people:
    unit: user_id
    budget: {{epsilon: 50, delta: 1.0e-4}}
    max_rows: {rows}
    max_groups: {{region: 2}}
    columns:
      user_id: {{type: integer}}
      age: {{type: integer, bounds: [18, 90]}}
      sex: {{type: text, domain: [F, M]}}
      region: {{type: text, domain: [{regions}]}}
      income: {{type: double, bounds: [0, 200000], step: 0.01{limit}}}
      visits: {{type: integer, bounds: [0, 20]}}
"""


def build(folder: Path) -> Path:
    """Write people.duckdb into a folder, unless it is there."""
    target = folder / "people.duckdb"
    if target.exists():
        return target
    random = np.random.default_rng(SEED)
    user = random.integers(0, USERS, ROWS)
    age = random.integers(18, 91, USERS)
    sex = random.choice(["F", "M"], USERS, p=[0.52, 0.48])
    home, other = (random.choice(len(REGIONS), USERS, p=SHARES) for _ in range(2))
    region = np.where(random.random(ROWS) < 0.10, other[user], home[user])
    income = np.exp(random.normal(np.array(LOG_INCOMES)[region], 0.6)).clip(0, 200_000).round(2)
    visits = np.minimum(random.poisson(6, ROWS), 20)
    columns = {
        "user_id": user.astype(np.int32),
        "age": age[user].astype(np.int32),
        "sex": sex[user].astype(object),
        "region": np.array(REGIONS)[region].astype(object),
        "income": income,
        "visits": visits.astype(np.int32),
    }
    connection = duckdb.connect(str(target))
    order = random.permutation(ROWS)
    connection.register("drawn", {name: values[order] for name, values in columns.items()})
    connection.execute(
        "CREATE TABLE people (user_id INTEGER NOT NULL, age INTEGER NOT NULL, sex VARCHAR NOT NULL,"
        " region VARCHAR NOT NULL, income DOUBLE NOT NULL, visits INTEGER NOT NULL)"
    )
    connection.execute("INSERT INTO people SELECT * FROM drawn")
    connection.close()
    return target


def policy(folder: Path, rows: int, max_sum: int | None = None) -> Path:
    """Write a policy with these bounds beside the data."""
    path = folder / f"people_{rows}_{max_sum}.yaml"
    limit = "" if max_sum is None else f", max_sum: {max_sum}"
    text = _POLICY.format(source="people.duckdb", rows=rows, regions=", ".join(REGIONS), limit=limit)
    path.write_text(text, "utf-8")
    return path
