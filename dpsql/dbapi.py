"""The Python DB-API (PEP 249) over a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from dpsql import errors
from dpsql.engine.release import Release
from dpsql.errors import InterfaceError, NotSupportedError, ProgrammingError
from dpsql.ledger import AccountState
from dpsql.plan.plan import Plan, PublicPlan
from dpsql.policy.model import Policy
from dpsql.session import Session, Terms
from dpsql.sql.expression import Value

apilevel: Final = "2.0"
threadsafety: Final = 2
paramstyle: Final = "qmark"

Number = Decimal | float | int | str
Wish = str | float | int | Mapping[str, str]


def connect(
    policy: str | Path | Policy,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Connection:
    """Open the database of a policy.

    Args:
        policy: the policy, or the path of its file.
        ledger: a path or ":memory:"; by default where the policy says.
        analyst: who asks; not authenticated. By default the only listed name, or "analyst".
        epsilon: price of the queries that state none; by default the policy's.
        delta: likewise.

    Raises:
        PolicyError, PolicyRefused, OperationalError: as `Session.open`.
    """
    if not isinstance(policy, (str, Path, Policy)):
        raise InterfaceError(errors.USAGE, "The policy is neither a path nor a Policy.")
    _check_ledger(ledger)
    defaults = Terms(_decimal("epsilon", epsilon), _decimal("delta", delta))
    return Connection(Session.open(policy, ledger, analyst), defaults)


class Connection:
    """A PEP 249 connection. There are no transactions: every charge is final."""

    def __init__(self, session: Session, defaults: Terms) -> None:
        self._session = session
        self._defaults = defaults

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def cursor(self) -> Cursor:
        """A new cursor.

        Raises:
            InterfaceError: DP900 when the connection is closed.
        """
        self._session.require_open()
        return Cursor(self)

    def execute(self, sql: str, params: Sequence[Value] | None = None, **terms: object) -> Cursor:
        """A new cursor that has executed the query; takes what `Cursor.execute` takes."""
        return self.cursor().execute(sql, params, **terms)  # type: ignore[arg-type]

    def explain(
        self,
        sql: str,
        params: Sequence[Value] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        error: Wish | None = None,
    ) -> Plan | PublicPlan:
        """The priced plan of a query; spends nothing, reads no row.

        Raises:
            ProgrammingError, NotSupportedError: the query is refused.
        """
        return self._session.explain(_text(sql), _values(params), self._terms(epsilon, delta, error))

    def budget(self) -> tuple[AccountState, ...]:
        """Per account: its budget, what remains of each filter rule, how many more queries like the last."""
        return self._session.budget()

    def close(self) -> None:
        """Close the session; a second call does nothing."""
        self._session.close()

    def commit(self) -> None:
        """Do nothing: a charge is durable before its query runs.

        Raises:
            InterfaceError: DP900 when the connection is closed.
        """
        self._session.require_open()

    def rollback(self) -> None:
        """Refuse: what has been spent stays spent.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError(errors.UNSUPPORTED, "A charge cannot be rolled back.")

    def _terms(self, epsilon: Number | None, delta: Number | None, error: Wish | None) -> Terms:
        if epsilon is not None and error is not None:
            raise InterfaceError(errors.USAGE, "State an epsilon or an error, not both.")
        return Terms(
            _decimal("epsilon", epsilon) if epsilon is not None else self._defaults.epsilon,
            _decimal("delta", delta) if delta is not None else self._defaults.delta,
            _wish(error),
        )

    def _answer(
        self,
        sql: str,
        params: Sequence[Value] | None,
        epsilon: Number | None,
        delta: Number | None,
        error: Wish | None,
        key: str | None,
    ) -> Release:
        return self._session.answer(
            _text(sql), _values(params), self._terms(epsilon, delta, error), _key(key)
        )


