"""`dpsql account`: what do releases cost together? Reads no policy and no data."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Final

import click

from dpsql.cli import failure, figure, option
from dpsql.cli.noise import calibrate, convert, dpsgd, invert
from dpsql.cli.step import read_part, read_step

_POINTS: Final = 60
_STEPS: Final = click.argument("steps", metavar="STEP...", nargs=-1, required=True)


@click.group()
def account() -> None:
    """Price releases, calibrate noise; no data needed."""


for _command in (invert, convert, calibrate, dpsgd):
    account.add_command(_command)


@account.command()
@_STEPS
@option.options(figure.NEEDED_DELTA, option.FORMAT)
def compose(steps: tuple[str, ...], delta: Decimal, form: str) -> None:
    """Price a fixed list of releases by every accountant.

    STEP is KIND:NUMBERS, with N* before it when it is made N times: 100*pure:0.05, 20*gaussian:30
    (deviation over L2 sensitivity), box:0.1,1e-9, sampled-gaussian:256/60000,1.1,1000, and so on.
    All statements hold for a list fixed beforehand; a '-' stands where an accountant has none.
    """
    from dpsql.accounting.history import readings

    found = readings([read_step(step) for step in steps], delta)
    figure.show(
        ("accountant", "epsilon", "delta"),
        [(each.accountant, each.epsilon, each.delta) for each in found],
        form,
    )


@account.command()
@figure.whole("--count", multiple=True, required=True, help="How many steps; can be repeated.")
@option.options(figure.STEP_EPSILON, figure.STEP_DELTA, figure.SLACK, option.FORMAT)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="An SVG file for the curves up to --count.",
)
def advanced(
    count: tuple[int, ...],
    step_epsilon: Decimal,
    step_delta: Decimal,
    slack: Decimal,
    form: str,
    plot: Path | None,
) -> None:
    """Compare composition theorems for equal steps.

    basic spends the steps' delta only, the others --slack besides. gaussian: the steps are Gaussian noise of
    this epsilon and delta, composed exactly. optimal: the exact worst case of any such steps.
    """
    names = ("count", "basic", "advanced", "zcdp", "gaussian", "optimal", "basic delta", "delta")
    each, lost, gained = float(step_epsilon), float(step_delta), float(slack)
    if max(count) * lost + gained >= 1.0:
        raise failure.usage("The deltas add up to 1 or more.", "Give a smaller --step-delta or --slack.")
    figure.show(names, [_composed(k, each, lost, gained) for k in count], form)
    if plot is not None:
        _plot(plot, max(count), each, lost, gained)


def _composed(k: int, epsilon: float, delta: float, slack: float) -> figure.Row:
    from dpsql.accounting.composition import basic, kov_eps

    total_delta = k * delta + slack
    optimal = kov_eps(k, epsilon, delta, total_delta)
    return k, *_totals(k, epsilon, delta, slack).values(), optimal, basic(k, epsilon, delta)[1], total_delta


def _totals(k: int, epsilon: float, delta: float, slack: float) -> dict[str, float | None]:
    """Total epsilon by theorem, in closed form."""
    from dpsql.accounting.composition import basic, drv_advanced

    total, total_delta = drv_advanced(k, epsilon, delta, slack)
    return {
        "basic": basic(k, epsilon, delta)[0],
        "advanced": total,
        "zcdp": _concentrated(k, epsilon, slack),
        "gaussian": _gaussian(k, epsilon, delta, total_delta),
    }


def _concentrated(k: int, epsilon: float, slack: float) -> float:
    from dpsql.accounting.conversion import eps_from_zcdp
    from dpsql.accounting.loss import zcdp_pure

    return eps_from_zcdp(k * zcdp_pure(epsilon), slack)


def _gaussian(k: int, epsilon: float, delta: float, total_delta: float) -> float | None:
    from dpsql.accounting.conversion import eps_from_gdp, mu_for

    return eps_from_gdp(k**0.5 * mu_for(epsilon, delta), total_delta) if delta else None


def _plot(path: Path, most: int, epsilon: float, delta: float, slack: float) -> None:
    from dpsql.cli.chart import svg

    counts = sorted({max(1, round(most * point / _POINTS)) for point in range(1, _POINTS + 1)})
    curves: dict[str, list[tuple[float, float]]] = {}
    for k in counts:
        for name, total in _totals(k, epsilon, delta, slack).items():
            if total is not None:
                curves.setdefault(name, []).append((float(k), total))
    title = f"Composition of steps of epsilon {epsilon:g}, delta {delta:g}"
    try:
        path.write_text(svg(title, "steps", f"total epsilon, slack {slack:g}", curves), "utf-8")
    except OSError as error:
        raise failure.usage(f"The plot cannot be written: {error.strerror}.") from None
    failure.say(f"The curves are in {path}.")


@account.command("filter")
@click.argument("step")
@option.options(figure.NEEDED_EPSILON, figure.NEEDED_DELTA)
@figure.option(
    "--slack-share",
    kind=figure.share_or_zero,
    default="0",
    show_default=True,
    help="Part of delta for private keys.",
)
@option.FORMAT
def admit(step: str, epsilon: Decimal, delta: Decimal, slack_share: Decimal, form: str) -> None:
    """Count the steps each filter admits.

    The steps may be chosen one after the other. STEP is as in `account compose`. portfolio is the filter of
    accounts.
    """
    from dpsql.accounting import Portfolio
    from dpsql.accounting.conversion import best_order
    from dpsql.accounting.filters import library

    event, times = read_step(step)
    conversion = float(delta) * (1.0 - float(slack_share))
    try:
        portfolio = Portfolio.open(epsilon, delta, slack_share=slack_share)
        order = best_order(float(epsilon), conversion)
        filters = {
            "basic": Portfolio(epsilon, delta, slack_share, portfolio.live[:1], portfolio.slack),
            "zcdp": library.open_concentrated(epsilon, delta, slack_share=slack_share),
            "gdp": library.open_gaussian_dp(epsilon, delta, slack_share=slack_share),
            "rdp": library.open_orders(epsilon, delta, {order: Decimal(1)}, slack_share=slack_share),
            "residue": library.open_residue(epsilon, delta, slack_share=slack_share),
            "portfolio": portfolio,
        }
    except ValueError as error:
        raise failure.usage(f"No filter opens at this budget: {error}.") from None
    figure.show(
        ("filter", "admits"), [(name, each.more(event) // times) for name, each in filters.items()], form
    )


@account.command()
@click.argument("parts", metavar="PART...", nargs=-1, required=True)
@click.option(
    "--touched",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="In how many parts one unit can be.",
)
@option.FORMAT
def parallel(parts: tuple[str, ...], touched: int, form: str) -> None:
    """Compose releases on disjoint parts.

    PART is EPSILON,DELTA of what one part released, with N* before it for N such parts. A unit added or
    removed touches --touched parts; a replaced one leaves some and enters others. On one table all losses
    add up.
    """
    from dpsql.accounting import composition

    losses = [loss for part in parts for loss in read_part(part)]
    rows: list[figure.Row] = [
        ("disjoint, unit added or removed", *composition.parallel(losses, touched)),
        ("disjoint, unit replaced", *composition.parallel(losses, 2 * touched)),
        ("all on one table", *composition.parallel(losses, len(losses))),
    ]
    figure.show(("releases", "epsilon", "delta"), rows, form)
