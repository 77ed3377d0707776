"""What leaves: the released relation, and the answer made of it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsql import errors
from dpsql.ledger.receipt import Receipt
from dpsql.plan.charge import Charge
from dpsql.sql.expression import Type, Value

_ARROW: Final[dict[Type, str]] = {
    Type.BOOLEAN: "bool_",
    Type.INTEGER: "int64",
    Type.DOUBLE: "float64",
    Type.TEXT: "string",
    Type.DATE: "date32",
    Type.TIMESTAMP: "timestamp",
    Type.NULL: "null",
}


@dataclass(frozen=True, slots=True)
class Relation:
    """Columns that may leave the private database: public keys, keys above the threshold, noisy cells.

    ``arrays`` hold one value per row; NULL is a masked value.
    """

    types: Mapping[str, Type]
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an answer.

    Attributes:
        name: as the query calls it.
        type: ``integer``, ``double``, ``text``, ``date``, ``timestamp`` or ``boolean``, fixed before the run.
        error: the largest half-width over the rows that the noise stays within with probability 95 %; None
            for columns without noise and for noisy texts and conditions.
        exact: whether the column holds no noise.
        errors: the half-width of each row, or () when the column has none.
    """

    name: str
    type: Type
    error: float | None
    exact: bool
    errors: tuple[float, ...] = ()


@dataclass(frozen=True)
class Release:
    """An answer: typed rows, the error of each column, and what was charged for it.

    ``receipt`` is None, and ``charges`` empty, when only public facts were asked.
    """

    columns: tuple[Column, ...]
    rows: list[tuple[Value, ...]]
    receipt: Receipt | None = None
    charges: tuple[Charge, ...] = ()
    replayed: bool = field(default=False)

    def paid(self, receipt: Receipt, *, replayed: bool = False) -> Release:
        """The same answer with what was charged for it; a replay charged nothing."""
        return replace(self, receipt=receipt, charges=() if replayed else receipt.charges, replayed=replayed)

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """The columns as arrays, by name; NULL is masked."""
        return {
            column.name: _array([row[index] for row in self.rows], column.type)
            for index, column in enumerate(self.columns)
        }

    def to_arrow(self) -> Any:
        """The answer as a pyarrow Table; needs the extra ``arrow``.

        Raises:
            InterfaceError: DP902 when pyarrow is not installed.
        """
        try:
            import pyarrow
        except ImportError:
            raise errors.InterfaceError(
                errors.EXTRA, "Arrow tables need pyarrow.", hint="pip install 'dpsql[arrow]'"
            ) from None
        kinds = [
            getattr(pyarrow, _ARROW[c.type])(*(("us",) if c.type is Type.TIMESTAMP else ()))
            for c in self.columns
        ]
        columns = [pyarrow.array([row[index] for row in self.rows], kind) for index, kind in enumerate(kinds)]
        return pyarrow.table(columns, names=[column.name for column in self.columns])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_json(self) -> str:
        """The answer as the ledger stores it; `read_release` gives it back."""
        columns = [
            {
                "name": c.name,
                "type": c.type.value,
                "error": c.error,
                "exact": c.exact,
                "errors": list(c.errors),
            }
            for c in self.columns
        ]
        return json.dumps({"columns": columns, "rows": [[_plain(v) for v in row] for row in self.rows]})

    @cached_property
    def error_rows(self) -> list[tuple[float | None, ...]]:
        """The half-width of every cell, row by row; None for exact columns."""
        return [
            tuple(c.errors[index] if c.errors else None for c in self.columns)
            for index in range(len(self.rows))
        ]


def read_release(text: str) -> Release:
    """A stored answer."""
    stored = json.loads(text)
    columns = tuple(
        Column(c["name"], Type(c["type"]), c["error"], c["exact"], tuple(c["errors"]))
        for c in stored["columns"]
    )
    rows = [
        tuple(_typed(value, column.type) for value, column in zip(row, columns, strict=True))
        for row in stored["rows"]
    ]
    return Release(columns, rows)


def python_values(array: NDArray[Any], type_: Type) -> list[Value]:
    """An engine's array as Python values of a column's type."""
    values: list[Any] = array.tolist()
    if type_ is Type.DATE:
        return [value.date() if isinstance(value, datetime.datetime) else value for value in values]
    return values


def _array(values: list[Value], type_: Type) -> NDArray[Any]:
    kinds: dict[Type, Any] = {
        Type.BOOLEAN: np.bool_,
        Type.INTEGER: np.int64,
        Type.DOUBLE: np.float64,
        Type.DATE: "datetime64[D]",
        Type.TIMESTAMP: "datetime64[us]",
    }
    kind = kinds.get(type_, object)
    missing = [value is None for value in values]
    if not any(missing):
        return np.array(values, dtype=kind)
    filler = np.zeros(1, dtype=kind)[0] if kind is not object else None
    filled = [filler if value is None else value for value in values]
    return np.ma.masked_array(np.array(filled, dtype=kind), mask=missing)


def _plain(value: Value) -> object:
    return value.isoformat() if isinstance(value, datetime.date) else value


def _typed(value: Any, type_: Type) -> Value:
    if value is None:
        return None
    match type_:
        case Type.DATE:
            return datetime.date.fromisoformat(value)
        case Type.TIMESTAMP:
            return datetime.datetime.fromisoformat(value)
        case _:
            plain: Value = value
            return plain
