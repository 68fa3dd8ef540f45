"""Where an agent asks again before an answer is there, the log keeps the answer that the agent goes on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proxy.conftest import Recording, answered, called, claude, result, said, user
from workbench.log.events import AssistantMessage, Body, Override, ToolCall
from workbench.log.store import Store
from workbench.proxy.conversation import LEFT_OUT

MESSAGES = "/v1/messages"
GEMINI = "/v1beta/models/gemini-2.5-pro:generateContent"
WHO = {"X-Claude-Code-Session-Id": "one", "User-Agent": "claude-cli/2.1"}


def spoken(bodies: list[Body]) -> tuple[list[str], list[str]]:
    """What the model said and called: what is still in the conversation, and what was left out."""
    gone = {seq for body in bodies if isinstance(body, Override) for seq in range(body.first, body.last + 1)}
    assert {body.why for body in bodies if isinstance(body, Override)} <= {LEFT_OUT}
    here: list[str] = []
    left: list[str] = []
    for seq, body in enumerate(bodies, 1):
        if isinstance(body, AssistantMessage | ToolCall):
            text = body.arguments if isinstance(body, ToolCall) else str(body.content)
            (left if seq in gone else here).append(text)
    return here, left


def ask_twice(recording: Recording, first: str, second: str) -> None:
    """The same request twice, and then both answers; the first one is cut off."""
    asked = [recording.send(MESSAGES, claude(user("look")), WHO) for _ in range(2)]
    recording.answer(asked[0], answered(said(first)), problem="the client went away")
    recording.answer(asked[1], answered(said(second)))


@pytest.mark.parametrize(("kept", "left"), [("Another one", "The ans"), ("The ans", "Another one")])
def test_of_two_answers_the_one_that_the_agent_kept_is_in_the_log_once_and_the_other_left_out(
    recording: Recording, kept: str, left: str
) -> None:
    ask_twice(recording, "The ans", "Another one")
    talk = [user("look"), said(kept), user("and?")]
    recording.pass_through(MESSAGES, claude(*talk), answered(said("fine")), WHO)
    recording.pass_through(MESSAGES, claude(*talk, said("fine"), user("ok")), answered(said("bye")), WHO)
    assert spoken(recording.bodies()) == ([kept, "fine", "bye"], [left])


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize("texts", [("The answer", "The answer is 42"), ("The answer is 42", "The answer")])
def test_of_two_answers_that_begin_alike_the_same_words_decide(
    recording: Recording, texts: tuple[str, str], kept: int
) -> None:
    ask_twice(recording, *texts)
    recording.send(MESSAGES, claude(user("look"), said(texts[kept]), user("and?")), WHO)
    assert spoken(recording.bodies()) == ([texts[kept]], [texts[1 - kept]])


def test_calls_without_ids_are_told_apart_by_their_arguments(recording: Recording) -> None:
    def wish(text: str) -> dict[str, Any]:
        return {"role": "user", "parts": [{"text": text}]}

    def call(path: str) -> dict[str, Any]:
        return {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"path": path}}}]}

    came = {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a.py"}}}]}
    asked = [recording.send(GEMINI, {"contents": [wish("look")]}) for _ in range(2)]
    for each, path in zip(asked, ("src", "docs"), strict=True):
        recording.answer(each, {"candidates": [{"content": call(path), "finishReason": "STOP"}]})
    recording.send(GEMINI, {"contents": [wish("look"), call("src"), came]})
    here, left = spoken(recording.bodies())
    assert (len(here), len(left)) == (1, 1)
    assert ("src" in here[0], "docs" in left[0]) == (True, True)


def test_an_answer_that_comes_after_the_next_request_is_left_out_by_the_one_after_that(recording: Recording) -> None:
    late, asked = (recording.send(MESSAGES, claude(user("look")), WHO) for _ in range(2))
    recording.answer(asked, answered(called("c1")))
    talk = [user("look"), called("c1"), result("c1", "a.py")]
    asked = recording.send(MESSAGES, claude(*talk), WHO)
    recording.answer(late, answered(said("too late")))
    recording.answer(asked, answered(said("done")))
    recording.send(MESSAGES, claude(*talk, said("done"), user("thanks")), WHO)
    assert spoken(recording.bodies()) == (["{}", "done"], ["too late"])


def test_two_answers_may_both_be_repeated(recording: Recording) -> None:
    first = recording.send(MESSAGES, claude(user("look")), WHO)
    second = recording.send(MESSAGES, claude(user("look"), user("quick")), WHO)
    recording.answer(first, answered(said("one")))
    recording.answer(second, answered(said("two")))
    recording.send(MESSAGES, claude(user("look"), said("one"), user("quick"), said("two"), user("ok")), WHO)
    assert spoken(recording.bodies()) == (["one", "two"], [])


@pytest.mark.parametrize("kept", ["Another one", "The ans"])
def test_a_run_of_the_proxy_that_takes_up_the_session_does_the_same(tmp_path: Path, kept: str) -> None:
    logs = []
    for ends in (False, True):
        with Store.open(tmp_path / f"{ends}.db") as store:
            recording = Recording(store)
            ask_twice(recording, "The ans", "Another one")
            if ends:
                recording.sessions.close()
                recording = Recording(store)
            recording.pass_through(MESSAGES, claude(user("look"), said(kept), user("and?")), answered(said("ok")), WHO)
            recording.sessions.close()
            logs.append(recording.bodies())
    assert logs[0] == logs[1]
    assert len(spoken(logs[0])[1]) == 1
