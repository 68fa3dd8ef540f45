"""`workbench tokens`, `policies` and `models`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from support.calls import Call
from workbench.models.local.discovery import FoundModel, LocalServer


def test_tokens_counts_a_file(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("hello world, 測試 🙂")
    found = call("tokens", path, "--model", "gpt-4o", "--json").json
    assert found["tokenizer"] == "o200k_base"
    assert found["exact"] is True
    assert found["characters"] == 17
    assert found["window"] == 128_000
    assert call("tokens", path, "--model", "gpt-4o").out.startswith(f"{found['tokens']} tokens in ")
    claude = call("tokens", path, "--model", "claude-sonnet-4-5", "--json").json
    assert claude["exact"] is False
    assert "(approximate)" in call("tokens", path, "--model", "claude-sonnet-4-5").out


def test_tokens_reads_standard_input(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one two three")))
    assert call("tokens", "--json").json["tokens"] == 3


def test_a_text_is_encoded_once_ever(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.txt"
    path.write_text("many words in a row " * 5_000)
    first = call("tokens", path, "--json").json["tokens"]
    monkeypatch.setattr("workbench.models.tokens.TokenCounter._measure", lambda *_: pytest.fail("encoded again"))
    assert call("tokens", path, "--json").json["tokens"] == first


def test_policies_are_listed_with_the_users_own(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "policies"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('extends = "layers"\ndescription = "my own"\n[masking]\nkeep_last = 9\n')
    names = [entry["name"] for entry in call("policies", "--json").json["policies"]]
    assert names[0] == "workbench"
    assert set(names) == {"workbench", "codex", "confirm", "layers", "sliding", "window", "mine"}
    assert "my own" in call("policies").out


def test_show_says_where_each_value_came_from(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "config" / "policies"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('extends = "layers"\n[masking]\nkeep_last = 9\n')
    monkeypatch.setenv("WORKBENCH_HISTORY__MAX_TOKENS", "77")
    found = call("policies", "show", "mine", "--set", "masking.keep_first=4", "--json").json
    knobs = {row["knob"]: (row["value"], row["from"]) for row in found["knobs"]}
    assert knobs["masking.keep_first"] == ("4", "--set")
    assert knobs["history.max_tokens"] == ("77", "environment WORKBENCH_HISTORY__MAX_TOKENS")
    assert knobs["masking.keep_last"][0] == "9"
    assert "mine.toml" in knobs["masking.keep_last"][1]
    assert knobs["truncation.max_tokens"] == ("8000", "preset layers")
    assert "masking.keep_last" in call("policies", "show", "layers").out


def test_models_are_found_and_shown(call: Call) -> None:
    found = call("models", "show", "gpt-4o", "--json").json
    assert (found["window"], found["window_source"], found["tokenizer"]) == (128_000, "catalogue", "o200k_base")
    assert "128,000" in call("models", "show", "gpt-4o").out
    assert "gpt-4o-mini" in call("models", "find", "4o mini").out
    assert call("models", "find", "no such thing").out == "no model of that name is known\n"
    assert len(call("models", "--json").json["models"]) > 100


def test_a_model_nobody_knows_says_so(call: Call) -> None:
    outcome = call("models", "show", "gtp-9o")
    assert outcome.code == 0
    assert "Nobody knows this model; its window is a guess" in outcome.out


def test_the_users_models_win(call: Call, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        'model = "house"\n[models.house]\nwindow = 4_000\ntokenizer = "cl100k_base"\n'
    )
    found = call("models", "show", "house", "--json").json
    assert (found["window"], found["window_source"], found["tokenizer"]) == (4_000, "config", "cl100k_base")


def test_help_and_version(capsys: pytest.CaptureFixture[str], call: Call) -> None:
    for arguments in (["--help"], ["--version"], ["plan", "--help"]):
        with pytest.raises(SystemExit) as ended:
            call(*arguments)
        assert ended.value.code == 0
    assert "workbench 0." in capsys.readouterr().out


def test_a_broken_policy_does_not_hide_the_others(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "policies"
    folder.mkdir(parents=True)
    (folder / "bad.toml").write_text("masking = 3\n")
    found = {entry["name"]: entry for entry in call("policies", "--json").json["policies"]}
    assert len(found) == 7
    assert found["bad"]["description"].startswith("broken: ")


def test_servers_on_this_machine_are_listed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    server = LocalServer("ollama", "http://127.0.0.1:11434", (FoundModel("qwen3", 40_960), FoundModel("odd", None)))

    async def found() -> tuple[LocalServer, ...]:
        return (server,)

    monkeypatch.setattr("workbench.cli.info.discover", found)
    assert call("models", "local", "--json").json["servers"][0]["models"][0] == {"name": "qwen3", "window": 40_960}
    assert "40,960" in call("models", "local").out
    monkeypatch.undo()
