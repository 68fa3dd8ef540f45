"""Checks that a policy keeps the promises that hold for every request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from workbench.library.context import Context
from workbench.library.plans import plan_messages
from workbench.library.setups import ChosenPolicy
from workbench.testing.cases import TOOLS, Chat, expect_kept, pair_problems, random_conversation
from workbench.wire.checked_requests import BadRequest
from workbench.wire.dialects import DIALECTS

WINDOWS: Final = (600, 1_500, 4_000, 16_000, 128_000)
"""The windows, in tokens, in which a policy is checked."""

NewContext = Callable[..., Context]
"""Makes a context: `Context`, or another function with the same arguments."""


def check_policy(
    policy: str | ChosenPolicy, *, seeds: Iterable[int] = range(20), new_context: NewContext = Context
) -> None:
    """Run random conversations under a policy, message by message, in small and large windows.

    Raises ConformanceError unless these promises are kept. A request fits the window, or says in numbers why not. Calls
    and their results stay together, in every dialect. While a turn is unfinished, its user message is sent whole. The
    same messages give the same request, whether they are added one by one or at once. Undoing a compaction restores
    the request exactly.
    """
    for seed in seeds:
        for window in WINDOWS:
            _check(
                policy, random_conversation(seed), window, f"policy {policy}, seed {seed}, window {window}", new_context
            )


def _check(policy: str | ChosenPolicy, chat: Chat, window: int, case: str, new_context: NewContext) -> None:
    context = new_context(policy, window=window, tools=TOOLS)
    for message, following in zip(chat, [*chat[1:], {}], strict=True):
        context.add(message)
        if following.get("role") != "tool":
            _check_request(context, window, case)
    made = context.plan
    whole = plan_messages(chat, TOOLS, policy, window=window)
    expect_kept(made.messages == whole.messages, "planned message by message is planned at once", case)
    _check_user_message(chat, made.messages, made.fits, case)
    before = made.messages
    if context.compact_now():
        _check_request(context, window, f"{case}, compacted")
        context.undo()
    expect_kept(context.plan.messages == before, "undo restores the request to the byte", case)


def _check_request(context: Context, window: int, case: str) -> None:
    made = context.plan
    if not made.fits:
        expect_kept(
            any(char.isdigit() for char in made.reason), "a request that does not fit says why, in numbers", case
        )
        return
    expect_kept(made.tokens <= window, "a request fits the window", case, made.tokens)
    sent = context.request("openai")["messages"]
    expect_kept(not pair_problems(sent), "calls and results stay together", case, pair_problems(sent))
    for dialect in DIALECTS.values():
        body: dict[str, Any] = {"model": "m", "max_tokens": 100, **context.request(dialect.name)}
        try:
            dialect.new_speaker().read_request(body)
        except BadRequest as error:
            expect_kept(False, f"a request is valid for {dialect.title}", case, error)


def _check_user_message(chat: Chat, sent: Chat, fits: bool, case: str) -> None:
    is_open = chat[-1]["role"] != "assistant" or bool(chat[-1].get("tool_calls"))
    latest = next(message["content"] for message in reversed(chat) if message["role"] == "user")
    if fits and is_open:
        whole = any(message["content"] == latest for message in sent if message["role"] == "user")
        expect_kept(whole, "the user's message of an open turn is whole", case)
