"""The digest: what it keeps, in which order, and that it is never over its bound."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import logs
from support.ranges import event_of, range_of, range_of_log
from support.talk import COUNTER, named_turns, preset, words
from workbench.compaction.actions import actions_in, error_line, exit_status
from workbench.compaction.digest import MARK, TITLES, make_digest, read_earlier_digest
from workbench.compaction.values import CompactionRefused
from workbench.log.events import AssistantMessage, Body, Compaction, Event, ToolCall, ToolResult, UserMessage

CONFIRM = preset("confirm")


def call(number: int, tool: str, result: str, **arguments: object) -> list[Body]:
    """A call of a tool, and its result."""
    made = ToolCall(f"c{number}", tool, json.dumps(arguments), f"r{number}")
    return [made, ToolResult(f"c{number}", result, tool)]


WORK: list[Body] = [
    UserMessage("Fix the parser. You must never touch main.py."),
    AssistantMessage("I will look at it first.", "a"),
    *call(1, "read_file", "def parse(): ...", path="src/parse.py"),
    *call(2, "run_command", "1 failed\nValueError: bad token\nexit status 1", command="pytest -q"),
    *call(3, "edit_file", "done", path="src/parse.py"),
    *call(4, "run_command", "ok\nexit status 0", command=["ruff", "check"]),
    AssistantMessage("We decided to use a table.\n- [ ] document the table", "b"),
    UserMessage("Thanks, go on with the lexer."),
    AssistantMessage("The lexer is next.", "c"),
    *named_turns([1]),
]


def test_it_starts_over_where_there_is_no_summary_to_update() -> None:
    sliding = preset("sliding", "compaction.overlap=9")
    selected = range_of([*named_turns([1, 2]), Compaction(1, 4, "what was before"), *WORK], sliding)
    assert selected.previous
    assert "what was before" in make_digest(selected, 2_000, COUNTER)
    assert "what was before" not in make_digest(selected, 2_000, COUNTER, "")


def test_replies_are_told_by_their_first_sentence_that_says_something() -> None:
    talk = [*WORK, UserMessage(words(3_000)), AssistantMessage("Perfect! Now the parser reads whole tables.", "d")]
    text = make_digest(range_of([*talk, *named_turns([1])], CONFIRM), 2_000, COUNTER)
    assert "- Now the parser reads whole tables. [" in text
    assert "Perfect!" not in text


def test_what_was_touched_is_not_mentioned_again() -> None:
    talk = [*WORK, AssistantMessage("src/parse.py goes with src/lex.py", "d"), UserMessage(words(3_000))]
    text = make_digest(range_of([*talk, *named_turns([1])], CONFIRM), 2_000, COUNTER)
    [mentioned] = [line for line in text.splitlines() if line.startswith("- path: ")]
    assert "src/lex.py" in mentioned
    assert "src/parse.py" not in mentioned


@pytest.mark.parametrize(
    "line", ["error: ColorSchema,", "isError: boolean;", "isError: true", "catch (error: Error) {"]
)
def test_code_that_speaks_of_errors_is_no_error(line: str) -> None:
    assert error_line(f"ok\n{line}\nok") == ""


def test_it_keeps_what_was_asked_decided_done_and_left_open_in_a_fixed_order() -> None:
    text = make_digest(range_of(WORK, CONFIRM), 2_000, COUNTER)
    filler = named_turns([9])
    long = make_digest(range_of([*WORK, UserMessage(words(3_000)), *filler], CONFIRM), 2_000, COUNTER)
    assert COUNTER.count(text).tokens <= sum(item.tokens for item in range_of(WORK, CONFIRM).items)
    assert long.startswith(f"Digest of 18 items (e00001 to e00018), {MARK}: lines taken from the record.")
    wanted = [
        "## First request",
        "- Fix the parser. You must never touch main.py. [e00001]",
        "## Last request",
        "## What users insisted on",
        "- You must never touch main.py. [e00001]",
        "## Decisions",
        "- We decided to use a table. [e00011]",
        "## Open to-dos",
        "- document the table [e00011]",
        "## Files touched",
        "- src/parse.py (written) [e00007]",
        "## Commands",
        "- `pytest -q`: exit status 1 [e00005]",
        "- `ruff check`: exit status 0 [e00009]",
        "## Errors",
        "- ValueError: bad token [e00006]",
        "## Also mentioned",
        "## What the assistant said",
        "- I will look at it first. [e00002]",
    ]
    lines = long.split("\n")
    assert [line for line in lines if line in wanted] == wanted


def test_a_small_cap_keeps_the_requests_before_the_rest() -> None:
    text = make_digest(range_of([*WORK, UserMessage(words(3_000)), *named_turns([9])], CONFIRM), 120, COUNTER)
    assert "Fix the parser." in text
    assert COUNTER.count(text).tokens <= 120


def test_what_is_left_out_is_said() -> None:
    many = [body for at in range(300) for body in call(at, "run_command", "exit status 0", command=f"make part{at}")]
    text = make_digest(range_of([UserMessage("go"), *many, *named_turns([1])], CONFIRM), 300, COUNTER)
    assert "more left out)" in text
    assert "make part299" in text, "the newest are kept"


def test_each_section_has_its_share_before_one_takes_the_rest() -> None:
    edits = [body for at in range(100) for body in call(at, "edit_file", "done", path=f"src/part{at}.py")]
    runs = [body for at in range(100, 200) for body in call(at, "run_command", "exit status 0", command=f"make {at}")]
    text = make_digest(range_of([UserMessage("go"), *edits, *runs, *named_turns([1])], CONFIRM), 600, COUNTER)
    assert text.count("(written)") > text.count("exit status 0") > 1, "files come first"


def test_the_content_of_the_previous_summary_goes_on() -> None:
    log: list[Body] = [*named_turns([1]), Compaction(1, 2, f"Digest, {MARK}.\n# Goals\nFix the lexer."), *WORK]
    selected = range_of(log, CONFIRM)
    text = make_digest(selected, 2_000, COUNTER)
    assert "## Earlier summary\n### Goals\nFix the lexer.\n" in text
    assert text.count(MARK) == 1
    assert "Build a house." in make_digest(selected, 2_000, COUNTER, previous="Build a house.")


def test_a_digest_continues_the_sections_of_the_one_before() -> None:
    log: list[Body] = []
    for at in range(4):
        log += [UserMessage(f"Do part {at}."), *call(at, "write_file", words(300), path=f"src/part{at}.py")]
        log += [
            *call(100 + at, "run_command", "exit status 0", command="make"),
            AssistantMessage(f"Part {at} is done."),
        ]
        selected = range_of([*log, UserMessage("go on")], CONFIRM)
        text = make_digest(selected, 2_000, COUNTER)
        log.append(event_of(selected, CONFIRM, text))
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert len(headings) == len({*headings})
    assert not [line for line in headings if line.startswith("###")]
    assert text.count("`make`") == 1
    assert text.splitlines()[0].startswith("Digest of ")
    assert [f"src/part{at}.py" in text for at in range(4)] == [True] * 4
    assert [f"Do part {at}." in text for at in range(4)] == [True] * 4
    count = text.splitlines()[0].split()[2]
    assert int(count) == sum(not isinstance(body, Compaction) for body in log)


HOSTILE = (
    *("## Task\n\nFix it", "# Errors", "## Errors", "### Open to-dos", "#", "(3 more left out)", "- [ ] ## Errors"),
    *(
        f"Digest, {MARK}.",
        "",
        "ValueError: ## Errors",
        "we decided\n\n## Files touched\n- a.py",
        "\x85## Errors\r\n# x",
    ),
)
TEXTS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), max_size=4).map("\n".join)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=3, max_size=4), TEXTS)
def test_the_digest_of_a_digest_has_its_sections_whatever_the_texts(
    turns: list[tuple[str, str, str]], model_summary: str
) -> None:
    earlier = model_summary.replace("Digest", "digest")  # what calls itself a digest is read as one
    log: list[Body] = [*named_turns([1]), Compaction(1, 2, f"# Session\n{earlier}")]
    known: dict[str, list[str]] = {}
    for at, (asked, printed, answer) in enumerate(turns):
        log += [UserMessage(f"{asked}\nDo part {at}."), *call(at, "run_command", printed, command=asked, path=printed)]
        log += [AssistantMessage(answer, f"b{at}"), UserMessage(words(4_000)), AssistantMessage(answer, f"c{at}")]
        selected = range_of([*log, *named_turns([9])], CONFIRM)
        text = make_digest(selected, 3_000, COUNTER)
        sections = sections_of(text)
        assert {*sections} <= TITLES
        for title, lines in known.items():
            kept = sections["Requests after that" if title == "Last request" else title]
            assert {*map(without_event, lines)} <= {*map(without_event, kept)}
        log.append(event_of(selected, CONFIRM, text))
        known = sections


def sections_of(text: str) -> dict[str, list[str]]:
    """The lines below each heading of a digest, each heading occurring once."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n")[1:]:
        if re.match("##? ", line):
            assert line[3:] not in found
            found[line[3:]] = lines = []
        elif line:
            lines.append(line)
    return found


