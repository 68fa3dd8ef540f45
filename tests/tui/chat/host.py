"""A small app with the chat pane alone, a transcript that is a list, and what the pane asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.message import Message
from textual.pilot import Pilot

from support.session_state import SetSession, StateField
from tui.play import until
from tui.small_app import SmallApp
from workbench.session.observable import ObservableSession
from workbench.tui.chat import pane as pane_module
from workbench.tui.chat.pane import ChatPane
from workbench.tui.chat.window import TranscriptWindow
from workbench.tui.widgets.command import Completion
from workbench.views.transcript import NOTHING
from workbench.views.values import (
    Activity,
    AnswerChoice,
    ChatCall,
    ChatEntry,
    EntryState,
    Transcript,
    UserQuestion,
)

SHEET = Path(pane_module.__file__).parent / "chat.tcss"
SLASHES = (
    Completion("/compact", "/compact", "make room now", True),
    Completion("/model ", "/model NAME", "talk to another model"),
    Completion("/tokens", "/tokens", "what is used, and what is left", True),
)


class ListTranscript:
    """A transcript over a list; counts how often its entries are looked at."""

    def __init__(self, entries: list[ChatEntry], standings: dict[int, EntryState] | None = None) -> None:
        self.entries = entries
        self.standings = standings or {}
        self.looks = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> ChatEntry:
        self.looks += 1
        return self.entries[index]

    def index_of(self, seq: int) -> int:
        """By a look at all of them."""
        return max((at for at, each in enumerate(self.entries) if each.seq <= seq), default=0)

    def entry_state(self, entry: ChatEntry) -> EntryState | None:
        """What was given."""
        return self.standings.get(entry.seq)


class LongTranscript:
    """Messages that are made when they are looked at."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.looks = 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> ChatEntry:
        self.looks += 1
        kind: Any = "you" if index % 2 == 0 else "ai"
        text = f"message {index + 1}" + "\n\nand some more of it" * (index % 5)
        return ChatEntry(index + 1, f"e{index + 1}", kind, index // 2 + 1, text)

    def index_of(self, seq: int) -> int:
        """One entry for each event."""
        return max(0, min(seq - 1, self.count - 1))

    def entry_state(self, entry: ChatEntry) -> EntryState | None:
        """Nothing is planned."""
        return None


def said(*pairs: tuple[Any, str], first: int = 1) -> list[ChatEntry]:
    """Entries of the kinds and texts given."""
    return [ChatEntry(seq, f"e{seq}", kind, 1, text) for seq, (kind, text) in enumerate(pairs, first)]


def called(seq: int, tool: str, arguments: str, result: str | None = "done", **changes: Any) -> ChatEntry:
    """A call with its result."""
    call = ChatCall(tool, arguments, result, None if result is None else seq + 1, call_id=f"call_{seq}", **changes)
    return ChatEntry(seq, f"e{seq}", "tool", 1, f"{tool} {arguments}", call)


ASKED = UserQuestion(
    7,
    "approval",
    "run_command: may the model run a command?",
    "rm -rf build",
    (
        AnswerChoice("y", "once", "allow once"),
        AnswerChoice("n", "no", "deny once"),
        AnswerChoice("c", "session rm -rf build", "this command (this session)", "always rm -rf build"),
        AnswerChoice("v", "never", "never: rm -rf build (saved)", lasts=True),
    ),
    "no",
)


def _complete(text: str) -> list[Completion]:
    return [each for each in SLASHES if each.text.startswith(text)]


class Host(SmallApp):
    """The pane over a state that a test sets; every message that reaches the top is kept."""

    ENABLE_COMMAND_PALETTE = False

    transcript, live, activity, question = StateField(), StateField(), StateField(), StateField()
    queue, draft_cost, refusal = StateField(), StateField(), StateField()

    def __init__(
        self,
        entries: Transcript | list[ChatEntry] = NOTHING,
        root: Path | None = None,
        session: ObservableSession | None = None,
    ) -> None:
        super().__init__()
        self.session = session or SetSession()
        self.session.change_state(
            transcript=ListTranscript(entries) if isinstance(entries, list) else entries, activity=Activity()
        )
        self._root = root
        self.asked: list[Message] = []
        self.copied: list[str] = []

    def compose(self) -> ComposeResult:
        """The pane alone."""
        yield ChatPane(self.session, _complete, self._root)

    def on_mount(self) -> None:
        """One types at once."""
        self.pane.take_focus()

    def copy_to_clipboard(self, text: str) -> None:
        """Keep it for the test."""
        self.copied.append(text)

    @property
    def pane(self) -> ChatPane:
        """The pane under test."""
        return self.query_one(ChatPane)

    def posted(self, kind: type[Message]) -> list[Any]:
        """What the pane asked for, of one kind."""
        return [message for message in self.asked if isinstance(message, kind)]

    def _keep(self, message: Message) -> None:
        self.asked.append(message)

    on_send = on_answered = on_jump = on_run_command = on_edit_and_resend = on_interrupt = on_withdraw = _keep
    on_draft_changed = _keep


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until everything is taken in, looked up and drawn."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await until(lambda: all(window.is_current for window in pilot.app.query(TranscriptWindow)))
    await pilot.pause()
