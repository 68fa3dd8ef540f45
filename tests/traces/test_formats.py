"""Every format is recognised by what is in the file."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.format_samples import LINES, SAMPLES, written
from workbench import traces
from workbench.config.errors import WrongCall
from workbench.log.events import Failure, UserMessage
from workbench.sources.source import file_logs
from workbench.traces.formats import FORMATS, KNOWN, NAMES, read_conversations
from workbench.traces.reading import are_json_lines, read_json
from workbench.traces.written_times import epoch_milliseconds


@pytest.mark.parametrize("name", SAMPLES)
def test_each_format_is_told_from_its_content_and_by_one_reader_alone(name: str) -> None:
    document = read_json("file", written(name))
    assert [each.name for each in FORMATS if each.recognises(document)] == [name]
    [bodies] = read_conversations("file", written(name))
    assert [body for body in bodies if isinstance(body, UserMessage)] == [UserMessage("hello")]


@pytest.mark.parametrize("name", LINES)
def test_each_format_of_lines_is_read_from_bytes_as_from_text(name: str) -> None:
    text = f'{written(name)}\n{{"of": "nobody — ever"}}\nnot JSON'
    assert are_json_lines(text.encode())
    assert read_conversations("file", text.encode()) == read_conversations("file", text)


def test_there_is_a_sample_of_every_format() -> None:
    assert [each.name for each in FORMATS] == list(SAMPLES)


def test_every_reader_is_that_of_a_format_and_loaded_for_its_own_files() -> None:
    readers = {import_module(f"workbench.traces.{module.name}") for module in iter_modules(traces.__path__)}
    assert {reader.NAME for reader in readers if hasattr(reader, "NAME")} == set(NAMES)


def test_a_file_loads_the_readers_up_to_its_own() -> None:
    script = (
        "import sys\n"
        "from workbench.traces.formats import read_conversations\n"
        f"read_conversations('file', {written('Claude Code')!r})\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "workbench.traces.claude_code" in done.stdout
    assert "workbench.traces.sharegpt" not in done.stdout


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "user", "content": "a"}],
        {"messages": [{"role": "user", "content": "a"}], "id": "x", "history": [], "model": "m"},
        {"role": "user", "content": "a", "type": "message"},
        [],
    ],
)
def test_openai_style_messages_are_taken_for_nothing_else(value: Any) -> None:
    document = read_json("file", json.dumps(value))
    assert [each.name for each in FORMATS if each.recognises(document)] == []
    assert len(read_conversations("file", json.dumps(value))) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('\n{"hello": 7}', "file: line 2: found an object with 'hello',"),
        ("{}", "file: line 1: found an empty object,"),
        ("[[7]]", "file: line 1: found a list that begins with a list that begins with a number,"),
        ('"hello"', "file: line 1: found a text,"),
        ("null", "file: line 1: found null,"),
        (json.dumps(dict.fromkeys("abcdef")), "file: line 1: found an object with 'a', 'b', 'c', 'd', 'e', ...,"),
    ],
)
def test_a_file_of_no_format_is_told_in_one_line_with_the_formats_there_are(text: str, found: str) -> None:
    with pytest.raises(WrongCall) as told:
        read_conversations("file", text)
    assert str(told.value).startswith(found)
    assert str(told.value).endswith(KNOWN)


STRANGERS: dict[str, list[dict[str, Any]]] = {
    "a chat of the AI SDK": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}],
}


@pytest.mark.parametrize("lines", STRANGERS.values(), ids=STRANGERS)
def test_what_no_reader_knows_is_refused_and_not_read_as_silence(lines: list[dict[str, Any]]) -> None:
    for text in ("\n".join(map(json.dumps, lines)), json.dumps(lines)):
        with pytest.raises(WrongCall, match="which is no transcript of a known format") as told:
            read_conversations("file", text)
        assert all(repr(key) in str(told.value) for key in lines[0])


def test_a_history_of_contents_is_gemini_s_and_not_a_trajectory() -> None:
    assert read_conversations("file", json.dumps({"history": SAMPLES["Gemini"]})) == [[UserMessage("hello")]]


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_was_cut_off_is_skipped_and_told_and_the_rest_is_read(name: str) -> None:
    text = written(name)
    [bodies] = read_conversations("file", f"{text}\n{text[:20]}")
    assert UserMessage("hello") in bodies
    [failure] = [body for body in bodies if isinstance(body, Failure)]
    assert failure.message.startswith("skipped: file: line 3: expected one JSON value on the line")


def test_of_many_broken_lines_the_first_are_told_one_by_one() -> None:
    [bodies] = read_conversations("file", written("pi") + "\n{" * 30)
    told = [body.message for body in bodies if isinstance(body, Failure)]
    assert len(told) == 21
    assert told[-1] == "skipped: 10 more lines that are not JSON"


@pytest.mark.parametrize(
    ("text", "line"),
    [("", 1), ("\n\n", 1), (written("Gemini")[:-3], 9), ('{"role": "user", "content": "a"}\n{"role', 2), ("{\n{", 1)],
)
def test_what_cannot_be_read_at_all_is_one_line_with_the_place(text: str, line: int) -> None:
    with pytest.raises(WrongCall) as told:
        file_logs("file", text)
    assert str(told.value).startswith(f"file: line {line}: expected ")
    assert "\n" not in str(told.value)


def test_json_nested_too_deeply_is_told() -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    sample = [{"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": [deep]}}]
    [bodies] = read_conversations("file", json.dumps(sample))
    assert len(bodies) == 1
    with pytest.raises(WrongCall, match="file: line 1: expected JSON"):
        read_conversations("file", json.dumps(sample).replace("[[", "[" * 100_000))


def test_a_format_is_taken_only_when_nine_tenths_of_the_talk_are_understood() -> None:
    def pi(*roles: str) -> str:
        said = [{"type": "message", "timestamp": 1, "message": {"role": role, "content": "x"}} for role in roles]
        return "\n".join(map(json.dumps, [{"type": "session", "cwd": "/x"}, *said]))

    assert len(read_conversations("file", pi(*["user"] * 18, "ghost", "ghost"))) == 1
    with pytest.raises(WrongCall, match=r"^file: pi, but 2 of 13 entries are unknown: 'message'$"):
        read_conversations("file", pi(*["user"] * 10, "ghost", "ghost"))
    with pytest.raises(WrongCall, match=r"^file: pi, but 1 of 2 entries are unknown: 'message'$"):
        read_conversations("file", pi("ghost"))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-11-15T10:00:00Z", 1_794_736_800_000),
        ("2026-11-15T11:00:00.250+01:00", 1_794_736_800_250),
        ("2038-01-22T05:06:18.009Z", 2_147_749_578_009),
        (1_794_736_800, 1_794_736_800_000),
        (2_147_749_578.009, 2_147_749_578_009),
        (1_794_736_800.5, 1_794_736_800_500),
        (1_794_736_800_000, 1_794_736_800_000),
        (1_794_736_800_000_000, 1_794_736_800_000),
        (100_000_000_000_000, 100_000_000_000),
        ("yesterday", 0),
        (None, 0),
        (True, 0),
        (-1, 0),
    ],
)
def test_times_are_read_as_transcripts_write_them(written: object, read: int) -> None:
    assert epoch_milliseconds(written) == read


@given(st.integers(1_000_000_000_000, 4_000_000_000_000), st.sampled_from([UTC, timezone(timedelta(hours=-7))]))
def test_times_are_read_to_the_millisecond(at: int, zone: tzinfo) -> None:
    moment = datetime.fromtimestamp(at // 1000, zone).replace(microsecond=at % 1000 * 1000)
    assert epoch_milliseconds(moment.isoformat()) == at
    assert epoch_milliseconds(at / 1000) == at
