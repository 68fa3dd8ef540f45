"""The breakpoints of running proxies, and the requests that wait there."""

from __future__ import annotations

import time
from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.text import counted, printable
from workbench.proxy import control
from workbench.proxy.breakpoints import FORMS, parse_rule
from workbench.proxy.control import NONE_RUNS, HeldSummary, ProxyState, RunningProxy
from workbench.tui.screens.held import open_held
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph, per_cent, text_lines
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.input_line import has_words
from workbench.tui.widgets.main_screen_api import MainScreenApi

LOOKS = 1.0
"""Seconds between two queries of the proxies."""

NOTHING = "No breakpoint, and nothing is held."
NO_MATCH = "No breakpoint and nothing held has this in it."
REMOVES = "Ctrl+D removes it"
HOW = "Type one of these and press Enter; a request that fits will wait here:"

States = list[tuple[RunningProxy, ProxyState]]


class BreakScreen(Finder[None]):
    """Enter opens a held request or adds the typed breakpoint; it never removes one."""

    NAME = "breakpoints"
    PLACEHOLDER = "type a breakpoint to add it, such as tool:Bash"
    COLUMNS = (Column("", 10), Column("what"), Column("where", 16, least=56), Column("tokens", 9, right=True))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "open; add a breakpoint", id="breaks.take", priority=True),
        Binding("ctrl+d", "remove", "remove a breakpoint", id="breaks.remove", priority=True),
        Binding("ctrl+o", "release", "release unchanged", id="breaks.release", priority=True),
    ]

    def __init__(self, host: MainScreenApi) -> None:
        super().__init__(host)
        self._states: States = []

    def on_mount(self) -> None:
        """Query the proxies regularly."""
        self.set_interval(LOOKS, self._query_proxies)

    @work(group="look", exclusive=True)
    async def _query_proxies(self) -> None:
        if await self.host.in_background(control.proxy_states) != self._states:
            self.refill()

    async def search_rows(self, text: str) -> FinderResult:
        """Held requests first, then breakpoints; a text that is a rule can be added.

        The cursor moves to a newly held request, unless it is on another one.
        """
        before = {held.id for _, state in self._states for held in state.held}
        self._states = await self.host.in_background(control.proxy_states)
        new = [held.id for _, state in self._states for held in state.held if held.id not in before]
        mark = f"held {new[0]}" if new and not (self.marked or "").startswith("held ") else None
        rows = [_held_row(proxy, held) for proxy, state in self._states for held in state.held]
        rows += [
            Row(f"rule {proxy.pid} {rule}", ("breakpoint", rule, _where(proxy), ""))
            for proxy, state in self._states
            for rule in state.rules
        ]
        note = "" if self._states else NONE_RUNS
        found = [row for row in rows if has_words(" ".join(map(str, row.cells)), text)]
        if text.strip() and self._states:
            try:
                rule = str(parse_rule(text))
            except WrongCall as error:
                note = note or (str(error) if not found else "")
            else:
                where = counted(len(self._states), "proxy", "proxies")
                found = [Row(f"add {rule}", (Content.styled("add", "$success"), rule, where, "")), *found]
        return FinderResult(found, note, mark)

    async def row_details(self, value: str) -> Content:
        """Why a request is held, or what a breakpoint holds."""
        kind, _, rest = value.partition(" ")
        if kind == "held":
            return _held_details(self._held(rest)[1], self.wide)
        rule = rest.partition(" ")[2] if kind == "rule" else rest
        form = next((form for form in FORMS if form[:4] == rule[:4]), "")
        does = "Enter adds it to all proxies that run." if kind == "add" else f"{REMOVES}."
        forms = name_value_rows(FORMS.items(), self.wide)
        meaning = paragraph(f"Holds a request with this: {FORMS.get(form, '')}. {does}")
        return join_blocks(Content.styled(printable(rule), "bold"), meaning, forms)

    def empty(self) -> Content:
        """The rules that can be typed."""
        has_any = any(state.held or state.rules for _, state in self._states)
        hint = f"{NO_MATCH if has_any else NOTHING} {HOW}"
        return join_blocks(paragraph(hint, "$quiet"), name_value_rows(FORMS.items(), self.wide))

    def _held(self, ident: str) -> tuple[RunningProxy, HeldSummary]:
        found = ((proxy, held) for proxy, state in self._states for held in state.held if held.id == ident)
        one = next(found, None)
        if one is None:
            raise WrongCall(f"{ident} is not held any more")
        return one

    # Changing

    def choose_row(self, value: str) -> None:
        kind, _, rest = value.partition(" ")
        if kind == "held":
            self._open(rest)
        elif kind == "add":
            self.field.value = ""
            self._set({proxy: [*state.rules, rest] for proxy, state in self._states})
        else:
            self.warning = REMOVES

    def action_remove(self) -> None:
        """Remove the breakpoint. Enter cannot do this, because the cursor moves when a request is released."""
        kind, _, rest = (self.marked or "").partition(" ")
        if kind == "rule":
            pid, _, rule = rest.partition(" ")
            here = {proxy: state.rules for proxy, state in self._states if str(proxy.pid) == pid}
            self._set({proxy: [each for each in rules if each != rule] for proxy, rules in here.items()})

    @work(group="set", description="set")
    async def _set(self, rules: dict[RunningProxy, list[str]]) -> None:
        try:
            for proxy, wanted in rules.items():
                await self.host.in_background(partial(control.set_rules, proxy, wanted))
        except WorkbenchError as error:
            self.warning = str(error)
        self.refill()

    @work(group="open", exclusive=True, description="open")
    async def _open(self, ident: str) -> None:
        try:
            proxy, _ = self._held(ident)
            await open_held(self.host, proxy, ident)
        except WorkbenchError as error:
            self.warning = str(error)
        self.refill()

    def action_release(self) -> None:
        """Release the request without opening it."""
        kind, _, ident = (self.marked or "").partition(" ")
        if kind == "held":
            self._release(ident)

    @work(group="set", description="release")
    async def _release(self, ident: str) -> None:
        try:
            proxy, _ = self._held(ident)
            await self.host.in_background(
                lambda: control.release_request(proxy, ident, control.ReleaseOrder("as_it_was"))
            )
        except WorkbenchError as error:
            self.warning = str(error)
        self.refill()


def _where(proxy: RunningProxy) -> str:
    return f"{proxy.agent or 'proxy'} ({proxy.pid})"


def _held_row(proxy: RunningProxy, held: HeldSummary) -> Row:
    why = f"{held.why}: {held.last}" if held.last else held.why
    cells = (Content.styled("held", "bold $warning"), why, held.agent or _where(proxy), f"~{held.tokens:,}")
    return Row(f"held {held.id}", cells)


def _held_details(held: HeldSummary, width: int) -> Content:
    facts = [
        ("breakpoint", held.rule),
        ("why", held.why),
        ("agent", held.agent),
        ("model", held.model),
        ("size", f"about {held.tokens:,} tokens, {per_cent(held.tokens, held.window)} of {held.window:,}"),
        ("items", f"{held.items:,}" if held.first else f"{held.items:,}, of which {held.new:,} are new"),
        ("", "the first request seen of this conversation" if held.first else ""),
        (
            "waits",
            f"{max(0, time.time() - held.since):,.0f} s; released unchanged after {held.until - held.since:,.0f} s",
        ),
    ]
    return join_blocks(
        Content.styled(f"held: {printable(held.id)}", "bold"), name_value_rows(facts, width), text_lines(held.last)
    )
