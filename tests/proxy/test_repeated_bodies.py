"""What a request repeats is not read again, and what is recorded is what reading all of it would have given."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.conftest import answered, claude, said, user
from support.random_cases import few_cases
from workbench.config.values import replace
from workbench.log.codec import encode_event
from workbench.log.events import DialectName
from workbench.log.store import Store
from workbench.proxy import repeated_bodies, unpacking
from workbench.proxy.known_values import ByIdentity, KnownMessage
from workbench.proxy.recording import BatchRecording
from workbench.proxy.records import AnsweredRecord, AskedRecord
from workbench.proxy.repeated_bodies import RepeatedBodies
from workbench.proxy.routes import Route
from workbench.proxy.sessions import ProxySessions
from workbench.proxy.unpacking import BodyTooLarge, checked_size
from workbench.traces.building import content_hash
from workbench.wire.dialects import DIALECTS
from workbench.wire.streams import parsed_json

MARK = '"cache_control": {"type": "ephemeral"}'
WORDS = (
    *("look at it", "yes", "", "9" * 70, "a, [b] {c}", "]}", '\\"]'),
    *("é\u2028\U0001f600", "\\ud83d\\ude00", "\\ud83d", "\\u00e9\\n"),
)
"""Texts as JSON writes them: also half a surrogate pair, and brackets that are none."""
FORMS: dict[DialectName, tuple[str, ...]] = {
    "chat": (
        '{"role": "user", "content": "%s"}',
        '{"content":"%s","role":"user"}',
        '{"role": "assistant", "content": "%s"}',
        '{"role": "system", "content": "%s"}',
        '{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", '
        '"function": {"name": "read", "arguments": "%s"}}]}',
        '{"role": "tool", "tool_call_id": "c1", "content": "%s"}',
        '{"role": "user", "role": "assistant", "content": "%s"}',
    ),
    "anthropic": (
        '{"role": "user", "content": "%s"}',
        '{"role": "user", "content": [{"type": "text", "text": "%s"}]}',
        '{"role": "user", "content": [{"type": "text", "text": "%s", ' + MARK + "}]}",
        '{"role": "user", ' + MARK + ', "content": [{"type": "text", "text": "%s"}]}',
        '{"role": "assistant", "content": [{"type": "text", "text": "%s"}]}',
        '{"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"a": "%s"}}]}',
        '{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "%s"}]}',
    ),
    "responses": (
        '{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "%s"}]}',
        '{"role": "assistant", "content": "%s"}',
        '{"type": "function_call", "call_id": "c1", "name": "read", "arguments": "%s"}',
        '{"type": "function_call_output", "call_id": "c1", "output": "%s"}',
    ),
    "gemini": (
        '{"role": "user", "parts": [{"text": "%s"}]}',
        '{"parts": [{"text": "%s"}], "role": "model"}',
        '{"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"a": "%s"}}}]}',
        '{"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "%s"}}}]}',
    ),
    "ollama": (
        '{"role": "user", "content": "%s"}',
        '{"content":"%s","role":"assistant"}',
        '{"role": "assistant", "tool_calls": [{"function": {"name": "read", "arguments": {"a": "%s"}}}]}',
        '{"role": "tool", "tool_name": "read", "content": "%s"}',
    ),
}
STRANGE = ('"bare"', "12", "1", "true", "1.0", "null", "[]", "{}", "NaN", "1e999", "[[1], {}]")
"""Messages that are none."""
SYSTEMS: dict[DialectName, str] = {
    "chat": '"stream": true',
    "responses": '"instructions": "%s"',
    "anthropic": '"system": [{"type": "text", "text": "bill"}, {"type": "text", "text": "%s", ' + MARK + "}]",
    "gemini": '"systemInstruction": {"parts": [{"text": "%s"}]}',
    "ollama": '"keep_alive": "%s"',
}
TOOLS = '"tools": [{"name": "read", "description": "%s", "input_schema": {"type": "object"}}]'
CHANGES = ("edit", "cut", "drop", "swap", "strange", "space", "head", "tail", "both", "twice", "ending", "copy")
SEPARATORS = (", ", ",", " ,\n  ")
SAID: dict[DialectName, Any] = {
    "chat": {"choices": [{"message": {"role": "assistant", "content": "yes"}}]},
    "responses": {"id": "r", "output": [{"type": "message", "role": "assistant", "content": "yes"}]},
    "anthropic": answered(said("yes")),
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "yes"}]}}]},
    "ollama": {"message": {"role": "assistant", "content": "yes"}, "done": True},
}


class Agent:
    """An agent that writes its requests itself, and changes its past in all ways."""

    def __init__(self, dialect: DialectName, session: str) -> None:
        self.dialect = dialect
        self.headers = {"session-id": session} if session else {}
        self.before: list[str] = ['"model": "m"']
        self.behind: list[str] = []
        self.messages: list[str] = []
        self.separator = SEPARATORS[0]
        self.end = "]"

    @property
    def key(self) -> str:
        return DIALECTS[self.dialect].places[1]

    def body(self) -> bytes:
        talk = f'"{self.key}": [{self.separator.join(self.messages)}{self.end}'
        return ("{" + self.separator.join([*self.before, talk, *self.behind]) + "}").encode()


@st.composite
def requests(draw: st.DrawFn, most: int = 14) -> list[tuple[Agent, bytes]]:
    """What some agents send, one after the other in any order."""
    dialect: DialectName = draw(st.sampled_from(list(FORMS)))
    agents = [Agent(dialect, draw(st.sampled_from(["", "one"]))), Agent(dialect, "")]
    agents.append(Agent(draw(st.sampled_from(list(FORMS))), "two"))
    forms = st.sampled_from(FORMS[dialect])
    sent = []
    for _ in range(draw(st.integers(1, most))):
        agent = draw(st.sampled_from([*agents[:1] * 3, *agents[1:]]))
        for _ in range(draw(st.integers(0, 3))):
            if agent.dialect == dialect:
                agent.messages.append(draw(forms).replace("%s", draw(st.sampled_from(WORDS))))
            else:
                agent.messages.append(FORMS[agent.dialect][0].replace("%s", "look"))
        _change(draw, agent)
        sent.append((agent, agent.body()))
        agent.end = "]"
    return sent


def _change(draw: st.DrawFn, agent: Agent) -> None:
    """Nothing, as often as something."""
    talk, words = agent.messages, draw(st.sampled_from(WORDS))
    at = draw(st.integers(0, max(len(talk) - 1, 0)))
    system = SYSTEMS[agent.dialect].replace("%s", words)
    match draw(st.sampled_from([*[""] * len(CHANGES), *CHANGES])):
        case "edit" if talk:
            talk[at] = draw(st.sampled_from(FORMS[agent.dialect])).replace("%s", words)
        case "cut":
            del talk[at:]
        case "drop":
            del talk[:at]
        case "swap" if talk:
            talk[at], talk[-1] = talk[-1], talk[at]
        case "strange":
            talk.append(draw(st.sampled_from(STRANGE)))
        case "space":
            agent.separator = draw(st.sampled_from(SEPARATORS))
        case "head":
            agent.before = ['"model": "m"', system]
        case "tail":
            agent.behind = [TOOLS.replace("%s", words), '"n": 1']
        case "both":
            agent.before, agent.behind = [system], [TOOLS.replace("%s", words), '"n\\u0041": 1.0']
        case "twice":
            agent.behind = [f'"{agent.key}": [{talk[-1] if talk else ""}]']
        case "ending":
            agent.end = draw(st.sampled_from([",]", ", {]", "}", ""]))
        case "copy":
            talk += talk[at:]


def as_read(read: Any, data: bytes, key: str) -> str:
    """What was read, with all that `==` does not tell apart."""
    try:
        return repr(read(data, key))
    except BodyTooLarge as error:
        return str(error)


def read_whole(data: bytes, _: str) -> Any:
    return parsed_json(checked_size(data))


@given(requests(), st.sampled_from([0, 3_000, 1 << 20]))
def test_what_is_read_is_what_reading_all_of_it_gives(sent: list[tuple[Agent, bytes]], most: int) -> None:
    bodies = RepeatedBodies(most)
    for agent, data in sent:
        assert as_read(bodies.parse_body, data, agent.key) == as_read(read_whole, data, agent.key)
        assert bodies._size == sum(each.size for each in bodies._kept) <= most
        assert all(each.size > len(each._written) for each in bodies._kept)


@given(requests(), st.integers(0, 60))
def test_a_body_with_too_many_values_is_too_large_whatever_it_repeats(
    sent: list[tuple[Agent, bytes]], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "_SMALL", 100)
        patch.setattr(unpacking, "MOST_VALUES", most)
        bodies = RepeatedBodies()
        for agent, data in sent:
            assert as_read(bodies.parse_body, data, agent.key) == as_read(read_whole, data, agent.key)


@given(requests(4), st.data())
def test_a_byte_that_differs_anywhere_is_read(sent: list[tuple[Agent, bytes]], data: st.DataObject) -> None:
    bodies = RepeatedBodies()
    for agent, body in sent:
        bodies.parse_body(body, agent.key)
        at, more = data.draw(st.integers(0, len(body))), data.draw(st.integers(0, 2))
        put = data.draw(st.sampled_from([b"", b",", b"]", b"}", b'"', b"\\", b"1", b"\xff", b" ", b'"messages":[],']))
        changed = body[:at] + put + body[at + more :]
        assert as_read(bodies.parse_body, changed, agent.key) == as_read(read_whole, changed, agent.key)


class Whole(RepeatedBodies):
    """Reads each body as if it were the first."""

    def parse_body(self, data: bytes, key: str) -> Any:
        return read_whole(data, key)


def recorded(sent: Sequence[tuple[Agent, bytes]], batch: int, *, quick: bool) -> list[str]:
    """What a recorder makes of requests: the events of all sessions, and why others could not be made."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "proxy.db") as store:
        sessions = ProxySessions(lambda: store)
        recording = BatchRecording(sessions)
        if not quick:
            recording._bodies = Whole()
            sessions._messages, sessions._hashes = ByIdentity(KnownMessage.from_message, 0), ByIdentity(content_hash, 0)
        lost: list[str] = []
        for number, (agent, data) in enumerate(sent, 1):
            recording.process_record(AskedRecord(number, Route("openai", agent.dialect), agent.headers, number), data)
            answer = json.dumps(SAID[agent.dialect]).encode()
            recording.process_record(AnsweredRecord(number, 200, {"content-type": "application/json"}, 1, 2), answer)
            if number % batch == 0:
                lost += recording.finish_batch().lost
        lost += recording.finish_batch().lost
        found = sorted(store.list(), key=lambda info: (info.created, info.id))
        lines = [
            encode_event(replace(event, id="any", at=0))
            for info in found
            for event in store.session(info.id, write=False).events()
        ]
        recording.close()
    for number, info in enumerate(found):
        lines = [line.replace(info.id, f"session {number}") for line in lines]
    return lost + lines


