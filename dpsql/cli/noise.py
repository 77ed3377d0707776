"""`dpsql account invert|convert|calibrate|dpsgd`: how much noise does a loss ask for, which loss is it?"""

from __future__ import annotations

from decimal import Decimal

import click

from dpsql.cli import failure, figure, option


@click.command()
@figure.whole("--count", required=True, help="How many steps.")
@option.options(
    figure.NEEDED_EPSILON, figure.STEP_DELTA, figure.SLACK, figure.CLIP, figure.BATCH, option.FORMAT
)
def invert(
    count: int,
    epsilon: Decimal,
    step_delta: Decimal,
    slack: Decimal,
    clip: Decimal,
    batch: int | None,
    form: str,
) -> None:
    """Find how much each step may lose for a total.

    With --step-delta also the Gaussian noise of each step: its deviation over the L2 sensitivity, by
    the textbook and exactly. The last row composes Gaussians directly, within --slack alone.
    """
    from dpsql.accounting.composition import drv_advanced_inverse, kov_inverse
    from dpsql.accounting.conversion import mu_for

    total, lost, gained = float(epsilon), float(step_delta), float(slack)
    if count * lost + gained >= 1.0:
        raise failure.usage("The deltas add up to 1 or more.", "Give a smaller --step-delta or --slack.")
    whole = count * lost + gained
    found: list[tuple[str, float, float]] = [
        ("basic", total / count, count * lost),
        ("advanced", drv_advanced_inverse(count, total, gained), whole),
        ("optimal", kov_inverse(count, total, lost, whole), whole),
    ]
    rows: list[figure.Row] = []
    for name, each, delta in found:
        classic, exact = _noise(each, lost)
        rows.append((name, each, delta, classic, exact, _deviation(exact, clip, batch)))
    direct = count**0.5 / mu_for(total, gained)
    rows.append(("gaussian", None, gained, None, direct, _deviation(direct, clip, batch)))
    figure.show(("accountant", "step epsilon", "delta", "textbook noise", "noise", "deviation"), rows, form)


def _noise(epsilon: float, delta: float) -> tuple[float | None, float | None]:
    """Noise multipliers of one (epsilon, delta) step: by the textbook where it is proved, and exact."""
    from dpsql.accounting.calibration import gaussian_sigma, gaussian_sigma_classic

    if not delta or not epsilon:
        return None, None
    classic = gaussian_sigma_classic(epsilon, delta) if epsilon < 1.0 else None
    return classic, gaussian_sigma(epsilon, delta)


def _deviation(noise: float | None, clip: Decimal, batch: int | None) -> float | None:
    """Deviation of each coordinate of a noisy sum, or of an average where there is a batch."""
    from dpsql.accounting.subsampling import noise_deviation

    return None if noise is None else noise_deviation(noise, float(clip), batch or 1)


@click.command()
@option.options(figure.BATCH)
@figure.whole(
    "--population", help="How many units there are; each is in a batch with --batch / --population."
)
@figure.option("--probability", help="That a unit is in a batch, instead.")
@figure.whole("--steps", required=True, help="Steps of training.")
@figure.option("--noise-multiplier", help="Deviation of the noise over the clip.")
@option.options(figure.EPSILON, figure.NEEDED_DELTA, figure.CLIP, option.FORMAT)
def dpsgd(
    batch: int | None,
    population: int | None,
    probability: Decimal | None,
    steps: int,
    noise_multiplier: Decimal | None,
    epsilon: Decimal | None,
    delta: Decimal,
    clip: Decimal,
    form: str,
) -> None:
    """Price training by DP-SGD, or find its noise.

    With --noise-multiplier the loss, with --epsilon the noise. For Poisson sampling: batches of fixed
    size are another mechanism. deviation: of a coordinate of the average of --batch clipped gradients.
    """
    from dpsql.accounting import subsampling
    from dpsql.accounting.conversion import eps_from_gdp, mu_for

    if (noise_multiplier is None) == (epsilon is None):
        raise failure.usage("Give either --noise-multiplier or --epsilon.")
    rate, loss = _rate(batch, population, probability), float(delta)
    rows: list[figure.Row] = []
    if epsilon is not None:
        found = _reached(rate, steps, float(epsilon), loss)
        unsampled = steps**0.5 / mu_for(float(epsilon), loss)
    else:
        found = unsampled = float(noise_multiplier or 0)
    for name, price in (
        ("rdp, whole orders", subsampling.whole_order_epsilon),
        ("rdp", subsampling.subsampled_epsilon),
    ):
        total, order = price(rate, found, steps, loss)
        rows.append((name, total, order, found, _deviation(found, clip, batch)))
    plain = eps_from_gdp(steps**0.5 / unsampled, loss)
    rows.append(("gdp, unsampled", plain, None, unsampled, _deviation(unsampled, clip, batch)))
    figure.show(("accountant", "epsilon", "order", "noise multiplier", "deviation"), rows, form)


