"""A context in a loop: reports, compactions, undo, threads, and the list that another program keeps."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import workbench
from library.conversations import checked
from support.validity import problems


def call(number: int, text: str = "") -> list[dict[str, Any]]:
    """A reply with a call, and its result."""
    function = {"name": "read", "arguments": f'{{"path": "src/file{number}.py"}}'}
    asked = [{"id": f"c{number}", "type": "function", "function": function}]
    return [
        {"role": "assistant", "content": None, "tool_calls": asked},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text or f"src/file{number}.py: error {number}"},
    ]


def talk(turns: int) -> list[dict[str, Any]]:
    """Turns with a question and an answer of about 200 tokens each."""
    said = [("user", f"look at src/file{at}.py " + "word " * 190) for at in range(turns)]
    return [
        message
        for role, text in said
        for message in ({"role": role, "content": text}, {"role": "assistant", "content": "done " * 200})
    ]


def test_a_report_of_every_dialect_is_understood() -> None:
    context = workbench.Context(policy="confirm", window=1_000)
    context.add("hi")
    context.request()
    for usage, prompt in (
        ({"prompt_tokens": 905, "completion_tokens": 1}, 905),
        ({"input_tokens": 5, "cache_read_input_tokens": 900, "output_tokens": 1}, 905),
        ({"input_tokens": 905, "input_tokens_details": {"cached_tokens": 900}, "output_tokens": 1}, 905),
        ({"promptTokenCount": 905, "candidatesTokenCount": 1}, 905),
        ({"prompt_token_count": 905, "candidates_token_count": 1}, 905),
        ({"prompt_eval_count": 905, "eval_count": 1}, 905),
        ({"usage": {"prompt_tokens": 905, "completion_tokens": 1}}, 905),
    ):
        context.report(usage)
        assert context.due is not None
        assert f"{prompt:,} of 1,000" in context.due
    with pytest.raises(workbench.BadMessage, match="usage: expected"):
        context.report({"cats": 3})


async def test_a_compaction_that_is_due_is_made_and_undone() -> None:
    context = workbench.Context("codex", window=8_000)
    context.extend(talk(14))
    before = context.request()
    assert "of 8,000" in str(context.due)
    asked: list[list[dict[str, Any]]] = []

    async def summarise(messages: list[dict[str, Any]]) -> str:
        asked.append(messages)
        return "The user had fourteen files looked at."

    result = await context.compact(summarise)
    assert result.made
    assert result.made_by == "summarise"
    assert result.freed == result.tokens_before - context.plan.tokens > 2_000
    assert problems(asked[0]) == []
    assert any("fourteen files" in str(message["content"]) for message in context.plan.messages)
    assert result.to_dict()["schema"] == 1
    assert context.due is None
    assert "undid compaction" in context.undo()
    assert context.request() == before
    with pytest.raises(workbench.WorkbenchError, match="nothing to undo"):
        context.undo()


async def test_a_compaction_by_hand_that_makes_the_request_longer_frees_nothing() -> None:
    context = workbench.Context("codex", window=8_000)
    context.extend([{"role": role, "content": "why"} for role in ("user", "assistant") * 4])
    result = await context.compact()
    assert result.made
    assert result.tokens_after > result.tokens_before
    assert result.freed == result.to_dict()["freed"] == 0
    assert "(events 1 to 8, 0 tokens)" in context.undo()


async def test_what_summarise_raises_reaches_the_caller_and_changes_nothing() -> None:
    context = workbench.Context("codex", window=8_000)
    context.extend(talk(14))
    before = context.request()

    def broken(messages: list[dict[str, Any]]) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await context.compact(broken)
    assert context.request() == before
    assert await context.compact(lambda messages: "short")  # and the next one is not refused


async def test_messages_may_be_added_while_a_summary_is_written() -> None:
    context = workbench.Context("codex", window=8_000)
    context.extend(talk(14))
    waiting, going_on = asyncio.Event(), asyncio.Event()

    async def summarise(messages: list[dict[str, Any]]) -> str:
        waiting.set()
        await going_on.wait()
        return "A summary."

    compacting = asyncio.create_task(context.compact(summarise))
    await waiting.wait()
    with pytest.raises(workbench.WorkbenchError, match="under way"):
        await context.compact()
    context.add("one more thing")
    going_on.set()
    assert await compacting
    assert context.plan.messages[-1] == {"role": "user", "content": "one more thing"}


def test_nothing_to_compact_is_said_and_no_error() -> None:
    context = workbench.Context()
    context.add("hi")
    result = context.compact_now()
    assert not result
    assert result.why.startswith("nothing")


async def test_compact_now_works_inside_a_running_loop_too() -> None:
    context = workbench.Context("codex", window=8_000)
    context.extend(talk(14))
    assert context.compact_now(lambda messages: "short").made


def test_two_threads_may_add_and_ask_at_the_same_time() -> None:
    context = workbench.Context(window=32_000)
    context.add("go")

    def work(thread: int) -> None:
        for at in range(60):
            context.extend(call(1_000 * thread + at))
            assert context.plan.fits
            assert problems(context.request()["messages"]) == []

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work, thread) for thread in (1, 2)]:
            done.result()
    calls = [item.call_id for item in context.plan.items if item.kind == "tool_call"]
    assert sorted(calls) == sorted(f"c{1_000 * thread + at}" for thread in (1, 2) for at in range(60))


def test_a_list_that_another_program_keeps_is_followed() -> None:
    context = workbench.Context()
    messages: list[dict[str, Any]] = [{"role": "system", "content": "one"}, {"role": "user", "content": "hi"}]
    context.follow(messages)
    messages += call(1)
    context.follow(messages)
    assert context.plan.messages == messages
    messages[0] = {"role": "system", "content": "two"}
    context.follow(messages)
    assert context.plan.messages == messages
    shorter = [*messages[:2], *call(2)]
    context.follow(shorter)
    assert context.plan.messages == shorter
    gone = [item for item in context.plan.items if item.state == "excluded"]
    assert len(gone) == 2
    assert "no longer has it" in gone[0].why
    context.follow(shorter)
    assert context.plan.messages == shorter
    assert len(context.plan.items) == 6


def test_system_prompt_and_tools_can_change() -> None:
    tool = {"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}
    other = {"type": "function", "function": {"name": "b", "parameters": {"type": "object"}}}
    context = workbench.Context(system="first", tools=[tool])
    context.add("hi")
    context.configure(system="second", tools=[other])
    assert context.request() == {
        "messages": [{"role": "system", "content": "second"}, {"role": "user", "content": "hi"}],
        "tools": [other],
    }
    events = len(context.plan.context_plan.items)
    context.configure(system="second", tools=[other])
    assert len(context.plan.context_plan.items) == events
    context.configure(tools=[])
    assert "tools" not in context.request("anthropic")


def test_a_marker_leads_to_the_whole_text() -> None:
    context = workbench.Context("layers", window=64_000)
    context.add("go")
    context.extend(call(1, "word " * 20_000))
    cut = next(item for item in context.plan.items if item.state == "truncated")
    assert f"[id {cut.id}]" in str(context.request()["messages"][-1]["content"])
    assert context.text(cut.id) == "word " * 20_000
    with pytest.raises(workbench.WorkbenchError, match="no item with this id"):
        context.text("e99999")


def test_what_cannot_fit_is_refused_with_its_figures() -> None:
    context = workbench.Context(window=1_000)
    context.add("word " * 5_000)
    assert not context.plan.fits
    with pytest.raises(workbench.DoesNotFit, match="5,0"):
        context.request()
    assert context.plan.messages  # to look at


def test_a_long_loop_stays_valid_in_a_small_window() -> None:
    context = workbench.Context(model="claude-sonnet-4-5", window=16_000, system="Work.", dialect="anthropic")
    context.add("go")
    for at in range(120):
        context.extend(call(at, f"src/file{at}.py: " + "text " * 400))
        checked("anthropic", context.request("anthropic"))
        assert context.plan.tokens <= 16_000
        if context.due:
            context.compact_now()
