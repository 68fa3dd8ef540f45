"""Scripts: the answers of the rehearsal model, request by request, from a TOML file or JSON lines.

# TOML                                     # JSON lines: one step a line
speed = 400                                {"reply": "Hello."}
[[step]]                                   {"calls": [{"tool": "read_file", "arguments": {"path": "a.py"}}]}
reasoning = "I need the file."             {"fault": "status 429 wait 2"}
calls = [{tool = "read_file", arguments = {path = "a.py"}}]
[[step]]
fault = "cut"
reply = "This breaks off in the middle."
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

from msgspec import UNSET, Meta, Struct, UnsetType, field, structs

from workbench.config.errors import WrongCall
from workbench.config.tables import Table, read_table, read_toml, read_user_text
from workbench.models.reply_parts import Reason, ReportedUsage
from workbench.rehearsal.faults import Fault, UnknownFault
from workbench.wire.answers import AnswerPace, WrittenAnswer, WrittenCall

_Text = Annotated[str, Meta(description="text")]
_Number = Annotated[float, Meta(ge=0, le=sys.float_info.max, description="a number from 0 up")]
_Whole = Annotated[int, Meta(ge=0, le=10**12, description="a whole number from 0 to a million million")]
MOST_STEPS = 1_000_000
"""Limit for a script, including repeated steps."""


class _Head(Table, frozen=True):
    """The settings for all steps."""

    step: Annotated[list[Any], Meta(description="tables as [[step]]")] = field(default_factory=list)
    speed: _Number = 0
    chunk: _Whole = 0
    window: _Whole = 0
    """Longer requests are refused as too long; 0 means no limit."""
    summaries: Annotated[bool, Meta(description="true or false")] = True
    """A request for a summary uses a step like any other; false leaves it to the rules and uses no step."""


class _Step(Table, frozen=True):
    reply: _Text | UnsetType = UNSET
    calls: Annotated[list[Any], Meta(description="a list of tables")] | UnsetType = UNSET
    reasoning: _Text | UnsetType = UNSET
    finish: Annotated[Reason, Meta(description=f"one of {', '.join(get_args(Reason))}")] | UnsetType = UNSET
    delay: _Number | UnsetType = UNSET
    speed: _Number | UnsetType = UNSET
    chunk: _Whole | UnsetType = UNSET
    usage: Any = None
    fault: _Text | UnsetType = UNSET
    repeat: Annotated[int, Meta(ge=1, le=MOST_STEPS, description=f"a whole number from 1 to {MOST_STEPS:,}")] = 1


class _Call(Table, frozen=True):
    tool: Annotated[str, Meta(min_length=1, description="the name of a tool")]
    arguments: Annotated[dict[str, Any] | str, Meta(description="a table, or text as the model writes it")] = field(
        default_factory=dict
    )
    id: _Text = ""


class _Usage(Table, frozen=True):
    prompt: _Whole | UnsetType = UNSET
    completion: _Whole | UnsetType = UNSET
    cached: _Whole | UnsetType = UNSET
    cache_write: _Whole | UnsetType = UNSET
    reasoning: _Whole | UnsetType = UNSET


class ScriptStep(Struct, frozen=True):
    """The answer to one request."""

    answer: WrittenAnswer | None = None
    """None: the rules answer, with this step's pace and fault."""
    pace: Mapping[str, Any] = field(default_factory=dict)
    """The values that differ from the script's own pace."""
    usage: Mapping[str, int] | None = None
    """Figures to report instead of the counted ones."""
    fault: Fault | None = None

    def report(self, counted: ReportedUsage) -> ReportedUsage:
        """The counted figures, replaced by those of the step."""
        return counted._replace(**self.usage) if self.usage else counted


class Script:
    """Steps in order, one per request; after the last one the rules answer."""

    def __init__(
        self, steps: Iterable[ScriptStep | Mapping[str, Any]] = (), *, where: str = "script", **head: Any
    ) -> None:
        """`where` names the script in messages; `head` has the settings for all steps, as in a file."""
        head_table = read_table(_Head, head, where)
        self.summaries = head_table.summaries
        self.pace = AnswerPace(speed=head_table.speed, chunk=head_table.chunk)
        self.window = head_table.window
        found: list[ScriptStep] = []
        for number, step in enumerate(steps, 1):
            found += [step] if isinstance(step, ScriptStep) else _steps(step, f"{where}: step {number}")
            if len(found) > MOST_STEPS:
                raise WrongCall(f"{where}: expected {MOST_STEPS:,} steps at most, with all that is repeated")
        self.steps = tuple(found)

    @classmethod
    def load(cls, path: str | Path) -> Script:
        """Read a script; `.toml` is TOML, anything else JSON lines."""
        path = Path(path)
        if path.suffix == ".toml":
            head = read_toml(path)
            steps = read_table(_Head, head, str(path)).step
            return cls(steps, **{**head, "step": []}, where=str(path))
        return cls(_lines(read_user_text(path), str(path)), where=str(path))


def _lines(text: str, where: str) -> Iterable[ScriptStep]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise WrongCall(f"{where}:{number}: expected a JSON object on this line: {error}") from error
        yield from _steps(found, f"{where}:{number}")


def _steps(table: Any, where: str) -> list[ScriptStep]:
    """A step, repeated as often as it says."""
    step = read_table(_Step, table, where)
    if not table:
        raise WrongCall(f"{where}: expected at least one of {', '.join(_Step.__struct_fields__)}")
    pace = _given({key: getattr(step, key) for key in ("speed", "chunk", "delay")})
    usage = None if step.usage is None else _given(structs.asdict(read_table(_Usage, step.usage, where, "usage")))
    try:
        fault = Fault.parse(step.fault) if step.fault is not UNSET else None
    except UnknownFault as error:
        raise WrongCall(f"{where}: fault: {error}") from error
    return [ScriptStep(_answer(step, where), pace, usage, fault)] * step.repeat


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not UNSET}


def _answer(step: _Step, where: str) -> WrittenAnswer | None:
    answer = _given({key: getattr(step, key) for key in ("reply", "reasoning", "calls", "finish")})
    if not answer:
        return None
    calls = tuple(_call(call, where, f"calls[{number}]") for number, call in enumerate(answer.get("calls", ())))
    return WrittenAnswer(answer.get("reply", ""), answer.get("reasoning", ""), calls, answer.get("finish"))


def _call(table: Any, where: str, name: str) -> WrittenCall:
    call = read_table(_Call, table, where, name)
    arguments = call.arguments
    if isinstance(arguments, dict):
        try:
            arguments = json.dumps(arguments, ensure_ascii=False)
        except (TypeError, RecursionError) as error:
            raise WrongCall(f"{where}: {name}.arguments: expected values that JSON has, too: {error}") from error
    return WrittenCall(call.tool, arguments, call.id)
