"""What the panes draw: frozen values that the session model makes. A pane keeps nothing else of the session.

They are observed (`observable.py`); what the user wants comes back as calls of the session model.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from workbench.context.items import State
from workbench.context.tool_outcomes import Outcome, outcome_of

EntryKind = Literal["you", "ai", "reasoning", "tool", "summary", "notice", "failure", "system"]
"""notice: a snapshot, a switch of model or policy, a compaction, an override; told in one quiet line."""

FILE = "a file is read-only; a session can be made of it"
"""Why nothing can be changed, where it is for that."""
FOLLOWING = "following"
"""All is well with the file that is followed."""
A_COPY = "A file is read-only. The new session starts as a copy of it; the file does not change."
AS_RECORDED = "It stays as it was recorded until you send a message in it."


class ChatCall(NamedTuple):
    """A tool call and what came of it."""

    tool: str
    arguments: str
    """As the model wrote them."""
    result: str | None = None
    """None while it runs, or where it never returned."""
    result_seq: int | None = None
    is_error: bool = False
    seconds: float | None = None
    """How long the tool ran; where nobody measured it, from the call to its result by the log's clock."""
    call_id: str = ""
    """The same as that of the `LiveCall` while it runs."""

    @property
    def outcome(self) -> Outcome | None:
        """What came of it; None while there is no result."""
        return None if self.result is None else outcome_of(self.result, self.is_error)


class ChatEntry(NamedTuple):
    """One block of the chat, from one event (a call: from two)."""

    seq: int
    id: str
    kind: EntryKind
    turn: int
    text: str
    """What was said; for a call: its arguments in a line."""
    call: ChatCall | None = None
    finish: str = ""
    """Where an answer was cut short: cancelled, broken, length, refused."""
    model: str = ""
    asked_before: int = 0
    """The request that is looked at, where it was asked right before this; 0: it was not."""
    is_later: bool = False
    """It came after the request that is looked at."""


class EntryState(NamedTuple):
    """What became of an entry in the context."""

    state: State
    tokens: int
    original_tokens: int
    pinned: bool
    why: str


class Transcript(Protocol):
    """The chat's entries. One is made when it is looked at, so that ten thousand cost what forty do."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> ChatEntry: ...

    def index_of(self, seq: int) -> int:
        """The place of the entry that shows an event, or of the nearest before it; 0 where there is none."""
        ...

    def standing(self, entry: ChatEntry) -> EntryState | None:
        """What became of it (for a call: of its result, once it has one); None where it is no item."""
        ...


class LiveCall(NamedTuple):
    """A call of the answer that is coming in, or one that runs."""

    call_id: str
    tool: str
    arguments: str
    state: Literal["writing", "asking", "running"]
    output: str = ""
    """The last lines of what a running command printed so far."""


class Live(NamedTuple):
    """The answer as far as it has come. It is not in the log yet."""

    reply: str
    """Tells one answer from the next."""
    reasoning: str = ""
    text: str = ""
    calls: tuple[LiveCall, ...] = ()


class Activity(NamedTuple):
    """What is going on."""

    kind: Literal["idle", "loading", "asking", "answering", "tools", "waiting", "compacting", "read_only"] = "idle"
    text: str = ""
    """In a few words: `try 2 in 4 s`, `run_command`, `summarising part 1 of 3`."""


class AnswerChoice(NamedTuple):
    """One answer to a question."""

    key: str
    answer: str
    label: str
    saved: str = ""
    """The answer that the key's capital gives: the same, kept beyond the session. None where it is empty."""
    lasts: bool = False
    """Whether the answer itself is kept beyond the session."""


class UserQuestion(NamedTuple):
    """Something only the user can decide, asked in place. Nothing goes on until it is answered."""

    number: int
    kind: Literal["approval", "compact", "import"]
    title: str
    detail: str
    """What it is about: the command, the file and its changes, the figures."""
    choices: tuple[AnswerChoice, ...]
    default: str
    """The answer that Enter or Escape gives: the one that changes nothing."""
    message: str = ""
    """What was typed and waits for the answer; it goes back to where it was typed if that is the default."""


class DraftCost(NamedTuple):
    """What the message in the composer would cost."""

    tokens: int = 0
    total: int = 0
    """The request with it."""
    room: int = 0
    """What a request may still have then; less than nothing where it does not fit."""
    exact: bool = True
    free: int = 0
    """What is free then, as in the budget; less than nothing where it takes of the reserve."""


class Status(NamedTuple):
    """The line at the bottom."""

    tokens: int = 0
    """Of the next request, as it is now."""
    window: int = 0
    window_source: str = ""
    response: int = 0
    """Tokens of the last answer."""
    cost: float | None = None
    """Of the session so far, in dollars; None where prices are unknown."""
    cached: float | None = None
    """Share of the last prompt that the provider had in its cache."""
    model: str = ""
    policy: str = ""
    what_if: bool = False
    """Whether the policy is only tried on what another agent recorded."""
    ready: Literal["ready", "no key", "rehearsal", "local", "loading"] = "ready"
    max_output: int | None = None
    """The longest answer there is room for, where that is less than it should have."""
    prompt: int | None = None
    """Tokens of the last prompt, as reported; None before the first one, and since a compaction."""


Level = Literal["calm", "warm", "hot"]


class WindowUse(NamedTuple):
    """So many tokens of a window."""

    tokens: int
    window: int

    @property
    def share(self) -> float:
        """Of the window, 0 to 1 or more."""
        return self.tokens / self.window if self.window else 0.0

    @property
    def level(self) -> Level:
        """Green under 70 %, yellow under 90 %, red from there; never colour alone."""
        return "calm" if self.share < 0.7 else "warm" if self.share < 0.9 else "hot"

    @property
    def word(self) -> str:
        """The level in a word."""
        return "does not fit" if self.share > 1 else {"calm": "OK", "warm": "high", "hot": "full"}[self.level]

    def __str__(self) -> str:
        return f"{self.tokens:,} / {self.window:,} ({self.share:.1%})"


class WelcomeSession(NamedTuple):
    """A session that can be opened from the welcome."""

    ref: str
    title: str
    changed: int
    """Milliseconds since 1970."""
    agent: str = ""
    """Who wrote it; empty: this program."""
    folder: str = ""
    """As `~/proj`; empty: this one."""
    tokens: int | None = None
    """Of the last prompt and its answer; None where nothing was reported."""


class WelcomeLists(NamedTuple):
    """What was found to be opened."""

    sessions: tuple[WelcomeSession, ...] = ()
    """Of this folder."""
    agents: tuple[WelcomeSession, ...] = ()
    """Of other agents, those of this folder first."""
    searching: bool = True


class Welcome(NamedTuple):
    """Everything that an empty chat says."""

    lists: WelcomeLists = WelcomeLists()
    model: str = ""
    """Who answers."""
    advice: str = ""
    """What to do about it; empty: all is well."""
    file: str = ""
    """The file that is open, and holds no messages; then this is all there is to say."""
