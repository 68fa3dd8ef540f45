"""Agents are started with settings that lead them through the proxy."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proxy.test_websockets import serving
from workbench.proxy.launch import launch_for, silence_message
from workbench.traces import codex, opencode, pi


def test_what_opencode_is_given_already_stays_and_is_led_through_the_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"anthropic": {"options": {"apiKey": "k"}}, "openai": {"options": {"baseURL": "http://gateway/v1"}}, "x": {}}
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", json.dumps({"theme": "dark", "provider": own}))

    def given() -> dict[str, Any]:
        made = launch_for(["opencode"], "http://p", tmp_path).environment["OPENCODE_CONFIG_CONTENT"]
        return dict(json.loads(made))

    assert (given()["theme"], given()["provider"]["x"]) == ("dark", {})
    assert given()["provider"]["anthropic"]["options"] == {"baseURL": "http://p/v1", "apiKey": "k"}
    assert given()["provider"]["openai"]["options"]["baseURL"] == "http://gateway/v1"
    for wrong in ('{"provider": "mine"}', "[1]", "no JSON"):
        monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", wrong)
        assert given()["provider"]["google"]["options"] == {"baseURL": "http://p/v1beta"}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["codex"], "Codex"),
        (["/usr/bin/python3.11", "-u", "src/oa.py", "run ls"], "oa.py"),
        (["python", "-c", "import this\nprint(1)"], "python"),
        (["./my-agent", "oa.py"], "my-agent"),
    ],
)
def test_an_agent_that_is_not_known_has_the_name_of_its_program(command: list[str], name: str, tmp_path: Path) -> None:
    assert launch_for(command, "http://127.0.0.1:1/t", tmp_path).agent == name


def test_agents_are_told_in_their_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "mine")
    monkeypatch.setenv("KIMI_CODE_HOME", str(tmp_path))
    address = "http://127.0.0.1:1/t"
    made = launch_for(["/usr/bin/codex", "exec", "hi"], address, tmp_path, rehearsal=True)
    assert made.agent == codex.NAME
    assert made.command == ("/usr/bin/codex", "-c", f'openai_base_url="{address}/v1"', "exec", "hi")
    assert made.environment["OPENAI_API_KEY"] == "rehearsal"
    assert "ANTHROPIC_API_KEY" not in made.environment
    made = launch_for(["opencode"], address, tmp_path)
    assert made.agent == opencode.NAME
    given = json.loads(made.environment["OPENCODE_CONFIG_CONTENT"])
    assert given["provider"]["anthropic"]["options"]["baseURL"] == f"{address}/v1"
    assert "OPENAI_API_KEY" not in made.environment
    made = launch_for(["copilot", "-p", "hi"], address, tmp_path, rehearsal=True)
    assert (made.environment["COPILOT_MODEL"], made.environment["GOOGLE_GENERATIVE_AI_API_KEY"]) == ("rehearsal",) * 2
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    gemini = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    made = launch_for(["gemini"], address, tmp_path, rehearsal=True)
    assert [name in made.environment for name in gemini] == [True, False], "it warns where both are set"
    made = launch_for(["python", "own.py"], address, tmp_path, rehearsal=True)
    assert [name in made.environment for name in gemini] == [True, True]
    monkeypatch.setenv("GOOGLE_API_KEY", "mine")
    made = launch_for(["gemini"], address, tmp_path, rehearsal=True)
    assert [name in made.environment for name in gemini] == [False, False]
    made = launch_for(["kimi", "-p", "hi"], address, tmp_path, rehearsal=True)
    kimi = {name: value for name, value in made.environment.items() if name.startswith("KIMI_")}
    assert kimi == {
        "KIMI_CODE_BASE_URL": f"{address}/coding/v1",
        "KIMI_MODEL_NAME": "rehearsal",
        "KIMI_MODEL_API_KEY": "rehearsal",
        "KIMI_MODEL_BASE_URL": f"{address}/v1",
    }
    made = launch_for(["pi", "-p", "hi"], address, tmp_path)
    assert made.agent == pi.NAME
    assert address in Path(made.command[2]).read_text()
    assert made.command[3:] == ("-p", "hi")


@pytest.mark.long
def test_kimis_login_keeps_the_address_that_it_was_made_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIMI_CODE_HOME", str(tmp_path))
    assert launch_for(["kimi"], "http://p/t", tmp_path).environment["KIMI_CODE_BASE_URL"] == "http://p/t/coding/v1"
    login = tmp_path / "credentials" / "kimi-code.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    assert "KIMI_CODE_BASE_URL" not in launch_for(["kimi"], "http://p/t", tmp_path).environment


FETCHING = """
fetch("https://generativelanguage.googleapis.com/v1beta/models/m:generateContent", {method: "POST"})
  .then((came) => came.text())
  .then((text) => console.log(text, process.env.NODE_OPTIONS ?? ""))
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("relaunched", [False, True])
async def test_what_gemini_cli_asks_google_goes_to_the_proxy(
    relaunched: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    monkeypatch.setenv("NODE_OPTIONS", "--no-warnings")
    folder = tmp_path / "with a space"
    folder.mkdir()

    async def told(incoming: web.Request) -> web.Response:
        return web.Response(text=f"{incoming.method} {incoming.path}")

    async with serving(told) as url:
        made = launch_for(["gemini"], f"{url}/token", folder)
        own = {**os.environ, **made.environment, **({"GEMINI_CLI_NO_RELAUNCH": "true"} if relaunched else {})}
        done = await asyncio.to_thread(
            subprocess.run, ["node", "-e", FETCHING], env=own, capture_output=True, text=True, check=False
        )
    options = "--no-warnings" if relaunched else made.environment["NODE_OPTIONS"]
    said = f"POST /v1/token/v1beta/models/m:generateContent {options}\n"
    assert (done.stdout, done.stderr) == (said, "")
    assert made.environment["GOOGLE_GEMINI_BASE_URL"] == ""
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "https://gateway")
    assert launch_for(["gemini"], "http://p/t", folder).environment["GOOGLE_GEMINI_BASE_URL"] == "http://p/t"


def test_why_nothing_passed_depends_on_the_agent() -> None:
    assert "login" in silence_message("Kimi Code")
    assert "settings" in silence_message("oa.py")
