"""Real clients against the rehearsal server: tools run and an answer comes, in each one's own dialect."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clients.clients import PROMPT, Client
from clients.libraries import EVERYBODY, Library
from workbench.rehearsal.server import RehearsalServer

LINE = "The first line of a.txt"


@pytest.mark.long
@pytest.mark.parametrize("client", EVERYBODY, ids=lambda client: client.name)
async def test_a_client_runs_its_tools_and_gets_an_answer(client: Client | Library, tmp_path: Path) -> None:
    if client.found() is None:
        pytest.skip(f"{client.binary} is not installed ({client.package})")
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    (folder / "a.txt").write_text(f"{LINE}\n", encoding="utf-8")
    async with RehearsalServer() as server:
        done = await asyncio.to_thread(client.ask, server.url, home, folder)
    assert done.returncode == 0, done.stderr
    asked = [str(request.body) for request in server.requests]
    assert asked
    if not client.has_tools:
        assert "rehearsal model" in done.stdout or PROMPT in done.stdout, "an answer, or the form that was asked for"
        return
    assert any(LINE in body for body in asked), "what was read went back to the model"
    assert any("a.txt" in body and LINE in body and "ls" in body for body in asked)
    assert "a.txt" in done.stdout
