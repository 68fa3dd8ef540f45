"""The lines under the rows: why a request cannot be sent, and the sums."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from workbench.config.text import counted, printable
from workbench.context.plan import ContextPlan
from workbench.tui.inspector.order import RowOrder, listed_items
from workbench.tui.observing import Observing, observed
from workbench.views.context_view import COUNTING, ContextView, unattributed_words


class VerdictLine(Observing, Widget):
    """Why the request cannot be sent, and warnings. Takes no room if there are none."""

    shown = observed(lambda session: session.shown)

    def watch_shown(self, old: ContextView | None, new: ContextView | None) -> None:
        """Lay out again only if the number of lines changed."""
        if new is not None and (old is None or _messages(old) != _messages(new)):
            self.display = bool(_messages(new))
            self.refresh(layout=True)

    def render(self) -> Content:
        if self.shown is None:
            return Content()
        return Content("\n").join(
            Content.styled(printable(line), f"bold {colour}") for line, colour in _messages(self.shown)
        )


def _messages(shown: ContextView) -> list[tuple[str, str]]:
    status, why = shown.plan.verdict.status, shown.plan.verdict.why
    colour = "$warning" if status == "waiting" else "$error"
    lines = [] if status == "fits" else [(f"● {status.replace('_', ' ')}  {why}", colour)]
    return lines + [(f"! {warning}", "$warning") for warning in shown.plan.warnings]


class TotalsLine(Observing, Widget):
    """The sums that fit into the line."""

    shown = observed(lambda session: session.shown)
    order: reactive[RowOrder] = reactive(RowOrder())
    """The order of the rows: it decides which items are counted; with a filter, none."""

    def render(self) -> Content:
        """One line, the most important sum first."""
        if self.shown is None:
            return Content()
        plan = self.shown.plan
        totals = plan.totals
        first = [] if self.order.filter else [counted(len(listed_items(plan, "", self.order.all)), "item")]
        if totals.original_tokens > totals.items:
            first.append(f"{totals.original_tokens:,} tokens before cuts")
        content = f"{totals.items:,} content + {totals.framing:,} message framing"
        rest, why = _rest(plan)
        wordings = (
            [*first, f"{content} (roles and separators){rest}{why}", printable(self.shown.note)],
            [*first, f"{content} (roles and separators){rest}{why}"],
            [*first, f"{content} (roles and separators){rest}"],
            [*first, f"{content}{rest}{why}", printable(self.shown.note)],
            [*first, f"{content}{rest}{why}"],
            [*first, f"{content}{rest}"],
            first or [content],
        )
        lines = (" · ".join(parts) for parts in wordings)
        return Content.styled(next((line for line in lines if len(line) <= self.size.width), wordings[-1][0]), "$quiet")


def _rest(plan: ContextPlan) -> tuple[str, str]:
    """The difference between the report and the rows, and what it is."""
    tokens = plan.unattributed
    if not tokens:
        return "", ""
    sign, which = ("+", "not in file") if tokens > 0 else ("−", "not reported")
    return f" {sign} {abs(tokens):,} {COUNTING if plan.whole else which}", f" ({unattributed_words(plan)})"
