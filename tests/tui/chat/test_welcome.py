"""An empty chat is a welcome: what there is to try, what can be opened, and who answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.play import Script, answer, newest, program, settle, shown, told, typed, until
from workbench.config.folders import work_folder
from workbench.log.events import Body, Usage, UserMessage
from workbench.sources.services import Services
from workbench.tui.chat.welcome import welcome_lines
from workbench.tui.main.screen import MainScreen
from workbench.views.values import Welcome, WelcomeLists, WelcomeSession

pytestmark = pytest.mark.usefixtures("project")

SIZES = [(80, 24), (100, 28), (120, 40), (200, 60)]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the user's own, without keys, in which Claude Code worked: here, and elsewhere after that."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, folder in (("here", tmp_path / "project"), ("there", tmp_path / "home" / "shop")):
        path = tmp_path / "home" / ".claude" / "projects" / name / "1.jsonl"
        path.parent.mkdir(parents=True)
        content = f"[b]{name}\x1b[31m: why?"
        said = {
            "type": "user",
            "uuid": "u",
            "sessionId": "s",
            "cwd": str(folder),
            "message": {"role": "user", "content": content},
        }
        path.write_text(json.dumps(said))
    return tmp_path / "home"


@pytest.fixture
def earlier(services: Services) -> str:
    """A session of this folder."""
    bodies: list[Body] = [UserMessage("bread?"), Usage("m", 10, prompt=1_200, completion=34)]
    with services.store.create(bodies, title="bread", folder=work_folder()) as session:
        return session.id


async def found(screen: MainScreen) -> None:
    """Wait until other agents' sessions were looked for."""
    await until(lambda: screen.model.state.welcome is not None and not screen.model.state.welcome.lists.searching)


@pytest.mark.long
@pytest.mark.parametrize("size", [SIZES[0], *(pytest.param(size, marks=pytest.mark.wide) for size in SIZES[1:])])
async def test_an_empty_chat_says_what_to_do_and_what_there_is(
    size: tuple[int, int], services: Services, earlier: str
) -> None:
    async with program(services, size) as (pilot, screen):
        screen.model.new_session()
        await settle(pilot)
        await found(screen)
        await settle(pilot)
        text = " ".join(shown(pilot.app).split())
        for said in ("Workbench: ", "Enter say something", "Ctrl+O open a session", "F7 choose a model", "/demo look"):
            assert said in text
        for said in (
            "no model configured",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY,",
            "press F7",
            "F1 help",
            "Ctrl+P",
            "Ctrl+Q quit",
        ):
            assert said in text
        assert ("bread 1,234 tokens" if size == SIZES[0] else "bread") in text  # a column of the split has less room
        assert text.index("[b]here") < text.index("[b]there"), "those of this folder come first"
        assert "\x1b" not in text
        assert told(pilot.app) == "", "nothing lies over the keys"


@pytest.mark.long
async def test_at_every_size_it_is_what_it_would_be_had_it_begun_there(services: Services) -> None:
    async with program(services, (120, 40)) as (pilot, screen):
        await found(screen)
        for width, height in ((80, 24), (60, 15), (200, 60), (100, 28), (80, 12), (81, 40)):
            await pilot.resize_terminal(width, height)
            await settle(pilot)
            greeting, welcome = screen.chat.greeting, screen.model.state.welcome
            assert welcome is not None
            assert greeting._drawn == welcome_lines(welcome, *greeting.size)
            assert greeting.option_count == len(greeting._drawn)
            assert greeting.max_scroll_y == 0


async def test_without_a_model_other_agents_sessions_come_first_and_say_how_they_open(services: Services) -> None:
    async with program(services, (80, 24)) as (pilot, screen):
        await found(screen)
        await settle(pilot)
        text = " ".join(shown(pilot.app).split())
        assert "other agents' sessions on this machine: ↓ and Enter, or a click, open one" in text
        assert text.index("[b]here") < text.index("Enter say something") < text.index("no model configured")
        assert "↓ open a session" in text
        await pilot.press("down", "enter")
        await until(lambda: "here/1.jsonl" in screen.model.state.title)
        await settle(pilot)
        text = shown(pilot.app)
        assert "Enter send" not in text
        assert "read-only: a message makes a session of it" in text


def test_with_a_model_what_can_be_said_comes_first() -> None:
    agents = (WelcomeSession("ref", "a session", 0, "Codex"),)
    made = welcome_lines(Welcome(WelcomeLists((), agents, False), "gpt-4o: ready"), 80, 40)
    told = [each.content.plain for each in made]
    (talk,) = (at for at, each in enumerate(told) if "say something" in each)
    (opened,) = (at for at, each in enumerate(told) if "a session  " in each and "Codex" in each)
    assert talk < opened


