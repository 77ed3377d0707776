"""What does one expression of the text mean? sqlglot's node to our typed expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from sqlglot import exp

from dpsql import errors
from dpsql.errors import Position, ProgrammingError, UnsupportedQuery
from dpsql.sql.constant import NULL, as_times, day, literal, moment, number
from dpsql.sql.expression import (
    Aggregate,
    AggregateKind,
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    Type,
    Value,
    aggregates,
)
from dpsql.sql.functions import FUNCTIONS, unify
from dpsql.sql.parse import position_of
from dpsql.sql.scope import Scope
from dpsql.sql.vocabulary import BINARY, CONVERSIONS, LISTS, PARTS, TARGETS, TRUNCATIONS, UNARY


class Translator:
    """Translates expressions of one query.

    ``parameters`` are by their place in the text; ``aliases`` are what names mean that no source has.
    """

    def __init__(
        self, scope: Scope, parameters: Mapping[int, Value], aliases: Mapping[str, Expression] | None = None
    ) -> None:
        self._scope = scope
        self._parameters = parameters
        self._aliases = aliases or {}

    def expression(self, node: exp.Expr) -> Expression:
        """One typed expression.

        Raises:
            ProgrammingError: unknown names, types that do not fit.
            UnsupportedQuery: a form that is not on the list.
        """
        kind = type(node)
        if kind in BINARY:
            return self._call(BINARY[kind], node, node.this, node.expression)
        if kind in UNARY:
            return self._call(UNARY[kind], node, node.this)
        if kind in LISTS:
            return self._call(LISTS[kind], node, node.this, *node.expressions)
        form = _FORMS.get(kind)
        if form is None:
            raise UnsupportedQuery(
                errors.UNSUPPORTED,
                "An expression has a form that is not supported.",
                position=position_of(node),
            )
        return form(self, node)

    def condition(self, node: exp.Expr, place: str) -> Expression:
        """An expression that is true, false or unknown.

        Raises:
            ProgrammingError: DP104 when it is of another type.
        """
        expression = self.expression(node)
        if expression.type not in (Type.BOOLEAN, Type.NULL):
            raise ProgrammingError(
                errors.TYPE_MISMATCH, f"{place} needs a condition.", position=position_of(node)
            )
        return expression

    def _call(self, function: str, node: exp.Expr, *operands: exp.Expr) -> Expression:
        position = position_of(node)
        return call(function, as_times(tuple(self.expression(o) for o in operands), position), position)

    def _paren(self, node: exp.Expr) -> Expression:
        return self.expression(node.this)

    def _column(self, node: exp.Expr) -> Expression:
        if isinstance(node.this, exp.Star):
            raise UnsupportedQuery(
                errors.RAW_ROWS,
                "A star would list rows.",
                hint="Select aggregates.",
                position=position_of(node),
            )
        table = node.text("table") or None
        try:
            return self._scope.column(node.name, table, position_of(node))
        except ProgrammingError as unknown:
            named = None if table else self._aliases.get(node.name.lower())
            if named is None or unknown.code is not errors.UNKNOWN_COLUMN:
                raise
            return named

    def _literal(self, node: exp.Expr) -> Expression:
        if node.args.get("is_string") or isinstance(node, exp.RawString):
            return Literal(node.name, Type.TEXT)
        return number(node.name, position_of(node))

    def _boolean(self, node: exp.Expr) -> Expression:
        return Literal(bool(node.this), Type.BOOLEAN)

    def _null(self, node: exp.Expr) -> Expression:
        return NULL

    def _placeholder(self, node: exp.Expr) -> Expression:
        return literal(self._parameters[int(node.name)])

    def _negative(self, node: exp.Expr) -> Expression:
        operand = self.expression(node.this)
        if (
            isinstance(operand, Literal)
            and operand.type.numeric
            and isinstance(operand.value, (int, Decimal))
        ):
            return Literal(-operand.value, operand.type)
        return call("neg", (operand,), position_of(node))

    def _is_not_distinct(self, node: exp.Expr) -> Expression:
        return call("not", (self._call("is_not_distinct_from", node, node.this, node.expression),))

    def _is(self, node: exp.Expr) -> Expression:
        operand = self.expression(node.this)
        if isinstance(node.expression, exp.Null):
            return call("is_null", (operand,), position_of(node))
        if isinstance(node.expression, exp.Boolean):
            truth = Literal(bool(node.expression.this), Type.BOOLEAN)
            return call("is_not_distinct_from", (operand, truth), position_of(node))
        raise UnsupportedQuery(
            errors.UNSUPPORTED, "IS needs NULL, TRUE or FALSE.", position=position_of(node)
        )

    def _between(self, node: exp.Expr) -> Expression:
        low, high = node.args["low"], node.args["high"]
        return call("and", (self._call("ge", node, node.this, low), self._call("le", node, node.this, high)))

    def _in(self, node: exp.Expr) -> Expression:
        values = [self.expression(value) for value in node.expressions]
        if not values or not all(isinstance(value, Literal) for value in values):
            raise UnsupportedQuery(
                errors.UNSUPPORTED, "IN needs a list of constants.", position=position_of(node)
            )
        return call(
            "in", as_times((self.expression(node.this), *values), position_of(node)), position_of(node)
        )

    def _like(self, node: exp.Expr) -> Expression:
        function = "ilike" if isinstance(node, exp.ILike) else "like"
        pattern = self.expression(node.expression)
        if not isinstance(pattern, Literal) or "\\" in str(pattern.value):
            raise UnsupportedQuery(
                errors.UNSUPPORTED,
                "LIKE needs a constant pattern without a backslash.",
                position=position_of(node),
            )
        found = call(function, (self.expression(node.this), pattern), position_of(node))
        return call("not", (found,)) if node.args.get("negate") else found

    def _round(self, node: exp.Expr) -> Expression:
        digits = node.args.get("decimals")
        places = Literal(0, Type.INTEGER) if digits is None else self.expression(digits)
        if (
            not isinstance(places, Literal)
            or not isinstance(places.value, int)
            or not 0 <= places.value <= 15
        ):
            raise UnsupportedQuery(
                errors.UNSUPPORTED,
                "ROUND needs a constant number of digits from 0 to 15.",
                position=position_of(node),
            )
        return call("round", (self.expression(node.this), places), position_of(node))

    def _part_of_text(self, node: exp.Expr) -> Expression:
        """SUBSTRING, LEFT and RIGHT: an offset beyond the engine's range would fail, so it is a constant."""
        if isinstance(node, exp.Substring):
            offsets = [part for part in (node.args.get("start"), node.args.get("length")) if part is not None]
        else:
            offsets = [node.expression]
        places = [self.expression(offset) for offset in offsets]
        if not places or not all(
            isinstance(p, Literal) and isinstance(p.value, int) and abs(p.value) <= 10**6 for p in places
        ):
            raise UnsupportedQuery(
                errors.UNSUPPORTED,
                "SUBSTRING, LEFT and RIGHT need constant places of at most a million.",
                position=position_of(node),
            )
        function = {"Left": "left", "Right": "right"}.get(type(node).__name__, "substring")
        return call(function, (self.expression(node.this), *places), position_of(node))

    def _extract(self, node: exp.Expr) -> Expression:
        function = PARTS.get(node.name.upper())
        if function is None:
            raise UnsupportedQuery(
                errors.UNSUPPORTED, f"EXTRACT knows {', '.join(PARTS)}.", position=position_of(node)
            )
        return self._call(function, node, node.expression)

    def _truncate(self, node: exp.Expr) -> Expression:
        unit = node.text("unit").upper()
        if unit == "DAY":
            operand = self.expression(node.this)
            return Cast(operand, "DATE", Type.DATE)
        function = TRUNCATIONS.get(unit)
        if function is None:
            raise UnsupportedQuery(
                errors.UNSUPPORTED,
                f"DATE_TRUNC knows DAY, {', '.join(TRUNCATIONS)}.",
                position=position_of(node),
            )
        return self._call(function, node, node.this)

    def _if(self, node: exp.Expr) -> Expression:
        branch = (self.condition(node.this, "IF"), self.expression(node.args["true"]))
        otherwise = node.args.get("false")
        return _case((branch,), NULL if otherwise is None else self.expression(otherwise), position_of(node))

    def _case(self, node: exp.Expr) -> Expression:
        subject = node.this
        branches = []
        for branch in node.args["ifs"]:
            if subject is None:
                condition = self.condition(branch.this, "WHEN")
            else:
                condition = self._call("eq", node, subject, branch.this)
            branches.append((condition, self.expression(branch.args["true"])))
        default = node.args.get("default")
        return _case(
            tuple(branches), NULL if default is None else self.expression(default), position_of(node)
        )

    def _cast(self, node: exp.Expr) -> Expression:
        target = TARGETS.get(node.args["to"].this.name)
        position = position_of(node)
        if target is None:
            names = ", ".join(dict.fromkeys(name for name, _ in TARGETS.values()))
            raise UnsupportedQuery(errors.UNSUPPORTED, f"CAST knows {names}.", position=position)
        operand = self.expression(node.this)
        if isinstance(operand, Literal) and operand.type is Type.TEXT:
            if target[1] is Type.DATE:
                return day(operand, position)
            if target[1] is Type.TIMESTAMP:
                return moment(operand, position)
        if target[1] not in CONVERSIONS[operand.type]:
            raise ProgrammingError(
                errors.TYPE_MISMATCH,
                f"{operand.type.value} has no conversion to {target[0]}.",
                position=position,
            )
        if operand.type is Type.TEXT and target[1] is not Type.TEXT and not isinstance(node, exp.TryCast):
            raise UnsupportedQuery(
                errors.UNSAFE_FUNCTION,
                "CAST of text fails on some values, and a failure would tell of a row.",
                hint="Use TRY_CAST, which gives NULL.",
                position=position,
            )
        return Cast(operand, *target)

    def _filter(self, node: exp.Expr) -> Expression:
        condition = self.condition(node.expression.this, "FILTER")
        return self._aggregate(node.this, condition, node)

    def _bare_aggregate(self, node: exp.Expr) -> Expression:
        return self._aggregate(node, None, node)

    def _aggregate(self, node: exp.Expr, where: Expression | None, whole: exp.Expr) -> Expression:
        position = position_of(node)
        found = self._measured(node, where, whole.sql(dialect="duckdb", comments=False))
        if any(part is not found for part in aggregates(found)):
            raise ProgrammingError(errors.GROUPING, "An aggregate stands inside another.", position=position)
        return found

    def _measured(self, node: exp.Expr, where: Expression | None, text: str) -> Aggregate:
        position = position_of(node)
        match node:
            case exp.Count(this=exp.Star() | None):
                return Aggregate(AggregateKind.COUNT_ROWS, None, where, Type.INTEGER, text, position)
            case exp.Count(this=exp.Distinct(expressions=[only])):
                argument = self.expression(only)
                return Aggregate(AggregateKind.COUNT_DISTINCT, argument, where, Type.INTEGER, text, position)
            case exp.Count():
                argument = self.expression(node.this)
                return Aggregate(AggregateKind.COUNT, argument, where, Type.INTEGER, text, position)
            case exp.CountIf():
                condition = self.condition(node.this, "COUNT_IF")
                both = condition if where is None else call("and", (where, condition))
                return Aggregate(AggregateKind.COUNT_ROWS, None, both, Type.INTEGER, text, position)
            case exp.Sum():
                argument = self._summed(node, "SUM")
                return Aggregate(AggregateKind.SUM, argument, where, argument.type, text, position)
            case exp.Avg():
                argument = self._summed(node, "AVG")
                return Aggregate(AggregateKind.AVG, argument, where, Type.DOUBLE, text, position)
            case _:
                raise UnsupportedQuery(
                    errors.UNSUPPORTED, "FILTER needs an aggregate of the list.", position=position
                )

    def _summed(self, node: exp.Expr, name: str) -> Expression:
        if isinstance(node.this, exp.Distinct):
            raise UnsupportedQuery(
                errors.UNSUPPORTED, f"{name}(DISTINCT ...) is not supported.", position=position_of(node)
            )
        argument = self.expression(node.this)
        if not argument.type.numeric:
            raise ProgrammingError(
                errors.TYPE_MISMATCH,
                f"{name} needs a number, not {argument.type.value}.",
                position=position_of(node),
            )
        return argument


