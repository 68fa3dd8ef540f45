"""Sends a recorded request again, and shows each answer in a column next to the recorded one."""

from __future__ import annotations

import getopt
import shlex
from functools import partial
from importlib import import_module
from typing import ClassVar, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import HorizontalScroll, Vertical, VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.text import printable, whole_number
from workbench.config.values import replace
from workbench.proxy.editing import RequestEdit
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.replay_answers import ReplayAnswer, answer_figures, marked_lines
from workbench.sources.replaying import (
    RecordedRequest,
    ReplayJob,
    ReplayWish,
    find_request,
    prepare_replay,
    send_replay,
)
from workbench.sources.source import Source, as_source
from workbench.tui.screens.request_items import RequestItemsScreen
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.text_dialog import TextDialog
from workbench.wire.rewriting import Rewrite

WORDS = (
    "-n K · --model M · --policy P · --set KNOB=VALUE · --exclude SEQ|PATH · --mask SEQ|PATH[=TEXT]"
    " · --to URL [--send-key]"
)
_NAMES = ("at=", "model=", "policy=", "set=", "exclude=", "mask=", "to=", "send-key")
LEAST = 34
"""The least width of an answer."""
_MARKS = {"+": "$success", "-": "$error"}


def read_wish(words: str) -> tuple[Options, ReplayWish]:
    """Parse options as on the command line; raises WrongCall."""
    try:
        found, rest = getopt.getopt(shlex.split(words), "n:m:", _NAMES)
    except (getopt.GetoptError, ValueError) as error:
        raise WrongCall(f"{error}; expected {WORDS}") from None
    if rest:
        raise WrongCall(f"{rest[0]}: expected {WORDS}")
    given = [(name.lstrip("-"), value) for name, value in found]
    last = dict(given)
    numbers = {name: last.get(name, "1") for name in ("n", "at")}
    for name, value in numbers.items():
        if not value.isdecimal():
            raise WrongCall(f"{name}: expected a whole number, got {value}")

    def every(name: str) -> tuple[str, ...]:
        return tuple(value for each, value in given if each == name)

    options = Options(model=last.get("model", last.get("m", "")), policy=last.get("policy", ""), knobs=every("set"))
    number = whole_number(numbers["at"]) if "at" in last else None
    times = whole_number(numbers["n"])
    to, send_key = last.get("to", ""), "send-key" in last
    return options, ReplayWish(number, times, every("exclude"), every("mask"), to, send_key)


def open_session_source(opened: OpenSession) -> Source:
    """The open session as a source of requests."""
    return as_source(opened.name, list(opened.events), is_file=opened.session is None)


async def replay_request(host: MainScreenApi, words: str) -> None:
    """Show the request, ask whether it may cost that, and show the answers. Raises Refused if it cannot be sent."""
    options, wish = read_wish(words)
    if wish.number is None and host.request_shown is not None:
        wish = replace(wish, number=host.request_shown + 1)
    source = await host.from_session(open_session_source)
    if not words:
        found = await host.in_background(partial(find_request, host.services, options, source, wish.number))
        chosen = await host.show_and_wait(ResendScreen(host, found))
        if chosen is None:
            return
        options, wanted = read_wish(chosen.words)
        wish = replace(wanted, number=found.number, changes=chosen.rewrite)
        options = replace(options, model=options.model or chosen.rewrite.model)
    job = await host.in_background(partial(prepare_replay, host.services, options, source, wish))
    if job.is_free or await host.show_and_wait(
        ConfirmDialog("replay", _sentence(job.question), "send it", "send nothing")
    ):
        host.push(ReplayScreen(host, job))


def _sentence(text: str) -> str:
    return printable(text[:1].upper() + text[1:])


class ResendChoice(NamedTuple):
    """How to send a request again."""

    rewrite: Rewrite
    words: str
    """Options as on the command line: how often, where to, and under which policy."""


class ResendScreen(RequestItemsScreen[ResendChoice]):
    """The items of a recorded request; Enter sends it."""

    NAME = "replay"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "send it again", id="resend.send", priority=True),
        Binding("n", "options", "times, policy, address", id="resend.options"),
        Binding("escape,q", "leave", "close; nothing is sent", id="resend.leave"),
    ]

    def __init__(self, host: MainScreenApi, found: RecordedRequest) -> None:
        dialect, model = found.request.dialect, found.model
        window = found.recorded.setup(found.recorded.marks[found.at].model).limits.window
        super().__init__(host, lambda: RequestEdit(dialect, model, found.body), found.body, window)
        self._number = found.number
        self._words = "-n 1"

    def on_mount(self) -> None:
        self.box.border_title = one_line(f"replay request {self._number:,}")

    def facts_behind(self) -> list[str]:
        """The options."""
        return [self._words]

    @work(group="ask", exclusive=True)
    async def action_options(self) -> None:
        """Edit the options, as on the command line."""
        words = await self.app.push_screen_wait(TextDialog("replay", self._words, WORDS, self._check_options))
        if words is not None:
            self._words = words.strip() or "-n 1"
            self._show_note()

    def _check_options(self, words: str) -> None:
        if read_wish(words)[1].number is not None:
            raise WrongCall(f"--at: request {self._number:,} is open here; /replay --at N sends another one")

    def choose_row(self, value: str) -> None:
        """Send it with the changes, if any, after asking about the cost."""
        self.dismiss(ResendChoice(self._changed.rewrite, self._words))


