"""How is an answer written for other programs, and how are its numbers rounded for people?"""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any, Final

from dpsql.spelling import number

if TYPE_CHECKING:
    from dpsql.engine.release import Release
    from dpsql.plan.charge import Charge

TABLE: Final = "table"
FORMATS: Final = (TABLE, "csv", "json", "jsonl", "markdown")
_LONG: Final = 1e12  # half-widths from here on are shown with their exponent
_SIGNIFICANT: Final = 2  # digits of an error that are worth reading


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows under names.

    ``numeric`` columns are aligned right. ``noisy`` columns have a half-width in every row of ``errors``,
    which is as long as ``rows`` or empty.
    """

    names: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    numeric: tuple[bool, ...]
    noisy: tuple[bool, ...] = ()
    errors: Sequence[tuple[float | None, ...]] = ()

    def error(self, row: int, column: int) -> float | None:
        """The half-width of a cell, or None."""
        return self.errors[row][column] if self.errors else None


def listing(names: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> Sheet:
    """A sheet of exact values; a column of numbers alone is aligned right."""
    numeric = tuple(
        bool(rows) and all(isinstance(row[index], int | float | Decimal) for row in rows)
        for index in range(len(names))
    )
    return Sheet(names, rows, numeric)


def answer_sheet(release: Release) -> Sheet:
    """The rows of an answer with their half-widths."""
    return Sheet(
        names=tuple(column.name for column in release.columns),
        rows=release.rows,
        numeric=tuple(column.type.numeric for column in release.columns),
        noisy=tuple(column.error is not None for column in release.columns),
        errors=release.error_rows,
    )


def answer_document(release: Release) -> dict[str, object]:
    """An answer as JSON values; the keys are the names of the Python attributes."""
    receipt = release.receipt
    return {
        "columns": [
            {
                "name": c.name,
                "type": c.type.value,
                "error": c.error,
                "exact": c.exact,
                "errors": list(c.errors),
            }
            for c in release.columns
        ],
        "rows": [list(row) for row in release.rows],
        "charges": charge_documents(release.charges),
        "receipt": None
        if receipt is None
        else {"id": receipt.id, "sequence": receipt.sequence, "hash": receipt.hash},
        "replayed": release.replayed,
    }


def charge_documents(charges: Sequence[Charge]) -> list[dict[str, object]]:
    """Charges as JSON values; decimals are texts, so that nothing is rounded."""
    return [{"account": c.account, "epsilon": number(c.epsilon), "delta": number(c.delta)} for c in charges]


def written(sheet: Sheet, document: object, form: str) -> str:
    """A sheet or its document as text that ends with a newline.

    JSON is the document; JSON lines are the parts of a document that is a list, else the sheet's rows.
    """
    match form:
        case "json":
            return json.dumps(_plain(document), ensure_ascii=False, indent=2) + "\n"
        case "jsonl":
            rows = document if isinstance(document, list) else _objects(sheet)
            return "".join(json.dumps(_plain(row), ensure_ascii=False) + "\n" for row in rows)
        case "csv":
            return _csv(sheet)
        case "markdown":
            return _markdown(sheet)
        case _:
            raise ValueError("not a format for programs")


def cells(sheet: Sheet, column: int) -> list[tuple[str, str]]:
    """A column's values and half-widths as people read them, rounded alike; half-widths are rounded up.

    >>> cells(Sheet(("mean",), [(1234.5678,), (None,)], (True,), (True,), [(56.2,), (None,)]), 0)
    [('1,235', '57'), ('NULL', '')]
    """
    pairs = [(row[column], sheet.error(place, column)) for place, row in enumerate(sheet.rows)]
    places = max((_places(value, error) for value, error in pairs if error is not None), default=0)
    return [_pair(value, error, places) for value, error in pairs]


def _pair(value: object, error: float | None, places: int) -> tuple[str, str]:
    if error is None or isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return _shown(value), ""
    if not math.isfinite(value) or not error < _LONG:
        return _shown(value), str(error)
    width = Decimal(error).quantize(Decimal(1).scaleb(-places), ROUND_CEILING)
    return f"{value:,.{places}f}", f"{width:,}"


def _places(value: object, error: float) -> int:
    """Decimal places at which an error keeps its significant digits."""
    if isinstance(value, int) or not 0 < error < _LONG:
        return 0
    return min(12, max(0, _SIGNIFICANT - 1 - math.floor(math.log10(error))))


def _shown(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
        case Decimal():
            return number(value)
        case list() | tuple():
            return ", ".join(_shown(part) for part in value)
        case _:
            return printable(str(value))


def printable(text: str) -> str:
    """A text without characters that could steer a terminal; they are shown as escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _plain(value: object) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return None  # JSON has no such number
        case Decimal():
            return number(value)
        case datetime.date():
            return value.isoformat()
        case Mapping():
            return {str(key): _plain(part) for key, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case _:
            return value


def _flat(sheet: Sheet) -> tuple[list[str], list[list[object]]]:
    """The sheet with each noisy column followed by its half-widths, all under names of their own."""
    noisy = sheet.noisy or tuple(False for _ in sheet.names)
    names: list[str] = []
    for name, has_error in zip(sheet.names, noisy, strict=True):
        names += _new(name, has_error, names)
    rows = [
        [
            part
            for column, value in enumerate(row)
            for part in ((value, sheet.error(index, column)) if noisy[column] else (value,))
        ]
        for index, row in enumerate(sheet.rows)
    ]
    return names, rows


def _new(name: str, has_error: bool, taken: Sequence[str]) -> tuple[str, ...]:
    """The name, or the first of name_2, name_3, ... that is not taken, and whose error's name is not, too."""
    candidates = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    pairs = ((each, f"{each}_error") if has_error else (each,) for each in candidates)
    return next(pair for pair in pairs if not any(part in taken for part in pair))


def _objects(sheet: Sheet) -> list[dict[str, object]]:
    names, rows = _flat(sheet)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _csv(sheet: Sheet) -> str:
    names, rows = _flat(sheet)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_field(value) for value in row] for row in rows)
    return text.getvalue()


def _field(value: object) -> object:
    match value:
        case bool():
            return str(value).lower()
        case Decimal():
            return number(value)
        case list() | tuple():
            return "; ".join(str(part) for part in value)
        case _:
            return value


def _markdown(sheet: Sheet) -> str:
    rule = ["---:" if right else "---" for right in sheet.numeric]
    columns = [[_joined(pair) for pair in cells(sheet, index)] for index in range(len(sheet.names))]
    rows = [list(row) for row in zip(*columns, strict=True)]
    lines = [[_escaped(name) for name in sheet.names], rule, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _joined(parts: tuple[str, str]) -> str:
    value, error = parts
    return _escaped(f"{value} ± {error}" if error else value)


def _escaped(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace("|", "\\|")
