"""Do the filters that the portfolio is compared with keep their budgets?"""

from __future__ import annotations

from decimal import Decimal
from math import nan

import pytest

from dpsql.accounting import Gaussian, Portfolio
from dpsql.accounting.filters.library import open_concentrated, open_gaussian_dp, open_orders, open_residue

ONE = Decimal(1)
MILLIONTH = Decimal("1e-6")
TENTH = Decimal("0.1")


def test_each_library_filter_admits_what_its_currency_allows() -> None:
    gaussian = Gaussian(1e-4)

    zcdp = open_concentrated(ONE, MILLIONTH).more(gaussian)
    gdp = open_gaussian_dp(ONE, MILLIONTH).more(gaussian)
    residue = open_residue(ONE, MILLIONTH).more(gaussian)
    portfolio = Portfolio.open(ONE, MILLIONTH).more(gaussian)

    assert (zcdp, gdp, residue) == (487, 560, 560)
    assert zcdp < portfolio < residue


def test_a_library_filter_survives_its_stored_form() -> None:
    orders = {18.0: Decimal("0.5"), 45.0: Decimal("0.5")}
    opened = [
        open_concentrated(ONE, MILLIONTH, slack_share=TENTH),
        open_gaussian_dp(ONE, MILLIONTH),
        open_orders(ONE, MILLIONTH, orders),
    ]

    accounts = [account.step(Gaussian(1e-3)) or account for account in opened]

    assert [Portfolio.from_dict(account.to_dict()) for account in accounts] == accounts


def test_orders_share_delta_so_two_orders_admit_less_than_the_better_alone() -> None:
    alone = open_orders(ONE, MILLIONTH, {22.0: ONE})
    both = open_orders(ONE, MILLIONTH, {22.0: Decimal("0.5"), 45.0: Decimal("0.5")})

    assert 0 < both.more(Gaussian(1e-4)) < alone.more(Gaussian(1e-4))


@pytest.mark.parametrize(
    "orders", [{18.0: ONE, 45.0: ONE}, {18.0: Decimal(-1)}, {1.0: ONE}, {nan: ONE}, {1.01: ONE}]
)
def test_orders_that_do_not_add_up_are_refused(orders: dict[float, Decimal]) -> None:
    with pytest.raises(ValueError, match="order"):
        open_orders(ONE, MILLIONTH, orders)


def test_a_library_filter_needs_a_delta() -> None:
    with pytest.raises(ValueError, match="delta above 0"):
        open_concentrated(ONE, Decimal(0))
