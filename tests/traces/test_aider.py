"""aider's history."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.log.codec import decode_event, encode_event
from workbench.log.events import AssistantMessage, Override, Setting, Usage, UserMessage
from workbench.sources.source import file_logs, read_source
from workbench.traces.aider import count_chats
from workbench.traces.formats import read_conversations

HEAD = """
# aider chat started at 2026-11-15 21:11:06

> /usr/bin/aider --model gpt main.py  
> Aider v0.86.2  
> Model: gpt with whole edit format  
"""  # noqa: W291
STARTED = 1_794_777_066_000


def typed(*lines: str) -> str:
    return "\n" + "".join(f"#### {line}  \n" for line in lines)


def notice(text: str) -> str:
    return f"> {text}  \n"


def test_what_was_typed_answered_and_reported() -> None:
    answer = "\n# A heading\n\n> a quotation\n\n#### not typed\n\n"
    [found] = read_conversations("file", HEAD + typed("one", "two") + answer + notice("Tokens: 730 sent, 27 received."))
    assert found[:5] == [
        Setting("model", "gpt"),
        Setting("title", "one two"),
        UserMessage("one\ntwo"),
        AssistantMessage("# A heading\n\n> a quotation\n\n#### not typed", "r1", model="gpt"),
        Usage("gpt", 0, 730, completion=27),
    ]
    assert set(found.times) == {STARTED}
    assert found.format == "aider"


@pytest.mark.parametrize(
    ("said", "report"),
    [
        (
            "Tokens: 2.3k sent, 150 received. Cost: $0.01 message, $0.02 session.",
            Usage("gpt", 0, 2300, 0, 0, 150, 0, 0.01),
        ),
        ("Tokens: 12k sent, 2k cache write, 9.5k cache hit, 1 received.", Usage("gpt", 0, 12_000, 9500, 2000, 1)),
    ],
)
def test_reports_are_as_round_as_aider_writes_them(said: str, report: Usage) -> None:
    [found] = read_conversations("file", HEAD + typed("one") + "\n1\n\n" + notice(said))
    assert report in found


def test_a_second_answer_without_a_question_is_a_request_of_its_own() -> None:
    text = HEAD + typed("one") + "\n1\n\n" + notice("Tokens: 1 sent, 1 received.") + notice("Lint failed")
    [found] = read_conversations("file", text + "\n2\n\n" + notice("Tokens: 2 sent, 1 received."))
    assert [body.reply for body in found if isinstance(body, AssistantMessage)] == ["r1", "r2"]
    assert [body.prompt for body in found if isinstance(body, Usage)] == [1, 2]


def test_commands_are_no_messages_and_a_cleared_history_is_out() -> None:
    text = HEAD + typed("one") + "\n1\n\n" + typed("/clear") + notice("All chat history cleared.") + typed("!ls")
    [found] = read_conversations("file", text + typed("two"))
    assert [body.content for body in found if isinstance(body, UserMessage)] == ["one", "two"]
    assert Override("exclude", 1, 4, "cleared in aider") in found
    assert Setting("left out", {"notice": 2, "command": 2}) in found


def test_each_chat_is_a_conversation_and_a_restored_one_begins_with_those_before(tmp_path: Path) -> None:
    silent = HEAD + typed("/exit")
    restored = HEAD + notice("Restored previous conversation history.") + typed("two")
    (tmp_path / "history.md").write_text(HEAD + typed("one") + "\n1\n\n" + silent + restored)
    last = read_source(f"{tmp_path / 'history.md'}#2", lambda: pytest.fail("no store is needed"))
    said = [event.body.content for event in last.events if isinstance(event.body, UserMessage | AssistantMessage)]
    assert said == ["one  \n", "\n1\n\n\n", "/exit  \n", "two"]
    assert last.recorded


def test_a_history_in_which_nothing_was_said_is_told() -> None:
    with pytest.raises(WrongCall, match="found aider's history, but no conversation in it"):
        read_conversations("file", HEAD)


@pytest.mark.parametrize(
    "text",
    [
        "# aider chat started\n\n#### one  \n",
        "# Notes\n\n# aider chat started at 2026-11-15 21:11:06\n",
        "#### one  \n",
    ],
)
def test_other_markdown_is_not_aider_s(text: str) -> None:
    with pytest.raises(WrongCall, match="found Markdown, but not aider's history, which is no transcript"):
        read_conversations("file", text)


lines = st.sampled_from(
    ["#### a  ", "> b  ", "> Tokens: 1.2.3k sent, 9 received.", "c", "", HEAD, "\x85\u2028", "\ud800"]
)


@given(st.lists(lines | st.text(max_size=5)))
def test_a_history_is_read_or_refused_in_words(pieces: list[str]) -> None:
    try:
        logs = file_logs("file", "\n".join([HEAD, *pieces]))
    except WrongCall:
        return
    assert all(decode_event(encode_event(event).encode().decode()) == event for log in logs for event in log)


LINES = st.sampled_from(
    [
        "# aider chat started at 2026-11-15 21:11:06",
        "#### one  ",
        "#### /add x  ",
        "#### <blank>  ",
        "####   ",
        "> said  ",
        "> Tokens: 1 sent, 2 received.",
        "an answer",
        "",
        " ",
        "> Restored previous conversation history.  ",
        "é",
        "#### !ls  ",
    ]
)


@given(st.lists(LINES, max_size=12))
def test_chats_are_counted_without_being_read(lines: list[str]) -> None:
    text = "\n".join(["# aider chat started at 2026-11-15 21:11:06", *lines])
    try:
        expected = len(read_conversations("file", text))
    except WrongCall:
        expected = 0
    assert count_chats(BytesIO(text.encode())) == expected
    assert count_chats(BytesIO(f"\ufeff\n \n{text}".encode())) == expected


def test_what_is_no_history_has_no_chats() -> None:
    for content in (b"", b"\n\n", b"# another heading\n#### one  \n", bytes(100), b"\xff\n"):
        assert count_chats(BytesIO(content)) == 0


def test_a_history_that_restores_itself_again_and_again_stays_small() -> None:
    restored = notice("Restored previous conversation history.")
    once = HEAD + typed("one") + "\nan answer\n" + restored * 500
    *_, last = read_conversations("file", once * 50)
    said = [body for body in last if isinstance(body, UserMessage)]
    assert len(said) == 50, "each chat restores what was said before it, once"
    many = read_conversations("file", "".join(f"{HEAD}{typed('one')}\n{restored}" for _ in range(1_000)))
    assert sum(map(len, many)) < 600_000
