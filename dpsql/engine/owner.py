"""Which rows of a private table are read, and whose are they?

The scan keeps rows that have an owner, finds the owner through parent tables where the policy says so,
and makes constant columns true before any condition sees them: one canonical value per unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpsql.analysis.analysis import Analysis
from dpsql.analysis.lineage import Ownership
from dpsql.engine.render import constant, quote
from dpsql.policy.model import Policy
from dpsql.sql.expression import Literal, Type
from dpsql.sql.scope import TYPES

UNIT_COLUMN: Final = '"#unit"'
"""The unit of a scanned row, under a name no policy column has."""


def owned_rows(analysis: Analysis, policy: Policy, used: Sequence[str]) -> str:
    """The SELECT of the owned rows: the unit, and the columns that the query uses."""
    owner = analysis.owner
    unit = f"t.{quote(owner.unit)}" if not owner.path else "o.unit"
    source = f"{quote(owner.scan.table)} t{_owner_join(owner)}"
    fixed = [name for name in used if name in owner.constants]
    plain = [f"t.{quote(name)}" for name in used if name not in owner.constants]
    if not fixed:
        shown = ", ".join([f"{unit} AS {UNIT_COLUMN}", *plain])
        return f"SELECT {shown} FROM {source} WHERE {unit} IS NOT NULL"
    values = ", ".join(f"{_canonical(analysis, policy, name)} AS {quote(name)}" for name in fixed)
    constants = f"SELECT {unit} AS unit, {values} FROM {source} WHERE {unit} IS NOT NULL GROUP BY 1"
    shown = ", ".join([f"{unit} AS {UNIT_COLUMN}", *plain, *(f"f.{quote(name)}" for name in fixed)])
    return f"SELECT {shown} FROM {source} JOIN ({constants}) f ON f.unit = {unit}"


def _canonical(analysis: Analysis, policy: Policy, name: str) -> str:
    """The least of a unit's values that is in the column's domain; NULL stands for all others."""
    value = f"t.{quote(name)}"
    domain = dict(analysis.constant_domains).get(name)
    kind = TYPES[policy.tables[analysis.owner.scan.table].columns[name].type]
    if domain is None and kind is Type.DOUBLE:
        # 0.0 and -0.0 tie, and which of them came first would follow other units' rows.
        return f"MIN(CASE WHEN {value} = 0e0 THEN 0e0 ELSE {value} END)"
    if domain is None:
        return f"MIN({value})"
    listed = ", ".join(constant(Literal(known, kind)) for known in domain if known is not None)
    return f"MIN(CASE WHEN {value} IN ({listed}) THEN {value} END)"


def _owner_join(owner: Ownership) -> str:
    if not owner.path:
        return ""
    return f" JOIN ({_owner_map(owner, 0)}) o ON o.key = t.{quote(owner.path[0].column)}"


def _owner_map(owner: Ownership, depth: int) -> str:
    """(key, unit) for each key of a parent table; the least unit where the key is not unique."""
    step = owner.path[depth]
    last = depth == len(owner.path) - 1
    unit = f"p.{quote(owner.unit)}" if last else "o.unit"
    key = f"p.{quote(step.parent_column)}"
    source = f"{quote(step.parent)} p"
    if not last:
        deeper = owner.path[depth + 1]
        source += f" JOIN ({_owner_map(owner, depth + 1)}) o ON o.key = p.{quote(deeper.column)}"
    owned = f"{source} WHERE {unit} IS NOT NULL AND {key} IS NOT NULL"
    if step.unique:
        return f"SELECT {key} AS key, {unit} AS unit FROM {owned}"
    return f"SELECT {key} AS key, MIN({unit}) AS unit FROM {owned} GROUP BY 1"
