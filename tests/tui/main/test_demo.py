"""The demo is thrown away: whatever is done in it, the user's folders are as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.play import SMALL, Script, answer, call, program, settle, until
from workbench.agent.approvals import FILE_NAME, SavedApprovals, load_saved, save_patterns
from workbench.config.paths import config_dir, data_dir
from workbench.context import policy_files
from workbench.log.events import UserMessage
from workbench.sources.services import Services
from workbench.tui import demo
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send


async def next_question(screen: MainScreen, last: int) -> int:
    """The number of the question after this one."""
    await until(lambda: screen.model.state.question is not None and screen.model.state.question.number != last)
    assert screen.model.state.question is not None
    return screen.model.state.question.number


OURS = SavedApprovals(("run_command:git *",), ("run_command:rm *",))


def everything(*folders: Path) -> dict[str, tuple[int, bytes]]:
    """All files under the folders: when each was written, and what is in it."""
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for folder in folders
        for path in (folder, *sorted(folder.rglob("*")))
    }


@pytest.fixture
def before() -> dict[str, tuple[int, bytes]]:
    """A user who has set this and that, and has a session."""
    with Services() as services:
        services.store.create([UserMessage("mine")], title="mine").close()
    config_dir().mkdir()
    (config_dir() / "config.toml").write_text('theme = "paper"\n[keys]\ntokens = "ctrl+l"\n')
    save_patterns(config_dir() / FILE_NAME, OURS)
    policy_files.save_policy("mine", "layers", {"masking.keep_last": 4})
    return everything(config_dir(), data_dir())


async def test_answers_policies_and_sessions_of_the_demo_are_not_kept(
    before: dict[str, tuple[int, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(
        call("run_command", '{"command": "true"}', 1),
        call("run_command", '{"command": "false"}', 2),
        answer("Done."),
    ).play(monkeypatch)
    with demo.demo_folders() as ref, Services() as services:
        copy = config_dir()
        async with program(services, SMALL, ref) as (pilot, screen):
            assert screen.services.settings.theme == "paper", "what the user has set holds"
            screen.send_or_run(Send("run them"))
            asked = 0
            for choice in ("always run_command:true", "never"):
                asked = await next_question(screen, asked)
                screen.model.answer(asked, choice)
            await until(lambda: screen.model.state.question is None)
            await settle(pilot)
            await screen.model.forget_approval(OURS.never[0])
            policy_files.save_policy("other", "codex", {"masking.keep_last": 4})
            for text in ("/rename other", "/policy other", "/digest", "/theme ink", "/fork", "/new"):
                screen.send_or_run(Send(text))
                await settle(pilot)
                await pilot.press("y")
                await settle(pilot)
            answers = load_saved(copy / FILE_NAME)
            assert len(answers.always) == 2
            assert [pattern for pattern in answers.never if pattern not in OURS.never] == list(answers.never) != []
    assert not copy.exists()
    assert everything(config_dir(), data_dir()) == before


def test_a_user_without_folders_has_none_afterwards() -> None:
    with demo.demo_folders(), Services():
        assert list(config_dir().iterdir()) == []
    assert not config_dir().exists()
    assert not data_dir().exists()
