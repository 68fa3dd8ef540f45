"""The policy: all knobs of all stages and of compaction, as one frozen value.

A knob is a field; its bounds stand beside it and its docstring says what it does. `load.py` fills a policy from TOML,
environment and command line, and checks every value against these bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Strategy = Literal["none", "head", "tail", "both", "lines"]
Scope = Literal["turn", "session"]
Mode = Literal["auto", "confirm", "manual", "off"]
Selection = Literal["user_messages", "sliding", "last_messages", "everything", "turns"]
Measure = Literal["plan", "since_compaction", "reported"]

NO_LIMIT = 1 << 40


def knob(default: Any, low: float = 0, high: float = NO_LIMIT) -> Any:
    """A number with its allowed range, both ends included."""
    return field(default=default, metadata={"low": low, "high": high})


@dataclass(frozen=True, slots=True)
class BudgetPolicy:
    """How the window is divided."""

    max_input_tokens: int = knob(0)
    """Use no more than this of the window, or so much where the window is only guessed; 0: the model's own window."""
    reserve_tokens: int = knob(0)
    """Room kept for the answer; 0 derives it from the model or from `reserve_ratio`."""
    reserve_ratio: float = knob(0.0, 0, 0.9)
    """Room for the answer as a share of the window; 0 takes the model's maximum output."""
    reserve_max_ratio: float = knob(0.25, 0, 0.9)
    """A reserve taken from the model's maximum output is never more than this share of the window."""
    margin_ratio: float = knob(0.0, 0, 0.9)
    """Share of the window left empty, against counting errors."""
    system_tokens: int = knob(0)
    """Guidance: warn when the system slot holds more than this; 0 never warns. Nothing is cut."""
    memory_tokens: int = knob(0)
    """Guidance: warn when the memory slot holds more than this; 0 never warns. Nothing is cut."""