def _rate(batch: int | None, population: int | None, probability: Decimal | None) -> float:
    if probability is not None and population is None:
        rate = float(probability)
    elif batch is not None and population is not None and probability is None:
        rate = batch / population
    else:
        raise failure.usage("Give --batch and --population, or --probability.")
    if not 1e-9 <= rate <= 1.0:
        raise failure.usage("A unit is in a batch with a probability from 1e-9 to 1.")
    return rate


def _reached(rate: float, steps: int, epsilon: float, delta: float) -> float:
    from dpsql.accounting.subsampling import noise_multiplier_for

    try:
        return noise_multiplier_for(rate, steps, epsilon, delta)
    except ValueError as error:
        raise failure.usage(f"There is no such noise: {error}.") from None


@click.command()
@option.options(figure.EPSILON, figure.NEEDED_DELTA)
@figure.option("--rho", help="A loss in zCDP instead of --epsilon.")
@figure.option("--mu", help="A loss in Gaussian DP instead.")
@figure.option("--alpha", help="With --divergence: the order of a Renyi divergence instead.")
@figure.option("--divergence", help="With --alpha: the divergence.")
@figure.whole("--group", default=1, show_default=True, help="Units that are protected together.")
@option.FORMAT
def convert(
    epsilon: Decimal | None,
    delta: Decimal,
    rho: Decimal | None,
    mu: Decimal | None,
    alpha: Decimal | None,
    divergence: Decimal | None,
    group: int,
    form: str,
) -> None:
    """Convert a loss between currencies.

    From --epsilon to the largest rho and mu within it, from the others to the epsilon at --delta.
    """
    from dpsql.accounting import conversion
    from dpsql.accounting.composition import group_loss, group_mu, group_rho

    at = float(delta)
    rows: list[figure.Row]
    match epsilon, rho, mu, alpha, divergence:
        case Decimal(), None, None, None, None:
            total, lost = group_loss(group, float(epsilon), at)
            rows = [("epsilon", total), ("delta", lost)]
            if group == 1 and total <= 700.0:
                rows += _within(total, at)
        case None, Decimal(), None, None, None:
            loss = group_rho(group, float(rho))
            rows = [
                ("rho", loss),
                ("epsilon", conversion.eps_from_zcdp(loss, at)),
                ("epsilon, classic", conversion.eps_from_zcdp_classic(loss, at)),
            ]
        case None, None, Decimal(), None, None:
            spread = group_mu(group, float(mu))
            rows = [("mu", spread), ("epsilon", conversion.eps_from_gdp(spread, at))]
        case None, None, None, Decimal(), Decimal() if alpha > 1 and group == 1:
            rows = [("epsilon", conversion.eps_from_rdp(float(alpha), float(divergence), at))]
        case _:
            raise failure.usage(
                "Give one loss: --epsilon, --rho, --mu, or --alpha above 1 with --divergence.",
                "A Renyi divergence of one order does not tell that of a group.",
            )
    figure.show(("currency", "loss"), rows, form)


def _within(epsilon: float, delta: float) -> list[figure.Row]:
    from dpsql.accounting import conversion

    mu = conversion.mu_for(epsilon, delta)
    return [
        ("rho", conversion.rho_for(epsilon, delta)),
        ("rho, classic", conversion.rho_classic(epsilon, delta)),
        ("mu", mu),
        ("mu^2", mu * mu),
    ]


@click.command()
@option.options(figure.NEEDED_EPSILON, figure.DELTA, figure.CLIP, figure.BATCH, option.FORMAT)
def calibrate(epsilon: Decimal, delta: Decimal | None, clip: Decimal, batch: int | None, form: str) -> None:
    """Find the noise of one release.

    scale: of Laplace noise at the L1 sensitivity --clip, and the deviation of Gaussian noise at the L2
    sensitivity --clip. noise: the same at 1. deviation: of each coordinate, divided by --batch.
    """
    total = float(epsilon)
    laplace = 1.0 / total
    kinds: list[tuple[str, float | None, float | None]] = [("laplace", laplace, 2.0**0.5 * laplace)]
    if delta is not None:
        classic, exact = _noise(total, float(delta))
        kinds += [("gaussian", exact, exact), ("gaussian, textbook", classic, classic)]
    rows: list[figure.Row] = [
        (name, noise, None if noise is None else noise * float(clip), _deviation(spread, clip, batch))
        for name, noise, spread in kinds
    ]
    figure.show(("mechanism", "noise", "scale", "deviation"), rows, form)