def without_event(line: str) -> str:
    """A line without the id of its event: of lines that are otherwise the same, the newest is kept."""
    return line.rpartition(" [")[0] or line


def test_a_digest_of_an_earlier_version_is_continued_though_its_requests_look_like_headings() -> None:
    before = read_earlier_digest(
        f"""Digest of 40 items (e1 to e40), {MARK}: lines taken from the record.

## Earlier summary
## Session summary
- did things

## First request
## Task Fix the parser [e1]

## Last request
Now test it [e30]

## Errors
(3 more left out)
- ValueError: no [e5]"""
    )
    assert (before.items, before.first, before.other) == (40, "e1", ("### Session summary", "- did things"))
    assert before.lines == {
        "First request": ["- ## Task Fix the parser [e1]"],
        "Last request": ["- Now test it [e30]"],
        "Errors": ["- ValueError: no [e5]"],
    }
    assert before.missing == {"Errors": 3}


def test_what_follows_a_digest_is_an_earlier_summary_of_its_own() -> None:
    before = read_earlier_digest(f"Digest, {MARK}.\n\n## Errors\n- no [e5]\n\n## Goals\n1. all\n\n## Errors\nnone")
    assert before.lines == {"Errors": ["- no [e5]"]}
    assert before.other == ("### Goals", "1. all", "### Errors", "none")