@dataclass(frozen=True, slots=True)
class InstructionsPolicy:
    """The AGENTS.md files."""

    max_bytes: int = knob(32 * 1024)
    """All files together, in bytes of UTF-8; what is over is cut, visibly."""
    root_markers: tuple[str, ...] = (".git", ".hg", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")
    """A folder that holds one of these is the project's root."""


@dataclass(frozen=True, slots=True)
class ToolTruncation:
    """Truncation knobs for one tool; None inherits the general one."""

    strategy: Strategy | None = None
    max_tokens: int | None = knob(None, 1)
    max_lines: int | None = knob(None, 1)
    head_lines: int | None = knob(None)
    tail_lines: int | None = knob(None)
    max_bytes: int | None = knob(None, 1)


@dataclass(frozen=True, slots=True)
class TruncationPolicy:
    """Cutting single tool results that are over their cap."""

    strategy: Strategy = "none"
    """none, head, tail, both (half and half) by tokens; lines (head and tail lines under a byte cap)."""
    max_tokens: int = knob(8_000, 1)
    """Cap of one result in tokens, marker included (head, tail, both)."""
    max_ratio: float = knob(0.0, 0, 1)
    """The cap is never more than this share of the window; 0 leaves `max_tokens` alone."""
    max_lines: int = knob(256, 1)
    """Cap of one result in lines (lines)."""
    head_lines: int = knob(128)
    """Lines kept from the beginning (lines)."""
    tail_lines: int = knob(128)
    """Lines kept from the end (lines)."""
    max_bytes: int = knob(10 * 1024, 1)
    """Cap of one result in bytes of UTF-8, marker included (lines)."""
    count_header: bool = False
    """Start a cut result with `Total output lines: N` (lines)."""
    tools: Mapping[str, ToolTruncation] = field(default_factory=dict)
    """Per tool: `[truncation.tools.run_command]`."""


@dataclass(frozen=True, slots=True)
class MaskingPolicy:
    """Replacing the middle tool results by a marker."""

    keep_first: int = knob(0)
    """The first results stay. Both keeps 0: no masking."""
    keep_last: int = knob(0)
    """The last results stay."""
    scope: Scope = "session"
    """Which results are counted: those of the current turn, or all."""
    batch_tokens: int = knob(0)
    """Mask only when at least this many tokens are freed at once, so that the prompt cache survives; 0 masks each."""
    batch_ratio: float = knob(0.0, 0, 1)
    """The same as a share of the window; the smaller of the two holds."""
    min_tokens: int = knob(0)
    """Results smaller than this are never masked."""


@dataclass(frozen=True, slots=True)
class HistoryPolicy:
    """What precedes the current turn."""

    mode: Literal["whole", "fit"] = "whole"
    """whole: never dropped here. fit: filled from the newest, as far as the budget reaches."""
    max_tokens: int = knob(0)
    """Cap on history (fit); 0: whatever is left of the window."""
    resident_messages: int = knob(0)
    """Keep at most this many messages of history; 0: no such limit."""
    resident_auto: bool = False
    """Derive the number of resident messages from the input limit: two per 200 tokens, between 100 and 2,000."""
    turn_first: bool = False
    """Reserve room for the whole current turn before history is filled (fit), not only for its last iteration group."""
    notice: bool = True
    """Say in the request how many older messages were left out."""


@dataclass(frozen=True, slots=True)
class TurnPolicy:
    """The turn that is going on."""

    drop_groups: bool = False
    """Drop the oldest iteration groups when the turn itself does not fit; never the last one."""
    max_iterations: int = knob(25, 1)
    """How often the model may be called in one turn."""


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When the past is summarised, what of it, and how."""

    mode: Mode = "off"
    """auto, confirm (ask first), manual, off."""
    headless_mode: Mode | None = None
    """What `confirm` becomes where nobody can be asked; not set: nothing is done but for a request that is too long."""
    threshold: float = knob(0.0, 0, 1)
    """Share of the window that triggers; 0: no such trigger."""
    inclusive: bool = True
    """Whether exactly at the threshold triggers."""
    measure: Measure = "plan"
    """What is compared: the plan's tokens, tokens since the last compaction, or the last reported prompt tokens."""
    token_threshold: int = knob(0)
    """Absolute number of tokens that triggers; 0: no such trigger."""
    turns: int = knob(0)
    """Turns since the last compaction that trigger (theta); 0: no such trigger."""
    overlap: int = knob(0)
    """Turns before the new ones that are summarised again (omega)."""
    selection: Selection = "everything"
    """What is kept beside the summary: user messages, nothing (everything), the last messages, the last turns."""
    keep_user_tokens: int = knob(0)
    """User messages kept whole, newest first, up to this many tokens."""
    keep_user_ratio: float = knob(0.0, 0, 1)
    """The same, at most this share of the window; 0: no such bound."""
    keep_messages: int = knob(0)
    """The last messages stay whole (last_messages)."""
    keep_turns: int = knob(0)
    """The last turns stay whole."""
    summary_tokens: int = knob(0)
    """Cap of the summary; 0: none."""
    summary_ratio: float = knob(0.0, 0, 1)
    """The same, at most this share of the window; 0: no such bound."""
    place: Literal["start", "end"] = "start"
    """Where the summary stands: where its range began, or behind what was kept of it."""
    update: bool = True
    """Seed with the previous summary, and replace it."""
    preface: str = ""
    """Put before the summary when it is sent."""
    acknowledgement: str = ""
    """The assistant's answer to the summary; none when empty."""
    prompt: str = "workbench"
    """A prompt's name, or `file:PATH`."""
    model: str = ""
    """The model that summarises; empty: the session's own."""
    max_compactions: int = knob(0)
    """Per session; 0: no limit."""
    cooldown_turns: int = knob(1)
    """Turns that must pass between two compactions."""
    min_freed: float = knob(0.1, 0, 1)
    """A compaction that frees less than this share is refused."""
    max_failures: int = knob(2, 1)
    """Failures in a row after which no more is tried by itself."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How a session's log becomes a request."""

    name: str = "custom"
    description: str = ""
    budget: BudgetPolicy = field(default_factory=BudgetPolicy)
    instructions: InstructionsPolicy = field(default_factory=InstructionsPolicy)
    truncation: TruncationPolicy = field(default_factory=TruncationPolicy)
    masking: MaskingPolicy = field(default_factory=MaskingPolicy)
    history: HistoryPolicy = field(default_factory=HistoryPolicy)
    turn: TurnPolicy = field(default_factory=TurnPolicy)
    compaction: CompactionPolicy = field(default_factory=CompactionPolicy)
