"""What does a query measure, and what can one privacy unit change in it?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpsql.analysis.aggregates import Decomposition, Measure
from dpsql.analysis.facts import Facts
from dpsql.analysis.lineage import Ownership, ownership
from dpsql.analysis.partitions import Partitioning, declared_values, partition
from dpsql.analysis.scans import Rows, joined_rows
from dpsql.analysis.sensitivity import Sensitivity, sensitivity
from dpsql.policy.model import Policy
from dpsql.sql.expression import Aggregate, Column, Expression, Value, rewrite
from dpsql.sql.relation import Item, Ordering, Query
from dpsql.sql.resolve import over_keys, refuse_rows
from dpsql.sql.scope import TYPES


@dataclass(frozen=True, slots=True)
class Analysis:
    """A query taken apart: the measures below, the expressions over their noisy values above.

    ``outer`` is the analyst's query over the relation ``released`` with columns k1.. and m1..;
    ``threshold`` is the index of the measure that private groups must pass, None for public groups;
    ``constant_domains`` are the public values of the columns that are made constant at the scan.
    """

    query: Query
    owner: Ownership
    rows: Rows
    partitioning: Partitioning
    measures: tuple[Measure, ...]
    sensitivities: tuple[Sensitivity, ...]
    threshold: int | None
    min_group_units: int
    constant_domains: tuple[tuple[str, tuple[Value, ...]], ...]
    outer: Query

    @property
    def weighted(self) -> bool:
        """Whether a unit's rows must be weighted: not where one row per unit is certain."""
        certain = self.owner.single and self.rows.fanout == 1
        return not certain or any(measure.limit is not None for measure in self.measures)


def analyse(query: Query, policy: Policy, facts: Facts) -> Analysis:
    """Take a query over one private table apart.

    Raises:
        UnsupportedQuery, PolicyRefused: when something cannot be bounded; nothing has been read.
    """
    refuse_rows(query)
    owner = ownership(query.private[0], policy, facts)
    rows = joined_rows(query, owner, policy, facts)
    unit = _unit_column(owner, policy)
    groups = partition(query, rows, unit, policy, facts)
    merge = not groups.public and rows.bound == 1
    parts = Decomposition(query, unit, policy, facts, merge_rows=merge)
    outer = _outer(query, parts)
    if not groups.public:
        parts.column(parts.units())
    measures = tuple(parts.measures)
    return Analysis(
        query,
        owner,
        rows,
        groups,
        measures,
        tuple(sensitivity(m, rows, groups, capped=not groups.public) for m in measures),
        None if groups.public else measures.index(parts.units()),
        policy.tables[owner.scan.table].min_group_units,
        _constant_domains(owner, policy, facts),
        outer,
    )


def _constant_domains(
    owner: Ownership, policy: Policy, facts: Facts
) -> tuple[tuple[str, tuple[Value, ...]], ...]:
    """The declared domains of the constant columns: values outside are another part, which is NULL.

    Columns that have bounds only keep their least value and are clipped where they are summed.
    """
    columns = policy.tables[owner.scan.table].columns
    with_domain = [name for name in sorted(owner.constants) if columns[name].domain is not None]
    declared = ((name, declared_values(columns[name], facts)) for name in with_domain)
    return tuple((name, values) for name, values in declared if values is not None)


def _unit_column(owner: Ownership, policy: Policy) -> Column | None:
    if owner.unit_column is None:
        return None
    declared = policy.tables[owner.scan.table].columns[owner.unit_column]
    return Column(owner.scan.alias, declared.name, TYPES[declared.type])


def _outer(query: Query, parts: Decomposition) -> Query:
    """The query over released columns: keys and aggregates replaced by what holds them."""

    def released(expression: Expression) -> Expression:
        def answer(part: Expression) -> Expression | None:
            return parts.answer(part) if isinstance(part, Aggregate) else None

        return rewrite(over_keys(expression, query.keys, "released"), answer)

    items = tuple(Item(item.name, released(item.expression)) for item in query.items)
    having = None if query.having is None else released(query.having)
    order = tuple(Ordering(released(o.expression), o.descending, o.nulls_first) for o in query.order)
    return replace(query, base=None, joins=(), where=None, items=items, having=having, order=order)
