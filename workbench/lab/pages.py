"""The lab's results as one page for a browser. The page loads nothing and runs no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from workbench.config.html_pages import html_page, page_text, theme_style
from workbench.config.text import counted
from workbench.lab.figures import CorpusFigures, policy_figures
from workbench.lab.plots import COLOURS, session_plot
from workbench.lab.values import (
    ABOUT_JUDGED,
    ABOUT_MISSED,
    ABOUT_REREADING,
    JUDGED,
    MISSED_IN_100,
    REREADING,
    WHAT_COSTS,
    SourceRun,
    judged_text,
)

MOST_PLOTS: Final = 60
"""How many sessions get a picture: those with the most requests."""
_COLUMNS: Final = {
    "tokens": "input tokens",
    "peak": "peak",
    "overflows": "did not fit",
    "compactions": "compactions",
    "missed_requests": "with a miss",
    "missed_in_100": MISSED_IN_100,
    "misses": "facts",
    "cache_read": "cache read",
    "cost": "cost",
    "reread_cost": REREADING,
    "judged": JUDGED,
}
"""By figure: the heading of its column. The last one is shown if anything was judged."""
_LIGHT: Final = ("#6b7280", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56a0d3", "#8b5cf6")
_DARK: Final = ("#9ca3af", "#56b4e9", "#ff8c42", "#2fcf9a", "#e69ac3", "#f0c94a", "#8ecbff", "#b79cff")
assert len(_LIGHT) == len(_DARK) == COLOURS

_STYLE: Final = """
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { color: var(--soft); font-weight: 500; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
.wide { overflow-x: auto; }
.name { margin-right: .8rem; white-space: nowrap; }
.dot { display: inline-block; width: .7rem; height: .7rem; border-radius: 50%; margin-right: .5rem; }
.bar { display: flex; align-items: center; gap: .6rem; margin: .25rem 0; }
.bar b { flex: 0 0 8rem; font-weight: 400; overflow-wrap: anywhere; }
.bar div { flex: 1; display: flex; height: .9rem; } .bar span { height: 100%; } .read { opacity: .4; }
.dot, .bar span { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
svg { width: 100%; height: auto; display: block; overflow: visible; }
.grid, .window, .line { vector-effect: non-scaling-stroke; }
.grid { stroke: var(--rule); } .note { fill: var(--soft); font-size: 11px; } .end { text-anchor: end; }
.window { stroke: var(--limit); stroke-dasharray: 6 4; stroke-width: 1.5; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.miss { fill: none; stroke-width: 2; }
@media (max-width: 40rem) {
  body { margin-top: 1rem; } .bar b { flex-basis: 6rem; } .note { font-size: 24px; }
  svg { margin: 1rem 0 1.5rem; } .foot { transform: translateY(14px); }
}
@media print {
  body { margin: 0; max-width: none; font-size: 11px; } section, .bar { break-inside: avoid; }
  details { display: none; } .wide { overflow: visible; } th, td { padding: .2rem .3rem; }
  th:first-child, td:first-child { position: static; }
}
"""


def lab_page(sources: Iterable[SourceRun], failed: Sequence[tuple[str, str]] = ()) -> str:
    """The whole page: the table, a bar per policy, a picture per session, and what was left out."""
    figures, shown = CorpusFigures(), list[SourceRun]()
    for source in figures.adding(sources):
        shown.append(source)
        if len(shown) > MOST_PLOTS:
            del shown[min(range(len(shown)), key=lambda at: (shown[at].requests, -at))]
    rows = figures.rows
    size = f"{counted(figures.sessions, 'session')}, {counted(figures.requests, 'request')}"
    body = [
        f"<h1>The lab</h1><p>{size}</p>",
        _table(rows),
        f"<p>{_about(rows)}</p>",
        "<h2>Input tokens</h2>",
        *_bars(rows),
    ]
    if shown:
        body.append(f"<h2>Tokens of each request</h2><p>{_key(rows)}</p>")
    body += [_session(source, alone=figures.sessions == 1) for source in shown]
    if figures.sessions > len(shown):
        body.append(f"<p>The {len(shown)} sessions with the most requests have a picture.</p>")
    if failed:
        body.append("<h2>Left out</h2>" + "".join(f"<p>{page_text(error)}</p>" for _, error in failed))
    return html_page(f"The lab: {size}", _style(rows), "".join(body))


def _about(rows: Sequence[dict[str, Any]]) -> str:
    """What the columns mean."""
    costs = [page_text(WHAT_COSTS)] if any(row["cost"] for row in rows) else []
    judged = [f"{JUDGED}: {ABOUT_JUDGED}"] if _is_judged(rows) else []
    return "<br>".join([f"{MISSED_IN_100}: {ABOUT_MISSED}", f"{REREADING}: {ABOUT_REREADING}", *judged, *costs])


def _is_judged(rows: Sequence[dict[str, Any]]) -> bool:
    return any(row["judged"] is not None for row in rows)


def _style(rows: Sequence[dict[str, Any]]) -> str:
    """The style, with the lengths of the bars: attributes with a style are not allowed on a page."""
    light, dark = ({f"p{at}": colour for at, colour in enumerate(colours)} for colours in (_LIGHT, _DARK))
    numbers = range(COLOURS)
    classes = [f".line.p{at}, .miss.p{at} {{ stroke: var(--p{at}); }}" for at in numbers]
    classes += [f".compaction.p{at} {{ fill: var(--p{at}); }}" for at in numbers]
    classes += [f"span.p{at} {{ background: var(--p{at}); }}" for at in numbers]
    classes += [f".{name}{at} {{ width: {share:.2f}%; }}" for at, name, share in _bar_parts(rows)]
    return theme_style(light, dark) + _STYLE + "\n".join(classes)


def _bar_parts(rows: Sequence[dict[str, Any]]) -> list[tuple[int, str, float]]:
    """Both parts of each policy's bar: the policy's place, the name of the part, and its length in per cent."""
    most = max((row["tokens"] for row in rows), default=0) or 1
    found = []
    for at, row in enumerate(rows):
        read = min(row["cache_read"], row["tokens"])
        found += [(at, "written", 100 * (row["tokens"] - read) / most), (at, "read", 100 * read / most)]
    return found


def _table(rows: Sequence[dict[str, Any]]) -> str:
    shown = [name for name in _COLUMNS if name != "judged" or _is_judged(rows)]
    head = "".join(f"<th>{name}</th>" for name in ("policy", *map(_COLUMNS.__getitem__, shown)))
    lines = []
    for at, row in enumerate(rows):
        cells = "".join(f"<td>{_figure(name, row)}</td>" for name in shown)
        lines.append(f"<tr><td>{_dot(at)}{page_text(row['policy'])}</td>{cells}</tr>")
    return f'<div class="wide"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def _figure(name: str, row: dict[str, Any]) -> str:
    value = row[name]
    if name == "judged":
        return judged_text(value, row["judged_probes"])
    if name in ("cost", "reread_cost"):
        return "–" if value is None else f"${value:,.2f}"
    return f"{value:.1f}" if name == "missed_in_100" else f"{value:,}"


def _dot(at: int) -> str:
    return f'<span class="dot p{at % COLOURS}"></span>'


def _bars(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A bar per policy. Tokens that were read from the provider's cache are pale."""
    bars = ["<p>Pale: read from the provider's cache.</p>"]
    for at, row in enumerate(rows):
        parts = "".join(f'<span class="p{at % COLOURS} {name} {name}{at}"></span>' for name in ("written", "read"))
        bars.append(f'<div class="bar"><b>{page_text(row["policy"])}</b><div>{parts}</div></div>')
    return bars


def _key(rows: Sequence[dict[str, Any]]) -> str:
    policies = " ".join(
        f'<span class="name">{_dot(at)}{page_text(row["policy"])}</span>' for at, row in enumerate(rows)
    )
    marks = "▼ a compaction, × something that was needed and gone."
    return f"{policies}<br>{marks} Where lines lie on each other, their colours take turns."


def _session(source: SourceRun, *, alone: bool) -> str:
    about = ", ".join(filter(None, [counted(source.requests, "request"), page_text(source.model)]))
    table = (
        ""
        if alone
        else f"<details><summary>figures</summary>{_table([policy_figures(run) for run in source.runs])}</details>"
    )
    return f"<section><h2>{page_text(source.source)}</h2><p>{about}</p>{session_plot(source.runs)}{table}</section>"
