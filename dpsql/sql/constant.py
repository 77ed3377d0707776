"""Which constant is meant by a number, a text or a parameter?"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Final

from dpsql import errors
from dpsql.errors import Position, ProgrammingError
from dpsql.sql.expression import Expression, Literal, Type, Value

MAX_DIGITS: Final = 100

NULL: Final = Literal(None, Type.NULL)


def literal(value: Value) -> Literal:
    """A parameter's value as a constant of the query.

    Raises:
        ProgrammingError: DP103 for a value of another type, an infinite number or a huge integer.
    """
    match value:
        case None:
            return NULL
        case bool():
            return Literal(value, Type.BOOLEAN)
        case int():
            return integer(value, None)
        case float() if math.isfinite(value):
            return Literal(Decimal(repr(float(value))), Type.DOUBLE)
        case Decimal() if value.is_finite():
            return _double(value, None)
        case str() if "\0" not in value and not any(0xD800 <= ord(char) <= 0xDFFF for char in value):
            return Literal(value, Type.TEXT)
        case datetime.datetime() if value.tzinfo is None:
            return Literal(value, Type.TIMESTAMP)
        case datetime.date() if not isinstance(value, datetime.datetime):
            return Literal(value, Type.DATE)
        case _:
            raise ProgrammingError(
                errors.PARAMETERS,
                "A parameter is neither NULL, a finite number, a text, a date nor a naive timestamp.",
            )


def number(text: str, position: Position | None) -> Literal:
    """A number of the text: whole, or a double.

    Raises:
        ProgrammingError: DP104 when it has more than 63 bits, or is beyond the range of doubles.
    """
    if len(text) > MAX_DIGITS:
        raise ProgrammingError(
            errors.TYPE_MISMATCH, f"A number has more than {MAX_DIGITS} digits.", position=position
        )
    if text.isdigit():
        return integer(int(text), position)
    try:
        return _double(Decimal(text), position)
    except InvalidOperation:
        raise _beyond(position) from None


def _double(value: Decimal, position: Position | None) -> Literal:
    # Beyond this a double is infinite or 0, and exact arithmetic on the exponent would not end.
    if value != 0 and not -400 <= value.adjusted() <= 300:
        raise _beyond(position)
    if len(value.as_tuple().digits) > MAX_DIGITS:
        raise _beyond(position)
    return Literal(value, Type.DOUBLE)


def _beyond(position: Position | None) -> ProgrammingError:
    return ProgrammingError(
        errors.TYPE_MISMATCH,
        "A number is beyond 1e300, the range of doubles, or has too many digits.",
        position=position,
    )


def integer(value: int, position: Position | None) -> Literal:
    """A whole number of at most 63 bits.

    Raises:
        ProgrammingError: DP104 when it is larger.
    """
    if abs(value) >= 2**63:
        raise ProgrammingError(errors.TYPE_MISMATCH, "An integer needs more than 63 bits.", position=position)
    return Literal(value, Type.INTEGER)


def day(text: Literal, position: Position | None) -> Literal:
    """A text constant as a date.

    Raises:
        ProgrammingError: DP104 when it is not written YYYY-MM-DD.
    """
    try:
        return Literal(datetime.date.fromisoformat(str(text.value)), Type.DATE)
    except ValueError:
        raise ProgrammingError(
            errors.TYPE_MISMATCH, "A date is not written as 'YYYY-MM-DD'.", position=position
        ) from None


def moment(constant: Literal, position: Position | None) -> Literal:
    """A text or date constant as a timestamp; a date is its midnight.

    Raises:
        ProgrammingError: DP104 when it is not written YYYY-MM-DD HH:MM:SS, or has a time zone.
    """
    try:
        value = datetime.datetime.fromisoformat(str(constant.value))
    except ValueError:
        value = None
    if value is None or value.tzinfo is not None:
        raise ProgrammingError(
            errors.TYPE_MISMATCH, "A timestamp is not written as 'YYYY-MM-DD HH:MM:SS'.", position=position
        )
    return Literal(value, Type.TIMESTAMP)


def as_times(arguments: tuple[Expression, ...], position: Position | None) -> tuple[Expression, ...]:
    """Operands with constants beside a date read as dates, and beside a timestamp as timestamps."""
    types = {argument.type for argument in arguments}
    if Type.TIMESTAMP in types:
        return _read(
            arguments, frozenset({Type.TEXT, Type.DATE}), lambda constant: moment(constant, position)
        )
    if Type.DATE in types:
        return _read(arguments, frozenset({Type.TEXT}), lambda known: day(known, position))
    return arguments


def _read(
    arguments: tuple[Expression, ...], readable: frozenset[Type], read: Callable[[Literal], Literal]
) -> tuple[Expression, ...]:
    return tuple(
        read(argument) if isinstance(argument, Literal) and argument.type in readable else argument
        for argument in arguments
    )
