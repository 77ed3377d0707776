"""How does a plan read, to a person and to a program?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsql.spelling import number

if TYPE_CHECKING:
    from dpsql.plan.plan import Outlook, Plan


def describe(plan: Plan) -> dict[str, object]:
    """The plan as JSON values; keys are the names of the Python attributes."""
    return {
        "epsilon": number(plan.price.epsilon),
        "delta": number(plan.price.delta),
        "measurements": [
            {
                "sql": m.sql,
                "l1": m.l1,
                "l2": m.l2,
                "mechanism": m.mechanism,
                "scale": m.scale,
                "error": m.error,
                "keys": list(m.keys),
            }
            for m in plan.measurements
        ],
        "groups": plan.analysis.partitioning.cells,
        "threshold_units": plan.threshold_units,
        "charges": [
            {"account": c.account, "epsilon": number(c.epsilon), "delta": number(c.delta)}
            for c in plan.charges
        ],
        "outlook": [{"account": o.account, "rules": o.rules, "more": o.more} for o in plan.outlook],
        "sql": plan.sql,
    }


def text(plan: Plan) -> str:
    """The plan as lines for a terminal."""
    blocks = [
        f"epsilon {number(plan.price.epsilon)}, delta {number(plan.price.delta)}:"
        " nothing has been read or spent",
        _table(
            ("measurement", "l1", "l2", "noise", "error (95 %)"),
            [
                (m.sql, f"{m.l1:g}", f"{m.l2:g}", f"{m.mechanism}, scale {m.scale:.6g}", f"± {m.error:.6g}")
                for m in plan.measurements
            ],
        ),
        groups_line(plan),
        _table(
            ("charged to", "epsilon", "delta", "then left", "more such queries"),
            [_charge_row(plan, row) for row in range(len(plan.charges))],
        ),
        plan.sql,
    ]
    return "\n\n".join(block for block in blocks if block)


def groups_line(plan: Plan) -> str:
    """Which groups will be shown."""
    groups = plan.analysis.partitioning
    least = plan.threshold_units
    if least is not None:
        return f"Groups below about {least:.0f} people will not appear."
    if not groups.keys:
        return "One row."
    return f"All {groups.cells} groups of the public keys appear, also those without rows."


def remaining(rules: dict[str, float]) -> str:
    """What is left of each live rule of an account's filter."""
    if not rules:
        return "the query would be refused"
    return ", ".join(f"{rule} {fraction:.1%}" for rule, fraction in rules.items())


def _charge_row(plan: Plan, row: int) -> tuple[str, ...]:
    charge = plan.charges[row]
    outlook: Outlook | None = next((o for o in plan.outlook if o.account == charge.account), None)
    left, more = ("", "") if outlook is None else (remaining(outlook.rules), f"{outlook.more:,}")
    return charge.account, number(charge.epsilon), number(charge.delta), left, more


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *rows]
    ]
    return "\n".join(lines)
