"""DuckDB as the private database: locked, read only, one paid scan at a time.

Exact cells stay in a temporary table of the private connection; noise is registered beside it, one join
adds the two, and only the sums are fetched.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
from numpy.typing import NDArray

from dpsql import errors
from dpsql.analysis.partitions import Key
from dpsql.engine.catalog import Catalog
from dpsql.engine.fit import misfits
from dpsql.engine.folder import READERS, Folder
from dpsql.engine.inspection import Exceeded, exceeded
from dpsql.engine.interrupt import interruptible
from dpsql.engine.noise import cell_type, in_unit, noise_table
from dpsql.engine.postprocess import SETTINGS
from dpsql.engine.public import PublicFacts, public_sql
from dpsql.engine.release import Relation
from dpsql.engine.render import SQL_TYPES, quote
from dpsql.engine.rewrite import Program
from dpsql.errors import EngineFailure, OperationalError
from dpsql.ledger.receipt import Receipt
from dpsql.mechanisms import NoiseSource
from dpsql.plan.plan import Plan
from dpsql.policy.load import misfit
from dpsql.policy.model import Policy
from dpsql.sql.relation import Query

LOG: Final = logging.getLogger("dpsql.operator")

# All sessions of a process share one open file, and it is locked from the start.
# Units are often numbered densely: up to 20 bits of them are counted in an array, in half the time.
LOCKED: Final[dict[str, str | bool | int | float | list[str]]] = {
    "lock_configuration": "true",
    "perfect_ht_threshold": 20,
    # Every unit that has a row has a weight: filtering rows by the units of the join drops none.
    "disabled_optimizers": "join_filter_pushdown",
}


class DuckDBBackend:
    """A DuckDB file, or a folder of Parquet and CSV files, opened under a policy."""

    def __init__(self, policy: Policy) -> None:
        """Open the source, pin its public facts, and lock the connection.

        Raises:
            OperationalError: DP501 when the source cannot be opened.
            PolicyError: DP403 when the policy's tables or columns are not in it.
        """
        self._policy = policy
        self._lock = threading.Lock()
        source = policy.source_path
        self._folder = Folder(source) if source.is_dir() else None
        self._connection = _connect(source) if self._folder is None else _connect_folder(self._folder, policy)
        try:
            self.facts = self._pin()
        except duckdb.Error:
            self._connection.close()
            raise OperationalError(
                errors.SOURCE,
                f"The source {source.name!r} cannot be read under this policy.",
                hint="A public table is a view that cannot run here, or holds a value that cannot be copied.",
            ) from None
        except BaseException:
            self._connection.close()
            raise

    def _pin(self) -> PublicFacts:
        found = Catalog(self._connection, self._folder)
        if found.shadowed:
            raise OperationalError(
                errors.SOURCE,
                f"The source gives the engine's functions another meaning: {', '.join(found.shadowed)}.",
                hint="Drop these macros, or give them names of their own.",
            )
        breaches = misfits(self._policy, found)
        if breaches:
            raise misfit(self._policy, breaches)
        facts, public = {}, {}
        for table in self._policy.tables.values():
            facts[table.name] = found.facts(table)
            view = found.view(table)
            if table.public:
                # The rows of this moment: a later change of the source does not reach this session.
                self._run(f"CREATE TEMP TABLE {quote(table.name)} AS {view} ORDER BY ALL")
                public[table.name] = self._fetch(f"SELECT * FROM temp.main.{quote(table.name)}")
            else:
                self._run(f"CREATE TEMP VIEW {quote(table.name)} AS {view}")
        return PublicFacts(self._policy, facts, public)

    def _run(self, sql: str, parameters: Mapping[str, object] | None = None) -> None:
        self._connection.execute(sql, dict(parameters or {})).fetchall()

    def _fetch(self, sql: str) -> dict[str, NDArray[Any]]:
        return dict(self._connection.execute(sql).fetchnumpy())

    def check(self, program: Program) -> None:
        """Bind the program against empty tables; reads nothing."""
        self.facts.check(program)

    def public(self, query: Query) -> tuple[Query, Relation]:
        """The rows or groups of a query over public tables, and what is left to do with them."""
        return self.facts.select(query)

    def public_sql(self, query: Query) -> str:
        """The statement that `public` runs."""
        return public_sql(query)

    def exceeded(self) -> tuple[Exceeded, ...]:
        """What the data does not keep of the policy's promises about units; for the owner only.

        Raises:
            OperationalError: DP501 when the private tables cannot be read.
        """
        try:
            return tuple(exceeded(self._policy, self._number))
        except duckdb.Error:
            raise OperationalError(errors.SOURCE, "The private tables cannot be read.") from None

    def _number(self, sql: str) -> int:
        return int(self._connection.execute(sql).fetchall()[0][0])

    def close(self) -> None:
        """Give the database back."""
        self._connection.close()
        self.facts.close()

    def measure(
        self, plan: Plan, program: Program, receipt: Receipt, cap_key: str, noise: NoiseSource
    ) -> Relation:
        """Compute the exact cells, add noise, and give out the sums only.

        Raises:
            InternalError: when the receipt pays for another plan or has been used.
            EngineFailure: when the run fails; its text is constant.
        """
        if receipt.plan_digest != plan.digest:
            raise errors.InternalError(errors.RECEIPT, "The receipt pays for another plan.")
        receipt.consume()
        with self._lock:
            try:
                with interruptible():
                    return self._measure(plan, program, cap_key, noise)
            except duckdb.Error as fault:
                # The engine's text can quote values of rows: only its kind is logged.
                LOG.error("run of receipt %s failed: %s", receipt.id, type(fault).__name__)
                raise EngineFailure(errors.ENGINE_FAILURE, "The run failed; the charge stays.") from None

    def _measure(self, plan: Plan, program: Program, cap_key: str, noise: NoiseSource) -> Relation:
        made = f"CREATE OR REPLACE TEMP TABLE _exact AS {program.sql}"
        rows = self._connection.execute(made, program.arguments(cap_key)).fetchall()[0][0]
        try:
            self._connection.register("_noise", noise_table(plan, rows, noise))
            fetched = self._noisy(plan, program)
            if program.threshold is None and any(len(array) != rows for array in fetched.values()):
                raise ValueError("the noise table and the exact table do not match")
            return _relation(plan, program, fetched)
        finally:
            self._connection.unregister("_noise")
            self._run("DROP TABLE IF EXISTS _exact")

    def _noisy(self, plan: Plan, program: Program) -> dict[str, NDArray[Any]]:
        """The sums of exact cells and noise, and the keys of the groups that may be shown."""
        keys = [_typed(key) for key in program.keys]
        numbers = range(1, len(plan.measurements) + 1)
        cells = [f"CAST(c{number} + z{number} AS DOUBLE) AS m{number}" for number in numbers]
        shown = "" if program.threshold is None else f" WHERE {program.threshold}"
        sql = f"SELECT {', '.join([*keys, *cells])} FROM _exact JOIN _noise ON _exact.rowid = _noise.i{shown}"
        return self._fetch(f"{sql} ORDER BY _exact.rowid")


def _typed(key: Key) -> str:
    """A key in the type of its expression; public values come in it."""
    if key.domain is not None:
        return key.name
    return f"CAST({key.name} AS {SQL_TYPES[key.expression.type]}) AS {key.name}"


def _relation(plan: Plan, program: Program, fetched: Mapping[str, NDArray[Any]]) -> Relation:
    types = {key.name: key.expression.type for key in program.keys}
    arrays = {key.name: fetched[key.name] for key in program.keys}
    for number, part in enumerate(plan.measurements, start=1):
        types[f"m{number}"] = cell_type(part)
        arrays[f"m{number}"] = in_unit(part, fetched[f"m{number}"])
    return Relation(types, arrays)


def _connect(source: Path) -> duckdb.DuckDBPyConnection:
    try:
        if source.is_file():
            return duckdb.connect(str(source), read_only=True, config=SETTINGS | LOCKED)
    except duckdb.Error:
        raise OperationalError(
            errors.SOURCE,
            f"The source {source.name!r} cannot be opened.",
            hint="Name the folder of the file: each file in it is a table."
            if source.suffix.lower() in READERS
            else "It must be a DuckDB file that no other program writes to.",
        ) from None
    raise OperationalError(
        errors.SOURCE,
        f"The source {str(source)!r} does not exist.",
        hint="The `source` of the policy is relative to the policy file.",
    )


def _connect_folder(folder: Folder, policy: Policy) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    try:
        folder.allow(connection, policy.tables)
        for setting, value in SETTINGS.items():
            connection.execute(f"SET {setting}={value}").fetchall()
        folder.attach(connection, policy.tables)
        for setting, value in reversed(LOCKED.items()):
            connection.execute(f"SET {setting}='{value}'").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection
