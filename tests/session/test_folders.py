"""Sessions belong to a folder: what opens without a name, and what opening leaves behind, which is nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tui.play import Script, Watcher, answer, opened
from workbench.log.errors import NotFound
from workbench.log.events import AssistantMessage, UserMessage
from workbench.session import opening
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.services import Services

Go = Callable[[str], Path]


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Go:
    """Work in another folder from now on."""

    def into(name: str) -> Path:
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        (folder / ".git" / "HEAD").write_text(f"ref: refs/heads/{name}-branch\n")
        monkeypatch.chdir(folder)
        return folder

    return into


def session_id(opened: OpenSession) -> str:
    assert opened.session is not None
    return opened.session.id


async def say(services: Services, text: str) -> str:
    """A talk in a new session of the folder that is worked in."""
    watcher = Watcher(services)
    try:
        watcher.model.new_session()
        watcher.model.send(text)
        await watcher.settled()
        return await watcher.ask(session_id)
    finally:
        await watcher.model.close()


def first(services: Services) -> OpenSession:
    """What the program starts with in the folder that is worked in."""
    made = opening.open_first_session(services, Options(), "")
    assert made.session is not None
    made.session.close()
    return made


async def test_a_folder_resumes_its_own_last_session(
    services: Services, go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("one"), answer("two"), answer("three")).play(monkeypatch)
    go("bakery")
    await say(services, "rolls")
    bread = await say(services, "bread")
    shop = go("shop")
    assert not first(services).has_user_message, "a folder without sessions begins a new one"
    await say(services, "till")
    info = services.store.list(folder=str(shop))[0]
    assert (info.title, info.folder, info.branch) == ("till", str(shop), "shop-branch")
    go("bakery")
    assert session_id(first(services)) == bread
    assert [each.title for each in services.store.list(folder=str(Path.cwd()))] == ["bread", "rolls"]


async def test_what_was_made_of_a_file_is_not_resumed(
    services: Services, go: Go, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("it does")).play(monkeypatch)
    folder = go("bakery")
    imported = services.store.create_from(services.source(str(talk)).events)
    imported.close()
    assert not first(services).has_user_message
    async with opened(services, str(talk)) as on:
        assert on.said
    assert not first(services).has_user_message
    async with opened(services, imported.id) as on:
        on.model.send("does it still fail?")
        await on.settled()
    assert session_id(first(services)) == imported.id, "it belongs to where something was said in it"
    assert services.store.info(imported.id).folder == str(folder)


async def test_a_session_from_before_folders_belongs_to_none(services: Services, go: Go) -> None:
    go("bakery")
    services.store.create([UserMessage("old")], title="old").close()
    assert not first(services).has_user_message
    assert services.store.list(folder=str(Path.cwd())) == []
    assert [info.folder for info in services.store.list()] == [""]


async def test_a_fork_belongs_where_its_origin_does(
    services: Services, go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("one")).play(monkeypatch)
    bakery = go("bakery")
    await say(services, "rolls")
    go("shop")
    with services.store.fork(services.store.list()[0].id) as made:
        assert services.store.info(made.id).folder == str(bakery)


async def test_opening_a_session_adds_nothing_to_its_log(
    services: Services, go: Go, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where its instructions, its model or the program's tools are others by now, nor where it has no model."""
    Script(answer("one")).play(monkeypatch)
    project = go("bakery")
    said = await say(services, "rolls")
    bare = services.store.create([UserMessage("hi"), AssistantMessage("ho")], title="no model")
    imported = services.store.create_from(services.source(str(talk)).events)
    for session in (bare, imported):
        session.close()
    (project / "AGENTS.md").write_text("Be brief.")
    for name in (said, bare.id, imported.id):
        before = [*services.store.export_events(name)]
        async with opened(services, name) as on:
            assert on.shown.plan.items
        async with opened(services, name, model="gpt-4o", policy="layers") as on:
            assert on.status.model == "gpt-4o"
        assert [*services.store.export_events(name)] == before


async def test_what_opening_did_not_say_is_in_the_log_before_the_next_turn(
    services: Services, go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("one"), answer("two")).play(monkeypatch)
    project = go("bakery")
    said = await say(services, "rolls")
    known = services.store.info(said).events
    (project / "AGENTS.md").write_text("Be brief.")
    async with opened(services, said, model="gpt-4o") as on:
        on.model.send("and bread?")
        await on.settled()
    kinds = [json.loads(line) for line in services.store.export_events(said)][known:]
    assert [each["kind"] for each in kinds[:3]] == ["setting", "slot", "user"]
    assert (kinds[0]["key"], kinds[0]["value"], kinds[1]["name"][-9:]) == ("model", "gpt-4o", "AGENTS.md")


async def test_an_empty_session_of_a_program_that_was_killed_is_gone_at_the_next_start(
    services: Services, go: Go
) -> None:
    go("bakery")
    left = opening.new_session(services, Options())
    other = opening.new_session(services, Options())
    assert left.session is not None
    left.session.close()
    started = first(services)
    with pytest.raises(NotFound):
        services.store.info(left.session.id)
    assert services.store.info(session_id(other)).events, "one that is open elsewhere stays"
    assert session_id(started) not in (session_id(left), session_id(other))
    assert services.store.list() == []


async def test_folder_and_branch_are_told(services: Services, go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("one")).play(monkeypatch)
    bakery = go("bakery")
    monkeypatch.setenv("HOME", str(bakery.parent))
    said = await say(services, "rolls")
    async with opened(services, said) as on:
        assert (on.folder, on.branch) == ("~/bakery", "bakery-branch")
    go("shop")
    async with opened(services, said) as on:
        assert (on.folder, on.branch) == ("~/shop, begun in ~/bakery", "shop-branch")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
async def test_a_folder_whose_name_is_not_text_has_sessions_like_any_other(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("one")).play(monkeypatch)
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    bread = await say(services, "bread")
    assert session_id(first(services)) == bread
    assert [info.folder for info in services.store.list(folder=str(folder))] == [f"{tmp_path}/caf\ufffd"]
    async with opened(services, bread) as on:
        assert on.folder == "~/caf\ufffd"
