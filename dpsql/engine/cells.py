"""How do rows become one row of exact cells per group?

Groups are capped, units weighed, weighted integers summed. Five shapes give the same integers at different
speed; docs/proofs/rewrite.md proves that a unit moves them by no more than the sensitivity says.
"""

from __future__ import annotations

from typing import Final

from dpsql.analysis.aggregates import Measure, MeasureKind
from dpsql.analysis.analysis import Analysis
from dpsql.analysis.sensitivity import UNIT
from dpsql.engine.clause import Clause
from dpsql.engine.domain import bits

SEPARATOR: Final = "chr(31)"
MASK_VALUES: Final = 62
"""So many public groups fit one bit each into a whole number."""


class CellWriter:
    """Writes the clauses from ``rows`` to cells c1..; ``joined`` tells that the rows come through joins."""

    def __init__(self, analysis: Analysis, *, joined: bool) -> None:
        self._analysis = analysis
        self._joined = joined
        self._measures = analysis.measures
        self._keys = [key.name for key in analysis.partitioning.keys]
        self._most = analysis.partitioning.touched
        self._units = [n for n, m in enumerate(self._measures, start=1) if m.kind is MeasureKind.UNITS]

    @property
    def _split(self) -> bool:
        """Whether weighted sums and counts of units come from two relations."""
        analysis = self._analysis
        return analysis.partitioning.public and analysis.weighted and not analysis.partitioning.constant

    @property
    def relations(self) -> list[str]:
        """The relations that hold the cells."""
        if not self._split:
            return ["_cells"]
        weighted = ["_weighted"] if len(self._units) < len(self._measures) else []
        return [*weighted, *(["_counted"] if self._units else [])]

    def clauses(self) -> list[Clause]:
        """The steps from rows to one row of exact cells per group that has any."""
        analysis = self._analysis
        if not analysis.weighted:
            return [Clause("_cells", self._direct())]
        if analysis.partitioning.constant:
            return [Clause("_per_unit", self._per_unit()), Clause("_cells", self._from_units())]
        if self._split:
            return [*self._weighted(), *self._unit_counts()]
        if len(self._units) == len(self._measures):
            return [*self._capped_groups(), Clause("_cells", self._from_groups("_capped"))]
        weights = Clause("_weights", self._weights("_capped"))
        return [
            *self._capped_groups(),
            weights,
            Clause("_cells", self._from_groups("_capped JOIN _weights USING (unit)")),
        ]

    def _direct(self) -> str:
        """One row a unit is certain: every weight is 1."""
        cells = []
        for number, measure in enumerate(self._measures, start=1):
            counted = "COUNT(*)" if measure.where is None else f"COUNT(v{number})"
            total = f"SUM(v{number})" if measure.kind is MeasureKind.SUM else counted
            cells.append(f"{total} * {UNIT} AS c{number}")
        return self._grouped(cells, "_rows")

    def _per_unit(self) -> str:
        """Every key has one value per unit, so a unit's group holds all its rows."""
        shown = ["unit", *self._keys, *self._sums(), f"{self._weight('COUNT(*)', 'SUM')} AS w"]
        return f"  SELECT {', '.join(shown)} FROM _rows GROUP BY {', '.join(['unit', *self._keys])}"

    def _from_units(self) -> str:
        return self._grouped(
            [self._weighed(n, m) for n, m in enumerate(self._measures, start=1)], "_per_unit"
        )

    def _capped_groups(self) -> list[Clause]:
        keys = ", ".join(["unit", *self._keys])
        groups = f"  SELECT {', '.join([keys, *self._sums()])} FROM _rows GROUP BY {keys}"
        return [Clause("_groups", groups), Clause("_capped", self._cap("_groups"), "MATERIALIZED")]

    def _cap(self, source: str) -> str:
        """At most `touched` groups of each unit, chosen by a keyed hash of the unit's own groups."""
        parts = ["$cap_key", "CAST(unit AS VARCHAR)"]
        parts += [f"COALESCE('v' || CAST({key} AS VARCHAR), 'n')" for key in self._keys]
        drawn = f"MD5(CONCAT({f', {SEPARATOR}, '.join(parts)}))"
        order = ", ".join([drawn, *self._keys])
        rank = f"ROW_NUMBER() OVER (PARTITION BY unit ORDER BY {order})"
        return f"  SELECT * FROM {source}\n  QUALIFY {rank} <= {self._most}"

    def _weights(self, source: str) -> str:
        return f"  SELECT unit, {self._weight('SUM(n)', 'SUM')} AS w FROM {source} GROUP BY unit"

    def _from_groups(self, source: str) -> str:
        cells = [self._weighed(number, measure) for number, measure in enumerate(self._measures, start=1)]
        return self._grouped(cells, source)

    def _weighted(self) -> list[Clause]:
        """Rows and sums of public groups: one weight per unit, joined onto rows or onto (unit, key) sums."""
        numbers = [n for n in range(1, len(self._measures) + 1) if n not in self._units]
        if not numbers:
            return []
        if self._joined:
            # The rows of a join would be computed twice, so they are summed per (unit, key) first.
            keys = ", ".join(["unit", *self._keys])
            groups = f"  SELECT {', '.join([keys, *self._sums()])} FROM _rows GROUP BY {keys}"
            cells = [self._weighed(number, self._measures[number - 1]) for number in numbers]
            return [
                Clause("_groups", groups, "MATERIALIZED"),
                Clause("_weights", self._weights("_groups")),
                Clause("_weighted", self._grouped(cells, "_groups JOIN _weights USING (unit)")),
            ]
        weights = f"  SELECT unit, {self._weight('COUNT(*)', 'SUM')} AS w FROM _rows GROUP BY unit"
        cells = [self._row_sum(number, self._measures[number - 1]) for number in numbers]
        return [
            Clause("_weights", weights),
            Clause("_weighted", self._grouped(cells, f"{self._unfiltered} JOIN _weights USING (unit)")),
        ]

    @property
    def _unfiltered(self) -> str:
        """The rows before those of no public group are dropped, for steps that a join on keys follows."""
        keys = self._analysis.partitioning.keys
        return "_rows" if all(key.domain is None for key in keys) else "_joined"

    def _row_sum(self, number: int, measure: Measure) -> str:
        if measure.kind is MeasureKind.SUM:
            return f"SUM(v{number} * w) AS c{number}"
        counted = "w" if measure.where is None else f"CASE WHEN v{number} IS NOT NULL THEN w END"
        return f"SUM({counted}) AS c{number}"

    def _unit_counts(self) -> list[Clause]:
        """Units per public group: of each unit at most `touched` groups count."""
        if not self._units:
            return []
        if self._masked():
            return self._masks(self._units[0])
        marks = [f"COUNT(v{n}) AS s{n}" for n in self._units if self._measures[n - 1].where is not None]
        keys = ", ".join(["unit", *self._keys])
        pairs = f"  SELECT {', '.join([keys, *marks])} FROM _rows GROUP BY {keys}"
        source = "_pairs"
        steps = [Clause("_pairs", pairs)]
        if self._most < (self._analysis.partitioning.cells or 0):
            steps.append(Clause("_capped", self._cap("_pairs")))
            source = "_capped"
        cells = [self._unit_count(number) for number in self._units]
        return [*steps, Clause("_counted", self._grouped(cells, source))]

    def _unit_count(self, number: int) -> str:
        counted = "*" if self._measures[number - 1].where is None else f"CASE WHEN s{number} > 0 THEN 1 END"
        return f"COUNT({counted}) * {UNIT} AS c{number}"

    def _masked(self) -> bool:
        """One bit a group in a 62-bit mask per unit, where it suffices: the fastest shape."""
        key = self._analysis.partitioning.keys[0] if len(self._keys) == 1 else None
        if key is None or key.domain is None or None in key.domain or len(key.domain) > MASK_VALUES:
            return False
        return len(self._units) == 1 and self._measures[self._units[0] - 1].where is None

    def _masks(self, number: int) -> list[Clause]:
        key = self._analysis.partitioning.keys[0]
        masks = (
            f"  SELECT unit, BIT_OR(bit) AS mask FROM {self._unfiltered} JOIN _bits USING (k1) GROUP BY unit"
        )
        light = f"SELECT mask, COUNT(*) AS n FROM _masks WHERE BIT_COUNT(mask) <= {self._most} GROUP BY mask"
        heavy = (
            f"SELECT unit, k1 FROM _masks JOIN _bits ON mask & bit <> 0 WHERE BIT_COUNT(mask) > {self._most}"
        )
        cells = (
            f"  SELECT k1, SUM(n) * {UNIT} AS c{number} FROM (\n"
            f"    SELECT k1, n FROM ({light}) JOIN _bits ON mask & bit <> 0\n"
            f"    UNION ALL SELECT k1, 1 FROM _capped\n  ) GROUP BY k1"
        )
        return [
            Clause("_bits", f"  {bits(1, key)}", "MATERIALIZED"),
            Clause("_masks", masks, "MATERIALIZED"),
            Clause("_heavy", f"  {heavy}"),
            Clause("_capped", self._cap("_heavy")),
            Clause("_counted", cells),
        ]

    def _sums(self) -> list[str]:
        """Per (unit, key): the rows n, and for each measure the sum or count s of what its rows add."""
        sums = ["COUNT(*) AS n"]
        for number, measure in enumerate(self._measures, start=1):
            if measure.kind is MeasureKind.SUM:
                sums.append(f"SUM(v{number}) AS s{number}")
            elif measure.where is not None:
                sums.append(f"COUNT(v{number}) AS s{number}")
            if measure.limit is not None:
                sums.append(f"SUM(a{number}) AS a{number}")
        return sums

    def _weighed(self, number: int, measure: Measure) -> str:
        if measure.kind is MeasureKind.UNITS:
            return self._unit_count(number)
        value = "n" if measure.kind is MeasureKind.ROWS and measure.where is None else f"s{number}"
        return f"SUM({value} * w) AS c{number}"

    def _weight(self, rows: str, add: str) -> str:
        """floor(1024 min(1, R / rows, M / sum of absolute values)), in integers."""
        parts = [_share(rows, self._analysis.rows.bound)]
        for number, measure in enumerate(self._measures, start=1):
            if measure.limit is not None:
                parts.append(_share(f"COALESCE({add}(a{number}), 0)", measure.limit))
        return parts[0] if len(parts) == 1 else f"LEAST({', '.join(parts)})"

    def _grouped(self, cells: list[str], source: str) -> str:
        shown = ", ".join([*self._keys, *cells])
        group = f" GROUP BY {', '.join(self._keys)}" if self._keys else ""
        return f"  SELECT {shown} FROM {source}{group}"


def _share(total: str, most: int) -> str:
    # An integer division truncates toward zero, and both sides are positive.
    return f"CASE WHEN {total} <= {most} THEN {UNIT} ELSE CAST({UNIT * most} // {total} AS INTEGER) END"
