"""A session that an agent resumes under another run of the proxy goes on in its log, as if there had been one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from proxy.conftest import Recording, answered, called, claude, result, said, user
from support.random_cases import few_cases
from workbench.log.events import Body, Setting, UserMessage
from workbench.log.store import Store
from workbench.proxy.sessions import OpenRequest

CLAUDE = {"X-Claude-Code-Session-Id": "one", "User-Agent": "claude-cli/2.1"}
CODEX = {"session-id": "one", "User-Agent": "codex_exec/0.166"}
OPENCODE = {"x-session-id": "one", "User-Agent": "opencode/1.18"}
SUMMARY = "The user wants all files listed; a.py and b.py were found, and nothing else is left to do here."
WISH = user("Your task is to create a detailed summary of the conversation so far.")

Step = tuple[str, dict[str, Any], dict[str, Any], Mapping[str, str]]


def of_claude() -> list[Step]:
    talk = [user("look"), called("c1"), result("c1", "a.py " * 40), said("a.py"), user("again"), said("ok"), user("ok")]
    after = [user(f"This session is being continued. {SUMMARY}"), user("go on")]
    masked = [*after, said("gone"), user("look"), called("c2"), result("c2", "b.py"), said("b.py"), user("more")]
    title = claude(user("look"), system="Write a title.", tools=[])
    steps = [
        (title, said("Looking")),
        (claude(*talk[:1]), called("c1")),
        (claude(*talk[:3]), said("a.py")),
        (claude(*talk[:5]), said("ok")),
        (claude(*talk), said("ok")),
        (claude(*talk, said("ok"), WISH), said(f"<summary>\n{SUMMARY}\n</summary>")),
        (claude(*after), said("gone")),
        (claude(*masked[:4]), called("c2")),
        (claude(*masked[:6]), said("b.py")),
        (claude(*masked[:5], result("c2", "[cleared]"), *masked[6:]), said("done")),
    ]
    return [("/v1/messages", body, answered(message), CLAUDE) for body, message in steps]


def of_opencode() -> list[Step]:
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    system = {"role": "system", "content": "You are an agent."}
    talk: list[dict[str, Any]] = [
        user("look"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
        {"role": "assistant", "content": "a.py"},
        user("thanks"),
        {"role": "assistant", "content": "a.py"},
        user("again"),
    ]
    used = {"prompt_tokens": 50, "completion_tokens": 7}

    def body(count: int) -> dict[str, Any]:
        return {"model": "m", "messages": [system, *talk[:count]]}

    def came(count: int) -> dict[str, Any]:
        return {"id": f"a{count}", "model": "m", "choices": [{"message": talk[count]}], "usage": used}

    return [("/v1/chat/completions", body(count), came(count), OPENCODE) for count in (1, 3, 5)]


def of_codex() -> list[Step]:
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]}
    call = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "abc"}
    got = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}
    done = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    talk = [asked, thought, call, got, done, asked, done]
    used = {"input_tokens": 50, "output_tokens": 7}

    def body(count: int) -> dict[str, Any]:
        return {"model": "gpt-5", "instructions": "be brief", "input": talk[:count]}

    def came(*items: dict[str, Any]) -> dict[str, Any]:
        return {"id": f"r{len(items)}", "model": "gpt-5", "output": [*items], "usage": used}

    path = "/v1/responses"
    return [
        (path, body(1), came(thought, call), CODEX),
        (path, body(4), came(done), CODEX),
        (path, body(6), came(done), CODEX),
    ]


KINDS: dict[str, Callable[[], list[Step]]] = {"claude": of_claude, "opencode": of_opencode, "codex": of_codex}


def run(store: Store, steps: list[Step], ends: set[int]) -> list[list[Body]]:
    """Let requests pass; `ends`: behind which of them the proxy ends and another run begins."""
    recording = Recording(store)
    for number, (path, body, answer, headers) in enumerate(steps):
        recording.pass_through(path, body, answer, headers)
        if number in ends:
            recording.sessions.close()
            recording = Recording(store)
    recording.sessions.close()
    infos = sorted(store.list(), key=lambda info: (info.created, info.id))
    return [[event.body for event in store.session(info.id, write=False).events()] for info in infos]


@pytest.mark.parametrize("kind", KINDS)
@few_cases(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_wherever_the_proxy_ended_the_log_is_that_of_one_run(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    steps = KINDS[kind]()
    talk = min(number for number, step in enumerate(steps) if step[1].get("tools") != [])
    ends = data.draw(st.sets(st.integers(talk, len(steps) - 2), min_size=1))
    folder = tmp_path / "-".join(map(str, sorted(ends)))
    folder.mkdir(exist_ok=True)
    with Store.open(folder / "one.db") as one, Store.open(folder / "several.db") as several:
        if not one.list() and not several.list():
            assert run(several, steps, ends) == run(one, steps, set())
            assert len(several.list()) == 1


def test_one_that_another_proxy_writes_is_left_alone(tmp_path: Path) -> None:
    steps = of_claude()[1:4]
    with Store.open(tmp_path / "proxy.db") as store, Store.open(tmp_path / "proxy.db") as other:
        first, second = Recording(store), Recording(other)
        first.pass_through(*steps[0])
        second.pass_through(*steps[1])
        first.pass_through(*steps[1])
        second.pass_through(*steps[2])
        assert len(store.list()) == 2
        assert [len(first.requests(number)) for number in (0, 1)] == [2, 2]
        first.sessions.close()
        second.sessions.close()


def test_one_in_which_somebody_went_on_is_left_alone(recording: Recording) -> None:
    steps = of_claude()[1:4]
    recording.pass_through(*steps[0])
    recording.sessions.close()
    with recording.store.session(recording.store.list()[0].id) as session:
        session.append(Setting("model", "m"), UserMessage("I go on here"))
    Recording(recording.store).pass_through(*steps[1])
    assert len(recording.store.list()) == 2


def test_other_conversations_begin_sessions_of_their_own(recording: Recording) -> None:
    def ask(headers: Mapping[str, str], system: str = "You are an agent.") -> OpenRequest:
        recording.sessions.close()
        again = Recording(recording.store)
        asked = again.pass_through("/v1/messages", claude(user("look"), system=system), answered(said("ok")), headers)
        again.sessions.close()
        return asked

    places = [
        ask(CLAUDE),
        ask({**CLAUDE, "X-Claude-Code-Session-Id": "two"}),
        ask({**CLAUDE, "User-Agent": "other/1"}),
        ask(CLAUDE, "You are another."),
        ask({"User-Agent": "claude-cli/2.1"}),
        ask({"User-Agent": "claude-cli/2.1"}),
    ]
    assert len({asked.stored.id for asked in places}) == len(recording.store.list()) == 6


def test_a_log_that_cannot_be_resumed_costs_nothing(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = of_claude()[1:3]
    recording.pass_through(*steps[0])
    recording.sessions.close()
    monkeypatch.setattr("workbench.proxy.resuming.split_body", None)
    again = Recording(recording.store)
    again.pass_through(*steps[1])
    assert [len(again.requests(number)) for number in (0, 1)] == [1, 1]
    again.sessions.close()
