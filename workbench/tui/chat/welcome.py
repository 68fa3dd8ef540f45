"""The welcome: what an empty chat shows, the most important lines first if there is little room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from workbench.config.text import age, printable
from workbench.session.observable import ObservableSession
from workbench.tui.messages import RunCommand
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.columns import Column, row_line
from workbench.views.values import Welcome, WelcomeSession

WIDEST = 110
"""The most cells of a line, so that columns stay close together."""
KEY = 8
"""Cells for the name of a key."""
SESSION = (Column("title"), Column("tokens", 16, right=True, least=50), Column("age", 6, right=True))
AGENT = (Column("agent", 11), Column("title"), Column("folder", 20, least=64), Column("age", 6, right=True))


KEYS = (
    (0, "Enter", "say something: type below", " and press Enter", "view-chat"),
    (0, "Ctrl+O", "open a session", ", of this folder or another agent's", "sessions"),
    (0, "F7", "choose a model", "", "model"),
    (2, "/demo", "look around in a recording", ", without a key", "demo"),
)
"""Rank, key, text, longer text if there is room, and the command."""


class WelcomeLine(NamedTuple):
    rank: int
    """If there is no room for all lines, those with the highest rank are dropped first."""
    content: Content
    run: tuple[str, str] | None = None
    """The command that it runs, and its argument; None: it is only text."""


HOW = ": ↓ and Enter, or a click, open one"
ROWS = 10
"""The rank of a list's first row; each further row adds two."""
BLANK = WelcomeLine(ROWS + 3, Content())
"""A blank line is more important than the third row of a list."""


def welcome_lines(welcome: Welcome, width: int, height: int) -> list[WelcomeLine]:
    """The lines that fit, in their order."""
    wide = min(width, WIDEST)
    made = [each._replace(content=each.content.truncate(wide, ellipsis=True)) for each in _lines(welcome, wide)]
    while len(made) > height:
        last = max(range(len(made)), key=lambda at: (made[at].rank, at))
        del made[last]
    return made


def _lines(welcome: Welcome, width: int) -> Iterator[WelcomeLine]:
    if welcome.file:
        yield WelcomeLine(0, Content.styled("This file holds no messages.", "bold"))
        yield WelcomeLine(1, Content.styled(printable(welcome.file), "$quiet"))
        yield WelcomeLine(1, _key("Ctrl+O", "open a session"), ("sessions", ""))
        return
    yield WelcomeLine(1, _what_it_is(width))
    has_no_model = bool(welcome.advice)
    if has_no_model:
        yield from _agents(welcome, width)
    yield BLANK
    for rank, key, does, more, run in KEYS:
        yield WelcomeLine(rank, _key(key, does + more if KEY + 1 + len(does + more) <= width else does), (run, ""))
    yield BLANK
    yield from _model(welcome, width)
    yield from _list("sessions of this folder", SESSION, welcome.lists.sessions, width)
    if not has_no_model:
        yield from _agents(welcome, width)
    yield BLANK
    keys = (("F1", "help"), ("Ctrl+P", "commands"), ("Ctrl+Q", "quit"))
    last = Content("  ").join(Content.assemble((key, "bold $accent"), f" {does}") for key, does in keys)
    yield WelcomeLine(1, Content.assemble(" ", last), ("help", ""))


def _agents(welcome: Welcome, width: int) -> Iterator[WelcomeLine]:
    """The sessions of other agents. They come first if no model can answer."""
    yield from _list("other agents' sessions on this machine", AGENT, welcome.lists.agents, width)
    if welcome.lists.searching:
        yield WelcomeLine(ROWS, Content.styled("looking for other agents' sessions…", "$quiet"))


def _what_it_is(width: int) -> Content:
    name = "Workbench"
    wordings = (": talk to a model and see what it sees, item by item, and why", ": see what the model sees, and why")
    text = next((each for each in wordings if len(name + each) <= width), ": see what the model sees")
    return Content.assemble((name, "bold $primary"), text)


