"""The whole pane as it should look; and its colours, in every theme that is shipped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.pilot import Pilot

from tui.chat.host import ASKED, Host, ListTranscript, called, said, settle
from tui.contrast import faint_texts
from workbench.session.observable import NO_DRAFT
from workbench.tui.themes import load_themes
from workbench.views.values import Activity, DraftCost, EntryState, LiveAnswer, LiveCall

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]

ANSWER = """The fixture opens the database **twice**, so the second `connect` waits for a lock.

1. look at `conftest.py`
2. close what it opens

```python
def login(user):
    with connect() as database:
        return database.find(user)
```

| file | what it does | tokens |
|---|---|---|
| auth.py | opens the database | 412 |

> See [the docs](http://example.org).
"""
TALK = [
    *said(("system", "You are a careful programmer."), ("you", "why does the login test fail?"), first=1),
    *said(("reasoning", "First the test. " * 20), ("ai", "I will run it."), first=3),
    called(5, "run_command", '{"command": "pytest -x"}', "FAILED test_login\n" * 30, is_error=True, seconds=2.13),
    called(7, "read_file", '{"path": "auth.py", "limit": 200}', "import sqlite3\n" * 60, seconds=0.02),
    *said(("ai", ANSWER), ("notice", "policy: layers"), ("failure", "no answer within 60 s"), first=9),
    *said(("summary", "# Goal\n\nMend the login."), ("you", "and now? 漢字 [/b]"), first=12),
    *[entry._replace(finish="cancelled") for entry in said(("ai", "I am not"), first=14)],
]
STANDINGS = {
    2: EntryState("summarised", 0, 30, False, "compacted with 12 others"),
    5: EntryState("truncated", 8_000, 52_113, False, "52,113 tokens are over the cap of 8,000; both ends are kept"),
    7: EntryState("masked", 14, 1_204, False, "result 3 of 9 is neither among the first 2 nor the last 5"),
    12: EntryState("sent", 210, 210, True, ""),
}
Act = Callable[[Host, Pilot[Any]], Awaitable[None]]


async def resting(app: Host, pilot: Pilot[Any]) -> None:
    """A draft, at the end of a talk."""
    app.draft_cost = DraftCost(212, 84_422, 47_578, free=43_578)
    await pilot.press(*"and", "ctrl+j", *"this")


async def call(app: Host, pilot: Pilot[Any]) -> None:
    """A call with all that is known of it."""
    await _unfold(app, pilot, 5)


async def reasoning(app: Host, pilot: Pilot[Any]) -> None:
    """What the model thought before it said something."""
    await _unfold(app, pilot, 3)


async def _unfold(app: Host, pilot: Pilot[Any], seq: int) -> None:
    app.pane.show_event(seq)
    await settle(pilot)
    await pilot.press("enter")


async def answering(app: Host, pilot: Pilot[Any]) -> None:
    """An answer that comes in, a call that runs, messages that wait."""
    app.activity = Activity("tools", "run_command")
    running = LiveCall("c9", "run_command", '{"command": "make -j2"}', "running", "cc a.c\ncc b.c\n")
    app.live = LiveAnswer("1", "hm " * 50, "Some *text*.\n\n- one\n- two\n\n```python\nimport", (running,))
    app.queue = ("and then the docs", "and the tests")


async def slash(app: Host, pilot: Pilot[Any]) -> None:
    """The commands that begin with what was typed."""
    await pilot.press("/")


async def file(app: Host, pilot: Pilot[Any]) -> None:
    """The files of the project, with what each would add."""
    await pilot.press(*"see @a")


async def asking(app: Host, pilot: Pilot[Any]) -> None:
    """A question that the user has turned to."""
    app.activity = Activity("waiting", "run_command")
    app.draft_cost = DraftCost(9_000, 130_000, -2_000)
    await pilot.press("x")
    app.question = ASKED._replace(detail="auth.py\n- connect()\n+ with connect() as database:\n+     pass")
    await settle(pilot)
    await pilot.press("tab")


WORDS: dict[Act, tuple[str, ...]] = {
    resting: (
        "· 212 tokens, leaves",
        "■ you stopped the answer here",
        "R asks again",
        "See the docs (http://example.org).",
    ),
    call: (
        "▾ Bash pytest -x",
        "run_command · event 5 · turn 1",
        "8,000 of 52,113 t · truncated: 52,113 tokens are over",
    ),
    reasoning: ("▾ reasoning", "First the test. First the test."),
    answering: (
        "waits 1: and then the docs",
        "Alt+↑ edits it",
        "● running: run_command Esc stop",
        "Bash make -j2 … running",
    ),
    slash: ("▸ /compact make room now", "/model NAME talk to another model"),
    file: ("▸ auth.py about 225 t", "tables.sql about 8 t"),
    asking: ("? run_command: may the model run a command?", "c this command (this session), C always", "does not fit"),
}


async def back(app: Host, pilot: Pilot[Any]) -> None:
    """To the end of the talk and an empty composer, with nothing going on."""
    app.session.change_state(activity=Activity(), draft_cost=NO_DRAFT, live=None, question=None, queue=())
    if app.pane.view.has_focus:
        await pilot.press("enter", "end")
    app.pane.composer.text = ""
    app.pane.take_focus()
    await settle(pilot)


async def test_the_pane(project: Path, pictures: Pictures) -> None:
    (project / "auth.py").write_text("import sqlite3\n" * 60, "utf-8")
    (project / "tables.sql").write_text("create table users (name text);\n", "utf-8")
    app = Host(ListTranscript(list(TALK), STANDINGS), project)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for size in pictures.sizes:
            await pictures.resize(pilot, size)
            for act, words in WORDS.items():
                await act(app, pilot)
                await pictures.compare_at((80, 24), pilot, act.__name__, words)
                await back(app, pilot)


async def test_the_pane_at_rest(project: Path, pictures: Pictures) -> None:
    (project / "auth.py").write_text("import sqlite3\n" * 60, "utf-8")
    (project / "tables.sql").write_text("create table users (name text);\n", "utf-8")
    for size, theme in (((200, 60), "ink"), ((120, 40), "paper")):
        app = Host(ListTranscript(list(TALK), STANDINGS), project)
        app.theme = theme
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            await resting(app, pilot)
            await pictures.compare_now(pilot, f"{size[0]}x{size[1]}-{theme}", WORDS[resting])


async def test_everything_can_be_read_in_every_theme() -> None:
    app = Host(ListTranscript(list(TALK), STANDINGS))
    async with app.run_test(size=(120, 70)) as pilot:
        await answering(app, pilot)
        await asking(app, pilot)
        for theme in load_themes().themes:
            app.theme = theme.name
            await settle(pilot)
            assert faint_texts(app) == [], theme.name