@few_cases()
@given(requests(), st.integers(1, 4))
def test_the_same_is_recorded_as_without_it(sent: list[tuple[Agent, bytes]], batch: int) -> None:
    assert recorded(sent, batch, quick=True) == recorded(sent, batch, quick=False)


def test_what_a_request_repeats_is_not_read_again() -> None:
    bodies = RepeatedBodies()
    talk: list[dict[str, Any]] = [user("look"), said("yes"), user("and?"), said("no")]
    first = bodies.parse_body(json.dumps(claude(*talk, user("then?"))).encode(), "messages")
    marked = {"role": "user", "content": [{"type": "text", "text": "why?", "cache_control": {"type": "ephemeral"}}]}
    asked = claude(*talk, said("because"), marked)
    second = bodies.parse_body(json.dumps(asked).encode(), "messages")
    assert second == asked
    assert list(map(id, second["messages"][:4])) == list(map(id, first["messages"][:4]))
    assert second["tools"] is first["tools"]


def test_conversations_that_take_turns_are_all_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_bodies, "CONVERSATIONS", 3)
    bodies = RepeatedBodies()

    def ask(number: int, *more: str) -> Any:
        talk = [{"role": "system", "content": "the same for all"}, user(f"task {number}"), *map(user, more)]
        return bodies.parse_body(json.dumps({"messages": talk}).encode(), "messages")["messages"]

    first = [ask(number) for number in range(4)]
    second = [ask(number, "go on") for number in (1, 2, 3, 0)]
    assert [one[1] is other[1] for one, other in zip([*first[1:], first[0]], second, strict=True)] == [True] * 3 + [
        False
    ]


def test_agents_that_go_apart_late_do_not_take_each_others_place() -> None:
    bodies = RepeatedBodies()
    shared = [user(f"step {number}") for number in range(10)]
    talks = [[*shared, *(user(f"{name} {number}") for number in range(8))] for name in ("one", "other")]
    before = [bodies.parse_body(json.dumps({"messages": talk}).encode(), "messages")["messages"] for talk in talks]
    for _ in range(3):
        for at, talk in enumerate(talks):
            talk.append(user("go on"))
            now = bodies.parse_body(json.dumps({"messages": talk}).encode(), "messages")["messages"]
            assert now == talk
            assert all(one is other for one, other in zip(now[:-1], before[at], strict=True))
            before[at] = now