def _key(key: str, does: str) -> Content:
    return Content.assemble((f" {key:<{KEY}}", "bold $accent"), does)


def _model(welcome: Welcome, width: int) -> Iterator[WelcomeLine]:
    """The model, and what to do if it cannot answer. These lines are never cut."""
    colour, sign = ("$warning", "◌") if welcome.advice else ("$success", "●")
    words = f"{welcome.model} {welcome.advice}"
    for at, text in enumerate(wrap(words, max(width - 2, 10))):
        first = Content.assemble((f"{sign} ", colour), (text, "bold" if at == 0 and not welcome.advice else ""))
        yield WelcomeLine(0, first if at == 0 else Content(f"  {text}"), ("model", "") if at == 0 else None)


def _list(name: str, columns: Sequence[Column], found: Sequence[WelcomeSession], width: int) -> Iterator[WelcomeLine]:
    """A list of sessions; newer ones have a better rank, and a heading is never shown alone."""
    if not found:
        return
    yield BLANK
    how = HOW if len(name + HOW) <= width else ""
    yield WelcomeLine(ROWS + 1, Content.assemble((name, "bold"), (how, "$quiet")))
    for at, each in enumerate(found):
        yield WelcomeLine(
            ROWS + 2 * at, Content.assemble(" ", row_line(columns, _cells(each), width - 1)), ("open", each.ref)
        )


def _cells(session: WelcomeSession) -> tuple[str | Content, ...]:
    old = Content.styled(age(session.changed), "$quiet")
    if not session.agent:
        tokens = "" if session.tokens is None else f"{session.tokens:,} tokens"
        return session.title, Content.styled(tokens, "$quiet"), old
    folder = Content.styled(printable(session.folder) or "this folder", "$quiet")
    return Content.styled(session.agent, "$accent"), session.title, folder, old


class WelcomeView(Observing, OptionList, inherit_bindings=False):
    """The lines; those with a command can be selected."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor_up", "the line above; from the first: the input line", id="welcome.up", show=False),
        Binding("down,j", "cursor_down", "the line below", id="welcome.down", show=False),
        Binding("home,g", "first", "the first line", id="welcome.first", show=False),
        Binding("end,G", "last", "the last line", id="welcome.last", show=False),
        Binding("enter,space", "select", "open it, or run it", id="welcome.take"),
        Binding("q", "leave", "to the input line", id="welcome.leave", show=False),
    ]

    welcome = observed(lambda session: session.welcome, repaint=False)

    class Left(Message):
        """Move the focus back to the composer."""

    def __init__(self, session: ObservableSession) -> None:
        super().__init__(session, markup=False, compact=True)
        self._drawn: list[WelcomeLine] = []

    def watch_welcome(self) -> None:
        self._arrange()

    def on_resize(self) -> None:
        """Choose the lines that fit, even if none does."""
        self._arrange()
        self.call_after_refresh(self._arrange)

    def _arrange(self) -> None:
        width, height = self.content_size  # without scrollbars: the lines always fit
        if self.welcome is None or width < 4 or height < 1:
            return
        made = welcome_lines(self.welcome, width, height)
        if made == self._drawn:
            return
        before = self._drawn[self.highlighted] if self.highlighted is not None else None
        self._drawn = made
        self.set_options(Option(each.content, disabled=each.run is None) for each in made)
        runs = [each.run for each in made]
        if before is not None and before.run in runs:
            self.highlighted = runs.index(before.run)

    def on_focus(self) -> None:
        if self.highlighted is None:
            self.action_first()

    def on_blur(self) -> None:
        self.highlighted = None

    def action_cursor_up(self) -> None:
        """From the first line, move the focus back to the composer."""
        if self.highlighted == next((at for at, each in enumerate(self._drawn) if each.run), None):
            self.action_leave()
        else:
            super().action_cursor_up()

    def action_leave(self) -> None:
        self.post_message(self.Left())

    @on(OptionList.OptionSelected)
    def _taken(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        run = self._drawn[event.option_index].run
        if run is not None:
            self.post_message(RunCommand(*run))