class Cursor:
    """A PEP 249 cursor; ``release`` holds the whole answer with errors, receipt and charges."""

    arraysize: int = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._release: Release | None = None
        self._next = 0
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def execute(
        self,
        sql: str,
        params: Sequence[Value] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        error: Wish | None = None,
        key: str | None = None,
    ) -> Self:
        """Answer a query.

        Args:
            sql: one SELECT, with ``?`` for parameters.
            params: their values.
            epsilon: what the whole query may cost; by default the connection's or the policy's.
            delta: likewise.
            error: instead of epsilon, the wanted 95 % half-width: "±50", "5% of 400", or {column: "±50"}.
            key: idempotency key: a retry with the same key and query gets the stored answer.

        Raises:
            ProgrammingError, NotSupportedError, BudgetExceeded: refused; nothing was charged or read.
            EngineFailure: the run failed after it was charged.
        """
        self._check_open()
        self._release = None
        self._release = self.connection._answer(sql, params, epsilon, delta, error, key)
        self._next = 0
        return self

    def executemany(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Refuse: each query has an answer and a price of its own.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError(errors.UNSUPPORTED, "executemany is not supported; call execute for each.")

    @property
    def release(self) -> Release:
        """The whole answer.

        Raises:
            InterfaceError: DP901 before the first query.
        """
        self._check_open()
        if self._release is None:
            raise InterfaceError(errors.NO_RESULT, "No query has been executed.")
        return self._release

    @property
    def description(self) -> tuple[tuple[str, str, None, None, None, None, bool], ...] | None:
        """(name, type, None, None, None, None, null allowed) per column; None before the first query."""
        if self._release is None:
            return None
        return tuple((c.name, c.type.value, None, None, None, None, c.exact) for c in self._release.columns)

    @property
    def rowcount(self) -> int:
        """Rows of the answer; -1 before the first query."""
        return -1 if self._release is None else len(self._release.rows)

    def fetchone(self) -> tuple[Value, ...] | None:
        """The next row, or None."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Value, ...]]:
        """The next rows, ``size`` or ``arraysize`` of them.

        Raises:
            InterfaceError: DP903 when the size is no whole number from 0.
        """
        wanted = _size(self.arraysize if size is None else size)
        start = self._next
        self._next = min(start + wanted, len(self.release.rows))
        return self.release.rows[start : self._next]

    def fetchall(self) -> list[tuple[Value, ...]]:
        """All rows that are left."""
        return self.fetchmany(len(self.release.rows))

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Do nothing, as PEP 249 permits."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, as PEP 249 permits."""

    def close(self) -> None:
        """Forget the answer; the cursor cannot be used any more."""
        self._open = False
        self._release = None

    def _check_open(self) -> None:
        if not self._open:
            raise InterfaceError(errors.CLOSED, "The cursor is closed.")


def _decimal(name: str, number: Number | None) -> Decimal | None:
    if number is None:
        return None
    try:
        return Decimal(str(number))
    except (ArithmeticError, ValueError):
        raise InterfaceError(errors.USAGE, f"{name} is not a number.") from None


def _check_ledger(ledger: object) -> None:
    if ledger is not None and (not isinstance(ledger, (str, Path)) or "\0" in str(ledger)):
        raise InterfaceError(errors.USAGE, "The ledger is not a path.")


def _text(sql: object) -> str:
    if not isinstance(sql, str):
        raise InterfaceError(errors.USAGE, "The query is not a text.")
    return sql


def _size(size: object) -> int:
    if isinstance(size, int) and size >= 0:
        return size
    raise InterfaceError(errors.USAGE, "The number of rows is not a whole number from 0.")


def _key(key: object) -> str | None:
    if key is None:
        return None
    if isinstance(key, str) and key.isprintable():
        return key
    raise InterfaceError(errors.USAGE, "The idempotency key is not a printable text.")


def _values(params: object) -> tuple[Value, ...]:
    """The parameters as plain Python values; numpy's numbers are read as Python's."""
    if params is None:
        return ()
    if isinstance(params, (str, bytes)) or not isinstance(params, Sequence):
        raise ProgrammingError(
            errors.PARAMETERS, "The parameters are not a list of values.", hint="Write [value], also for one."
        )
    return tuple(_value(value) for value in params)


def _value(value: Any) -> Value:
    plain: Value = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    return plain


def _wish(error: object) -> str | Mapping[str, str] | None:
    match error:
        case None | str():
            return error
        case Mapping() if error and all(isinstance(name, str) for name in error):
            return error
        case int() | float() if not isinstance(error, bool):
            return str(error)
        case _:
            raise InterfaceError(
                errors.USAGE, "The wanted error is not a number, a text or a mapping of texts."
            )
