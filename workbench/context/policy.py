"""The policy: all knobs of all stages and of compaction, as one frozen value.

A knob is a field; its meaning and bounds are data of the field. `load.py` fills a policy from TOML, environment and
command line, and checks every value against these bounds.
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


def knob(default: Any, meaning: str, low: float = 0, high: float = NO_LIMIT) -> Any:
    """A knob with its meaning and, if it is a number, its allowed range, both ends included."""
    return field(default=default, metadata={"meaning": meaning, "low": low, "high": high})


def tool_knob(general: str, low: float = 0) -> Any:
    """Like the general knob, for one tool."""
    return knob(None, f"`truncation.{general}` for this tool alone; not set: the general one.", low)


@dataclass(frozen=True, slots=True)
class BudgetPolicy:
    """How the window is divided."""

    max_input_tokens: int = knob(
        0,
        "Use no more than this of the window, or so much where the window is only guessed; 0: the model's own window.",
    )
    reserve_tokens: int = knob(0, "Room kept for the answer; 0 derives it from the model or from `reserve_ratio`.")
    reserve_ratio: float = knob(
        0.0,
        "Room for the answer as a share of the window; the smaller of this and `reserve_tokens` is used. "
        "Both 0: the model's maximum output.",
        0,
        0.9,
    )
    reserve_max_ratio: float = knob(
        0.25, "A reserve taken from the model's maximum output is never more than this share of the window.", 0, 0.9
    )
    least_answer_tokens: int = knob(
        1_024, "Where the reserve does not fit, a request is sent with less room for its answer, but not below this.", 1
    )
    least_answer_ratio: float = knob(0.05, "The same, at most this share of the window; 0: no such bound.", 0, 1)
    margin_ratio: float = knob(0.0, "Share of the window left empty, against counting errors.", 0, 0.9)
    system_tokens: int = knob(
        0, "Guidance: warn when the system slot holds more than this; 0 never warns. Nothing is cut."
    )
    memory_tokens: int = knob(
        0, "Guidance: warn when the memory slot holds more than this; 0 never warns. Nothing is cut."
    )
    guidance_ratio: float = knob(0.0, "Either guidance is at most this share of the window; 0: no such bound.", 0, 1)


@dataclass(frozen=True, slots=True)
class InstructionsPolicy:
    """The AGENTS.md files."""

    max_bytes: int = knob(32 * 1024, "All files together, in bytes of UTF-8; the rest is cut, and a line says so.")
    root_markers: tuple[str, ...] = knob(
        (".git", ".hg", "pyproject.toml", "package.json", "go.mod", "Cargo.toml"),
        "A folder that holds one of these is the project's root.",
    )


@dataclass(frozen=True, slots=True)
class ToolTruncation:
    """Truncation knobs for one tool; None inherits the general one."""

    strategy: Strategy | None = tool_knob("strategy")
    max_tokens: int | None = tool_knob("max_tokens", 1)
    max_lines: int | None = tool_knob("max_lines", 1)
    head_lines: int | None = tool_knob("head_lines")
    tail_lines: int | None = tool_knob("tail_lines")
    max_bytes: int | None = tool_knob("max_bytes", 1)


@dataclass(frozen=True, slots=True)
class TruncationPolicy:
    """Cutting single tool results that are over their cap."""

    strategy: Strategy = knob(
        "none", "none, head, tail, both (half and half) by tokens; lines (head and tail lines under a byte cap)."
    )
    max_tokens: int = knob(8_000, "Cap of one result in tokens, marker and pictures included (head, tail, both).", 1)
    max_ratio: float = knob(
        0.0, "The cap is never more than this share of the window; 0 leaves `max_tokens` alone.", 0, 1
    )
    max_lines: int = knob(256, "Cap of one result in lines (lines).", 1)
    head_lines: int = knob(128, "Lines kept from the beginning (lines).")
    tail_lines: int = knob(128, "Lines kept from the end (lines).")
    max_bytes: int = knob(10 * 1024, "Cap of one result in bytes of UTF-8, marker included (lines).", 1)
    count_header: bool = knob(False, "Start a cut result with `Total output lines: N` (lines).")
    tools: Mapping[str, ToolTruncation] = field(default_factory=dict)
    """Per tool: `[truncation.tools.run_command]`."""


@dataclass(frozen=True, slots=True)
class MaskingPolicy:
    """Replacing the middle tool results by a marker."""

    keep_first: int = knob(0, "The first results are kept. Both keeps 0: no masking.")
    keep_last: int = knob(0, "The last results are kept.")
    scope: Scope = knob("session", "Which results are counted: those of the current turn, or all.")
    batch_tokens: int = knob(
        0,
        "Mask only when at least this many tokens are freed at once, so that the prompt cache survives; 0 masks each.",
    )
    batch_ratio: float = knob(0.0, "The same, at most this share of the window; 0: no such bound.", 0, 1)
    min_tokens: int = knob(0, "Results smaller than this are never masked, nor those smaller than their marker.")


@dataclass(frozen=True, slots=True)
class HistoryPolicy:
    """What precedes the current turn."""

    mode: Literal["whole", "fit"] = knob(
        "whole", "whole: never dropped here. fit: filled from the newest, as far as the budget reaches."
    )
    max_tokens: int = knob(0, "Cap on history (fit); 0: whatever is left of the window.")
    resident_messages: int = knob(0, "Keep at most this many messages of history; 0: no such limit.")
    resident_auto: bool = knob(
        False, "Derive the number of resident messages from the input limit: two per 200 tokens, between 100 and 2,000."
    )
    turn_first: bool = knob(
        False,
        "Reserve room for the whole current turn before history is filled (fit), "
        "not only for its last iteration group.",
    )
    notice: bool = knob(True, "Say in the request how many older messages were left out.")


@dataclass(frozen=True, slots=True)
class TurnPolicy:
    """The turn that is going on."""

    drop_groups: bool = knob(
        False, "Drop the oldest iteration groups when the turn itself does not fit; never the last one."
    )
    max_iterations: int = knob(25, "How often the model may be called in one turn.", 1)


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When the past is summarised, what of it, and how."""

    mode: Mode = knob("off", "auto, confirm (ask first), manual, off.")
    headless_mode: Mode | None = knob(
        None,
        "What `confirm` becomes where nobody can be asked; "
        "not set: nothing is done but for a request that is too long.",
    )
    threshold: float = knob(0.0, "Share of the window that triggers; 0: no such trigger.", 0, 1)
    inclusive: bool = knob(True, "Whether exactly at the threshold triggers.")
    measure: Measure = knob(
        "plan",
        "What is compared: the plan's tokens, tokens since the last compaction, or the last reported prompt tokens.",
    )
    token_threshold: int = knob(0, "Absolute number of tokens that triggers; 0: no such trigger.")
    turns: int = knob(0, "Turns since the last compaction that trigger (theta); 0: no such trigger.")
    overlap: int = knob(0, "Turns before the new ones that are summarised again (omega).")
    selection: Selection = knob(
        "everything",
        "What is kept besides the summary: user messages, nothing (everything), the last messages, the last turns.",
    )
    keep_user_tokens: int = knob(0, "User messages kept whole, newest first, up to this many tokens.")
    keep_user_ratio: float = knob(0.0, "The same, at most this share of the window; 0: no such bound.", 0, 1)
    keep_messages: int = knob(0, "The last messages are kept whole (last_messages).")
    keep_turns: int = knob(0, "The last turns are kept whole, as far as enough is left to summarise.")
    summary_tokens: int = knob(0, "Cap of the summary; 0: none.")
    summary_ratio: float = knob(0.0, "The same, at most this share of the window; 0: no such bound.", 0, 1)
    place: Literal["start", "end"] = knob(
        "start", "Where the summary is placed: where its range began, or behind what was kept of it."
    )
    update: bool = knob(True, "Seed with the previous summary, and replace it.")
    preface: str = knob("", "Put before the summary when it is sent.")
    acknowledgement: str = knob("", "The assistant's answer to the summary; none when empty.")
    prompt: str = knob(
        "workbench", "A prompt's name, or `file:PATH`, as in `file:~/summary.md` or `file://~/summary.md`."
    )
    model: str = knob("", "The model that summarises; empty: the session's own.")
    max_compactions: int = knob(0, "Per session; 0: no limit.")
    cooldown_turns: int = knob(1, "Turns that must pass between two compactions.")
    min_freed: float = knob(
        0.1, "A compaction that frees less than this share is refused; by hand it is asked about.", 0, 1
    )
    max_failures: int = knob(2, "Failures in a row after which no more is tried by itself.", 1)

    @property
    def automatic(self) -> bool:
        """Whether it begins without a command, if only by asking."""
        return self.mode in ("auto", "confirm")


@dataclass(frozen=True, slots=True)
class StagesPolicy:
    """Stages of plug-ins."""

    use: tuple[str, ...] = knob((), "Stages of plug-ins, by name and in this order; they run after masking.")


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
    stages: StagesPolicy = field(default_factory=StagesPolicy)
