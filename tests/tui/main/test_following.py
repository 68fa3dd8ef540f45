"""A file that another agent writes, followed on the screen."""

from __future__ import annotations

from pathlib import Path
from shutil import which
from subprocess import Popen

from live.test_finder import put
from proxy.conftest import Recording, answered, said, user
from proxy.conftest import claude as messages
from session.test_following import TURNS, OtherProcess, claude, lines
from tui.play import program, settle, shown, typed, until
from workbench.log.store import Store
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send
from workbench.views.context_view import Exactness
from workbench.views.values import FOLLOWING


def requests(screen: MainScreen) -> int:
    return len(screen.model.state.shown.requests) if screen.model.state.shown is not None else 0


async def test_the_screen_follows_what_another_process_writes(services: Services, tmp_path: Path) -> None:
    path = put(tmp_path / "1.jsonl", lines(*TURNS[0]).decode())
    process = OtherProcess(path)
    async with program(services, (120, 30), str(path), follow=True) as (pilot, screen):
        await until(lambda: screen.model.state.following == FOLLOWING)
        assert "1.jsonl  following" in shown(pilot.app)
        assert "request 1, recorded" in shown(pilot.app)
        assert "partial: about " in shown(pilot.app)
        process.write(lines(*TURNS[1], *TURNS[2])[:-20])
        await until(lambda: requests(screen) == 2)
        await settle(pilot)
        assert "request 2, recorded" in shown(pilot.app)
        assert "BROTS 🥖 – „SO“? 2" in shown(pilot.app)
        process.write(lines(*TURNS[2])[-20:])
        await until(lambda: requests(screen) == 3)
        await settle(pilot)
        assert "BROTS 🥖 – „SO“? 3" in shown(pilot.app)
    process.end()


async def test_the_chat_stays_where_one_reads(services: Services, tmp_path: Path) -> None:
    path = put(tmp_path / "1.jsonl", lines(*TURNS[0], *TURNS[1], *TURNS[2]).decode())
    async with program(services, (90, 14), str(path), follow=True) as (pilot, screen):
        await until(lambda: screen.model.state.following == FOLLOWING)
        await settle(pilot)
        view = screen.chat.view
        assert view.scroll_offset.y == view.max_scroll_y
        view.focus()
        await pilot.press("g")
        await settle(pilot)
        top = view.scroll_offset.y
        assert not view.following
        with path.open("ab") as file:
            file.write(lines(*TURNS[3]))
        await until(lambda: requests(screen) == 4)
        await settle(pilot)
        assert (view.scroll_offset.y, view.cursor, view.following) == (top, 0, False)
        await pilot.press("G")
        with path.open("ab") as file:
            file.write(lines(*claude(5, "more", input_tokens=30_000)))
        await until(lambda: requests(screen) == 5)
        await settle(pilot)
        assert view.following


async def test_a_key_switches_it_off_and_a_command_on(services: Services, tmp_path: Path) -> None:
    path = put(tmp_path / "1.jsonl", lines(*TURNS[0]).decode())
    async with program(services, (120, 30), str(path), follow=True) as (pilot, screen):
        await until(lambda: screen.model.state.following == FOLLOWING)
        await pilot.press("f3", "W")
        await until(lambda: screen.model.state.following == "")
        await settle(pilot)
        assert "1.jsonl  read-only" in shown(pilot.app)
        screen.send_or_run(Send("/follow"))
        await until(lambda: screen.model.state.following == FOLLOWING)
        path.write_bytes(lines(*claude(5, "more", input_tokens=30_000)))
        await until(lambda: screen.model.state.transcript[0].text == "more")


async def test_a_session_of_the_proxy_is_followed_and_taken_over_when_it_ends(services: Services) -> None:
    with Store.open(services.store._database.path) as elsewhere:
        recording = Recording(elsewhere)
        one = answered(said("one"), 40)
        recording.pass_through("/v1/messages", messages(user("look")), one)
        name = elsewhere.list()[0].id
        async with program(services, (140, 30), name) as (pilot, screen):
            await until(lambda: screen.model.state.following == FOLLOWING)
            await settle(pilot)
            assert "request 1, recorded" in shown(pilot.app)
            assert "exact" in shown(pilot.app)
            more = messages(user("look"), said("one"), user("and the rest?"))
            recording.pass_through("/v1/messages", more, answered(said("two"), 60))
            await until(lambda: requests(screen) == 2)
            await settle(pilot)
            assert "and the rest?" in shown(pilot.app)
            assert "request 2, recorded" in shown(pilot.app)
            assert screen.model.state.refusal
            recording.sessions.close()
            await until(lambda: screen.model.state.following == "")
            await settle(pilot)
            assert not screen.model.state.refusal


async def test_a_session_that_runs_is_followed_when_it_is_opened_from_the_list(
    services: Services, tmp_path: Path, project: Path
) -> None:
    path = tmp_path / "home/.claude/projects/-p/1.jsonl"
    here = {"cwd": str(project)}
    with Popen(["claude", "600"], executable=which("sleep"), cwd=project) as process:
        put(path, lines(*({**line, **here} for line in TURNS[0])).decode())
        async with program(services, (120, 30)) as (pilot, screen):
            await pilot.press("ctrl+o")
            await until(lambda: "Claude Code: " in shown(pilot.app))
            await typed(pilot, "brots")
            await until(lambda: screen.model.state.following == FOLLOWING)
            with path.open("ab") as file:
                file.write(lines(*TURNS[1]))
            await until(lambda: requests(screen) == 2)
        process.kill()


def test_how_exact_a_request_is_in_words() -> None:
    assert str(Exactness(True, 0)) == "exact"
    assert str(Exactness(False, 32_794)) == "partial: about 32,794 not in the file"
    assert str(Exactness(False, 0)) == "partial"
