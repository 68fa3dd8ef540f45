"""Scripts: what the stand-in answers, request by request, from a TOML file or JSON lines.

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
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from workbench.config.errors import WrongCall
from workbench.models.reply_parts import Reason, Reported
from workbench.rehearsal.answers import Pace, RehearsedAnswer, RehearsedCall
from workbench.rehearsal.faults import Fault, UnknownFault

_USAGE = ("prompt", "completion", "cached", "cache_write", "reasoning")


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """The answer to one request."""

    answer: RehearsedAnswer | None = None
    """None: the rules answer, with this step's pace and fault."""
    pace: Mapping[str, Any] = field(default_factory=dict)
    """What is different from the script's own pace."""
    usage: Mapping[str, int] | None = None
    """Figures to report in place of the counted ones."""
    fault: Fault | None = None

    def report(self, counted: Reported) -> Reported:
        """The counted figures, with those of the step in their place."""
        return counted._replace(**self.usage) if self.usage else counted


class Script:
    """Steps in order, one per request; after the last the rules answer."""

    def __init__(
        self,
        steps: Iterable[ScriptStep | Mapping[str, Any]] = (),
        *,
        speed: float = 0,
        chunk: int = 0,
        window: int = 0,
        summaries: bool = True,
        where: str = "script",
    ) -> None:
        """`window`: longer requests are refused as too long, by the count in o200k; 0 takes any.

        `summaries`: a request for a summary is a step as any other; False leaves it to the rules, and takes no step.
        """
        if not isinstance(summaries, bool):
            raise WrongCall(f"{where}: summaries: expected true or false, got {_shown(summaries)}")
        self.summaries = summaries
        self.pace = Pace(**_pace({"speed": speed, "chunk": chunk}, where))
        self.window = _number({"window": window}, "window", where, whole=True)
        found: list[ScriptStep] = []
        for number, step in enumerate(steps, 1):
            found += [step] if isinstance(step, ScriptStep) else _steps(step, f"{where}: step {number}")
        self.steps = tuple(found)

    @classmethod
    def load(cls, path: str | Path) -> Script:
        """Read a script; `.toml` is TOML, anything else JSON lines."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise WrongCall(f"{path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise WrongCall(f"{path}: expected UTF-8 text, byte {error.start} is not") from error
        return _from_toml(text, str(path)) if path.suffix == ".toml" else _from_lines(text, str(path))


def _from_toml(text: str, where: str) -> Script:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WrongCall(f"{where}: not TOML: {error}") from error
    _known(found, ("step", "speed", "chunk", "window", "summaries"), where)
    steps = found.pop("step", [])
    if not isinstance(steps, list):
        raise WrongCall(f"{where}: step: expected tables as [[step]], got {_shown(steps)}")
    return Script(steps, **found, where=where)


def _from_lines(text: str, where: str) -> Script:
    steps: list[ScriptStep] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise WrongCall(f"{where}:{number}: expected a JSON object on this line: {error}") from error
        steps += _steps(found, f"{where}:{number}")
    return Script(steps, where=where)


# One step

_KEYS = ("reply", "calls", "reasoning", "finish", "delay", "speed", "chunk", "usage", "fault", "repeat")


def _steps(step: object, where: str) -> list[ScriptStep]:
    """A step as often as it says."""
    if not isinstance(step, Mapping):
        raise WrongCall(f"{where}: expected a table of keys, got {_shown(step)}")
    _known(step, _KEYS, where)
    if not step:
        raise WrongCall(f"{where}: expected at least one of {', '.join(_KEYS)}")
    made = ScriptStep(_answer(step, where), _pace(step, where), _usage(step, where), _fault(step, where))
    return [made] * (_number(step, "repeat", where, whole=True, least=1) if "repeat" in step else 1)


def _answer(step: Mapping[str, Any], where: str) -> RehearsedAnswer | None:
    if not {"reply", "calls", "reasoning", "finish"} & set(step):
        return None
    finish = step.get("finish")
    if finish is not None and finish not in get_args(Reason):
        raise WrongCall(f"{where}: finish: expected one of {', '.join(get_args(Reason))}, got {_shown(finish)}")
    calls = step.get("calls", [])
    if not isinstance(calls, list):
        raise WrongCall(f"{where}: calls: expected a list of tables, got {_shown(calls)}")
    return RehearsedAnswer(
        _text(step, "reply", where),
        _text(step, "reasoning", where),
        tuple(_call(call, f"{where}: calls[{number}]") for number, call in enumerate(calls)),
        finish,
    )


def _call(call: object, where: str) -> RehearsedCall:
    if not isinstance(call, Mapping):
        raise WrongCall(f"{where}: expected a table with tool and arguments, got {_shown(call)}")
    _known(call, ("tool", "arguments", "id"), where)
    tool = _text(call, "tool", where)
    if not tool:
        raise WrongCall(f"{where}: tool: expected the name of a tool")
    arguments = call.get("arguments", {})
    if isinstance(arguments, Mapping):
        try:
            arguments = json.dumps(arguments, ensure_ascii=False)
        except TypeError as error:
            raise WrongCall(f"{where}: arguments: expected values that JSON has, too: {error}") from error
    elif not isinstance(arguments, str):
        raise WrongCall(
            f"{where}: arguments: expected a table, or text as the model writes it, got {_shown(arguments)}"
        )
    return RehearsedCall(tool, arguments, _text(call, "id", where))


def _pace(step: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {key: _number(step, key, where, whole=key == "chunk") for key in ("speed", "chunk", "delay") if key in step}


def _usage(step: Mapping[str, Any], where: str) -> dict[str, int] | None:
    usage = step.get("usage")
    if usage is None:
        return None
    if not isinstance(usage, Mapping):
        raise WrongCall(f"{where}: usage: expected a table, got {_shown(usage)}")
    _known(usage, _USAGE, f"{where}: usage")
    return {key: _number(usage, key, f"{where}: usage", whole=True) for key in usage}


def _fault(step: Mapping[str, Any], where: str) -> Fault | None:
    if "fault" not in step:
        return None
    try:
        return Fault.parse(_text(step, "fault", where))
    except UnknownFault as error:
        raise WrongCall(f"{where}: fault: {error}") from error


# Values


def _known(table: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise WrongCall(f"{where}: {key}: unknown key; expected one of {', '.join(keys)}")


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise WrongCall(f"{where}: {key}: expected text, got {_shown(value)}")
    return value


def _number(table: Mapping[str, Any], key: str, where: str, *, whole: bool = False, least: int = 0) -> Any:
    value = table[key]
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value < float("inf"):
        what = "a whole number" if whole else "a number"
        raise WrongCall(f"{where}: {key}: expected {what} from {least} up, got {_shown(value)}")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
