"""The lines above and below the panes: tabs, and the status."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.config.text import printable
from workbench.session.values import Activity, Level, Status, WindowUse
from workbench.tui.main.layout import PaneLayout
from workbench.tui.widgets.cells import fit
from workbench.tui.widgets.host import PANES, PaneName

LEVELS: dict[Level, tuple[str, str]] = {
    "calm": ("$success", "roomy"),
    "warm": ("$warning", "filling up"),
    "hot": ("$error", "nearly full"),
}
READY = {
    "ready": ("●", "$success", ""),
    "no key": ("○", "$error", "no key is set"),
    "rehearsal": ("◌", "$warning", "no AI, /model"),
    "local": ("●", "$success", "on this machine"),
    "loading": ("…", "$quiet", ""),
}


DOING = {
    "loading": "opening…",
    "asking": "asked",
    "answering": "answering",
    "tools": "tools run",
    "waiting": "waits for you",
    "compacting": "compacting",
}


class StatusLine(Widget):
    """How full the window is, what it cost, whom one talks to."""

    status: reactive[Status] = reactive(Status(ready="loading"))
    activity: reactive[Activity] = reactive(Activity())

    def render(self) -> Content:
        """As much as there is room for."""
        return status_line(self.status, self.activity, self.size.width)


BETWEEN = " · "


def status_line(status: Status, activity: Activity, width: int) -> Content:
    """As many parts as there is room for, by their rank; each whole, and in the same order at any width."""
    parts = _parts(status, activity, width)
    room, kept = width + len(BETWEEN), set[int]()
    for _, at in sorted((rank, at) for at, (rank, _) in enumerate(parts)):
        needed = parts[at][1].cell_length + len(BETWEEN)
        if needed <= room:
            room -= needed
            kept.add(at)
    return Content(BETWEEN).join(part for at, (_, part) in enumerate(parts) if at in kept)


def _parts(status: Status, activity: Activity, width: int) -> list[tuple[int, Content]]:
    """The parts in order, each with its rank: 0 is what must be seen."""
    if status.ready == "loading":
        return [(0, Content.styled(activity.text or "opening…", "$quiet"))]
    following = WindowUse(status.tokens, status.window)
    colour, word = LEVELS[following.level]
    sign, ready, words = READY[status.ready]
    about = Content.assemble((f"{sign} ", ready), printable(status.model), (f": {words}" if words else "", ready))
    calm = following.level == "calm"
    parts = [
        (0, _used(status, following, width - about.cell_length - len(BETWEEN))),
        (6 if calm else 1, Content.styled("too full" if following.share > 1 else word, colour)),
        (4, Content("cost unknown" if status.cost is None else f"${status.cost:.4f}")),
        (2, about),
        (
            2 if status.what_if else 7,
            Content.styled(f"{'what-if' if status.what_if else 'policy'} {printable(status.policy)}", "$quiet"),
        ),
    ]
    if status.cached is not None:
        parts.insert(3, (5, Content(f"cached {status.cached:.0%}".replace("%", " %"))))
    if calm:
        parts.insert(-1, parts.pop(1))
    if status.max_output is not None:
        parts.insert(1, (1, Content.styled(f"answer up to {status.max_output:,}", colour)))
    if activity.kind in DOING:
        parts.insert(1, (3, Content.styled(DOING[activity.kind], "$accent")))
    if status.prompt is not None:
        parts.insert(1, (3 if calm else 2, Content.assemble(("next ", "$quiet"), (f"{following.tokens:,}", colour))))
    return parts


def _used(status: Status, following: WindowUse, width: int) -> Content:
    """The last prompt and its answer; where there was none, or the past was compacted since, what would be sent."""
    name, use, more = "next", following, [""]
    if status.prompt is not None:
        # Whom one talks to matters more than how long the last answer was.
        name, use = "tokens", WindowUse(status.prompt, status.window)
        more = [f" | response: {status.response:,} tokens", ""]
    colour, _ = LEVELS[use.level]
    forms = [Content.assemble((f"[{name}: ", "$quiet"), (str(use), colour), (f"{each}]", "$quiet")) for each in more]
    return next((form for form in forms if form.cell_length <= width), forms[-1])


KEYS = ("F2", "F3", "F4")


class TabLine(Widget):
    """Which pane has the focus, or is seen where there is room for one; and what is open."""

    arrangement: reactive[PaneLayout] = reactive(PaneLayout())
    session_title: reactive[str] = reactive("")
    read_only: reactive[str] = reactive("")

    class Clicked(Message):
        """A tab was clicked."""

        def __init__(self, pane: PaneName) -> None:
            super().__init__()
            self.pane = pane

    def render(self) -> Content:
        """The panes with their keys, then the session's title as far as there is room."""
        tabs = Content(" ").join(
            Content.styled(f" {key} {name} ", "bold reverse" if name == self.arrangement.active else "$quiet")
            for key, name in zip(KEYS, PANES, strict=True)
        )
        fixed = "  read-only" if self.read_only else ""
        room = self.size.width - tabs.cell_length - len(fixed) - 3
        title = fit(printable(self.session_title), room).rstrip() if room > 8 else ""
        return Content.assemble(tabs, "   ", (title, "bold"), (fixed, "$warning"))

    def on_click(self, event: events.Click) -> None:
        """Go to the tab under the mouse."""
        start = 0
        for name in PANES:
            end = start + len(name) + 5
            if start <= event.x < end:
                self.post_message(self.Clicked(name))
            start = end
