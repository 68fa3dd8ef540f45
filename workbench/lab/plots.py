"""Draws a session as SVG: a line per policy, the window, compactions and misses. The page sets the colours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Final

from workbench.config.html_pages import page_text
from workbench.config.text import counted
from workbench.lab.values import PolicyRun

WIDTH: Final = 900
HEIGHT: Final = 260
_LEFT: Final = 64
_RIGHT: Final = 16
_TOP: Final = 18
_BOTTOM: Final = 26
_HEADROOM: Final = 1.08
"""The plot is this many times as high as its highest line."""
_MAX_WINDOW_RATIO: Final = 3
"""A window larger than this many times the largest request is only named: drawn, it would make all lines flat."""
_DASH: Final = 10
"""The length of each dash where several lines overlap."""
COLOURS: Final = 8
"""After this many policies the colours repeat."""


def session_plot(runs: Sequence[PolicyRun]) -> str:
    """One session under all its policies, as SVG."""
    scale = _Scale(runs)
    parts = scale.frame()
    # Whole lines first, then dashes on top, so that overlapping lines take turns.
    parts += [_line(scale, run, at) for at, run in enumerate(runs)]
    parts += [_line(scale, run, at, lines=len(runs)) for at, run in enumerate(runs) if len(runs) > 1]
    parts += [part for at, run in enumerate(runs) for part in _marks(scale, run, at)]
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="tokens of each request">{"".join(parts)}</svg>'


class _Scale:
    """Turns requests and tokens into places in the picture."""

    def __init__(self, runs: Sequence[PolicyRun]) -> None:
        self._requests = max((len(run.points) for run in runs), default=0)
        self._peak = max((run.peak for run in runs), default=0) or 1
        self._window = max((run.window for run in runs), default=0)
        self._shown = self._window if self._window <= _MAX_WINDOW_RATIO * self._peak else 0
        self._most = max(self._peak, self._shown) * _HEADROOM

    def x(self, request: int) -> float:
        """The place of a request, counted from 1."""
        wide = WIDTH - _LEFT - _RIGHT
        return round(_LEFT + wide * (request - 1) / max(1, self._requests - 1), 1)

    def y(self, tokens: float) -> float:
        """The place of a number of tokens."""
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * tokens / self._most, 1)

    def frame(self) -> list[str]:
        """The axes with their numbers, and the window."""
        right = WIDTH - _RIGHT
        parts = []
        for tokens in _steps(self._most):
            y = self.y(tokens)
            parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y}" x2="{right}" y2="{y}"/>')
            parts.append(f'<text class="note end" x="{_LEFT - 8}" y="{y + 4}">{_short(tokens)}</text>')
        parts.append(f'<text class="note" x="{_LEFT}" y="{_TOP - 5}">tokens</text>')
        foot = HEIGHT - 8
        parts.append(f'<text class="note foot" x="{_LEFT}" y="{foot}">request 1</text>')
        if self._requests > 1:
            parts.append(f'<text class="note foot end" x="{right}" y="{foot}">{self._requests:,}</text>')
        if self._shown:
            y = self.y(self._window)
            parts.append(f'<line class="window" x1="{_LEFT}" y1="{y}" x2="{right}" y2="{y}"/>')
            parts.append(f'<text class="note end" x="{right}" y="{y - 4}">window {self._window:,}</text>')
        else:
            note = f"the window, {self._window:,}, is far above"
            parts.append(f'<text class="note end" x="{right}" y="{_TOP - 5}">{note}</text>')
        return parts


def _steps(most: float) -> range:
    """Round numbers from 0 up, three to six of them."""
    sizes = (digit * 10**power for power in count() for digit in (1, 2, 5))
    return range(0, int(most) + 1, next(size for size in sizes if most / size < 6))


def _short(tokens: int) -> str:
    return f"{tokens / 1e6:g}M" if tokens >= 1_000_000 else f"{tokens / 1e3:g}k" if tokens >= 1_000 else str(tokens)


def _line(scale: _Scale, run: PolicyRun, at: int, lines: int = 0) -> str:
    """The line of a policy. `lines`: 0: the whole line; else its share of the dashes among this many lines."""
    places = [f"{scale.x(point.request)},{scale.y(point.tokens)}" for point in run.points]
    places *= 2 if len(places) == 1 else 1  # a line of one point is drawn as a dot
    turns = f' stroke-dasharray="{_DASH} {_DASH * (lines - 1)}" stroke-dashoffset="{-_DASH * at}"' if lines else ""
    title = f"<title>{page_text(run.policy)}</title>"
    return f'<polyline class="line p{at % COLOURS}" points="{" ".join(places)}"{turns}>{title}</polyline>'


def _marks(scale: _Scale, run: PolicyRun, at: int) -> list[str]:
    colour = f"p{at % COLOURS}"
    name = page_text(run.policy)
    tokens = {point.request: point.tokens for point in run.points}
    parts = []
    for each in run.compactions:
        x, y = scale.x(each.request), scale.y(tokens.get(each.request, 0))
        tip = f"{name}, before request {each.request:,}: compacted {each.tokens_before:,} to {each.tokens_after:,}"
        shape = f"M{x} {y}l-6 -10h12z"
        parts.append(f'<path class="compaction {colour}" d="{shape}"><title>{tip}</title></path>')
    for point in run.points:
        if point.misses:
            x, y = scale.x(point.request), scale.y(point.tokens)
            tip = f"{name}, request {point.request:,}: {counted(point.misses, 'miss', 'misses')}"
            shape = f"M{x - 4} {y - 4}l8 8m0 -8l-8 8"
            parts.append(f'<path class="miss {colour}" d="{shape}"><title>{tip}</title></path>')
    return parts
