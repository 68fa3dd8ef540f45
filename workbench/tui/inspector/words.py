"""The lines around the rows: what is shown, whether it fits, the keys, and what to do when there is nothing."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from workbench.config.paths import config_dir, data_dir
from workbench.config.text import printable
from workbench.tui.bench import Shown
from workbench.tui.cells import fit_end, joined

WINDOW_SOURCES = {
    "catalogue": "catalogue",
    "fallback": "by its name",
    "config": "your config",
    "guess": "a guess",
    "option": "as asked",
    "policy": "the policy's",
}


class About(Widget):
    """What is on the screen: source, model, window and policy."""

    source: reactive[str] = reactive("")
    policy: reactive[str] = reactive("")
    """The policy that is being planned; the plan's own once there is one."""
    shown: reactive[Shown | None] = reactive(None)

    def render(self) -> Content:
        """Two lines, neither ever cut in the middle of a figure."""
        width = self.size.width
        right = "read-only" if self.source else ""
        left = "workbench  "
        room = width - len(left) - len(right) - 2
        name = fit_end(printable(self.source), room) if room > 8 else ""
        line = Content.assemble((left, "bold $primary"), (name, "bold"))
        first = line.pad_right(max(1, width - line.cell_length - len(right))) + Content.styled(right, "$quiet")
        return Content("\n").join([first, self._second(width)])

    def _second(self, width: int) -> Content:
        policy = _pair("policy", printable(self.policy))
        if self.shown is None:
            return policy if self.policy else Content()
        limits = self.shown.plan.limits
        size = _pair("window", f"{limits.window:,} ({WINDOW_SOURCES.get(limits.window_source, limits.window_source)})")
        room = width - size.cell_length - policy.cell_length - len("model ") - 6
        model = printable(self.shown.plan.model) or "none named"
        about = Content.styled(printable(self.shown.about_policy), "$quiet")
        return joined([_pair("model", fit_end(model, max(8, room))), size, policy, about], width)


def _pair(name: str, value: str) -> Content:
    return Content.assemble((f"{name} ", "$quiet"), value)


class Verdict(Widget):
    """Whether it fits, in words and in colour."""

    shown: reactive[Shown | None] = reactive(None, layout=True)
    doing: reactive[str] = reactive("", layout=True)
    """What is going on; empty when nothing is."""

    def render(self) -> Content:
        """The verdict, and a line for each warning."""
        if self.doing or self.shown is None:
            return Content.styled(self.doing, "$quiet")
        plan = self.shown.plan
        status, why = plan.verdict
        full, _ = fullness(plan.totals.tokens, plan.limits.window)
        colour = {"fits": full, "waiting": "$warning"}.get(status, "$error")
        lines = [Content.assemble((f"● {status.replace('_', ' ')}", f"bold {colour}"), f"  {printable(why)}")]
        lines += [Content.styled(f"! {printable(warning)}", "$warning") for warning in plan.warnings]
        return Content("\n").join(lines)


def fullness(tokens: int, window: int) -> tuple[str, str]:
    """The colour of a request of so many tokens in a window, and the same in words."""
    share = tokens / max(window, 1)
    if share < 0.7:
        return "$success", "under 70 %: roomy"
    if share < 0.9:
        return "$warning", "under 90 %: filling up"
    return "$error", "90 % and more: nearly full" if share <= 1 else "more than it holds"


class Totals(Widget):
    """The sums, as far as the line reaches."""

    shown: reactive[Shown | None] = reactive(None)

    def render(self) -> Content:
        """One line, the important first."""
        if self.shown is None:
            return Content()
        plan = self.shown.plan
        totals = plan.totals
        colour, words = fullness(totals.tokens, plan.limits.window)
        share = totals.tokens / max(plan.limits.window, 1)
        parts = [
            Content.styled(f"{share:.1%} of the window, {words}".replace("%", " %", 1), colour),
            Content(f"{len(plan.rows):,} items"),
            Content(f"{totals.original_tokens:,} if whole"),
            Content(f"{totals.items:,} content + {totals.framing:,} framing"),
            Content(self.shown.note),
        ]
        return joined(parts, self.size.width)


class Hints(Widget):
    """The keys that matter most."""

    shown: reactive[Shown | None] = reactive(None)

    def render(self) -> Content:
        """As many as fit; those for the rows once there are rows."""
        keys = [("?", "help"), ("q", "quit"), ("t", "theme")]
        if self.shown is not None:
            keys[2:2] = [("↑↓", "move"), ("enter", "detail"), ("p", "next policy")]
        parts = [Content.assemble((key, "bold $primary"), f" {word}") for key, word in keys]
        return joined(parts, self.size.width, "   ")


class Nothing(Widget):
    """What to do when there is nothing to show."""

    def render(self) -> Content:
        """Says only what is true: what to type, and where things lie."""
        commands = (
            ("workbench open FILE", "look at a transcript on this screen"),
            ("workbench plan FILE", "print the same without a screen"),
            ("workbench import FILE", "keep a transcript as a session"),
        )
        wide = max(len(command) for command, _ in commands)
        lines = [
            Content.styled("No session yet", "bold $primary"),
            Content(""),
            Content("Workbench shows what a model sees of a conversation: which messages are sent"),
            Content("whole, which are cut, masked, summarised or left out, and why."),
            Content(""),
            *(Content.assemble((command.ljust(wide), "bold"), (f"   {text}", "$quiet")) for command, text in commands),
            Content(""),
            Content("FILE holds OpenAI-style messages: a JSON list, an object with"),
            Content("“messages” and “tools”, or one object per line."),
            Content(""),
            _pair("settings", printable(str(config_dir()))),
            _pair("sessions", printable(str(data_dir()))),
        ]
        return Content("\n").join(lines)
