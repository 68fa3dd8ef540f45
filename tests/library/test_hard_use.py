"""What people do with the library that its page does not show."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import workbench
from support.waiting import GIVE_UP


def long_talk(turns: int = 20) -> workbench.Context:
    """Far more than its window needs for a compaction."""
    context = workbench.Context(window=8000)
    for at in range(turns):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        context.add(f"question {at}")
        context.add({"role": "assistant", "content": None, "tool_calls": [call]})
        context.add({"role": "tool", "tool_call_id": f"c{at}", "content": f"out {at} /src/f{at}.py error E{at}\n" * 60})
        context.add({"role": "assistant", "content": "done"})
    context.add("next")
    return context


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "google", "openai-responses", "ollama"])
def test_what_is_changed_in_a_request_stays_there(dialect: str) -> None:
    context = workbench.Context(system="Be brief.")
    context.add("one")
    before = context.request(dialect)
    sent = context.request(dialect)
    for value in sent.values():
        if isinstance(value, list):
            value[0].clear()
    assert context.request(dialect) == before
    context.plan.messages[-1]["content"] = "changed"
    assert context.request(dialect) == before


def test_ctrl_c_ends_a_compaction_and_nothing_has_changed() -> None:
    context = long_talk()
    before = context.request()
    began, end = threading.Event(), threading.Event()

    def summarise(_: list[dict[str, Any]]) -> str:
        began.set()
        end.wait(GIVE_UP)
        return "a summary"

    def interrupt() -> None:
        assert began.wait(GIVE_UP)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            context.compact_now(summarise)
    finally:
        end.set()
    assert context.request() == before
    assert context.compact_now(lambda _: "a summary of everything that was read").made


async def test_a_function_that_waits_does_not_stop_the_callers_loop() -> None:
    context = long_talk()
    threads: list[threading.Thread] = []

    def summarise(_: list[dict[str, Any]]) -> str:
        threads.append(threading.current_thread())
        return "a summary of everything that was read"

    assert await asyncio.create_task(context.compact(summarise))
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    ("message", "where"),
    [
        (b"hi", "message: expected a text, got bytes"),
        ({"role": "user", "content": b"hi"}, "message.content: expected a text, got bytes"),
        ({"role": "user", "content": [{"type": "text", "text": b"hi"}]}, "message.content[0].text: expected a text"),
        ({"role": "user", "content": "x", "weight": float("nan")}, "message.weight: expected a number, got nan"),
    ],
)
def test_bytes_and_numbers_that_json_does_not_have_are_refused(message: Any, where: str) -> None:
    context = workbench.Context()
    with pytest.raises(workbench.BadMessage) as error:
        context.add(message)
    assert str(error.value).startswith(where)
    assert context.request()["messages"] == []


def test_half_a_character_is_replaced_since_it_cannot_be_sent() -> None:
    context = workbench.Context()
    context.add({"role": "user", "content": "caf\udce9"})
    assert context.request()["messages"] == [{"role": "user", "content": "caf\ufffd"}]


def test_an_answer_without_a_word_is_accepted_and_not_sent() -> None:
    context = workbench.Context()
    context.add("hi")
    context.add({"role": "assistant", "content": None})
    context.add("still there?")
    assert [each["content"] for each in context.request()["messages"]] == ["hi", "still there?"]


def test_a_summary_of_messages_that_were_removed_goes_with_them() -> None:
    talk: list[dict[str, Any]] = []
    for at in range(10):
        talk += [{"role": "user", "content": f"q{at}"}, {"role": "assistant", "content": f"S{at} " + "a " * 300}]
    context = workbench.Context(window=4000)
    context.follow([*talk, {"role": "user", "content": "end"}])
    assert context.compact_now(lambda _: "The password is S7.")
    assert "S7" in str(context.request())
    new = [*talk[:2], {"role": "user", "content": "new"}]
    context.follow(new)
    assert context.request()["messages"] == new


def test_a_store_of_its_own_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "build.db"
    path.parent.mkdir()
    with workbench.Context(store=path) as context:
        context.add("hi")
        with workbench.open(path) as meanwhile:
            assert [item.text for item in meanwhile.plan().items if item.role == "user"] == ["hi"]
    with workbench.open(str(path)) as session:
        assert session.name


def test_a_forked_process_does_not_write_into_the_session_of_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with workbench.Context(store=tmp_path / "a.db") as context:
        context.add("hi")
        monkeypatch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(workbench.WorkbenchError, match="a forked one needs a context of its own"):
            context.add("from the child")


def test_a_mistyped_knob_gets_a_suggestion() -> None:
    with pytest.raises(workbench.WorkbenchError, match=r"keep_lst: there is no such knob; did you mean .*keep_last"):
        workbench.policy("layers", keep_lst=3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: workbench.Context(tools=5),  # type: ignore[arg-type]
        lambda: workbench.Context(model=3),  # type: ignore[arg-type]
        lambda: workbench.Context(model=""),
        lambda: workbench.Context(dialect=1),  # type: ignore[arg-type]
        lambda: workbench.Context(store=3),  # type: ignore[arg-type]
        lambda: workbench.Context(store=b"x"),  # type: ignore[arg-type]
        lambda: workbench.Context(store=""),
        lambda: workbench.Context(window=True),
        lambda: workbench.Context(policy=None),  # type: ignore[arg-type]
        lambda: workbench.count("x", 5),  # type: ignore[arg-type]
        lambda: workbench.open(5),  # type: ignore[arg-type]
        lambda: workbench.open(None),  # type: ignore[arg-type]
        lambda: workbench.plan([], tools=5),  # type: ignore[arg-type]
        lambda: workbench.plan([]).request(3),  # type: ignore[arg-type]
        lambda: workbench.plan([{"role": "user", "content": "x"}]).why(5),
        lambda: workbench.plan([{"role": "user", "content": "x"}]).why(True),
        lambda: long_talk().compact_now(5),  # type: ignore[arg-type]
    ],
)
def test_wrong_values_are_refused_in_words(call: Any) -> None:
    with pytest.raises(workbench.WorkbenchError, match=r"expected|has no item"):
        call()
