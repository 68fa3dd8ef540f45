"""Scripts: what they say, and how they complain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.config.errors import WrongCall
from workbench.models.reply_parts import ReportedUsage
from workbench.rehearsal.faults import FAULTS, Fault, UnknownFault, refusal_for
from workbench.rehearsal.script import Script, ScriptStep
from workbench.wire.answers import AnswerPace, WrittenAnswer, WrittenCall

TOML = """
speed = 400
window = 32_000

[[step]]
reasoning = "I need the file."
reply = "Reading."
calls = [{tool = "read_file", arguments = {path = "ä.py"}}, {tool = "x", arguments = "{broken", id = "c1"}]
usage = {prompt = 100, cached = 64}

[[step]]
fault = "status 429 wait 7"
repeat = 2

[[step]]
reply = "Slowly."
speed = 10
delay = 0.5
chunk = 3
finish = "length"
"""


def test_a_toml_script_says_all_there_is_to_say(tmp_path: Path) -> None:
    path = tmp_path / "play.toml"
    path.write_text(TOML, encoding="utf-8")
    script = Script.load(path)
    assert script.pace == AnswerPace(speed=400)
    assert script.window == 32_000
    calls = (WrittenCall("read_file", '{"path": "ä.py"}'), WrittenCall("x", "{broken", "c1"))
    limited = ScriptStep(fault=Fault("status", 429, 7))
    assert script.steps == (
        ScriptStep(WrittenAnswer("Reading.", "I need the file.", calls), usage={"prompt": 100, "cached": 64}),
        limited,
        limited,
        ScriptStep(WrittenAnswer("Slowly.", finish="length"), {"speed": 10, "delay": 0.5, "chunk": 3}),
    )
    assert script.steps[0].report(ReportedUsage(1, 2)) == ReportedUsage(100, 2, 64)


def test_json_lines_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "play.jsonl"
    path.write_text('{"reply": "One."}\n\n{"fault": "cut", "reply": "Two."}\n', encoding="utf-8")
    assert Script.load(path).steps == (
        ScriptStep(WrittenAnswer("One.")),
        ScriptStep(WrittenAnswer("Two."), fault=Fault("cut")),
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("speed = ", "play.toml, line 1: expected TOML: "),
        ("sped = 3", "play.toml: sped: no such key; expected one of step, speed"),
        ("speed = -1", "play.toml: speed: expected a number from 0 up, got -1"),
        ("speed = nan", "play.toml: speed: expected a number from 0 up, got nan"),
        ("window = 1.5", "play.toml: window: expected a whole number from 0 to a million million, got 1.5"),
        ("step = 3", "play.toml: step: expected tables as [[step]], got 3"),
        ("step = [1]", "play.toml: step 1: expected a table, got 1"),
        ("[[step]]", "play.toml: step 1: expected at least one of reply"),
        ("[[step]]\nreply = 'a'\n[[step]]\nreplay = 'b'", "play.toml: step 2: replay: no such key"),
        ("[[step]]\nreply = 3", "play.toml: step 1: reply: expected text, got 3"),
        ("[[step]]\ncalls = 'x'", "play.toml: step 1: calls: expected a list of tables, got 'x'"),
        ("[[step]]\ncalls = ['x']", "play.toml: step 1: calls[0]: expected a table, got 'x'"),
        ("[[step]]\ncalls = [{arguments = {}}]", "play.toml: step 1: calls[0].tool: expected the name of a tool"),
        ("[[step]]\ncalls = [{tool = 'a', args = {}}]", "play.toml: step 1: calls[0].args: no such key"),
        ("[[step]]\ncalls = [{tool = 'a', arguments = 3}]", "play.toml: step 1: calls[0].arguments: expected a table"),
        (
            "[[step]]\ncalls = [{tool = 'a', arguments = {at = 2020-01-01}}]",
            "play.toml: step 1: calls[0].arguments: expected values that JSON has",
        ),
        ("[[step]]\nfinish = 'done'", "play.toml: step 1: finish: expected one of stop, length, tool_calls, refused"),
        ("[[step]]\ndelay = true", "play.toml: step 1: delay: expected a number from 0 up, got True"),
        ("[[step]]\nreply = ''\nrepeat = 0", "step 1: repeat: expected a whole number from 1 to 1,000,000, got 0"),
        ("[[step]]\nreply = ''\nrepeat = 1000000000000", "step 1: repeat: expected a whole number from 1 to 1,000,000"),
        ("[[step]]\nreply = ''\nrepeat = 600000\n" * 2, "play.toml: expected 1,000,000 steps at most"),
        ("[[step]]\nusage = 3", "play.toml: step 1: usage: expected a table, got 3"),
        ("[[step]]\nusage = {prompts = 3}", "play.toml: step 1: usage.prompts: no such key"),
        (
            "[[step]]\nusage = {prompt = -3}",
            "play.toml: step 1: usage.prompt: expected a whole number from 0 to a million million",
        ),
        ("[[step]]\nfault = 'status 200'", "play.toml: step 1: fault: expected `status 400` to `status 599`"),
    ],
)
def test_a_wrong_script_is_refused_in_one_line_that_names_the_place(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "play.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WrongCall) as caught:
        Script.load(path)
    assert complaint in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("line", ["{", "[]", '{"fault": "explode"}', '{"reply": null}'])
def test_a_wrong_line_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "play.jsonl"
    path.write_text(json.dumps({"reply": "fine"}) + "\n" + line, encoding="utf-8")
    with pytest.raises(WrongCall, match=r"play\.jsonl:2: .*expected"):
        Script.load(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(WrongCall, match=r"none\.toml: no such file"):
        Script.load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(WrongCall, match=r"bytes\.toml, line 1: expected UTF-8 text, got the byte 0xff"):
        Script.load(tmp_path / "bytes.toml")


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "status"])
def test_every_fault_has_a_name_of_one_word(name: str) -> None:
    assert Fault.parse(name).kind == name


@pytest.mark.parametrize(
    "text", ["", "status", "status abc", "status 399", "status 600", "context 0", "cut 3", "status ²"]
)
def test_other_words_are_no_fault(text: str) -> None:
    with pytest.raises(UnknownFault, match="expected"):
        Fault.parse(text)


def test_a_fault_that_refuses_carries_its_numbers() -> None:
    too_long = refusal_for(Fault.parse("context 1000"), 5000)
    assert too_long is not None
    assert (too_long.status, too_long.limit, too_long.asked) == (400, 1000, 5000)
    busy = refusal_for(Fault.parse("status 529"), 1)
    assert busy is not None
    assert busy.wait == 1
    refused = [refusal_for(Fault.parse(kind), 1) for kind in ("policy", "quota")]
    assert [each and (each.status, each.wait) for each in refused] == [(400, None), (429, None)]
    assert refusal_for(Fault.parse("cut"), 1) is None
