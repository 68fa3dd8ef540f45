"""The inspector alone, over a real log and a real planner; and ways to look at it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.pilot import Pilot
from textual.scroll_view import ScrollView
from textual.worker import WorkerCancelled

from support.logs import number
from support.session_state import SetSession, StateField
from support.talk import words
from tui.small_app import SmallApp
from workbench.compaction.triggers import compacts_at
from workbench.config.settings import Settings
from workbench.config.values import replace
from workbench.context.plan import ContextPlan
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Override,
    Reasoning,
    SlotContent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.models.catalogue import Catalogue
from workbench.models.ledger import Ledger
from workbench.session.observable import ObservableSession
from workbench.session.time_travel import place_after
from workbench.sources.requests import RequestMarks
from workbench.tui.inspector.pane import InspectorPane
from workbench.tui.inspector.row_list import RowList
from workbench.tui.main.timeline import FAR, Timeline
from workbench.tui.messages import Decide, Jump, RunCommand, Travel, Walk
from workbench.tui.widgets.input_line import InputLine
from workbench.views.context_view import ContextView, LogQueries

FOLDER = Path(__file__).parents[3] / "workbench" / "tui"
SHEETS: list[str | PurePath] = [
    FOLDER / "main" / "main.tcss",
    FOLDER / "inspector" / "inspector.tcss",
    FOLDER / "widgets" / "text.tcss",
]
CATALOGUE = Catalogue()
TOOL = (
    '{"type": "function", "function": {"name": "read_file", "description": "Read a file.", '
    '"parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}'
)
FILE = "".join(f"{at:>4}  def test_login_{at}(client, database):  # opens it anew\n" for at in range(1, 400))


class Talk(list[Body]):
    """A conversation as the agent writes it: each reply with its usage behind it, then the results of its calls."""

    def reply(self, *parts: Body, estimate: int, prompt: int | None) -> None:
        """What the model said to all that was said before."""
        upto = len(self)
        self.extend(parts)
        self.append(Usage("gpt-4o", estimate, prompt, estimate // 2, completion=80, seconds=1.5, upto=upto))

    def call(self, at: int, tool: str, arguments: str, result: str, estimate: int, prompt: int | None) -> None:
        """One call in a reply of its own, and its result."""
        self.reply(ToolCall(f"call{at}", tool, arguments, f"reply{at}"), estimate=estimate, prompt=prompt)
        self.append(ToolResult(f"call{at}", result, tool))


def talk() -> Talk:
    """Two turns: one with six calls, one with none."""
    made = Talk(
        [
            SlotContent("system", "system", "You are a careful programmer. Answer in short sentences."),
            SlotContent("instructions", "AGENTS.md", "Run the tests before you say that something works.\n" * 4),
            SlotContent("tools", "read_file", TOOL),
            UserMessage("Why does [/b] the \x1b[31mlogin\x1b[0m test fail?"),
        ]
    )
    made.reply(
        Reasoning("The fixture may open the database twice.", "reply1"),
        AssistantMessage("I will look.", "reply1"),
        ToolCall("call1", "read_file", '{"path": "tests/test_login.py"}', "reply1"),
        estimate=110,
        prompt=121,
    )
    made.append(ToolResult("call1", FILE, "read_file"))
    made.call(2, "run_command", '{"command": "pytest -x"}', "FAILED tests/test_login.py::test_login_7\n" * 20, 740, 752)
    made.call(3, "run_command", '{"command": "git log --oneline"}', words(300), 980, 991)
    made.call(4, "read_file", '{"path": "src/auth.py"}', words(400, "beta"), 1_310, 1_322)
    made.call(5, "read_file", '{"path": "src/session.py"}', words(350, "gamma"), 1_500, None)
    made.call(6, "run_command", '{"command": "pytest -x -q"}', "1 passed in 0.41s", 1_600, 1_611)
    made.reply(AssistantMessage("The fixture opened it twice; I closed it.", "reply7"), estimate=1_580, prompt=1_590)
    made.append(UserMessage("It must support Python 3.11, and never touch the network."))
    made.reply(AssistantMessage("Understood: Python 3.11, no network.", "reply8"), estimate=1_620, prompt=1_633)
    return made


BODIES = talk()
SEQS = [at for at, body in enumerate(BODIES, 1) if not isinstance(body, Usage | Reasoning)]
"""The events whose rows are listed: what is sent, and what was left out."""


def setup(policy: str = "workbench", *sets: str, window: int = 10_000) -> Setup:
    """A preset for gpt-4o, with knobs set on top."""
    return set_up(PlanOptions(policy, sets, "gpt-4o", window, 1_000), Settings(), CATALOGUE)


CUT = (
    "truncation.max_tokens=600",
    "masking.keep_first=1",
    "masking.keep_last=2",
    "masking.batch_tokens=0",
    "masking.batch_ratio=0",
)
"""Knobs under which the talk has a truncated row, masked ones, and whole ones."""


class Model:
    """Stands where the session model stands: owns the log, plans it, and says what is to be shown."""

    def __init__(self, bodies: Sequence[Body] = BODIES, made: Setup | None = None) -> None:
        self.events: list[Event] = number(bodies)
        self.setup = made or setup("workbench", *CUT)
        self.requests = RequestMarks()
        self.ledger = Ledger.from_events(self.events, CATALOGUE)
        for event in self.events:
            self.requests.add_event(event)

    def append(self, body: Body) -> None:
        """One event more."""
        event = Event(len(self.events) + 1, f"e{len(self.events) + 1:05d}", 0, body)
        self.events.append(event)
        self.requests.add_event(event)
        self.ledger.add_event(event)

    def plan(self, upto: int | None = None) -> ContextPlan:
        """The plan of the log, or of its beginning."""
        return self.setup.plan(self.events[:upto])

    def shown(self, at: int | None = None) -> ContextView:
        """Now, or a request of the past."""
        policy = self.setup.loaded.policy
        marks = tuple(self.requests.marks)
        now = ContextView(
            self.plan(),
            policy.name,
            self.setup.counter.note,
            len(self.events),
            queries=LogQueries(self.events, self.setup, marks),
            requests=marks,
            compact_at=compacts_at(policy.compaction, self.plan()),
            ledger=self.ledger,
        )
        if at is None:
            return now
        before = self.plan(marks[at - 1].upto) if at else None
        return replace(now, plan=self.plan(marks[at].upto), at=at, before=before)


NAMES = {
    "[": "left_square_bracket",
    "]": "right_square_bracket",
    "{": "left_curly_bracket",
    "}": "right_curly_bracket",
}


class Host(SmallApp):
    """One pane, and a model that does what it asks for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"walk({by})") for key, by in zip(NAMES.values(), (-1, 1, -FAR, FAR), strict=True)),
        Binding("w", "other('request')"),
        Binding("a", "other('account')"),
    ]
    """Those of the main screen."""

    shown, live = StateField(), StateField()

    def __init__(self, model: Model | None = None, shown: ContextView | None = None, theme: str = "ink") -> None:
        super().__init__(theme)
        self.model = model
        self.asked: list[Decide | Jump | Travel | RunCommand] = []
        self.session: ObservableSession = SetSession(shown=shown or (model.shown() if model else None))

    def compose(self) -> ComposeResult:
        yield Timeline(self.session)
        yield InspectorPane(self.session)

    def action_walk(self, by: int) -> None:
        self.query_one(Timeline).action_step(by)

    def action_other(self, name: str) -> None:
        getattr(self.pane, f"action_{name}")()

    def on_mount(self) -> None:
        self.pane.take_focus()

    @property
    def pane(self) -> InspectorPane:
        return self.query_one(InspectorPane)

    @property
    def list(self) -> RowList:
        return self.query_one(RowList)

    @property
    def told(self) -> str:
        """The line under the rows."""
        return self.list.foot.content.plain

    def grow(self, *bodies: Body) -> None:
        """The session goes on."""
        assert self.model is not None
        for body in bodies:
            self.model.append(body)
        self.shown = self.model.shown()

    @on(Decide)
    def _decide(self, message: Decide) -> None:
        self.asked.append(message)
        self.grow(Override(message.action, message.first, message.last, joined=message.joined))

    @on(Travel)
    def _travel(self, message: Travel) -> None:
        self.asked.append(message)
        assert self.model is not None
        self.shown = self.model.shown(message.place)

    @on(Walk)
    def _walk(self, message: Walk) -> None:
        assert self.model is not None
        marks, here = self.model.requests.marks, self.shown.at
        place = place_after(marks, len(marks) if here is None else here, message.by, alone=message.alone)
        self.post_message(Travel(None if place == len(marks) else place))

    @on(Jump)
    @on(RunCommand)
    def _other(self, message: Jump | RunCommand) -> None:
        self.asked.append(message)


