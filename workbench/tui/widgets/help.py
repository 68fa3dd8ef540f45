"""The help: where to look, the keys of the focused pane, the commands, then all other keys, with one search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from workbench.context.items import SIGNS, state_words
from workbench.tui.widgets.cells import wrapped_line
from workbench.tui.widgets.command import Command, Registry
from workbench.tui.widgets.hints import Hints
from workbench.tui.widgets.input_line import FilterField, has_words
from workbench.tui.widgets.key_names import key_names

STATES = {
    "sent": "whole",
    "truncated": "a part of it, with a marker that says so",
    "masked": "a marker in place of a tool's result",
    "summarised": "replaced by a summary",
    "dropped": "left out, because there was no room",
    "excluded": "left out, because you said so",
    "aside": "never sent: thinking, usage, snapshots",
}
WHERE = (
    (
        "what fills the context",
        "F3, then s sorts by size, T draws a treemap, L lists what could be masked to free space",
    ),
    (
        "why something is gone",
        "F3, Enter on its row: the reason, and since which request; what is missing, has disappeared or was forgotten, "
        "cut, masked, left out or dropped is marked by its state; . shows what is never sent",
    ),
    (
        "facts lost by a summary",
        "F4, then c: a preview lists the facts that a compaction would lose, before anything is lost; H has those "
        "that are gone since a compaction was made, and o shows where a fact came from",
    ),
    ("bring it back", "F3, then r restores an item; u or F9 undoes the last change, also a compaction"),
    (
        "make room, free tokens",
        "F8 compacts; F3, then L lists the largest items and what is no longer needed, m masks the marked item",
    ),
    (
        "what the agent itself cut",
        "the timeline marks it: ◆ compacted, ▾ cleared or left out; F3, then f and state:masked, state:truncated or "
        "state:summarised lists it, and Enter says who cut it and when; F4, then H has the summaries",
    ),
    (
        "another policy, what if",
        "P plans the same log under another policy; P again and recorded comes back, and nothing was changed; /lab "
        "compares all policies over the whole session, in tokens and cost",
    ),
    (
        "who counted the tokens",
        "of a request that was recorded the size in the first line is what the provider reported; rows, and sizes with "
        "~, are estimates; F3, then a has both for each request",
    ),
    ("what an earlier request held", "[ and ] walk along the requests, F6 goes to the timeline, w shows it as sent"),
    ("what it costs", "a has the ledger: tokens, cache and price of each request; /tokens the figures of the session"),
)
"""Frequent questions, and where the answer is."""
WORDS = (
    ("turn", "one message of yours and all that follows until your next one; the current turn is the last of them"),
    ("framing", "what the format of messages adds around their texts: roles and separators"),
    ("history", "all turns before the current one, as far as they are sent"),
    (
        "not in file, partial",
        "what the provider reported and the file does not hold: system prompt, tools, hidden thinking",
    ),
    ("recorded, reported", "as another agent's file has it; the size of a request as its provider counted it"),
    ("reserve, margin", "what stays empty: for the answer, and because counts are estimates"),
    ("policy", "the rules by which results are cut, masked and summarised; recorded: as it really happened"),
)
"""The words in the bar and in the lists."""
WIDE = 24
"""The width of the keys before the explanation."""


PLACES = {
    "chat": "transcript",
    "composer": "message",
    "welcome": "first screen",
    "inspector": "rows",
    "account": "ledger",
    "text": "texts",
}
"""Names of a pane's parts, by the prefix of their binding ids."""
EDITING = ("composer.", "text.")
"""The prefixes of binding ids for editing text, which come last."""


class PaneKeys(NamedTuple):
    """The bindings of a pane."""

    title: str
    bindings: Sequence[Binding]


def keys_in(title: str, screen: Screen[Any]) -> PaneKeys:
    """The keys of a screen and its widgets, its own first."""
    found: dict[str, Binding] = {}
    for widget in (screen, *screen.walk_children(Widget)):
        for kind in type(widget).__mro__:
            if kind.__module__.startswith("workbench."):
                for each in vars(kind).get("BINDINGS", ()):
                    found.setdefault(each.key, each)
    return PaneKeys(title, [each for each in found.values() if each.description])


