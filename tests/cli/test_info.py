"""`workbench tokens`, `policies` and `models`."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.calls import Call
from support.local_servers import WINDOW, LocalServer, ollama, patiently, serving


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


def test_the_values_of_knobs_are_json(call: Call) -> None:
    knobs = call("policies", "show", "codex", "--json").json["knobs"]
    found = {knob["knob"]: knob["value"] for knob in knobs}
    assert found["budget.reserve_ratio"] == 0.1
    assert found["truncation.max_lines"] == 256
    assert found["truncation.count_header"] is True
    assert found["truncation.strategy"] == "lines"
    assert found["compaction.headless_mode"] is None
    assert ".git" in found["instructions.root_markers"]


def test_policies_are_listed_with_the_users_own(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "policies"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('extends = "layers"\ndescription = "my own"\n[masking]\nkeep_last = 9\n')
    names = [entry["name"] for entry in call("policies", "--json").json["policies"]]
    assert names[0] == "workbench"
    assert set(names) == {"workbench", "codex", "confirm", "layers", "recorded", "sliding", "window", "mine"}
    assert "my own" in call("policies").out


def test_show_says_where_each_value_came_from(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "config" / "policies"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('extends = "layers"\n[masking]\nkeep_last = 9\n')
    monkeypatch.setenv("WORKBENCH_HISTORY__MAX_TOKENS", "77")
    found = call("policies", "show", "mine", "--set", "masking.keep_first=4", "--json").json
    knobs = {row["knob"]: (row["value"], row["from"]) for row in found["knobs"]}
    assert knobs["masking.keep_first"] == (4, "--set")
    assert knobs["history.max_tokens"] == (77, "environment WORKBENCH_HISTORY__MAX_TOKENS")
    assert knobs["masking.keep_last"][0] == 9
    assert "mine.toml" in knobs["masking.keep_last"][1]
    assert knobs["truncation.max_tokens"] == (8_000, "preset layers")
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
    assert "Unknown model: its window is a guess" in outcome.out


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
    assert len(found) == 8
    assert found["bad"]["description"].startswith("broken: ")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """An Ollama of this machine; the other ports lead nowhere."""
    patiently(monkeypatch)
    with serving(ollama("qwen3:latest", "odd")) as found, serving({}) as nothing:
        (tmp_path / "config").mkdir()
        ports = {"ollama": found.port, **dict.fromkeys(("llamacpp", "lmstudio", "vllm"), nothing.port)}
        lines = [f"{name} = {port}" for name, port in ports.items()]
        (tmp_path / "config" / "config.toml").write_text("\n".join(["[servers]", *lines]))
        yield found


def test_servers_on_this_machine_are_listed(call: Call, server: LocalServer) -> None:
    [found] = call("models", "local", "--json").json["servers"]
    assert (found["kind"], found["url"], found["models"][0]) == (
        "ollama",
        server.url,
        {"name": "qwen3:latest", "window": WINDOW},
    )
    listed = call("models", "local").out
    assert "ollama/qwen3:latest" in listed
    assert f"{WINDOW:,}" in listed


def test_their_models_stand_among_the_others(call: Call, server: LocalServer) -> None:
    first, second, *others = call("models", "--json").json["models"]
    assert [each["name"] for each in (first, second)] == ["ollama/qwen3:latest", "ollama/odd"]
    assert (first["window"], first["window_source"], first["input_price"]) == (WINDOW, "server", 0)
    assert len(others) > 100
    assert call("models", "find", "qwen3:latest").out.count("ollama/qwen3:latest") == 1


def test_a_model_of_theirs_is_shown_with_its_window_and_address(call: Call, server: LocalServer) -> None:
    found = call("models", "show", "ollama/qwen3", "--json").json
    assert (found["window"], found["window_source"], found["address"]) == (WINDOW, "server", server.url)
    assert found["key"]["from"] == "not needed"
    assert server.url in call("models", "show", "ollama/qwen3").out


def test_no_server_is_said_in_words(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.cli.info.look_around", lambda ports: ())
    assert call("models", "local").out.startswith("no Ollama, llama.cpp, LM Studio or vLLM answers")


def test_where_a_key_comes_from_is_said_and_never_the_key(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret-thing")
    shown = call("models", "show", "claude-sonnet-4-5")
    assert "ANTHROPIC_API_KEY, from the environment" in shown.out
    assert "secret" not in shown.out + call("models", "show", "claude-sonnet-4-5", "--json").out
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setattr("workbench.models.keys.find_spec", lambda name: None)
    assert "keyring set workbench ANTHROPIC_API_KEY" in call("models", "show", "claude-sonnet-4-5").out
    assert "none is needed" in call("models", "show", "rehearsal").out
    assert "litellm looks for" in call("models", "show", "bedrock/anthropic.claude-3-haiku-20240307-v1:0").out
