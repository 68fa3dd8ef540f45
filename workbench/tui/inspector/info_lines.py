"""The lines around the rows: what is shown, and whether it fits."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from workbench.config.text import printable
from workbench.log.events import Purpose
from workbench.session.context_view import ContextView
from workbench.tui.widgets.cells import fit_end, joined

WINDOW_SOURCES = {
    "catalogue": "catalogue",
    "fallback": "by its name",
    "config": "your config",
    "guess": "a guess",
    "option": "as asked",
    "policy": "the policy's",
}


class ContextTitle(Widget):
    """The context in a line: model, tokens, window and policy; in the past, plainly, that it is the past."""

    shown: reactive[ContextView | None] = reactive(None)

    def render(self) -> Content:
        """As much as the line holds, the figures first."""
        width = self.size.width
        if self.shown is None or not width:
            return Content.styled("context", "bold $primary")
        plan, limits = self.shown.plan, self.shown.plan.limits
        colour, words = fullness(plan.size, limits.window)
        share = f"{plan.size / max(limits.window, 1):.1%}".replace("%", " %")
        used = Content.assemble(f"{plan.size:,} of {limits.window:,} ", (f"({share})", colour), (f" {words}", colour))
        if self.shown.view == "what-if":
            return joined(_what_if(self.shown, Content.assemble((f"{share} {words}", colour))), width)
        policy = _pair("policy", printable(self.shown.policy))
        room = width - used.cell_length - len("context ") - 3
        model = fit_end(printable(plan.model) or "no model named", max(8, room))
        source = WINDOW_SOURCES.get(limits.window_source, limits.window_source)
        about = Content.styled(printable(self.shown.about_policy), "$quiet")
        first = Content.assemble(("context ", "bold $primary"), (model, "bold"))
        return joined([first, used, policy, _pair("window", source), about], width)


def _what_if(shown: ContextView, share: Content) -> list[Content]:
    """Another policy than what was recorded: both figures before all else."""
    plan = shown.plan
    tried = Content.assemble(("what-if ", "bold $accent"), (printable(shown.policy), "bold"), f": {plan.size:,}")
    recorded = Content("nothing recorded" if shown.reported is None else f"recorded {shown.reported:,}")
    about = Content.styled(printable(shown.about_policy), "$quiet")
    window = _pair("window", f"{plan.limits.window:,}")
    return [tried, recorded, share, window, Content(printable(plan.model) or "no model named"), about]


PURPOSES: dict[Purpose, str] = {
    "turn": "",
    "side": "side request",
    "sub-agent": "sub-agent",
    "compaction": "compaction",
}


class Past(Widget):
    """Says which request one looks at, where that is not the next one of ours, and how to come back."""

    shown: reactive[ContextView | None] = reactive(None)
    alone: reactive[bool] = reactive(False)
    """Whether side requests and sub-agents are passed over."""

    def render(self) -> Content:
        """Words and signs, because a colour alone says nothing."""
        shown = self.shown
        if shown is None:
            return Content()
        if shown.at is None:
            said = f"▶ THE NEXT REQUEST, after {_count(len(shown.requests))}"
            return joined([Content(said), Content("it was not made"), Content("[ back")], self.size.width)
        mark = shown.requests[shown.at]
        name = shown.view.upper() or "THE PAST"
        asked = " ".join(filter(None, (PURPOSES[mark.purpose], printable(mark.agent))))
        hidden = sum(each.purpose != "turn" for each in shown.requests)
        told = f"{mark.tokens:,} tokens reported" if mark.tokens else "nothing was reported" if shown.view else ""
        parts = [
            f"◀ {name}: request {shown.at + 1:,} of {len(shown.requests):,}",
            asked and f"◇ {asked}",
            f"{hidden:,} others hidden" if hidden and self.alone else "",
            f"[ earlier  ] later  }} {'next' if shown.view else 'now'}",
            f"h hides {hidden:,} others" if hidden and not self.alone else "",
            f"turn {mark.turn}, up to event {mark.upto}",
            told,
        ]
        return joined(map(Content, filter(None, parts)), self.size.width)


def _count(requests: int) -> str:
    return "1 request" if requests == 1 else f"{requests:,} requests"


def _pair(name: str, value: str) -> Content:
    return Content.assemble((f"{name} ", "$quiet"), value)


class VerdictLine(Widget):
    """Whether it fits, in words and in colour."""

    shown: reactive[ContextView | None] = reactive(None)

    def watch_shown(self, old: ContextView | None, new: ContextView | None) -> None:
        """More or fewer warnings need another height; anything else none."""
        if (old.plan.warnings if old else ()) != (new.plan.warnings if new else ()):
            self.refresh(layout=True)

    def render(self) -> Content:
        """The verdict, and a line for each warning."""
        if self.shown is None:
            return Content()
        plan = self.shown.plan
        status, why = plan.verdict
        full, _ = fullness(plan.size, plan.limits.window)
        colour = {"fits": full, "waiting": "$warning"}.get(status, "$error")
        lines = [Content.assemble((f"● {status.replace('_', ' ')}", f"bold {colour}"), f"  {printable(why)}")]
        lines += [Content.styled(f"! {printable(warning)}", "$warning") for warning in plan.warnings]
        return Content("\n").join(lines)


def fullness(tokens: int, window: int) -> tuple[str, str]:
    """The colour of a request of so many tokens in a window, and the same in words."""
    share = tokens / max(window, 1)
    if share < 0.7:
        return "$success", "roomy"
    if share < 0.9:
        return "$warning", "filling up"
    return "$error", "nearly full" if share <= 1 else "more than it holds"


class TotalsLine(Widget):
    """The sums, as far as the line reaches."""

    shown: reactive[ContextView | None] = reactive(None)

    def render(self) -> Content:
        """One line, the important first."""
        if self.shown is None:
            return Content()
        plan = self.shown.plan
        totals = plan.totals
        parts = [
            f"{len(plan.rows):,} rows",
            f"{totals.original_tokens:,} if whole",
            f"{totals.items:,} content + {totals.framing:,} framing"
            + (
                f" {'+' if plan.unattributed > 0 else '−'} {abs(plan.unattributed):,} not here"
                if plan.unattributed
                else ""
            ),
            printable(self.shown.note),
        ]
        while len(parts) > 1 and len(" · ".join(parts)) > self.size.width:
            parts.pop()
        return Content.styled(" · ".join(parts), "$quiet")