def host(model: Model | None = None, **more: Any) -> Host:
    """The inspector over the talk."""
    return Host(model or Model(), **more)


ROUNDS = 4
"""How often everybody's queue is emptied: a key goes from the app to a widget, its message to the pane, and so on."""


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until everything is worked out and drawn; `pilot.pause()` would wait for an idle processor as well."""
    await _rounds(pilot)
    while len(pilot.app.workers):
        with suppress(WorkerCancelled):  # by another that took its place
            await pilot.app.workers.wait_for_complete()
        await _rounds(pilot)


async def _rounds(pilot: Pilot[Any]) -> None:
    for _ in range(ROUNDS):
        await pilot.pause(0)


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys, each when the one before has done its work. In a line to type in, letters are typed for real."""
    for key in keys:
        if isinstance(pilot.app.focused, InputLine) and len(key) == 1:
            await pilot.press(key)
        else:
            pilot.app.simulate_key(NAMES.get(key, key))
        await settle(pilot)


async def type_in(pilot: Pilot[Any], text: str, *keys: str) -> None:
    """Put a text into the line that is open, in place of what stands there; then press keys."""
    line = pilot.app.focused
    assert isinstance(line, InputLine)
    line.value = text
    await settle(pilot)
    await press(pilot, *keys)


def lines_of(view: ScrollView) -> list[str]:
    """What a pane shows, line by line."""
    return [view.render_line(y).text for y in range(view.size.height)]


SUMMARISED = [*BODIES, Compaction(4, 19, "The login test failed; the fixture was mended.")]


async def go_to(pilot: Any, seq: int) -> None:
    """Put the cursor on the row of an event."""
    pilot.app.pane.show_event(seq)
    await settle(pilot)
    assert pilot.app.pane.rows.item.seq == seq


def decisions(app: Host) -> list[tuple[str, int, int]]:
    """What was decided, in order."""
    return [(each.action, each.first, each.last) for each in app.asked if isinstance(each, Decide)]
