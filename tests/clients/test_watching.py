"""Real clients at work, watched on disk: the list of agents finds their sessions, which grow while they run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clients.clients import CLIENTS, PROMPT, Client
from workbench.config.errors import WorkbenchError
from workbench.rehearsal.server import RehearsalServer
from workbench.session.opening import open_source
from workbench.sources.options import Options
from workbench.sources.requests import RequestMark
from workbench.sources.services import Services

SAYS_NO_FOLDER = {"llm", "mini-swe-agent"}
"""Their logs are among their settings, and do not say where they work."""
FOLDERS = {
    "XDG_DATA_HOME": ".local/share",
    "XDG_CONFIG_HOME": ".config",
    "CODEX_HOME": ".codex",
    "LLM_USER_PATH": "llm",
}
LOOK = 0.2
"""Seconds between two looks."""


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
async def test_a_session_is_found_and_grows_while_its_client_runs(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if client.found() is None:
        pytest.skip(f"{client.binary} is not installed ({client.package})")
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    (folder / "a.txt").write_text("The first line of a.txt\n", encoding="utf-8")
    for name, below in {"HOME": ".", **FOLDERS}.items():
        monkeypatch.setenv(name, str(home / below))
    seen: list[int] = []
    with Services() as services:
        async with RehearsalServer() as server:
            asked = asyncio.create_task(asyncio.to_thread(client.ask, server.url, home, folder))
            while not asked.done():
                seen.append(len(await asyncio.to_thread(_requests, services, str(folder))))
                await asyncio.sleep(LOOK)
        assert (await asked).returncode == 0
        last = _requests(services, str(folder))
        found = services.agents.find_sessions(str(folder))
    assert [each.is_in(str(folder)) for each in found] == [client.name not in SAYS_NO_FOLDER]
    assert PROMPT.lower() in found[0].title.lower()
    assert [*seen, len(last)] == sorted([*seen, len(last)])
    main = [request for request in server.requests if request.outcome.done()]
    assert 0 < len(last) <= len(main)
    assert all(mark.exact or mark.reported for mark in last)


def _requests(services: Services, folder: str) -> list[RequestMark]:
    """The requests of the session in a folder, as far as its file has them."""
    found = services.agents.find_sessions(folder)
    if not found:
        return []
    try:
        opened = open_source(services, Options(follow=True), found[0].ref)
    except WorkbenchError:
        return []  # nothing was said yet
    return opened.requests.marks
