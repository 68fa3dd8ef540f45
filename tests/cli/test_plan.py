"""`workbench plan`: the headless contract."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.calls import Call
from support.openai_reports import CALLS, HELLO, TOOLS, Json, Report

BUDGET = [
    "system",
    "instructions",
    "memory",
    "tools",
    "summaries",
    "history",
    "turn",
    "framing",
    "margin",
    "reserve",
    "free",
]
ITEM = [
    "id",
    "seq",
    "turn",
    "slot",
    "role",
    "kind",
    "tool",
    "state",
    "tokens",
    "original_tokens",
    "exact",
    "pinned",
    "edits",
    "text",
]


def test_json_has_the_documented_form(call: Call, transcript: Path) -> None:
    found = call("plan", transcript, "--json").json
    assert list(found)[:8] == ["schema", "model", "window", "window_source", "policy", "verdict", "budget", "totals"]
    assert list(found["budget"]) == BUDGET
    assert set(found["totals"]) == {"tokens", "items", "framing", "original_tokens"}
    assert set(found["verdict"]) == {"fits", "why"}
    assert all(list(item) == ITEM for item in found["items"])
    assert found["model"] is None
    assert (found["window"], found["window_source"]) == (128_000, "guess")
    assert sum(found["budget"].values()) == found["window"]
    assert found["totals"]["tokens"] == found["totals"]["items"] + found["totals"]["framing"]
    assert found["totals"]["items"] == sum(item["tokens"] for item in found["items"])


@pytest.mark.parametrize("report", TOOLS)
def test_a_request_with_tools_costs_what_openai_reported(call: Call, tmp_path: Path, report: Report) -> None:
    assert planned_tokens(call, tmp_path, report.messages, list(report.functions)) == report.tokens


@pytest.mark.parametrize("report", [report for report in CALLS if report.messages[-1]["content"]])
def test_a_call_with_its_result_costs_what_openai_reported(call: Call, tmp_path: Path, report: Report) -> None:
    alone = planned_tokens(call, tmp_path, HELLO, []) - 3
    assert planned_tokens(call, tmp_path, HELLO + report.messages, []) == alone + report.tokens


def planned_tokens(call: Call, folder: Path, messages: list[Json], functions: list[Json]) -> int:
    file = folder / "request.json"
    tools = [{"type": "function", "function": function} for function in functions]
    file.write_text(json.dumps({"messages": messages, "tools": tools}))
    found = call("plan", file, "--json", "--model", "gpt-4", "--policy", "codex").json
    return int(found["totals"]["tokens"])


def test_there_is_one_row_per_item_in_request_order(call: Call, transcript: Path) -> None:
    rows = [
        (item["seq"], item["turn"], item["slot"], item["role"], item["kind"], item["tool"])
        for item in call("plan", transcript, "--json").json["items"]
    ]
    assert rows == [
        (1, 0, "system", "system", "message", None),
        (2, 1, "history", "user", "message", None),
        (3, 1, "history", "assistant", "message", None),
        (4, 1, "history", "assistant", "tool_call", "read_file"),
        (5, 1, "history", "assistant", "tool_call", "read_file"),
        (6, 1, "history", "tool", "tool_result", "read_file"),
        (7, 1, "history", "tool", "tool_result", "read_file"),
        (8, 1, "history", "assistant", "message", None),
        (9, 2, "turn", "user", "message", None),
    ]


def test_a_file_gets_nothing_that_is_not_in_it(
    call: Call, transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "AGENTS.md").write_text("always whisper")
    monkeypatch.chdir(tmp_path)
    request = call("plan", transcript, "--request").json
    assert request["messages"] == json.loads(transcript.read_text())
    assert "tools" not in request


def test_full_adds_the_original(call: Call, transcript: Path) -> None:
    options = ("--policy", "layers", "--set", "truncation.max_tokens=100", "--json", "--full")
    item = call("plan", transcript, *options).json["items"][5]
    assert item["state"] == "truncated"
    assert item["tokens"] <= 100 < item["original_tokens"]
    assert item["original"] == "def login(): ...\n" * 400
    assert "[truncated: kept first ~" in item["text"]
    assert f"[id {item['id']}]" in item["text"]
    assert item["edits"][0]["stage"] == "truncate"


def test_at_plans_an_earlier_moment(call: Call, transcript: Path) -> None:
    items = call("plan", transcript, "--json", "--at", "5").json["items"]
    assert [item["seq"] for item in items] == [1, 2, 3, 4, 5, None, None]
    assert [item["kind"] for item in items[-2:]] == ["tool_result", "tool_result"]
    assert all("has no result" in item["edits"][0]["why"] for item in items[-2:])


def test_a_request_that_does_not_fit_is_never_printed(call: Call, transcript: Path) -> None:
    outcome = call("plan", transcript, "--request", "--window", "60", "--policy", "confirm")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith("workbench: does not fit: ")
    assert outcome.err.count("\n") == 1


def test_a_plan_that_does_not_fit_is_printed_and_the_exit_code_says_so(call: Call, transcript: Path) -> None:
    small = ("--window", "60", "--policy", "confirm")
    told, listed = call("plan", transcript, "--json", *small), call("plan", transcript, *small)
    assert (told.code, told.json["verdict"]["fits"], told.err) == (3, False, "")
    assert (listed.code, listed.err) == (3, "")
    assert "too large" in listed.out
    assert call("plan", transcript, "--json").code == call("plan", transcript).code == 0


def test_window_and_reserve_are_the_users_own(call: Call, transcript: Path) -> None:
    found = call("plan", transcript, "--json", "--model", "gpt-5", "--window", "9000", "--reserve", "700").json
    assert (found["window"], found["window_source"], found["budget"]["reserve"]) == (9_000, "option", 700)


def test_a_reserve_that_does_not_fit_shortens_the_answer(call: Call, transcript: Path) -> None:
    narrow = ("plan", transcript, "--policy", "confirm", "--model", "gpt-4o", "--window", "2100", "--reserve", "700")
    found = call(*narrow, "--json").json
    left = 2_100 - found["totals"]["tokens"]
    assert 105 <= left < 700
    assert (found["verdict"]["fits"], found["max_output"], found["budget"]["reserve"]) == (True, left, left)
    assert call(*narrow, "--request").json["max_tokens"] == left
    assert f"warning  the answer may have {left:,} tokens at most, not 700" in call(*narrow).out
    strict = ("--set", "budget.least_answer_tokens=700", "--set", "budget.least_answer_ratio=0")
    cut = call(*narrow, *strict, "--json").json
    assert cut["totals"]["tokens"] <= 1_400 < found["totals"]["tokens"]
    assert [row["tool"] for row in cut["items"] if row["state"] == "truncated"] == ["read_file"]


def test_the_reserve_is_left_out_where_the_limit_is_for_input_alone(call: Call, transcript: Path) -> None:
    found = call("plan", transcript, "--json", "--model", "gpt-5").json
    assert (found["window"], found["budget"]["reserve"]) == (272_000, 0)
    assert call("plan", transcript, "--json", "--model", "gpt-4o").json["budget"]["reserve"] == 16_384


def test_knobs_are_set_for_one_run(call: Call, transcript: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_TRUNCATION__MAX_TOKENS", "50")
    cut = ("plan", transcript, "--json", "--policy", "workbench")
    assert call(*cut).json["items"][5]["tokens"] <= 50
    assert call("plan", transcript, "--json").json["items"][5]["tokens"] > 90, "what was sent stays what it was"
    found = call(*cut, "--set", "truncation.max_tokens=90").json
    assert 50 < found["items"][5]["tokens"] <= 90


def test_the_table_is_for_people(call: Call, transcript: Path) -> None:
    outcome = call("plan", transcript, "--policy", "layers", "--set", "truncation.max_tokens=100")
    assert outcome.code == 0
    assert "t truncated" in outcome.out
    assert "verdict  fits: " in outcome.out
    assert "then add it 測試 🙂" in outcome.out


def test_control_characters_never_reach_the_terminal(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    path.write_text(json.dumps([{"role": "user", "content": "a\x1b[31mb\x07\x9bc\u202e"}]))
    out = call("plan", path).out
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(out)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["plan"], "required: SOURCE"),
        (["plan", "nowhere.json"], "nowhere.json: no such file, and"),
        (["plan", "FILE", "--policy", "strict"], "strict"),
        (["plan", "FILE", "--set", "masking.keep_lost=3"], "masking.keep_lost"),
        (["plan", "FILE", "--set", "masking.keep_last=three"], "masking.keep_last"),
        (["plan", "FILE", "--window", "many"], "--window"),
        (["plan", "FILE", "--window", "0"], "--window: expected a whole number from 1 up, got 0"),
        (["plan", "FILE", "--reserve", "-1"], "--reserve: expected a whole number from 0 up"),
        (["plan", "FILE", "--at", "99"], "--at: expected a seq from 0 to 10, got 99"),
        (["plan", "FILE#2"], "expected a conversation from 1 to 1, got 2"),
        (["plan", "FOLDER"], "expected a file, this is a folder"),
        (["plan", "BROKEN"], "broken.json: line 2: expected a role"),
        (["plan", "BINARY"], "binary: found binary data, which is no transcript"),
        (["plot"], "plot"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(
    call: Call, transcript: Path, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    (tmp_path / "broken.json").write_text('[{"role": "user", "content": "a"},\n{"role": "king"}]')
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    names = {"FILE": transcript, "FOLDER": tmp_path, "BROKEN": tmp_path / "broken.json", "BINARY": tmp_path / "binary"}
    given = [arguments[0], *(str(names.get(each, each)) for each in arguments[1:])]
    given = [each.replace("FILE#", f"{transcript}#") for each in given]
    outcome = call(*given)
    assert (outcome.code, outcome.out) == (2, "")
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err


def test_a_file_is_planned_where_nothing_can_be_written(
    call: Call, transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "blocked").write_text("a file where the data folder should be")
    monkeypatch.setenv("WORKBENCH_DATA_DIR", str(tmp_path / "blocked"))
    assert call("plan", transcript, "--json").json["verdict"]["fits"]
    outcome = call("sessions")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1


def test_the_documented_config_works(call: Call, transcript: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "config.md").read_text(encoding="utf-8")
    block = page.split("```toml\n# config.toml\n")[1].split("```")[0]
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(block, encoding="utf-8")
    assert call("plan", transcript, "--json").json["model"] == "gpt-4o"
    found = call("plan", transcript, "--json", "--model", "my-local-model").json
    assert (found["window"], found["window_source"]) == (32_768, "config")


def test_an_error_in_the_models_table_names_the_file(call: Call, transcript: Path, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[models.x]\nwindow = "wide"\n')
    assert (
        "config.toml: models.\"x\".window: expected a number of tokens above 0, got 'wide'"
        in call("plan", transcript).err
    )


def test_at_uses_the_model_of_that_moment(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [
        '{"v":1,"seq":1,"id":"a","at":0,"kind":"setting","key":"model","value":"gpt-4o"}',
        '{"v":1,"seq":2,"id":"b","at":0,"kind":"user","content":"hi"}',
        '{"v":1,"seq":3,"id":"c","at":0,"kind":"setting","key":"model","value":"o3"}',
    ]
    path.write_text("\n".join(lines))
    assert call("plan", path, "--json").json["model"] == "o3"
    assert call("plan", path, "--json", "--at", "2").json["model"] == "gpt-4o"


def test_pictures_survive_the_cutting_of_their_text(call: Call, tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "many words " * 3_000},
        {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
    ]
    messages = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "shot", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": parts},
    ]
    path = tmp_path / "picture.json"
    path.write_text(json.dumps(messages))
    *_, result, shown = call("plan", path, "--request", "--set", "truncation.max_tokens=2000").json["messages"]
    assert "[truncated: kept first+last" in result["content"][0]["text"]
    assert [part["type"] for part in (*result["content"], *shown["content"])] == ["text", "image_url"]


def test_parts_of_unknown_kinds_are_not_counted_as_nothing(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "parts.json"
    parts = [{"type": "refusal", "refusal": "word " * 5_000}, {"type": "file", "data": "QUJD" * 50_000}]
    path.write_text(json.dumps([{"role": "user", "content": parts}]))
    [item] = call("plan", path, "--json").json["items"]
    assert 5_000 < item["tokens"] < 6_000
    assert not item["exact"]


def test_ids_that_not_every_provider_takes_are_replaced_visibly(call: Call, tmp_path: Path) -> None:
    calls = [{"id": "functions.read:0", "function": {"name": "", "arguments": ""}}]
    path = tmp_path / "ids.json"
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": calls}]
    path.write_text(json.dumps([*messages, {"role": "tool", "tool_call_id": "functions.read:0", "content": "ok"}]))
    wire = call("plan", path, "--request").json["messages"]
    assert wire[1]["tool_calls"][0] == {
        "id": "functions_read_0",
        "type": "function",
        "function": {"name": "unnamed_tool", "arguments": "{}"},
    }
    assert wire[2]["tool_call_id"] == "functions_read_0"
    why = call("plan", path, "--json").json["items"][1]["edits"][0]["why"]
    assert "it has no arguments" in why
    assert "not one that every provider takes" in why


@pytest.mark.parametrize("text", ['[{"role": "user", "content": "a", "x": NaN}]', '{"role": "user"}\n{"x": Infinity}'])
def test_what_is_not_json_is_not_taken(call: Call, tmp_path: Path, text: str) -> None:
    path = tmp_path / "nan.json"
    path.write_text(text)
    outcome = call("plan", path)
    assert outcome.code == 2
    assert "is not JSON" in outcome.err


def test_escapes_in_names_do_not_reach_the_terminal(call: Call) -> None:
    for arguments in (["plan", "a\x1b[31m.json"], ["--foo\x1b[31m"], ["plan", "x" * 300], ["plan", "a\0b"]):
        outcome = call(*arguments)
        assert outcome.code == 2
        assert "\x1b" not in outcome.err
        assert outcome.err.count("\n") == 1
