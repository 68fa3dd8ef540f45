"""Which context a list of messages belongs to, and how what a provider answered is recognised when it comes again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.adapters.chat_messages import Originals, leading_prompt
from workbench.adapters.conversations import PlannedConversations, same_message, unused_store
from workbench.library.context import Context
from workbench.library.plans import DoesNotFit
from workbench.log.events import Compaction
from workbench.log.store import Store

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def counting() -> list[dict[str, Any]]:
    """Thirty turns, which no small window holds."""
    numbers = " ".join(str(number) for number in range(200))
    return [message for turn in range(30) for message in (user(f"count {turn}"), assistant(numbers))]


def test_a_longer_list_is_the_same_conversation_and_another_beginning_is_a_new_one() -> None:
    found = PlannedConversations("openai", {})
    first = found.request_now([user("one")]).context
    second = found.request_now([user("two")]).context
    assert found.request_now([user("one"), assistant("yes"), user("more")]).context is first
    assert found.request_now([user("two"), assistant("no"), user("more")]).context is second
    assert first is not second


def test_a_repeated_question_stays_in_its_conversation_and_its_old_answer_is_gone() -> None:
    found = PlannedConversations("openai", {})
    talk = [user("one"), assistant("yes"), user("more"), assistant("wrong")]
    first = found.request_now(talk).context
    made = found.request_now([*talk[:3], assistant("right"), user("good")])
    assert made.context is first
    assert made.body["messages"] == [*talk[:3], assistant("right"), user("good")]


def test_the_framework_may_name_the_conversation() -> None:
    found = PlannedConversations("openai", {})
    contexts = [found.request_now([user("hi")], key).context for key in ("a", "b", "a")]
    assert contexts[0] is contexts[2]
    assert contexts[0] is not contexts[1]


def test_conversations_that_were_not_used_for_long_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.adapters.conversations.MOST", 2)
    found = PlannedConversations("openai", {})
    first = found.request_now([user("hi")], "a").context
    for key in ("b", "c"):
        found.request_now([user("hi")], key)
    assert found.context_under("a") is None
    again = found.request_now([user("hi")], "a").context
    assert again is found.context_under("a") is not first


def test_an_answer_is_recorded_once_however_the_program_repeats_it(tmp_path: Path) -> None:
    found = PlannedConversations("openai", {"store": tmp_path / "talk.db"})
    made = found.request_now([user("look")])
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    found.record_answer(made.context, [{"role": "assistant", "content": None, "tool_calls": [CALL]}], usage)
    repeated = {"role": "assistant", "content": "", "annotations": [], "tool_calls": [CALL]}
    found.request_now([user("look"), repeated, {"role": "tool", "tool_call_id": "c1", "content": "a.py"}])
    found.close()
    with Store.open(tmp_path / "talk.db") as store:
        kinds = [type(event.body).__name__ for event in store.session("talk").events()]
    assert [kind for kind in kinds if kind not in ("Setting", "SlotContent")] == [
        "UserMessage",
        "ToolCall",
        "Usage",
        "ToolResult",
    ]


def test_a_compaction_that_is_due_is_made_with_the_users_own_summary() -> None:
    asked: list[Any] = []

    def summarise(messages: list[dict[str, Any]]) -> str:
        asked.append(messages)
        return "They counted."

    found = PlannedConversations("openai", {"window": 3_000, "summarise": summarise})
    made = found.request_now([*counting(), user("and now?")])
    assert asked
    assert "They counted." in str(made.body["messages"])
    assert made.context.plan.fits


async def test_a_coroutine_compacts_without_a_summary_of_the_users(tmp_path: Path) -> None:
    found = PlannedConversations("openai", {"window": 3_000, "store": tmp_path / "talk.db"})
    made = await found.request([*counting(), user("and now?")])
    assert made.context.plan.fits
    found.close()
    with Store.open(tmp_path / "talk.db") as store:
        made_by = [event.body.summary for event in store.session("talk").events() if isinstance(event.body, Compaction)]
    assert made_by


def test_what_cannot_fit_is_not_sent() -> None:
    with pytest.raises(DoesNotFit):
        PlannedConversations("openai", {"window": 1_000}).request_now([user("12 " * 5_000)])


def test_each_conversation_has_a_session_of_its_own_in_the_store() -> None:
    found = PlannedConversations("openai", {"store": "night"})
    for key in ("a", "b"):
        found.request_now([user("hi")], key)
    found.close()
    assert unused_store("night") == "night 3"
    with Store.open() as store:
        assert {store.session(title).title for title in ("night", "night 2")} == {"night", "night 2"}


def test_each_conversation_has_a_file_of_its_own(tmp_path: Path) -> None:
    Context(store=tmp_path / "night.db").close()
    assert unused_store(tmp_path / "night.db") == tmp_path / "night-2.db"


# The same message in other words


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (assistant("hi"), {**assistant("hi"), "refusal": None, "annotations": []}, True),
        (assistant("hi"), {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}, True),
        (assistant("hi"), assistant("ho"), False),
        (assistant("hi"), user("hi"), False),
        ({"tool_calls": [CALL]}, {"tool_calls": [{**CALL, "id": "c2"}]}, False),
        (
            {"name": "f", "call_id": "1", "arguments": '{"a":1}'},
            {"name": "f", "call_id": "1", "arguments": '{"a": 1}'},
            True,
        ),
        ({"call_id": "1", "id": "fc_1", "status": "completed"}, {"call_id": "1"}, True),
        ({"arguments": "not JSON"}, {"arguments": "not  JSON"}, False),
    ],
)
def test_messages_that_say_the_same(one: Any, other: Any, same: bool) -> None:
    assert same_message(one, other) is same
    assert same_message(other, one) is same


# The framework's own objects


def test_the_system_prompt_is_what_a_chat_begins_with() -> None:
    messages = [{"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}, user("hi")]
    prompt = leading_prompt(messages, "You are kind.")
    assert prompt == (1, "You are kind.\n\nBe brief.")
    assert prompt.without([{"role": "system"}, user("hi")]) == [user("hi")]
    assert leading_prompt([user("hi")]).without([user("hi")]) == [user("hi")]


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12), st.data())
def test_every_message_that_is_left_finds_an_object_of_its_own(texts: list[str], data: st.DataObject) -> None:
    pairs = [(user(text), (at, text)) for at, text in enumerate(texts)]
    left = data.draw(st.lists(st.sampled_from(range(len(texts))), unique=True).map(sorted)) if texts else []
    originals = Originals(pairs)
    found = [originals.whole_object(user(texts[at])) for at in left]
    assert [text for _, text in found] == [texts[at] for at in left]
    assert len({at for at, _ in found}) == len(found)
    assert [at for at, _ in found] == sorted(at for at, _ in found)


def test_a_result_with_another_text_is_found_by_its_call() -> None:
    originals = Originals([({"role": "tool", "tool_call_id": "c1", "content": "long"}, "own")])
    cut = {"role": "tool", "tool_call_id": "c1", "content": "cut"}
    assert originals.whole_object(cut) is None
    assert originals.result(cut) == "own"
    assert originals.result(user("hi")) is None
