"""How full the window is, what happens next, and the model, in one line. No other place shows the usage."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from workbench.config.text import percent, printable
from workbench.log.events import Purpose
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.bar import LEVELS, budget_legend, draw_bar
from workbench.views.compaction_values import CompactionView
from workbench.views.context_view import ContextView
from workbench.views.values import Activity, Status, WindowUse

READY = {
    "ready": ("●", "$success", ""),
    "no key": ("○", "$error", "no key, F7"),
    "rehearsal": ("◌", "$warning", "no AI, F7"),
    "local": ("●", "$success", "on this machine"),
    "loading": ("…", "$quiet", ""),
}
DOING = {
    "loading": "opening…",
    "asking": "asked",
    "answering": "answering",
    "tools": "running tools",
    "waiting": "waiting for you, F2",
    "compacting": "compacting",
}
PURPOSES: dict[Purpose, str] = {
    "turn": "",
    "side": "side request",
    "sub-agent": "sub-agent",
    "compaction": "compaction request",
}
WHOLE = "the request is in the file"
"""Shown instead of `exact` if the size is only an estimate."""
LEAVING = "P leaves it: choose recorded"
"""How to leave a what-if."""
BETWEEN = " · "
Part = tuple[int, Content, Content]
"""Rank (0: always shown), text, and a shorter text."""


class ContextOverview(Observing, Widget):
    """The usage line, the bar, and the bar's legend if there is room."""

    shown = observed(lambda session: session.shown)
    compaction = observed(lambda session: session.compaction)
    status = observed(lambda session: session.status)
    activity = observed(lambda session: session.activity)

    def render(self) -> Content:
        width, height = self.content_size
        lines = [usage_line(self.shown, self.compaction, self.status, self.activity, width)]
        if self.shown is not None and width:
            plan, compact_at = self.shown.plan, self.shown.compact_at
            lines.append(draw_bar(plan.budget, plan.limits.window, width, compact_at))
            lines.append(budget_legend(plan.budget, width, compact_at, whole=plan.whole))
        lines += [Content()] * (height - len(lines))
        return Content("\n").join(lines[: max(height, 1)])


def usage_line(
    shown: ContextView | None, compaction: CompactionView | None, status: Status, activity: Activity, width: int
) -> Content:
    """The parts that fit, chosen by rank, always whole and in the same order."""
    if shown is None or status.ready == "loading":
        return Content.styled(printable(activity.text) or "opening…", "$quiet")
    parts = _parts(shown, compaction, status, activity)
    room, kept = width + len(BETWEEN), dict[int, Content]()
    for _, at in sorted((part[0], at) for at, part in enumerate(parts)):
        for text in parts[at][1:]:
            needed = text.cell_length + len(BETWEEN)
            if at not in kept and (needed <= room or not kept):
                room -= needed
                kept[at] = text
    line = Content(BETWEEN).join(kept[at] for at in sorted(kept))
    return line if line.cell_length <= width else line.truncate(max(width, 1), ellipsis=True)


def _parts(shown: ContextView, compaction: CompactionView | None, status: Status, activity: Activity) -> list[Part]:
    """The parts in order, each with its rank."""
    plan = shown.plan
    use = WindowUse(plan.size, plan.limits.window)
    colour = LEVELS[use.level]
    share = percent(use.share)
    parts: list[Part] = []

    def add(rank: int, text: Content | str, short: Content | str = "") -> None:
        whole = text if isinstance(text, Content) else Content(text)
        parts.append((rank, whole, Content.assemble(short) if short else whole))

    for which in _which(shown):
        add(1, Content.styled(which, "bold $accent"))
    guess = "~" if shown.view and plan.reported is None else ""
    add(0, Content.assemble((f"{guess}{use.tokens:,}", "bold"), f" of {use.window:,} tokens"))
    add(0, Content.styled(f"{share} {use.word}", f"bold {colour}"))
    if plan.verdict.status == "waiting" and activity.kind != "waiting":
        add(2, Content.styled("a tool call is open", "$warning"))
    if status.max_output is not None and shown.at is None:
        add(1, Content.styled(f"answer up to {status.max_output:,}", colour))
    if shown.view == "what-if" and shown.reported is not None:
        add(1, f"recorded {shown.reported:,}")
    if shown.view == "what-if":
        add(1, Content.styled(LEAVING, "$accent"), Content.styled(LEAVING.partition(":")[0], "$accent"))
    if shown.exactness is not None:
        which = WHOLE if shown.exactness.exact and shown.plan.reported is None else str(shown.exactness)
        add(2, Content.styled(which, "$quiet"), Content.styled(which.partition(":")[0], "$quiet"))
    if activity.kind in DOING:
        add(0 if activity.kind == "waiting" else 3, Content.styled(DOING[activity.kind], "bold $accent"))
    if compaction is not None and not shown.view and shown.at is None:
        add(1, compaction.next, compaction.next.partition(", ")[0])
    sign, ready, words = READY[status.ready]
    who = Content.assemble((f"{sign} ", ready), printable(status.model), (f": {words}" if words else "", ready))
    needs_a_look = status.ready in ("no key", "rehearsal") and not shown.view  # a recording needs no model
    add(1 if needs_a_look else 3, who, Content.styled(f"{sign} {words}", ready) if needs_a_look else "")
    add(7, Content.assemble(("policy ", "$quiet"), printable(shown.policy)))
    if shown.view != "what-if":  # both describe what was really sent
        whole = " in all" if shown.at is not None else ""
        add(5, "cost unknown" if status.cost is None else f"${status.cost:.4f}{whole}")
        cached = _cached(shown, status)
        if cached is not None:
            add(6, f"cached {percent(cached, 0)}")
    if status.response and shown.at is None:
        add(8, f"last answer {status.response:,}")
    return parts


def _cached(shown: ContextView, status: Status) -> float | None:
    """The share of the selected request, or of the last one, that came from the provider's cache."""
    if shown.at is None:
        return status.cached
    mark = shown.requests[shown.at]
    return mark.cached / mark.reported if mark.reported else None


def _which(shown: ContextView) -> list[str]:
    """Which request this is, unless it is the next one of our session."""
    if shown.at is None:
        which = "the next request, if it went on" if shown.view and shown.requests else ""
    else:
        mark = shown.requests[shown.at]
        recorded = ", recorded" if shown.view == "recorded" else ""
        asked = " ".join(filter(None, (PURPOSES[mark.purpose], printable(mark.who))))
        which = f"request {shown.at + 1:,}{recorded}" + (f" ({asked})" if asked else "")
        if shown.view and mark.reported is None:
            which += ", estimated"
    tried = f"what-if {printable(shown.policy)}" if shown.view == "what-if" else ""
    return [" ".join(filter(None, (tried, f"for {which}" if tried and which else which)))] if tried or which else []
