"""How are curves drawn into an SVG file?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Final, TypeAlias

Curve: TypeAlias = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 130, 44, 52
_TICKS: Final = 5
# Distinct for colour-blind readers, and by their dashes without colour.
_STYLES: Final = (("#0072b2", ""), ("#d55e00", "7 4"), ("#009e73", "2 3"), ("#cc79a7", "10 3 2 3"))
_LINE: Final = 15  # height of a line of the legend


def svg(title: str, across: str, up: str, curves: Mapping[str, Curve]) -> str:
    """Up to four curves in one frame that begins at 0, as a document of its own."""
    widest = max(x for curve in curves.values() for x, _ in curve)
    highest = max(y for curve in curves.values() for _, y in curve)
    x_ticks, y_ticks = _ticks(widest), _ticks(highest)
    frame = _Frame(x_ticks[-1], y_ticks[-1])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        f' width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="26" font-size="15">{escape(title)}</text>',
        *frame.axes(x_ticks, y_ticks, across, up),
        *_lines(frame, curves),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Frame:
    """From numbers to places on the page."""

    def __init__(self, widest: float, highest: float) -> None:
        self._widest, self._highest = widest, highest

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = _LEFT + x / self._widest * (_WIDTH - _LEFT - _RIGHT)
        return across, _HEIGHT - _BOTTOM - y / self._highest * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self, x_ticks: Sequence[float], y_ticks: Sequence[float], across: str, up: str) -> Sequence[str]:
        parts = []
        for tick in y_ticks:
            x, y = self.place(0.0, tick)
            parts.append(f'<path d="M{x:.1f} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
            parts.append(f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        for tick in x_ticks:
            x, y = self.place(tick, 0.0)
            parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{tick:g}</text>')
        middle = 0.5 * (_LEFT + _WIDTH - _RIGHT)
        parts.append(f'<text x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(across)}</text>')
        height = 0.5 * (_TOP + _HEIGHT - _BOTTOM)
        turned = f'transform="rotate(-90 18 {height})"'
        parts.append(f'<text x="18" y="{height}" {turned} text-anchor="middle">{escape(up)}</text>')
        return parts


def _lines(frame: _Frame, curves: Mapping[str, Curve]) -> list[str]:
    parts = []
    for number, (name, curve) in enumerate(curves.items()):
        colour, dash = _STYLES[number % len(_STYLES)]
        line = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (frame.place(*point) for point in curve))
        top = _TOP + 8 + number * _LINE
        parts.append(f'<polyline fill="none" {line} points="{points}"/>')
        parts.append(f'<path d="M{_WIDTH - _RIGHT + 12} {top}h22" {line}/>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 40}" y="{top + 4}">{escape(name)}</text>')
    return parts


def _ticks(highest: float) -> list[float]:
    """Round numbers from 0 to at least `highest`."""
    rough = highest / _TICKS
    unit = 10.0 ** floor(log10(rough))
    step = next(factor * unit for factor in (1.0, 2.0, 5.0, 10.0) if factor * unit >= rough * (1.0 - 1e-9))
    return [step * number for number in range(ceil(highest / step * (1.0 - 1e-9)) + 1)]
