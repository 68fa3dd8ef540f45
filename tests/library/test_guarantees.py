"""What the library promises of every request, whatever is in it."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import workbench
from library.conversations import DIALECTS, POLICIES, TOOLS, Chat, checked, conversations, in_dialect, messages_of
from support.random_cases import few_cases
from support.validity import problems

windows = st.sampled_from([600, 1_500, 4_000, 16_000, 128_000])
dialects = st.sampled_from(DIALECTS)
policies = st.sampled_from(POLICIES)


@given(conversations(), policies, windows, dialects, dialects)
def test_a_request_fits_and_is_valid_in_every_dialect_or_says_why_not(
    chat: Chat, policy: str, window: int, given_in: str, asked_in: str
) -> None:
    plan = workbench.plan(in_dialect(chat, given_in), TOOLS, policy, window=window, dialect=given_in)
    if not plan.fits:
        assert any(char.isdigit() for char in plan.reason)
        return
    assert plan.tokens <= window
    assert problems(plan.messages) == []
    checked(asked_in, plan.request(asked_in))


@given(conversations(), policies, windows, dialects)
def test_the_latest_message_of_the_user_is_whole(chat: Chat, policy: str, window: int, dialect: str) -> None:
    plan = workbench.plan(in_dialect(chat, dialect), policy=policy, window=window, dialect=dialect)
    latest = [message["content"] for message in chat if message["role"] == "user"][-1]
    is_open = chat[-1].get("tool_calls") or chat[-1]["role"] != "assistant"
    if plan.fits and is_open:
        assert latest in [message["content"] for message in plan.messages]


@given(conversations(), policies, dialects)
def test_what_is_sent_whole_goes_out_as_it_came_in(chat: Chat, policy: str, dialect: str) -> None:
    messages = in_dialect(chat, dialect)
    plan = workbench.plan(messages, policy=policy, window=1_000_000, dialect=dialect)
    if all(item.state == "sent" for item in plan.items) and len(plan.items) == len(_said(chat)):
        assert messages_of(dialect, plan.request()) == messages


def _said(chat: Chat) -> list[Any]:
    """What becomes an item: contents, calls and results."""
    return [each for message in chat for each in (message["content"], *message.get("tool_calls", ())) if each]


@given(conversations(), policies, windows, dialects)
def test_a_context_plans_as_plan_does(chat: Chat, policy: str, window: int, dialect: str) -> None:
    messages = in_dialect(chat, dialect)
    context = workbench.Context(policy, window=window, dialect=dialect)
    for message in messages:
        context.add(message)
        assert context.plan.tokens >= 0  # it is planned at each step
    plan = workbench.plan(messages, policy=policy, window=window, dialect=dialect)
    assert context.plan.to_dict() == plan.to_dict()
    assert context.plan.messages == plan.messages


@given(conversations(), policies, windows)
def test_undo_restores_the_request_to_the_byte(chat: Chat, policy: str, window: int) -> None:
    context = workbench.Context(policy, window=window, min_freed=0)
    context.extend(chat)
    before = list(context.plan.items), context.plan.messages
    result = asyncio.run(context.compact())
    if result:
        assert result.tokens_after == context.plan.tokens
        context.undo()
    assert (list(context.plan.items), context.plan.messages) == before


@few_cases()
@given(conversations(turns=10), st.sampled_from([4_000, 8_000, 16_000]))
def test_a_mask_stays_and_what_was_sent_before_it_stays_too(chat: Chat, window: int) -> None:
    """The provider's cache holds: a request begins as the one before it, up to what was newly masked or cut."""
    context = workbench.Context("workbench", window=window, history__mode="whole")
    sent: list[Any] = []
    states: dict[str, str] = {}
    for message, following in zip(chat, [*chat[1:], {}], strict=True):
        context.add(message)
        if message["role"] == "assistant" or following.get("role") == "tool" or not context.plan.fits:
            continue  # no model is asked here
        items = list(context.plan.items)
        if any(item.state == "dropped" or any(edit.stage == "fit" for edit in item.edits) for item in items):
            break  # the window is full, and a compaction is due
        now: dict[str, str] = {item.id: item.state for item in items}
        assert all(now[each] == "masked" for each, state in states.items() if state == "masked")
        if all(now[each] == state for each, state in states.items()):
            assert context.plan.messages[: len(sent)] == sent
        sent, states = context.plan.messages, now