async def test_the_rows_are_reached_by_keys_and_open(services: Services, earlier: str) -> None:
    async with program(services) as (pilot, screen):
        screen.model.new_session()
        await found(screen)
        await settle(pilot)
        await pilot.press("down")
        assert screen.chat.greeting.has_focus
        await pilot.press("up")
        assert screen.chat.composer.has_focus
        await pilot.press("tab", "escape")
        assert screen.chat.composer.has_focus
        await pilot.press("tab", *["j"] * 7, "enter")
        await until(lambda: screen.model.state.title == "bread")
        await settle(pilot)
        assert screen.model.state.welcome is None
        assert screen.chat.composer.has_focus, "the welcome is gone, and with it its focus"
        assert not screen.chat.greeting.display


@pytest.mark.long
async def test_another_agents_session_is_opened_by_mouse(services: Services) -> None:
    async with program(services) as (pilot, screen):
        await found(screen)
        await settle(pilot)
        lines = shown(pilot.app).splitlines()
        row = next(at for at, line in enumerate(lines) if "[b]there" in line)
        await pilot.click(offset=(lines[row].index("there"), row))
        await until(lambda: "there/1.jsonl" in screen.model.state.title)
        await settle(pilot)
        assert "[b]there" in shown(pilot.app)


@pytest.mark.long
async def test_it_goes_with_the_first_word(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("rye rises slowly")).play(monkeypatch)
    async with program(services) as (pilot, screen):
        await typed(pilot, "bread")
        assert screen.model.state.welcome is None
        assert "rye rises slowly" in shown(pilot.app)


async def test_a_file_without_messages_says_so(services: Services, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    with services.store.create(title="nothing") as session:
        name = session.id
    empty.write_text("\n".join(services.store.export_events(name)))
    async with program(services, ref=str(empty)) as (pilot, _):
        await until(lambda: "This file holds no messages." in shown(pilot.app))
        assert "say something" not in shown(pilot.app)


@pytest.mark.long
@pytest.mark.parametrize(
    ("environ", "model", "said"),
    [
        ({}, "", "no model configured"),
        ({"OPENAI_API_KEY": "k"}, "", "OPENAI_API_KEY is set: F7 chooses one of its models"),
        ({}, "gpt-4o", "gpt-4o: no key. Set OPENAI_API_KEY, or press F7"),
        ({"OPENAI_API_KEY": "k"}, "gpt-4o", "gpt-4o: ready"),
        ({}, "rehearsal", "rehearsal answers by rule, without AI"),
    ],
)
async def test_who_answers_and_what_to_do_about_it(
    environ: dict[str, str], model: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(f'model = "{model}"')
    with Services() as services:
        assert newest(services) == ""
        async with program(services, (100, 40)) as (_, screen):
            await until(lambda: said in " ".join(welcome_text(screen)))


def welcome_text(screen: MainScreen) -> list[str]:
    assert screen.model.state.welcome is not None
    return [screen.model.state.welcome.model, screen.model.state.welcome.advice]


TALKS, AGES = st.text(max_size=90), st.integers(0, 2**42)
OWN = st.builds(WelcomeSession, st.just("ref"), TALKS, AGES, st.just(""), tokens=st.none() | st.integers(0, 2**30))
AGENTS = st.builds(WelcomeSession, st.just("ref"), TALKS, AGES, st.just("Claude Code"), TALKS)
WELCOMES = st.builds(
    Welcome,
    st.builds(
        WelcomeLists, st.lists(OWN, max_size=8).map(tuple), st.lists(AGENTS, max_size=8).map(tuple), st.booleans()
    ),
    st.text("a ", min_size=1, max_size=60),
    st.text("b ", max_size=60),
    st.just("") | TALKS,
)


@given(WELCOMES, st.integers(20, 200), st.integers(1, 60))
def test_no_line_is_too_long_and_what_matters_is_kept_longest(welcome: Welcome, width: int, height: int) -> None:
    made, everything = (welcome_lines(welcome, width, each) for each in (height, 999))
    assert len(made) == min(height, len(everything))
    assert all(each.content.cell_length <= width for each in made)
    dropped = max((each.rank for each in made), default=0)
    left = [each.rank for each in everything if each not in made]
    assert all(rank >= dropped for rank in left)
