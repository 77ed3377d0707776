"""Does `dpsql account` print the figures of the literature, and what tighter accountants say beside them?"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from dpsql.accounting import Approximate, Event, NonPrivate, SubsampledGaussian, SubsampledPure
from dpsql.cli.chart import svg
from dpsql.cli.main import program
from dpsql.cli.step import KINDS, read_step


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(program, ("account", *arguments))


def _table(*arguments: str) -> list[list[str]]:
    """The cells of the table on the terminal, without its head."""
    result = _run(*arguments)
    assert result.exit_code == 0, result.stderr
    return [line.split() for line in result.stdout.splitlines()[2:]]


def _rows(*arguments: str) -> dict[str, dict[str, Any]]:
    """The rows as JSON, by their first cell."""
    result = _run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return {str(next(iter(row.values()))): row for row in json.loads(result.stdout)}


@pytest.mark.parametrize(
    ("count", "epsilon", "slack", "shown"),
    [
        ("100", "0.05", "1e-5", "100 5 2.656 2.165 0.4129 1.968 0.0001 0.00011"),
        ("100", "0.05", "1e-4", "100 5 2.402 1.88 0.3864 1.681 0.0001 0.0002"),
        ("400", "0.05", "1e-5", "400 20 5.824 4.728 0.7877 4.358 0.0004 0.00041"),
    ],
)
def test_advanced_composition_of_the_literature_beside_tighter_accountants(
    count: str, epsilon: str, slack: str, shown: str
) -> None:
    steps = ("--count", count, "--step-epsilon", epsilon, "--step-delta", "1e-6", "--slack", slack)

    assert _table("advanced", *steps) == [shown.split()]


def test_a_thousand_small_steps_cost_less_than_their_sum() -> None:
    steps = ("--count", "1000", "--step-epsilon", "0.01", "--step-delta", "1e-6", "--slack", "1e-5")

    (row,) = _table("advanced", *steps)

    assert row[:3] == ["1000", "10", "1.618"]
    assert row[5] == "1.194"


def test_a_hundred_queries_of_a_hundredth_cost_one() -> None:
    found = _rows("compose", "100*pure:0.01", "--delta", "1e-6")

    assert (found["basic"]["epsilon"], found["basic"]["delta"]) == (1.0, "0")
    assert found["optimal"]["epsilon"] == pytest.approx(0.3923, abs=1e-4)
    assert found["optimal"]["epsilon"] < found["rdp"]["epsilon"] < found["zcdp"]["epsilon"]


@pytest.mark.parametrize(
    ("total", "each", "noise", "direct"), [("1", 0.00581, 983.6, 133.6), ("8", 0.03886, 147.1, 20.65)]
)
def test_the_inverse_of_the_literature_beside_gaussians_composed_directly(
    total: str, each: float, noise: float, direct: float
) -> None:
    steps = ("--count", "1000", "--epsilon", total, "--slack", "1e-6", "--step-delta", "1e-7")

    found = _rows("invert", *steps)

    assert found["advanced"]["step epsilon"] == pytest.approx(each, abs=6e-6)
    assert found["advanced"]["textbook noise"] == pytest.approx(noise, abs=0.06)
    assert found["gaussian"]["noise"] == pytest.approx(direct, abs=0.06)
    assert (
        found["optimal"]["step epsilon"] > found["advanced"]["step epsilon"] > found["basic"]["step epsilon"]
    )


@pytest.mark.parametrize(
    ("epsilon", "batch", "noise", "deviation"),
    [
        ("0.00581", "256", "984", "3.844"),
        ("0.03886", "256", "147.1", "0.5747"),
        ("0.00581", "1024", "984", "0.9609"),
    ],
)
def test_the_textbooks_noise_and_its_deviation_fall_with_the_batch(
    epsilon: str, batch: str, noise: str, deviation: str
) -> None:
    rows = _table("calibrate", "--epsilon", epsilon, "--delta", "1e-7", "--clip", "1", "--batch", batch)

    assert rows[-1] == ["gaussian,", "textbook", noise, noise, deviation]


def test_a_release_of_delta_zero_is_calibrated_to_laplace_noise_only() -> None:
    assert _table("calibrate", "--epsilon", "0.5", "--clip", "3") == [["laplace", "2", "6", "8.485"]]


def test_five_disjoint_hospitals_cost_what_one_costs() -> None:
    found = _rows("parallel", "5*0.1,1e-6")

    assert [(row["epsilon"], row["delta"]) for row in found.values()] == [
        pytest.approx((0.1, 1e-6)),
        pytest.approx((0.2, 2e-6)),
        pytest.approx((0.5, 5e-6)),
    ]


def test_a_unit_in_two_parts_pays_for_the_two_dearest() -> None:
    first = next(iter(_rows("parallel", "0.1,0", "0.3,0", "0.2,0", "--touched", "2").values()))

    assert first["epsilon"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("delta", "whole", "fractional"), [("1e-5", 0.8895, 0.8750), ("1e-6", 1.0988, 1.0756)]
)
def test_training_costs_what_the_literature_says_by_whole_orders_and_less_by_others(
    delta: str, whole: float, fractional: float
) -> None:
    images = ("--batch", "256", "--population", "60000", "--steps", "1000", "--noise-multiplier", "1.1")

    found = _rows("dpsgd", *images, "--delta", delta)

    assert found["rdp, whole orders"]["epsilon"] == pytest.approx(whole, abs=6e-5)
    assert found["rdp"]["epsilon"] == pytest.approx(fractional, abs=6e-5)
    assert found["rdp"]["deviation"] == pytest.approx(1.1 / 256)
    assert found["gdp, unsampled"]["epsilon"] > 100


def test_the_noise_of_training_reaches_its_target() -> None:
    found = _rows("dpsgd", "--probability", "0.004", "--steps", "500", "--epsilon", "1", "--delta", "1e-5")

    assert 0.999 < found["rdp"]["epsilon"] <= 1.0
    assert found["rdp"]["noise multiplier"] < found["gdp, unsampled"]["noise multiplier"] / 20


def test_filters_admit_what_the_documentation_says() -> None:
    found = _rows("filter", "pure:0.01", "--epsilon", "1", "--delta", "1e-6")

    counts = {name: row["admits"] for name, row in found.items()}
    assert counts == {"basic": 100, "zcdp": 487, "gdp": 356, "rdp": 490, "residue": 558, "portfolio": 553}


def test_losses_convert_to_other_currencies_and_back() -> None:
    within = _rows("convert", "--epsilon", "1", "--delta", "1e-6")
    back = _rows("convert", "--rho", str(within["rho"]["loss"]), "--delta", "1e-6")
    gaussian = _rows("convert", "--mu", str(within["mu"]["loss"]), "--delta", "1e-6")
    order = _rows("convert", "--alpha", "10", "--divergence", "0.2", "--delta", "1e-6")

    assert within["rho"]["loss"] == pytest.approx(0.024356, rel=1e-4)
    assert within["rho, classic"]["loss"] == pytest.approx(0.017469, rel=1e-4)
    assert within["mu^2"]["loss"] == pytest.approx(2 * 0.028014, rel=1e-4)
    assert back["epsilon"]["loss"] == pytest.approx(1.0, rel=1e-9)
    assert gaussian["epsilon"]["loss"] == pytest.approx(1.0, rel=1e-9)
    assert order["epsilon"]["loss"] == pytest.approx(1.3738, abs=1e-3)


def test_a_group_loses_more_than_one_unit() -> None:
    box = _rows("convert", "--epsilon", "1", "--delta", "1e-6", "--group", "2")
    rho = _rows("convert", "--rho", "0.01", "--delta", "1e-6", "--group", "3")

    assert (box["epsilon"]["loss"], box["delta"]["loss"]) == (2.0, pytest.approx(3.718e-6, rel=1e-3))
    assert rho["rho"]["loss"] == pytest.approx(0.09)


def test_every_format_has_the_same_rows_and_says_where_there_is_no_answer() -> None:
    arguments = ("compose", "3*gaussian:30", "--delta", "1e-6")

    sheet = _run(*arguments, "--format", "csv").stdout.splitlines()
    lines = _run(*arguments, "--format", "jsonl").stdout.splitlines()

    assert sheet[:2] == ["accountant,epsilon,delta", "basic,,0"]
    assert json.loads(lines[0]) == {"accountant": "basic", "epsilon": None, "delta": "0"}
    assert "| basic | - | 0 |" in _run(*arguments, "--format", "markdown").stdout
    assert _table(*arguments)[0] == ["basic", "-", "0"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("advanced", "--count", "1000000", "--step-epsilon", "700", "--slack", "1e-99"),
        ("invert", "--count", "1", "--epsilon", "1e-9", "--slack", "0.5", "--step-delta", "0.3"),
        ("dpsgd", "--probability", "1", "--steps", "1", "--noise-multiplier", "1e-9", "--delta", "1e-99"),
        ("dpsgd", "--probability", "1e-9", "--steps", "1", "--noise-multiplier", "1e9", "--delta", "0.9"),
        ("convert", "--epsilon", "700", "--delta", "1e-99", "--group", "1000000"),
        ("convert", "--mu", "1e9", "--delta", "0.1"),
        ("convert", "--rho", "1e9", "--delta", "0.1"),
        ("convert", "--alpha", "1.000000001", "--divergence", "1e9", "--delta", "1e-99"),
        ("calibrate", "--epsilon", "1e-9", "--delta", "1e-99", "--clip", "1e9", "--batch", "1"),
        ("compose", "999999*pure:50", "3*gaussian:0.001", "--delta", "1e-99"),
        ("filter", "999999*pure:50", "--epsilon", "1e-9", "--delta", "0.999"),
        ("parallel", "999999*1,0.9", "--touched", "3"),
    ],
)
def test_extreme_figures_are_answered_or_refused_in_words(arguments: tuple[str, ...]) -> None:
    result = _run(*arguments)

    assert (result.exit_code, result.stderr) in {(0, ""), (2, result.stderr)}
    assert "failed" not in result.stderr
    assert not {"nan", "inf", "infinity"} & set(result.stdout.lower().split())


# the plot


def test_a_plot_has_a_curve_for_each_theorem(tmp_path: Path) -> None:
    file = tmp_path / "curves.svg"
    steps = ("--count", "400", "--step-epsilon", "0.05", "--step-delta", "1e-6", "--slack", "1e-5")

    result = _run("advanced", *steps, "--plot", str(file))

    root = ElementTree.parse(file).getroot()  # noqa: S314
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert str(file) in result.stderr
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 4
    assert {"basic", "advanced", "zcdp", "gaussian"} <= set(texts)


def test_a_plot_that_cannot_be_written_is_wrong_use(tmp_path: Path) -> None:
    file = tmp_path / "absent" / "curves.svg"

    result = _run("advanced", "--count", "5", "--step-epsilon", "0.1", "--slack", "1e-6", "--plot", str(file))

    assert (result.exit_code, result.stderr[:5]) == (2, "DP903")


def test_a_curve_stays_inside_its_frame_and_names_are_escaped() -> None:
    root = ElementTree.fromstring(svg("a < b", "x", "y", {"<i>": [(0.0, 0.0), (7.0, 0.3)]}))  # noqa: S314

    (line,) = root.iter("{http://www.w3.org/2000/svg}polyline")
    places = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    assert places[0] == (64.0, 388.0)
    assert 64.0 < places[1][0] <= 590.0
    assert 44.0 <= places[1][1] < 388.0


# steps


@pytest.mark.parametrize(
    ("text", "event", "times"),
    [
        ("5*box:0.1,1e-9", Approximate(Decimal("0.1"), Decimal("1e-9")), 5),
        ("sampled-gaussian:256/60000,1.1,1000", SubsampledGaussian(256 / 60000, 1.1, 1000), 1),
        ("sampled-pure:0.01,1", SubsampledPure(Decimal("0.01"), Decimal("1")), 1),
        ("unknown", NonPrivate(), 1),
    ],
)
def test_a_step_is_read(text: str, event: Event, times: int) -> None:
    assert read_step(text) == (event, times)


def test_every_kind_of_step_is_read_and_priced() -> None:
    numbers = {
        "EPSILON": "0.1",
        "DELTA": "1e-9",
        "NOISE": "30",
        "VARIANCE": "100",
        "PROBABILITY": "0.5",
        "STEPS": "3",
    }
    steps = [
        f"{kind}:{','.join(numbers[name] for name in needed.split(','))}" if needed else kind
        for kind, needed in KINDS.items()
    ]

    for step in steps:
        assert _run("compose", step, "--delta", "1e-6").exit_code == 0, step


@pytest.mark.parametrize(
    "arguments",
    [
        ("compose", "pure", "--delta", "1e-6"),
        ("compose", "magic:1", "--delta", "1e-6"),
        ("compose", "0*pure:1", "--delta", "1e-6"),
        ("compose", "pure:x", "--delta", "1e-6"),
        ("compose", "pure:99", "--delta", "1e-6"),
        ("compose", "gaussian:0", "--delta", "1e-6"),
        ("compose", "sampled-gaussian:1/0,1,1", "--delta", "1e-6"),
        ("filter", "pure:0.1", "--epsilon", "600", "--delta", "1e-6"),
        ("advanced", "--count", "9", "--step-epsilon", "1", "--step-delta", "0.2", "--slack", "0.1"),
        ("invert", "--count", "9", "--epsilon", "1", "--step-delta", "0.2", "--slack", "0.1"),
        ("dpsgd", "--steps", "9", "--delta", "1e-6", "--probability", "0.1"),
        ("dpsgd", "--steps", "9", "--delta", "1e-6", "--noise-multiplier", "1"),
        ("dpsgd", "--steps", "9", "--delta", "1e-6", "--noise-multiplier", "1", "--probability", "2"),
        ("dpsgd", "--steps", "1000000", "--delta", "1e-12", "--epsilon", "1e-4", "--probability", "0.5"),
        ("convert", "--delta", "1e-6"),
        ("convert", "--delta", "1e-6", "--rho", "1", "--mu", "1"),
        ("convert", "--delta", "1e-6", "--alpha", "0.5", "--divergence", "1"),
        ("parallel", "0.1"),
        ("parallel", "0.1,2"),
        ("parallel", "nan,0"),
    ],
)
def test_what_is_out_of_range_is_wrong_use_and_says_so(arguments: tuple[str, ...]) -> None:
    result = _run(*arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("DP903")


@pytest.mark.parametrize("number", ["0", "-1", "x", "nan", "701", "1e-300"])
def test_a_loss_that_nothing_can_be_computed_for_is_refused(number: str) -> None:
    result = _run("calibrate", "--epsilon", number)

    assert result.exit_code == 2
    assert "Usage:" in result.stderr
