"""The lines around the rows: what is shown, whether it fits, what a change would do, and the keys."""

from __future__ import annotations

from functools import lru_cache

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from workbench.config.text import printable
from workbench.context.compare import Effect, Mark, RequestChanges
from workbench.log.events import Purpose
from workbench.session.context_view import ContextView
from workbench.tui.inspector.columns import MARKS
from workbench.tui.inspector.order import RowLines
from workbench.tui.inspector.overrides import OverridePreview
from workbench.tui.widgets.cells import fit_end, joined

WINDOW_SOURCES = {
    "catalogue": "catalogue",
    "fallback": "by its name",
    "config": "your config",
    "guess": "a guess",
    "option": "as asked",
    "policy": "the policy's",
}
HINTS = (
    *(("enter", "open"), ("p", "pin"), ("m", "mask"), ("x", "exclude"), ("f", "filter"), ("/", "search")),
    *(("b", "group"), ("s", "sort"), ("v", "range"), ("[", "earlier"), ("w", "request"), ("a", "account")),
)


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


# The line under the rows


@lru_cache(maxsize=8)
def hints(width: int) -> Content:
    """The keys that matter most, as many as fit."""
    parts = [Content.assemble((key, "bold $primary"), f" {word}") for key, word in HINTS]
    return joined(parts, width, "  ")


def question(preview: OverridePreview, width: int) -> Content:
    """What a change would do, before it is made, and the keys that answer, which are never left out."""
    choice, effect = preview.choice, preview.effect
    first = choice.decisions[0]
    what = f"event {first.first}" if choice.rows == 1 else f"{choice.rows:,} rows"
    asked = [Content.styled(f"{choice.verb} {what}?", "bold $accent")]
    warned = [] if preview.fits else [Content.styled("! it would not fit", "bold $error")]
    frees, caches = _frees(effect), _cache(effect)
    wordings = [(frees, cache, keys) for cache in caches for keys in ("enter does it  escape leaves", "enter  escape")]
    for freed, cache, keys in (*wordings, (frees.removesuffix(" tokens"), caches[-1], "enter esc")):
        line = Content(" · ").join(
            [*asked, Content(freed), *warned, Content(cache), Content.styled(keys, "bold $primary")]
        )
        if line.cell_length <= width:
            return line
    return joined([*asked, Content.styled(keys, "bold $primary"), *warned, Content(freed), Content(cache)], width)


def _frees(effect: Effect) -> str:
    if effect.freed > 0:
        return f"frees {effect.freed:,} tokens"
    return f"adds {-effect.freed:,} tokens" if effect.freed else "frees nothing"


def _cache(effect: Effect) -> tuple[str, ...]:
    """What becomes of the prompt cache, from the fullest form to the shortest."""
    if effect.first_changed is None:
        return "the request stays the same, and so does the prompt cache", "prompt cache kept"
    return (
        f"prompt cache: kept up to token {effect.first_changed:,}, {effect.rewritten:,} tokens are written again",
        f"cache kept to {effect.first_changed:,}, {effect.rewritten:,} written again",
        f"{effect.rewritten:,} written again",
        f"rewrites {effect.rewritten:,}",
    )


def changed(found: RequestChanges, width: int) -> Content:
    """What is different from the request before."""
    if found.effect.first_changed is None:
        return Content("the same request as the one before")
    parts = []
    kinds: tuple[tuple[Mark, str, int, int], ...] = (
        ("added", "$success", found.added.items, found.added.tokens),
        ("changed", "$warning", found.changed.items, found.changed.tokens),
        ("gone", "$error", found.gone.items, -found.gone.tokens),
    )
    for mark, colour, items, tokens in kinds:
        if items:
            parts.append(Content.assemble((f"{MARKS[mark]} {items:,} {mark}", colour), f" ({tokens:+,})"))
    parts.append(Content(f"first changed token {found.effect.first_changed:,}"))
    parts.append(Content(f"{found.effect.rewritten:,} written again"))
    return joined(parts, width)


def arranged(lines: RowLines, width: int) -> Content:
    """How the rows are shown, where they are not as they are."""
    wish = lines.wish
    parts = []
    if wish.filter:
        total = len(lines.rows)
        parts.append(Content.assemble((f"{lines.matches:,}", "bold"), f" of {total:,} rows match"))
        parts.append(Content.styled(f"filter {printable(wish.filter.text)}", "$accent"))
    if wish.group:
        parts.append(Content(f"{len(lines.groups):,} groups by {wish.group}"))
    if wish.sort:
        parts.append(Content(f"{wish.sort} first"))
    parts.append(Content.styled("escape: all rows as they are", "$quiet"))
    return joined(parts, width)


def chosen(rows: int, tokens: int | None, original: int | None, width: int) -> Content:
    """What is chosen, with its sum once that is known."""
    parts = [Content.styled("1 row chosen" if rows == 1 else f"{rows:,} rows chosen", "bold $accent")]
    if tokens is not None:
        parts.append(Content(f"{tokens:,} tokens"))
        if original is not None and original != tokens:
            parts.append(Content(f"{original:,} if whole"))
    parts.append(Content.styled("p pin  m mask  x exclude  r restore  y copy  escape", "$quiet"))
    return joined(parts, width)
