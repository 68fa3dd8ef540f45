"""Completion: slash commands from the registry, files of the project with what they cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.chat.host import Host, settle
from tui.small_app import screen_of
from workbench.tui.chat import completion
from workbench.tui.chat.completion import CompletionQuery, ProjectFiles, completion_query, nearest_paths
from workbench.tui.messages import Send


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with things that nobody means."""
    (tmp_path / "src").mkdir()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n", "utf-8")
    (tmp_path / "src" / "auth.py").write_text("import os\n" * 10, "utf-8")
    (tmp_path / "src" / "my notes.md").write_text("notes", "utf-8")
    (tmp_path / "src" / "data.bin").write_bytes(b"\0" * 10)
    (tmp_path / "auth.log").write_text("no", "utf-8")
    (tmp_path / "node_modules" / "auth.js").write_text("no", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("before", "is_all", "expected"),
    [
        ("/comp", True, CompletionQuery("slash", "/comp")),
        ("/model gp", True, CompletionQuery("slash", "/model gp")),
        ("/comp", False, None),
        ("/a\nb", True, None),
        ("look at @src/au", True, CompletionQuery("file", "src/au")),
        ("@", False, CompletionQuery("file", "")),
        ("(@a", True, CompletionQuery("file", "a")),
        ("ann@example", True, None),
        ("@a b", True, None),
        ("", True, None),
    ],
)
def test_what_is_being_typed(before: str, is_all: bool, expected: CompletionQuery | None) -> None:
    assert completion_query(before, is_all) == expected


def test_files_that_git_ignores_are_not_offered_and_each_says_what_it_costs(project: Path) -> None:
    found = {offer.label: (offer.text, offer.help) for offer in ProjectFiles(project, count=len).offers("")}
    assert found == {
        ".gitignore": ("@.gitignore ", "6 t"),
        "src/auth.py": ("@src/auth.py ", "100 t"),
        "src/data.bin": ("@src/data.bin ", "10 bytes, no text"),
        "src/my notes.md": ('@"src/my notes.md" ', "5 t"),
    }
    assert ProjectFiles(project).offers("auth")[0].help == "about 25 t"


def test_a_large_file_is_not_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "MOST_COUNTED", 50)
    assert ProjectFiles(project, count=len).offers("auth.py")[0].help == "about 25 t"


def test_a_file_that_is_gone_says_so_and_the_list_is_made_anew_when_it_is_forgotten(project: Path) -> None:
    files = ProjectFiles(project)
    assert files.offers("auth")
    (project / "src" / "auth.py").unlink()
    assert files.offers("auth")[0].help == "cannot be read"
    files.forget()
    assert files.offers("auth") == []


def test_a_project_without_end_is_cut_off(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "MOST_FILES", 2)
    assert len(ProjectFiles(project).offers("")) == 2
    monkeypatch.setattr(completion, "SECONDS", -1.0)
    assert ProjectFiles(project).offers("") == []


@given(st.lists(st.from_regex(r"[ab/]{1,8}", fullmatch=True), max_size=30), st.from_regex(r"[ab]{0,2}", fullmatch=True))
def test_what_is_offered_always_holds_what_was_typed(paths: list[str], text: str) -> None:
    found = nearest_paths(paths, text)
    assert all(text in path for path in found)
    assert len(found) <= completion.ROWS


def test_names_that_begin_with_it_come_first() -> None:
    assert nearest_paths(["x/tests/a.py", "src/test_b.py", "my_test.py"], "test") == [
        "src/test_b.py",
        "my_test.py",
        "x/tests/a.py",
    ]


async def test_a_file_is_completed_where_it_stands(project: Path) -> None:
    app = Host([], project)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"see @auth")
        await settle(pilot)
        assert "▸ src/auth.py  about 25 t" in screen_of(app)
        await pilot.press("tab")
        await settle(pilot)
        assert app.pane.composer.text == "see @src/auth.py "
        assert "about 25 t" not in screen_of(app)
        await pilot.press("enter")
        assert [message.text for message in app.posted(Send)] == ["see @src/auth.py "]


async def test_enter_takes_a_file_and_arrows_choose_another(project: Path) -> None:
    app = Host([], project)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("@", "s", "r", "c")
        await settle(pilot)
        await pilot.press("down", "down", "down", "up", "enter")
        await settle(pilot)
        assert app.pane.composer.text == '@"src/my notes.md" '
        assert app.posted(Send) == []


async def test_escape_closes_what_is_offered_and_keeps_the_text(project: Path) -> None:
    app = Host([], project)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("@")
        await settle(pilot)
        assert app.pane.offers.offers
        await pilot.press("escape")
        assert app.pane.offers.offers == ()
        assert app.pane.composer.text == "@"
        await pilot.press("left")
        assert app.pane.composer.text == "@"


async def test_slash_commands_are_completed_and_run() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("/")
        await settle(pilot)
        assert "▸ /compact     make room now" in screen_of(app)
        await pilot.press(*"mo", "enter")
        await settle(pilot)
        assert app.pane.composer.text == "/model "
        await pilot.press(*"x", "enter")
        await pilot.press(*"/tokens", "enter")
        assert [message.text for message in app.posted(Send)] == ["/model x", "/tokens"]


async def test_enter_runs_a_command_that_is_complete() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for keys in ("/toke", "/tokens", "/model "):
            await pilot.press(*keys)
            await settle(pilot)
            await pilot.press("enter")
            await settle(pilot)
        asked = [message.text for message in app.posted(Send)]
        assert asked == ["/tokens", "/tokens", "/model "], "a prefix, the name, and a name as a Tab leaves it"


async def test_what_arrows_chose_is_taken_by_enter() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("/")
        await settle(pilot)
        await pilot.press("down", "enter")
        await settle(pilot)
        assert app.pane.composer.text == "/model ", "it may go on"
        assert app.posted(Send) == []


async def test_a_click_takes_an_offer() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("/")
        await settle(pilot)
        await pilot.click("CompletionList", offset=(4, 2))
        await settle(pilot)
        assert app.pane.composer.text == "/tokens"
        assert app.pane.composer.has_focus
