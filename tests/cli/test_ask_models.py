"""`workbench ask` and the ways to models: fallbacks, servers on this machine, windows that are learnt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.calls import Call, Outcome
from support.local_servers import KINDS, WINDOW, LocalServer, patiently, serving, vllm
from workbench.log.codec import decode_event
from workbench.log.events import AssistantMessage, Body, Failure, Setting, Usage
from workbench.log.store import Store

pytestmark = pytest.mark.xdist_group("litellm")

NOWHERE = "http://127.0.0.1:9/v1"
"""Nobody listens there."""
ONCE = "[requests]\ntries = 1\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    monkeypatch.chdir(folder)
    patiently(monkeypatch)
    return folder


@pytest.fixture
def house(tmp_path: Path) -> Iterator[LocalServer]:
    """A server of the user's own, which the config knows as the model `house`."""
    with serving(vllm("house")) as server:
        configure(tmp_path, f'{ONCE}[models.house]\napi_base = "{server.url}/v1"\nwindow = 50_000\n')
        yield server


def configure(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "config.toml").write_text(text)


def bodies(outcome: Outcome, kind: type | None = None) -> list[Any]:
    found: list[Body] = [decode_event(line).body for line in outcome.out.splitlines() if line.startswith('{"v"')]
    return [body for body in found if kind is None or isinstance(body, kind)]


def test_a_fallback_answers_and_the_session_keeps_its_model(call: Call, house: LocalServer) -> None:
    asked = ("ask", "hello", "-m", "openai/gone", "--api-base", NOWHERE, "--fallback", "house")
    outcome = call(*asked, "--json")
    assert outcome.code == 0
    assert [body.model for body in bodies(outcome, AssistantMessage)] == ["house"]
    assert [body.model for body in bodies(outcome, Usage)] == ["house"]
    [session] = call("sessions", "--json").json["sessions"]
    assert session["model"] == "openai/gone"
    said = call(*asked)
    assert said.out == "at your service\n"
    assert "openai/gone: connection: " in said.err
    assert "house is asked instead." in said.err


@pytest.mark.parametrize("where", ["top", "entry"])
def test_fallbacks_stand_in_the_config(call: Call, house: LocalServer, tmp_path: Path, where: str) -> None:
    config = (tmp_path / "config" / "config.toml").read_text()
    top = 'fallback = ["house"]\n' if where == "top" else 'fallback = ["openai/gone", "nobody"]\n'
    entry = f'[models."openai/gone"]\napi_base = "{NOWHERE}"\n' + ('fallback = ["house"]\n' * (where == "entry"))
    configure(tmp_path, top + config + entry)
    outcome = call("ask", "hello", "-m", "openai/gone", "--json")
    assert [body.model for body in bodies(outcome, AssistantMessage)] == ["house"]
    assert len(bodies(outcome, Failure)) == 1


def test_without_a_fallback_that_answers_the_call_fails(call: Call, tmp_path: Path) -> None:
    configure(tmp_path, ONCE)
    asked = ("ask", "hello", "-m", "openai/gone", "--api-base", NOWHERE, "--fallback", "local:/no/such/file.gguf")
    outcome = call(*asked, "--json")
    assert outcome.code == 1
    assert [body.category for body in bodies(outcome, Failure)] == ["connection", "connection"]


def test_an_embedded_model_that_does_not_start_is_stood_in_for(call: Call) -> None:
    gone = "local:/no/such/file.gguf"
    outcome = call("ask", "hello", "-m", gone, "--fallback", "rehearsal", "--json")
    assert outcome.code == 0
    [failure] = bodies(outcome, Failure)
    assert failure.category == "unknown_model"
    assert "/no/such/file.gguf: No such file" in failure.message
    assert bodies(outcome, AssistantMessage)[-1].model == "rehearsal"
    alone = call("ask", "hello", "-m", gone)
    assert alone.code == 2
    assert "expected a GGUF file" in alone.err


@pytest.mark.parametrize("prefix", list(KINDS))
def test_a_model_of_a_server_on_this_machine_needs_nothing_but_its_name(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the-users-own-key")
    with serving(KINDS[prefix]("some-model")) as server:
        configure(tmp_path, f"{ONCE}[servers]\n{prefix} = {server.port}\n")
        outcome = call("ask", "hello", "-m", f"{prefix}/some-model", "--json")
        assert outcome.code == 0
        [asked] = server.asked
        assert (asked.body["model"], asked.key) == ("some-model", "Bearer none")
        assert bodies(outcome, AssistantMessage)[-1].model == f"{prefix}/some-model"
        planned = call("plan", call("sessions", "--json").json["sessions"][0]["id"], "--json").json
        assert (planned["window"], planned["window_source"]) == (WINDOW, "server")
    stopped = call("plan", call("sessions", "--json").json["sessions"][0]["id"], "--json").json
    assert (stopped["window"], stopped["window_source"]) == (WINDOW, "server"), "the log remembers it"


def test_a_server_that_does_not_run_is_a_connection_that_fails(call: Call, tmp_path: Path) -> None:
    configure(tmp_path, f"{ONCE}[servers]\nllamacpp = 9\n")
    outcome = call("ask", "hello", "-m", "llamacpp/m", "--json")
    assert outcome.code == 1
    assert [body.category for body in bodies(outcome, Failure)] == ["connection"]


def test_a_learnt_window_holds_for_the_session_in_every_later_call(call: Call) -> None:
    call("ask", "hello")
    [session] = call("sessions", "--json").json["sessions"]
    learnt = {"model": "rehearsal", "tokens": 30_000, "source": "provider"}
    with Store.open() as store, store.session(session["id"]) as opened:
        opened.append(Setting("window", learnt))
    again = call("ask", "hello", "--session", session["id"], "--stream")
    [planned] = [line for line in map(json.loads, again.out.splitlines()) if line.get("step") == "planned"]
    assert planned["window"] == 30_000
    found = call("plan", session["id"], "--json").json
    assert (found["window"], found["window_source"]) == (30_000, "provider")
    other = call("plan", session["id"], "--json", "-m", "gpt-4o").json
    assert (other["window"], other["window_source"]) == (128_000, "catalogue")
    wished = call("plan", session["id"], "--json", "--window", "9000").json
    assert (wished["window"], wished["window_source"]) == (9_000, "option")
    earlier = call("plan", session["id"], "--json", "--at", "2").json
    assert earlier["window_source"] == "built-in", "as it was then"


def test_a_mistake_in_the_config_leaves_no_session_behind(call: Call, tmp_path: Path) -> None:
    for text, said in (
        ("[requests]\ntrys = 1\n", "requests.trys: no such key"),
        ("[servers]\nvllm = 0\n", "servers.vllm: expected a port"),
        ('fallback = "x"\n', "fallback: expected a list of models"),
    ):
        configure(tmp_path, text)
        outcome = call("ask", "hello", "-m", "vllm/m" if "vllm" in text else "rehearsal")
        assert outcome.code == 2
        assert said in outcome.err
    configure(tmp_path, "")
    assert call("sessions", "--json").json["sessions"] == []