class AnswerColumn(VerticalScroll):
    """One answer: its figures and its lines."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.border_title = one_line(title)

    def compose(self) -> ComposeResult:
        """Show that the answer is pending."""
        yield Static("waiting…", markup=False)

    def show(self, text: Content) -> None:
        self.query_one(Static).update(text)


def answer_content(
    answer: ReplayAnswer, other: ReplayAnswer | None, recorded: ReplayAnswer | None, sign: str
) -> Content:
    """The figures and the lines of an answer; lines that `other` lacks are marked with `sign`.

    Call it in a thread: comparing thousands of words takes seconds.
    """
    figures = [
        f"{name} {printable(text)}".strip() for name, text in answer_figures(answer, recorded) if text not in ("", "–")
    ]
    lines = [Content.styled(" · ".join(figures), "$error" if answer.problem else "$quiet"), Content("")]
    lines += [Content.styled(line, _MARKS.get(line[:1], "")) for line in marked_lines(answer, other, sign)]
    return Content("\n").join(lines)


class ReplayScreen(ModalScreen[None]):
    """Columns that fill as the answers come in. Closing it stops pending requests."""

    BINDING_GROUP_TITLE = "Replay"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close; what is not answered yet is stopped", id="replay.close"),
        # takes precedence over the columns' own, which would scroll by a cell
        Binding("right,l", "walk(1)", "the next answer", id="replay.next", priority=True),
        Binding("left,h", "walk(-1)", "the answer before", id="replay.previous", priority=True),
    ]

    row = query_one(HorizontalScroll)

    def __init__(self, host: MainScreenApi, job: ReplayJob) -> None:
        super().__init__()
        self._host = host
        self._job = job

    def compose(self) -> ComposeResult:
        with Vertical(classes="replay--box") as box:
            box.border_title = one_line(self._job.described)
            box.border_subtitle = "+ not in the recorded answer · ← → other answers · Esc closes"
            with HorizontalScroll(can_focus=False):
                if self._job.recorded is not None:
                    yield AnswerColumn("recorded")
                for number in range(1, self._job.times + 1):
                    yield AnswerColumn(f"try {number}")

    def on_resize(self) -> None:
        """Show as many columns side by side as are readable."""
        columns = self.query(AnswerColumn)
        room = self.row.content_size.width
        side_by_side = max(1, min(len(columns), room // LEAST))
        for column in columns:
            column.styles.width = room // side_by_side

    def action_walk(self, by: int) -> None:
        """Scroll to another answer; wraps around."""
        columns = list(self.query(AnswerColumn))
        now = next((at for at, column in enumerate(columns) if column.has_focus), -by)
        column = columns[(now + by) % len(columns)]
        column.focus(scroll_visible=False)
        self.row.scroll_to_widget(column, animate=False)

    def on_mount(self) -> None:
        """Show the recorded answer, and send the requests."""
        recorded = self._job.recorded
        columns = list(self.query(AnswerColumn))
        if recorded is not None:
            columns.pop(0).show(answer_content(recorded, None, None, "-"))
        self._send(columns)

    @work(description="send")
    async def _send(self, columns: list[AnswerColumn]) -> None:
        recorded = self._job.recorded
        # in a thread: it takes longer than a frame
        await self._host.in_background(lambda: import_module("workbench.proxy.resending"))
        first = True
        try:
            async for answer in send_replay(self._host.services, self._job):
                columns.pop(0).show(await self._compared(answer, recorded, recorded, "+"))
                if recorded is not None and first and not answer.problem:
                    self.query(AnswerColumn).first().show(await self._compared(recorded, answer, None, "-"))
                    first = False
        except WorkbenchError as error:
            for column in columns:
                column.show(answer_content(ReplayAnswer(self._job.model, problem=str(error)), None, None, "+"))

    async def _compared(
        self, answer: ReplayAnswer, other: ReplayAnswer | None, recorded: ReplayAnswer | None, sign: str
    ) -> Content:
        return await self._host.in_background(partial(answer_content, answer, other, recorded, sign))