_FORMS: Final[dict[type[exp.Expr], Callable[[Translator, exp.Expr], Expression]]] = {
    exp.Paren: Translator._paren,
    exp.Column: Translator._column,
    exp.Literal: Translator._literal,
    exp.RawString: Translator._literal,
    exp.Boolean: Translator._boolean,
    exp.Null: Translator._null,
    exp.Placeholder: Translator._placeholder,
    exp.Neg: Translator._negative,
    exp.NullSafeNEQ: Translator._is_not_distinct,
    exp.Is: Translator._is,
    exp.Between: Translator._between,
    exp.In: Translator._in,
    exp.Like: Translator._like,
    exp.ILike: Translator._like,
    exp.Round: Translator._round,
    exp.Substring: Translator._part_of_text,
    exp.Left: Translator._part_of_text,
    exp.Right: Translator._part_of_text,
    exp.Extract: Translator._extract,
    exp.TimestampTrunc: Translator._truncate,
    exp.DateTrunc: Translator._truncate,
    exp.If: Translator._if,
    exp.Case: Translator._case,
    exp.Cast: Translator._cast,
    exp.TryCast: Translator._cast,
    exp.Filter: Translator._filter,
    exp.Count: Translator._bare_aggregate,
    exp.CountIf: Translator._bare_aggregate,
    exp.Sum: Translator._bare_aggregate,
    exp.Avg: Translator._bare_aggregate,
}


def call(function: str, arguments: tuple[Expression, ...], position: Position | None = None) -> Call:
    """A call of the allow-list with its type checked.

    Raises:
        ProgrammingError: DP104 when the function is not defined for the arguments' types.
    """
    found = FUNCTIONS[function].typing(tuple(argument.type for argument in arguments))
    if found is None:
        given = ", ".join(argument.type.value for argument in arguments)
        raise ProgrammingError(
            errors.TYPE_MISMATCH,
            f"{FUNCTIONS[function].spelling} is not defined for {given}.",
            position=position,
        )
    return Call(function, arguments, found, position)


def _case(
    branches: tuple[tuple[Expression, Expression], ...], default: Expression, position: Position | None
) -> Case:
    found = unify((*(value.type for _, value in branches), default.type))
    if found is None:
        raise ProgrammingError(
            errors.TYPE_MISMATCH, "The branches of CASE have different types.", position=position
        )
    return Case(branches, default, found)
