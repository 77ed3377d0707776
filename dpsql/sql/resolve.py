"""What does the query read, group by and show? The checked syntax tree to a `Query`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql import errors
from dpsql.errors import ProgrammingError, UnsupportedQuery
from dpsql.policy.model import Policy
from dpsql.sql import subset
from dpsql.sql.expression import (
    Column,
    Expression,
    Literal,
    Type,
    Value,
    aggregates,
    columns,
    conjunction,
    rewrite,
)
from dpsql.sql.parse import position_of
from dpsql.sql.relation import Item, Ordering, Query
from dpsql.sql.scope import Scope, as_column
from dpsql.sql.source import FromClause
from dpsql.sql.translate import Translator


def resolve(tree: exp.Select, policy: Policy, parameters: Sequence[Value] = ()) -> Query:
    """Give every name and type of a parsed query its meaning under a policy.

    Raises:
        ProgrammingError: unknown or ambiguous names, types or parameters that do not fit.
        UnsupportedQuery: a construct outside the list.
    """
    subset.check(tree)
    return _Resolver(tree, policy, _bind(tree, parameters)).query()


def _bind(tree: exp.Select, parameters: Sequence[Value]) -> dict[int, Value]:
    places = sorted(int(node.name) for node in tree.find_all(exp.Placeholder))
    if len(places) != len(parameters):
        raise ProgrammingError(
            errors.PARAMETERS,
            f"The query has {len(places)} question marks and was given {len(parameters)} values.",
            hint="Give one value for each `?`: execute(sql, [value, ...]), or --param on the command line.",
        )
    return dict(zip(places, parameters, strict=True))


class _Resolver:
    def __init__(self, tree: exp.Select, policy: Policy, parameters: Mapping[int, Value]) -> None:
        self._tree = tree
        self._policy = policy
        self._parameters = parameters

    def query(self) -> Query:
        tree = self._tree
        sources = FromClause(tree, self._policy, self._parameters).sources()
        translator = Translator(sources.scope, self._parameters)
        where = self._where(translator, sources.moved)
        items = self._items(translator, sources.scope)
        keys = self._keys(translator, items)
        having = tree.args.get("having")
        # HAVING sees the names of the answer where no table has a column of that name.
        naming = Translator(
            sources.scope, self._parameters, {item.name.lower(): item.expression for item in items}
        )
        condition = None if having is None else naming.condition(having.this, "HAVING")
        order = self._order(translator, items)
        grouped = tree.args.get("group") is not None or any(
            any(True for _ in aggregates(e))
            for e in (
                *(i.expression for i in items),
                *(o.expression for o in order),
                *([condition] if condition else []),
            )
        )
        query = Query(
            sources.base,
            sources.joins,
            where,
            keys,
            items,
            condition,
            order,
            self._count("limit", translator),
            self._count("offset", translator),
            grouped,
        )
        if grouped:
            _check_grouping(query)
        return query

    def _where(self, translator: Translator, moved: tuple[Expression, ...]) -> Expression | None:
        clause = self._tree.args.get("where")
        own = () if clause is None else (translator.condition(clause.this, "WHERE"),)
        for condition in (*moved, *own):
            _refuse_aggregates(condition, "WHERE")
        return conjunction((*moved, *own))

    def _items(self, translator: Translator, scope: Scope) -> tuple[Item, ...]:
        items: list[Item] = []
        for node in self._tree.expressions:
            if isinstance(node, exp.Star) or (
                isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
            ):
                items.extend(self._star(node, scope))
                continue
            inner = node.this if isinstance(node, exp.Alias) else node
            name = node.alias or _default_name(inner)
            items.append(Item(name, translator.expression(inner)))
        return tuple(items)

    def _star(self, node: exp.Expr, scope: Scope) -> list[Item]:
        if any(not source.scan.public for source in scope.sources):
            raise UnsupportedQuery(
                errors.RAW_ROWS,
                "A star over a table of people would list their rows.",
                hint="Select aggregates, such as COUNT(*).",
                position=position_of(node),
            )
        chosen = node.text("table").lower()
        sources = [scope.source(chosen, position_of(node))] if chosen else list(scope.sources)
        return [
            Item(column.name, as_column(source.scan.alias, column))
            for source in sources
            for column in source.table.columns.values()
            if column.name.lower() not in source.merged
        ]

    def _keys(self, translator: Translator, items: tuple[Item, ...]) -> tuple[Expression, ...]:
        group = self._tree.args.get("group")
        if group is None:
            return ()
        if group.args.get("all"):
            found = [item.expression for item in items if not any(aggregates(item.expression))]
        else:
            found = [self._key(node, translator, items) for node in group.expressions]
        keys = [key for key in found if not isinstance(key, Literal)]
        return tuple(dict.fromkeys(keys))

    def _key(self, node: exp.Expr, translator: Translator, items: tuple[Item, ...]) -> Expression:
        named = _by_ordinal(node, items) or self._by_alias(node, translator, items)
        key = translator.expression(node) if named is None else named
        _refuse_aggregates(key, "GROUP BY")
        return key

    def _by_alias(self, node: exp.Expr, translator: Translator, items: tuple[Item, ...]) -> Expression | None:
        if not isinstance(node, exp.Column) or node.text("table"):
            return None
        try:
            return translator.expression(node)
        except ProgrammingError:
            return next((i.expression for i in items if i.name.lower() == node.name.lower()), None)

    def _order(self, translator: Translator, items: tuple[Item, ...]) -> tuple[Ordering, ...]:
        clause = self._tree.args.get("order")
        if clause is None:
            return ()
        terms: list[Ordering] = []
        for node in clause.expressions:
            for expression in self._order_terms(node.this, translator, items):
                descending = bool(node.args.get("desc"))
                terms.append(Ordering(expression, descending, bool(node.args.get("nulls_first"))))
        return tuple(terms)

    def _order_terms(
        self, node: exp.Expr, translator: Translator, items: tuple[Item, ...]
    ) -> list[Expression]:
        if isinstance(node, exp.Var) and node.name.upper() == "ALL":
            return [item.expression for item in items]
        ordinal = _by_ordinal(node, items)
        if ordinal is not None:
            return [ordinal]
        if isinstance(node, exp.Column) and not node.text("table"):
            # ORDER BY sees the names of the answer before those of the tables.
            named = [item.expression for item in items if item.name.lower() == node.name.lower()]
            if named:
                return named[:1]
        return [translator.expression(node)]

    def _count(self, clause: str, translator: Translator) -> int | None:
        node = self._tree.args.get(clause)
        if node is None:
            return None
        value = translator.expression(node.expression)
        if (
            isinstance(value, Literal)
            and value.type is Type.INTEGER
            and isinstance(value.value, int)
            and value.value >= 0
        ):
            return value.value
        raise ProgrammingError(
            errors.TYPE_MISMATCH,
            f"{clause.upper()} needs a whole number that is not negative.",
            position=position_of(node),
        )


def _by_ordinal(node: exp.Expr, items: tuple[Item, ...]) -> Expression | None:
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    place = int(node.name) if node.name.isdigit() and len(node.name) < 10 else 0
    if not 1 <= place <= len(items):
        raise ProgrammingError(
            errors.GROUPING, "GROUP BY or ORDER BY has a number of no column.", position=position_of(node)
        )
    return items[place - 1].expression


def _default_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Column):
        return node.name
    return node.sql(dialect="duckdb", comments=False).lower()


def _refuse_aggregates(expression: Expression, clause: str) -> None:
    found = next(aggregates(expression), None)
    if found is not None:
        raise ProgrammingError(
            errors.GROUPING,
            f"{clause} cannot hold an aggregate.",
            hint="Conditions on aggregates go to HAVING.",
            position=found.position,
        )


def over_keys(expression: Expression, keys: tuple[Expression, ...], source: str) -> Expression:
    """The expression with each group key replaced by its column of the grouped relation ``source``."""

    def change(part: Expression) -> Expression | None:
        if part in keys:
            return Column(source, f"k{keys.index(part) + 1}", part.type)
        return None

    return rewrite(expression, change)


def _check_grouping(query: Query) -> None:
    shown = (
        *(item.expression for item in query.items),
        *(term.expression for term in query.order),
        *(() if query.having is None else (query.having,)),
    )
    for expression in shown:
        reduced = over_keys(expression, query.keys, "*")
        loose = next((c for c in _bare_columns(reduced) if c.source != "*"), None)
        if loose is None:
            continue
        raise ProgrammingError(
            errors.GROUPING,
            f"Column {loose.name!r} is neither a group key nor inside an aggregate.",
            hint="Add it to GROUP BY, or aggregate it.",
            position=loose.position,
        )


def _bare_columns(expression: Expression) -> list[Column]:
    inside = {id(column) for aggregate in aggregates(expression) for column in columns(aggregate)}
    return [column for column in columns(expression) if id(column) not in inside]


def refuse_rows(query: Query) -> None:
    """Refuse a query that would list rows of people.

    Raises:
        UnsupportedQuery: DP203 without an aggregate, DP213 for two private tables.
    """
    private = query.private
    if len(private) > 1:
        raise UnsupportedQuery(
            errors.PRIVATE_JOIN,
            "A query reads one table of people; joins between two are not supported.",
            hint="Ask about each table on its own, or ask the owner for a table that holds both.",
        )
    shown = (*(i.expression for i in query.items), *(o.expression for o in query.order))
    more = () if query.having is None else (query.having,)
    if not any(any(True for _ in aggregates(expression)) for expression in (*shown, *more)):
        raise UnsupportedQuery(
            errors.RAW_ROWS,
            "The query has no aggregate, so it would return rows or values of people.",
            hint="Add an aggregate, such as COUNT(*).",
        )
