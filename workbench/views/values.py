"""What the panes draw: frozen values that the session model makes. Panes have no other state of the session.

Panes observe them (`observable.py`) and call the session model to change something.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from workbench.context.items import State
from workbench.context.tool_outcomes import Outcome, outcome_of

EntryKind = Literal["you", "ai", "reasoning", "tool", "summary", "notice", "failure", "system"]
"""notice: a snapshot, a switch of model or policy, a failed compaction, an override; shown in one dim line."""

FILE = "a file is read-only; it can become a session"
"""Why nothing can be changed in a file."""
FOLLOWING = "following"
"""The state of a followed file that has no problem."""
A_COPY = "A file is read-only. The new session starts as a copy of it; the file does not change."
AS_RECORDED = "It stays as it was recorded until you send a message in it."


class ChatCall(NamedTuple):
    """A tool call and its result."""

    tool: str
    arguments: str
    """As the model wrote them."""
    result: str | None = None
    """None while it runs, or if it never returned."""
    result_seq: int | None = None
    is_error: bool = False
    seconds: float | None = None
    """How long the tool ran; if it was not measured, the time between call and result in the log."""
    call_id: str = ""
    """The same id as the `LiveCall` has while it runs."""

    @property
    def outcome(self) -> Outcome | None:
        """The outcome; None without a result."""
        return None if self.result is None else outcome_of(self.result, self.is_error)


class ChatEntry(NamedTuple):
    """One block of the chat, from one event (a call: from two)."""

    seq: int
    id: str
    kind: EntryKind
    turn: int
    text: str
    """The message; for a call: its arguments in one line."""
    call: ChatCall | None = None
    finish: str = ""
    """Why an answer was cut short: cancelled, broken, length, refused."""
    model: str = ""
    asked_before: int = 0
    """The number of the selected request, if it was made right before this entry; otherwise 0."""
    is_later: bool = False
    """Whether it came after the selected request."""


class EntryState(NamedTuple):
    state: State
    tokens: int
    original_tokens: int
    pinned: bool
    why: str


class Transcript(Protocol):
    """The chat's entries. Each is made when it is read, so ten thousand entries cost no more than forty."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> ChatEntry: ...

    def index_of(self, seq: int) -> int:
        """The index of the entry that shows an event, or of the nearest before it; 0 if there is none."""
        ...

    def entry_state(self, entry: ChatEntry) -> EntryState | None:
        """The state of an entry (for a call with a result: of the result) in the context; None if it is no item."""
        ...


class LiveCall(NamedTuple):
    """A call in the answer that streams in, or a running one."""

    call_id: str
    tool: str
    arguments: str
    state: Literal["writing", "asking", "running"]
    output: str = ""
    """The last lines of a running command's output."""


class LiveAnswer(NamedTuple):
    """The answer as far as it has come; not in the log yet."""

    reply: str
    """Identifies the answer."""
    reasoning: str = ""
    text: str = ""
    calls: tuple[LiveCall, ...] = ()


class Activity(NamedTuple):
    """What the session is doing."""

    kind: Literal["idle", "loading", "asking", "answering", "tools", "waiting", "compacting", "read_only"] = "idle"
    text: str = ""
    """In a few words: `try 2 in 4 s`, `run_command`, `summarising part 1 of 3`."""


class AnswerChoice(NamedTuple):
    key: str
    answer: str
    label: str
    saved: str = ""
    """The answer for the key in upper case: the same, but kept beyond the session. Empty: none."""
    lasts: bool = False
    """Whether the answer itself is kept beyond the session."""


class UserQuestion(NamedTuple):
    """Something only the user can decide, asked in the chat. The session waits for the answer."""

    number: int
    kind: Literal["approval", "compact", "import"]
    title: str
    detail: str
    """The command, the file and its changes, or the figures."""
    choices: tuple[AnswerChoice, ...]
    default: str
    """The answer for Enter or Escape: the one that changes nothing."""


class DraftCost(NamedTuple):
    """What the message in the composer would cost."""

    tokens: int = 0
    total: int = 0
    """Tokens of the request with the message."""
    room: int = 0
    """Tokens left in the request then; negative if it does not fit."""
    exact: bool = True
    free: int = 0
    """Free tokens then, as in the budget; negative if it uses part of the reserve."""


class Status(NamedTuple):
    """The values of the status line."""

    tokens: int = 0
    """Tokens of the next request."""
    window: int = 0
    window_source: str = ""
    response: int = 0
    """Tokens of the last answer."""
    cost: float | None = None
    """Cost of the session so far, in dollars; None if prices are unknown."""
    cached: float | None = None
    """Share of the last prompt that came from the provider's cache."""
    model: str = ""
    policy: str = ""
    what_if: bool = False
    """Whether the policy is only tried on another agent's recording."""
    ready: Literal["ready", "no key", "rehearsal", "local", "loading"] = "ready"
    max_output: int | None = None
    """The longest answer that fits, if that is less than intended."""
    prompt: int | None = None
    """Reported tokens of the last prompt; None before the first one and after a compaction."""


Level = Literal["calm", "warm", "hot"]


class WindowUse(NamedTuple):
    """How full a window is."""

    tokens: int
    window: int

    @property
    def share(self) -> float:
        """The used share of the window, 0 to 1 or more."""
        return self.tokens / self.window if self.window else 0.0

    @property
    def level(self) -> Level:
        """Green under 70 %, yellow under 90 %, red above; `word` says the same without colour."""
        return "calm" if self.share < 0.7 else "warm" if self.share < 0.9 else "hot"

    @property
    def word(self) -> str:
        """The level in a word."""
        return "does not fit" if self.share > 1 else {"calm": "OK", "warm": "high", "hot": "full"}[self.level]

    def __str__(self) -> str:
        return f"{self.tokens:,} / {self.window:,} ({self.share:.1%})"


class WatchedSession(NamedTuple):
    """The session on the screen, while the active one of the folder is followed."""

    name: str
    """Its agent and its title."""
    pinned: bool = False
    """Whether the user wants to stay with it."""
    waiting: str = ""
    """Another session that changed since; empty: this one changed last."""
    why_not: str = ""
    """Why the other one is not shown yet."""


class WelcomeSession(NamedTuple):
    """A session that can be opened from the welcome screen."""

    ref: str
    title: str
    changed: int
    """Milliseconds since 1970."""
    agent: str = ""
    """The agent that wrote it; empty: this program."""
    folder: str = ""
    """As `~/proj`; empty: the current folder."""
    tokens: int | None = None
    """Tokens of the last prompt and its answer; None if nothing was reported."""


class WelcomeLists(NamedTuple):
    """The sessions that can be opened."""

    sessions: tuple[WelcomeSession, ...] = ()
    """Those of this folder."""
    agents: tuple[WelcomeSession, ...] = ()
    """Those of other agents; this folder's come first."""
    searching: bool = True


class Welcome(NamedTuple):
    """Everything that an empty chat shows."""

    lists: WelcomeLists = WelcomeLists()
    model: str = ""
    """The model that answers."""
    advice: str = ""
    """What to do if the model cannot answer; empty: it can."""
    file: str = ""
    """The open file, if it has no messages; then nothing else is shown."""