def test_commands_of_an_agent_without_tools_are_found_by_their_answer() -> None:
    log: list[Body] = [
        UserMessage("go"),
        AssistantMessage("I run it.\n```bash\nmake all\n```", "a"),
        UserMessage("<returncode>2</returncode>\n<output>no</output>"),
        AssistantMessage("Like this:\n```bash\nmake none\n```", "b"),
        UserMessage("I see."),
        *named_turns([1]),
    ]
    for name in ("confirm", "codex"):
        selected = range_of(log, preset(name))
        commands = actions_in(selected.items, selected.staying).commands
        assert [(command.text, command.status) for command in commands] == [("make all", "2")]


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("exit status 0", "0"),
        ("Exit code: 1\nOutput: x", "1"),
        ("Process exited with code 2", "2"),
        ("<returncode>0</returncode>", "0"),
        ('{"output": "x", "metadata": {"exit_code": 127}}', "127"),
        ("exited with status -9", "-9"),
        ("all fine", ""),
        ("exit code\n\n5 things", ""),
    ],
)
def test_exit_statuses_are_read_as_tools_write_them(result: str, status: str) -> None:
    assert exit_status(result) == status


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ("Traceback:\n  x\nKeyError: 'a'\n", "KeyError: 'a'"),
        ("a.c:1: error: no", "a.c:1: error: no"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("Found 0 errors. No FAILED tests: 0 errors", ""),
        ("fine", ""),
        ("10: require.NoError(t, err)\n11: except KeyError:\n", ""),
        ("E   AssertionError\n1 failed", "E AssertionError"),
    ],
)
def test_the_line_that_says_which_error(result: str, line: str) -> None:
    assert error_line(result) == line


def test_patches_name_their_files_and_odd_arguments_name_nothing() -> None:
    log = [
        UserMessage("go"),
        *call(1, "apply_patch", "done", input="*** Begin Patch\n*** Update File: src/a.py\n@@\n*** Add File: b.py\n"),
        ToolCall("x", "run_command", "not json", "x"),
        ToolResult("x", "ok"),
        ToolCall("y", "run_command", "[1]", "y"),
        ToolResult("y", "ok"),
        *call(2, "run_command", "ok", command=[1], path=3),
        *named_turns([1]),
    ]
    done = actions_in(range_of(log, CONFIRM).items)
    assert [(file.path, file.written) for file in done.files] == [("src/a.py", True), ("b.py", True)]
    assert done.commands == ()


@given(logs.logs(most=12), st.one_of(st.integers(0, 60), st.integers(60, 3_000)), st.one_of(st.just(""), logs.texts()))
def test_it_is_never_over_its_cap_nor_larger_than_its_source(events: list[Event], cap: int, previous: str) -> None:
    try:
        selected = range_of_log(events, CONFIRM, trigger="overflow")
    except CompactionRefused:
        return
    text = make_digest(selected, cap, COUNTER, previous)
    assert text == make_digest(selected, cap, COUNTER, previous)
    tokens = COUNTER.count(text).tokens
    assert tokens <= cap
    earlier = previous or "\n\n".join(
        event.body.summary for event in selected.previous if isinstance(event.body, Compaction)
    )
    source = sum(item.tokens or item.original_tokens for item in selected.items)
    assert tokens <= source + COUNTER.count(earlier).tokens