class HelpScreen(ModalScreen[None]):
    """Type to search; arrows and page keys scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close this help", id="help.close", priority=True),
        Binding("down", "scroll(1)", "down", id="help.down", show=False, priority=True),
        Binding("up", "scroll(-1)", "up", id="help.up", show=False, priority=True),
        Binding("pagedown", "page(1)", "a page down", id="help.page-down", show=False, priority=True),
        Binding("pageup", "page(-1)", "a page up", id="help.page-up", show=False, priority=True),
        Binding("home", "edge(-1)", "to the beginning", id="help.home", show=False, priority=True),
        Binding("end", "edge(1)", "to the end", id="help.end", show=False, priority=True),
    ]

    page = query_one(VerticalScroll)
    text = query_one("#help-text", Static)

    def __init__(
        self, registry: Registry, panes: Sequence[PaneKeys], own: Mapping[str, str], here: str = "", hints: Hints = ()
    ) -> None:
        """`own`: the user's own keys, by binding id. `hints`: the most important keys of the focused pane."""
        super().__init__()
        self._here = here
        self._hints = hints
        self._registry = registry
        self._panes = panes
        self._own = own

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "help"
            box.border_subtitle = "type to search · ↑ ↓ scroll · Esc closes"
            yield FilterField(placeholder="search", compact=True)
            with VerticalScroll(can_focus=False):
                yield Static(id="help-text", markup=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        self.text.update(self._content(self.query_one(Input).value))

    @on(Input.Changed)
    def _search(self) -> None:
        self._draw()
        self.page.scroll_home(animate=False)

    def action_scroll(self, lines: int) -> None:
        self.page.scroll_relative(y=lines, animate=False)

    def action_page(self, way: int) -> None:
        """Scroll by a page, with one line of overlap."""
        self.page.scroll_relative(y=way * max(1, self.page.size.height - 1), animate=False)

    def action_edge(self, way: int) -> None:
        (self.page.scroll_home if way < 0 else self.page.scroll_end)(animate=False)

    def _content(self, query: str) -> Content:
        lines: list[Content] = []
        for title, rows in self._sections():
            found = [row for row in rows if has_words(f"{title} {' '.join(row)}", query)]
            if found:
                lines.append(Content.styled(title, "bold $primary"))
                lines += [line for row in found for line in _lines(*row, self.page.size.width - WIDE - 4)]
                lines.append(Content(""))
        return Content("\n").join(lines) if lines else Content.styled("nothing matches", "$quiet")

    def _in_full(self, hints: Hints) -> list[tuple[str, str]]:
        """The hints with longer descriptions, if there are any."""
        known: dict[str, list[str]] = {}
        for pane in self._panes:
            for each in pane.bindings if pane.title == self._here else ():
                for key in self._own.get(each.id or "", each.key).split(","):
                    known.setdefault(key_names(key), []).append(each.description)
        for command in self._registry.commands:
            for letter in command.letters:
                known.setdefault(key_names(letter), []).append(command.help)
        return [(keys, _meant(word, known.get(keys, []))) for keys, word in hints]

    def _sections(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """The titles, each with its keys or commands and their explanations."""
        if self._hints:
            yield "where to look", list(WHERE)
            yield f"{self._here}: the keys here", self._in_full(self._hints)
        for group, commands in self._registry.grouped():
            rows = []
            for command in commands:
                typed = [f"/{slash}" for slash in command.slashes[:1]]
                rows.append((" ".join([keys_of(command, self._own), *typed]).strip(), command.help))
            yield f"commands: {group}", rows
        editing: list[tuple[str, str]] = []
        for pane in self._panes:
            placed: dict[str, list[tuple[str, str]]] = {}
            for each in pane.bindings:
                row = (key_names(self._own.get(each.id or "", each.key)), each.description)
                if (each.id or "").startswith(EDITING) and not each.show:
                    editing.append(row)
                else:
                    placed.setdefault(_place(each.id or ""), []).append(row)
            for number, (place, found) in enumerate(placed.items()):
                yield f"keys: {pane.title}, {place}" if number else f"keys: {pane.title}", found
        yield "editing keys", editing
        yield "states of an item", [(f"{sign} {state_words(state)}", STATES[state]) for state, sign in SIGNS.items()]
        signs = [
            ("⚑", "pinned: passes every stage untouched"),
            ("~", "before a number: an estimate, by our tokenizer and what the provider's reports have taught"),
            ("◆ ◇", "on the timeline: a compaction, and one that was undone"),
            ("▾", "on the timeline: results cleared or masked, or messages left out"),
            ("of request, share", "the bar in a row: its part of the tokens of the whole request"),
        ]
        yield "signs", signs
        yield "words", list(WORDS)


def _meant(word: str, descriptions: Sequence[str]) -> str:
    """The description of a key that matches a hint: a key may have several meanings in a pane."""
    several = len(descriptions) > 1
    return next((each for each in descriptions if word in each or not several), word)


def _place(binding: str) -> str:
    """The part of a pane in which a key works, by the prefix of its id."""
    part = binding.partition(".")[0]
    return PLACES.get(part, part)


def _lines(what: str, text: str, width: int) -> Iterator[Content]:
    """A key or command and its explanation, wrapped."""
    for number, piece in enumerate(wrapped_line(text, max(width, 20))):
        yield Content.assemble((("" if number else what).ljust(WIDE), "bold"), f" {piece}")


def keys_of(command: Command, own: Mapping[str, str]) -> str:
    """The names of a command's keys: the user's own, or the default ones."""
    everywhere = own.get(command.name, ",".join(command.keys))
    in_panes = own.get(f"letter.{command.name}", ",".join(command.letters))
    return key_names(",".join(filter(None, (everywhere, in_panes))))
