"""Answers by rule: plain requests lead to calls, results are described, summaries extracted. No AI, and it says so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from workbench.config.patterns import late_pattern
from workbench.config.values import replace
from workbench.rehearsal.plain_requests import PlainRequest, request_rounds
from workbench.rehearsal.probe_reading import answer_to_probes
from workbench.rehearsal.records import done_in_record, is_record
from workbench.rehearsal.side_requests import conversation_title, filled_schema, forced_answer, is_title_request
from workbench.rehearsal.summaries import is_summary_request, summarise
from workbench.rehearsal.tool_choice import call_for
from workbench.rehearsal.turns import asked_in, has_results, turn_of
from workbench.wire.answers import WrittenAnswer, WrittenCall
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest
from workbench.wire.tool_demands import demand_in

SHOWN_LINES = 3
SHOWN_WIDTH = 100

WHO = "I am the rehearsal model: a stand-in without AI that follows rules."
CAN = (
    'I understand plain requests such as "read README.md", "list src", "search for TODO in src", "run make test", '
    '"write notes.txt: some text", "replace A with B in FILE" and "explain what you saw"; several at once if you like, '
    'and "then" puts one after another.'
)
_DOING = {
    "read": "read {path}",
    "list": "list {path}",
    "search": "search for {pattern} in {path}",
    "run": "run {command}",
    "write": "write {path}",
    "edit": "edit {path}",
    "call": "call {tool}",
}
_EXPLAIN = late_pattern(
    r"\b(?:explain|describe|tell me|what (?:did|do|have) you|what (?:was|is) in|what does it say|and\?)", re.IGNORECASE
)
_FAILED = late_pattern(r"\s*(?:(?:error|failed|failure|refused|denied)\s*[:(\]]|\[error|Traceback \()", re.IGNORECASE)
_ONE_LINE = late_pattern(
    r"[^\n]{1,200}: (?:no such|not found|not allowed|permission denied|expected)\b[^\n]*", re.IGNORECASE
)
"""A result that consists only of an error message."""
_EXIT = late_pattern(r"\bexit(?:ed with)? (?:code|status):? *([1-9]\d*)\b", re.IGNORECASE)
_MARKER = late_pattern(r"\[(?:truncated|result masked|\.\.\. omitted)[^\]\n]*\]")


def answer_by_rule(request: CheckedRequest) -> WrittenAnswer:
    """The answer to a request, from the request alone; if a call is required, the answer is one."""
    demand = demand_in(request.body)
    offered = demand.offered(request)
    answer = _freely(offered)
    return answer if answer.calls or demand.mode != "required" else forced_answer(offered) or answer


def _freely(request: CheckedRequest) -> WrittenAnswer:
    probed = answer_to_probes(request)
    if probed is not None:
        return WrittenAnswer(probed)
    if is_title_request(request):
        return _in_shape(WrittenAnswer(conversation_title(request)), request)
    if is_summary_request(request):
        return _in_shape(WrittenAnswer(summarise(request)), request)
    return _in_shape(_by_wish(request), request)


def _in_shape(answer: WrittenAnswer, request: CheckedRequest) -> WrittenAnswer:
    if request.schema is None or answer.calls:
        return answer
    return WrittenAnswer(filled_schema(request.schema, answer.text))


def _by_wish(request: CheckedRequest) -> WrittenAnswer:
    begun, summaries = request, ""
    while is_record(asked_in(begun)):  # it replaces what was done since the request before it
        summaries += f"{asked_in(begun)}\n"
        begun = replace(begun, messages=begun.messages[: -len(turn_of(begun))])
    wishes = request_rounds(asked_in(begun))
    if has_results(request) or summaries:
        return _after_results(request, wishes, summaries)
    if wishes:
        return _round(request, wishes[0], "I")
    if _EXPLAIN.search(asked_in(request)):
        seen = _described(request.messages)
        return WrittenAnswer("\n\n".join([WHO, *(seen or ["There are no results of tools in what I was sent."])]))
    return WrittenAnswer(f"{WHO} {CAN}{_offered(request)}")


def _offered(request: CheckedRequest) -> str:
    names = request.tool_names()
    return f"\n\nTools on offer: {', '.join(names)}." if names else "\n\nNo tools are on offer, so I can only talk."


def _round(request: CheckedRequest, wishes: Sequence[PlainRequest], who: str) -> WrittenAnswer:
    """The calls of one round, at the same time; requests that no tool can do are named."""
    calls: list[WrittenCall] = []
    doing, lacking = [], []
    for wish in wishes:
        call = call_for(wish, request)
        shown = {role: "this folder" if value == "." else value for role, value in wish.values.items()}
        name = _short(_DOING[wish.kind].format(**shown))
        if call is None:
            lacking.append(name)
        else:
            calls.append(call)
            doing.append(name)
    sentences = [f"{who} {_joined(doing)}."] if doing else [WHO]
    if lacking:
        sentences.append(f"No tool on offer can {_joined(lacking)}.")
    return WrittenAnswer(" ".join(sentences) + ("" if calls else _offered(request)), calls=tuple(calls))


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_WIDTH else line[: SHOWN_WIDTH - 1] + "…"


# After results


def _after_results(request: CheckedRequest, wishes: Sequence[Sequence[PlainRequest]], summaries: str) -> WrittenAnswer:
    """The next round if there is one, otherwise a description of the results."""
    begun = _latest_begun(request, wishes, summaries)
    if begun is not None and begun + 1 < len(wishes):
        return _round(request, wishes[begun + 1], "Next I")
    return WrittenAnswer(
        "\n\n".join([*_described(turn_of(request)), "That is what the tools gave. I do not judge it: " + WHO])
    )


def _latest_begun(request: CheckedRequest, wishes: Sequence[Sequence[PlainRequest]], summaries: str) -> int | None:
    """The index of the latest round that was begun; None: there is no sign of any.

    Calls before it may have been dropped from the request, or have become lines of a summary. The calls that are left
    count first: a summary may have the same files from an earlier turn.
    """
    done = [call for message in turn_of(request) for call in message.calls]
    recorded = done_in_record(summaries)
    planned = [[call for wish in round_ if (call := call_for(wish, request))] for round_ in wishes]
    called = [at for at, calls in enumerate(planned) if any(_is_same(one, other) for one in done for other in calls)]
    named = [
        at for at, calls in enumerate(planned) if any(value in recorded for call in calls for value in _values(call))
    ]
    return max(called or named, default=None)


def _meaning(call: WrittenCall) -> tuple[str, object]:
    """A call, independent of how its JSON is written."""
    try:
        return call.tool, json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.tool, call.arguments


def _is_same(done: WrittenCall, planned: WrittenCall) -> bool:
    """Whether a call is the planned one; clients omit a namespace and add arguments that they know."""
    (tool, given), (name, wanted) = _meaning(done), _meaning(planned)
    if isinstance(given, dict) and isinstance(wanted, dict):
        given = {key: value for key, value in given.items() if key in wanted}
    return tool.rpartition(".")[2] == name.rpartition(".")[2] and given == wanted


def _described(messages: Sequence[CheckedMessage]) -> list[str]:
    """Each result in a few lines: the tool, the size, how it begins, or how it failed."""
    calls = {call.call_id: call for message in messages for call in message.calls}
    return [_result(message, calls.get(message.call_id)) for message in messages if message.role == "tool"]


def _result(message: CheckedMessage, call: WrittenCall | None) -> str:
    text = message.text.strip("\n")
    name = f"`{call.tool}`{_target(call)}" if call else "A tool"
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    # Lines in between may be from a file that contains such words.
    code = _EXIT.search(lines[0]) or _EXIT.search(lines[-1])
    if message.is_error or _FAILED.match(text) or _ONE_LINE.fullmatch(text):
        return f"{name} failed: {_short(first) or 'it gave no reason'}"
    if not text.strip():
        return f"{name} gave nothing."
    size = f"{len(lines):,} line{'s' * (len(lines) != 1)}, {len(text):,} characters"
    opening = f"{name} ended with code {code[1]} and gave" if code else f"{name} gave"
    begins = "\n".join(f"    {line[:SHOWN_WIDTH]}" for line in lines[:SHOWN_LINES])
    cut = _MARKER.search(text)
    note = f"\nIt did not reach me whole: {cut.group()}" if cut else ""
    return f"{opening} {size}. It begins:\n{begins}{note}"


def _target(call: WrittenCall) -> str:
    """The target of the call: its first argument that is text."""
    found = next(_values(call), "")
    return f" {_short(found)}" if found else ""


def _values(call: WrittenCall) -> Iterator[str]:
    """The arguments that are text."""
    arguments = _meaning(call)[1]
    values = arguments.values() if isinstance(arguments, dict) else ()
    return (value for value in values if isinstance(value, str) and value)
