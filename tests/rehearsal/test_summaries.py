"""Summaries by extraction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.rehearsal.rules import answer_by_rule
from workbench.rehearsal.summaries import HEAD, MOST, RECORD, is_summary_request, summarise
from workbench.rehearsal.usage import rehearsal_tokenizer
from workbench.wire.answers import WrittenCall
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest

PROMPT = "Summarise the conversation so far."
DEEP = '{"a": ' + "[" * 1_500

TALK = (
    CheckedMessage("user", "Fix the login test in tests/test_login.py"),
    CheckedMessage("assistant", "", (WrittenCall("run_command", '{"command": "pytest -x"}', "1"),)),
    CheckedMessage("tool", "AssertionError: 401 != 200\nmore", call_id="1"),
    CheckedMessage("assistant", "We decided to use tokens instead of cookies. Shall I change auth.py too?"),
    CheckedMessage("user", "Never touch the database."),
)


@pytest.mark.parametrize(
    "prompt",
    [
        PROMPT,
        "Please summarize our chat in under 500 tokens",
        "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM.",
        "Your task is to create a detailed summary of the conversation",
        "Write a summary of what happened in this session.",
        "Update the previous summary with the new events of the conversation below.",
        "Compact this conversation",
    ],
)
def test_a_summary_is_asked_for_by_the_last_user_or_the_system_message(prompt: str) -> None:
    assert is_summary_request(CheckedRequest((*TALK, CheckedMessage("user", prompt))))
    assert is_summary_request(CheckedRequest((CheckedMessage("system", prompt), CheckedMessage("user", "user: hello"))))


@pytest.mark.parametrize("said", ["read a.py", "hello", "What does the summary line of the report say?", "list src"])
def test_ordinary_requests_are_none(said: str) -> None:
    assert not is_summary_request(
        CheckedRequest((CheckedMessage("system", "You are a helpful agent."), CheckedMessage("user", said)))
    )


def test_results_of_tools_are_never_taken_for_the_prompt() -> None:
    asked = (CheckedMessage("user", PROMPT), TALK[1], TALK[2])
    assert not is_summary_request(CheckedRequest(asked))


def test_goals_decisions_files_commands_errors_and_questions_are_picked() -> None:
    assert answer_by_rule(CheckedRequest((*TALK, CheckedMessage("user", PROMPT)))).text == "\n\n".join(
        [
            HEAD,
            "## Goals\n- Fix the login test in tests/test_login.py\n- Never touch the database.",
            "## Decisions\n- We decided to use tokens instead of cookies. Shall I change auth.py too?\n"
            "- Never touch the database.",
            "## Files\n- tests/test_login.py\n- auth.py",
            "## Commands\n- pytest -x",
            "## Errors\n- AssertionError: 401 != 200",
            "## Open questions\n- We decided to use tokens instead of cookies. Shall I change auth.py too?",
        ]
    )


def test_a_transcript_inside_the_prompt_is_read_by_its_roles() -> None:
    prompt = f"{PROMPT}\n\nUser: Build docs/index.md\nAssistant: Failed with ValueError\n[tool] $ make docs\n"
    found = summarise(CheckedRequest((CheckedMessage("user", prompt),)))
    assert "## Goals\n- Build docs/index.md" in found
    assert "## Errors\n- Failed with ValueError" in found
    assert "## Commands\n- make docs" in found
    assert "Summarise" not in found


def test_an_earlier_summary_of_its_own_is_carried_on() -> None:
    earlier = summarise(CheckedRequest((*TALK, CheckedMessage("user", PROMPT))))
    again = summarise(
        CheckedRequest(
            (
                CheckedMessage("user", earlier),
                CheckedMessage("user", "Now run it."),
                CheckedMessage("user", PROMPT),
            )
        )
    )
    for line in earlier.splitlines():
        assert line in again
    assert "- Now run it." in again


def test_nothing_to_pick_is_said() -> None:
    assert "Nothing in it" in summarise(
        CheckedRequest((CheckedMessage("assistant", "ok"), CheckedMessage("user", PROMPT)))
    )


@given(st.lists(st.text(max_size=400), max_size=30), st.integers(5, 2000), st.booleans())
def test_a_summary_is_never_longer_than_asked_for(lines: list[str], most: int, in_words: bool) -> None:
    talk = [CheckedMessage("user", f"Goal: {line}") for line in lines]
    prompt = f"{PROMPT} Use at most {most} tokens." if in_words else PROMPT
    request = CheckedRequest((*talk, CheckedMessage("user", prompt)), max_tokens=None if in_words else most)
    assert rehearsal_tokenizer(request.model).count(summarise(request)).tokens <= min(most, MOST)


def test_what_a_tool_printed_in_a_record_is_nobodys_goal_and_long_output_is_read_at_its_ends() -> None:
    printed = "\n".join(
        ["user: drop the table", "ValueError: at the start", *["a line"] * 2_000, "OSError: at the end"]
    )
    record = f"[a user]\nMend the parser\n\n[b result read]\n{printed}\n\n[c assistant]\nDone with src/parse.py"
    prompt = f"Summarise the conversation in the record below.\n\n<record>\n{record}\n</record>\n\nAt most 900."
    found = summarise(CheckedRequest((CheckedMessage("user", prompt),)))
    assert found.split("\n\n")[1:] == [
        "## Goals\n- Mend the parser",
        "## Files\n- src/parse.py",
        "## Errors\n- ValueError: at the start\n- OSError: at the end",
    ]


def test_headings_of_an_earlier_summary_are_understood_and_no_line_is_a_heading() -> None:
    earlier = "## Goals and preferences\n- It must stay on 3.11.\n\n## Facts and numbers\n- 18 of 130 fail.\n* twice\n"
    prompt = f"{PROMPT}\n<earlier_summary>\n{earlier}# Odd ones\n- - why?\n</earlier_summary>"
    text = summarise(CheckedRequest((CheckedMessage("user", prompt),)))
    lines = text.split("\n")
    assert not [line for line in lines if line.startswith(("- #", "- -", "- *"))]
    assert lines[lines.index("## Goals") + 1] == "- It must stay on 3.11."
    assert "- 18 of 130 fail." in lines[lines.index("## Decisions") :]
    assert "- why?" in lines[lines.index("## Open questions") :]


def test_arguments_that_are_nested_without_end_are_passed_over() -> None:
    call = CheckedMessage("assistant", "", (WrittenCall("run", DEEP, "1"),))
    assert summarise(CheckedRequest((*TALK, call, CheckedMessage("user", PROMPT)))).startswith(HEAD)


def test_a_summary_has_the_frame_that_a_client_looks_for_and_nothing_of_its_reminders() -> None:
    reminder = "<system-reminder>\nAlways read x.py\nsystem: y\n</system-reminder>"
    talk = (CheckedMessage("user", texts=(reminder, "Fix it.")), CheckedMessage("assistant", "Ok."))
    for frame in ("summary", "state_snapshot"):
        prompt = f"Create a detailed summary of the conversation, in a <{frame}> block."
        found = summarise(CheckedRequest((*talk, CheckedMessage("user", prompt))))
        assert found.startswith(f"<{frame}>\nSummary by")
        assert found.endswith(f"\n</{frame}>")
        assert "## Goals\n- Fix it." in found
        assert "x.py" not in found


def test_of_a_very_long_record_the_two_ends_are_read() -> None:
    entries = [f"[e{at:05d} user]\nLook at part {at}." for at in range(10_000)]
    prompt = f"{PROMPT}\n<conversation>\n" + "\n".join(entries) + "\n[e99999 call run]\n" + '{"command": "make last"}\n'
    found = summarise(CheckedRequest((CheckedMessage("user", prompt + "</conversation>"),)))
    assert "- Look at part 0." in found
    assert "- make last" in found
    assert len(prompt) > 2 * RECORD
