"""The whole pane as it should look; and its colours, in every theme that is shipped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color
from textual.pilot import Pilot

from tui.chat.host import ASKED, Host, ListTranscript, called, said, settle
from workbench.session.values import Activity, DraftCost, EntryState, Live, LiveCall
from workbench.tui.themes import load_themes

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
    app.live = Live("1", "hm " * 50, "Some *text*.\n\n- one\n- two\n\n```python\nimport", (running,))
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


@pytest.mark.parametrize(
    "act", [resting, call, reasoning, answering, slash, file, asking], ids=lambda act: act.__name__
)
async def test_the_pane(act: Act, project: Path, pictures: Pictures) -> None:
    (project / "auth.py").write_text("import sqlite3\n" * 60, "utf-8")
    (project / "tables.sql").write_text("create table users (name text);\n", "utf-8")
    app = Host(ListTranscript(list(TALK), STANDINGS), project)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await act(app, pilot)
        await pictures.compare(pilot, act.__name__)


async def on_screen(act: Act, size: tuple[int, int], theme: str, look: Callable[[Host], Any]) -> Any:
    """Do something and look at the screen."""
    app = Host(ListTranscript(list(TALK), STANDINGS))
    app.theme = theme
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await act(app, pilot)
        await settle(pilot)
        return look(app)


THEMES = [theme.name for theme in load_themes().themes]


@pytest.mark.parametrize("theme", THEMES)
async def test_everything_can_be_read_in_every_theme(theme: str) -> None:
    assert await on_screen(everything, (120, 70), theme, _faint) == []


async def everything(app: Host, pilot: Pilot[Any]) -> None:
    """As much as a screen holds."""
    await answering(app, pilot)
    await asking(app, pilot)


def _faint(app: Host) -> list[tuple[str, float]]:
    """Texts that hardly stand out from what is behind them, with the contrast they have."""
    found = []
    for strip in app.screen._compositor.render_strips():
        for text, style, _ in strip:
            if any(char.isalnum() for char in text) and style is not None and (contrast := _contrast(style)) < 3:
                found.append((text, contrast))
    return found


def _contrast(style: Style) -> float:
    """As the accessibility guidelines reckon it: 3 is the least for what is not running text."""
    if style.color is None or style.bgcolor is None:
        return 21.0
    bright, dark = sorted((_luminance(style.color), _luminance(style.bgcolor)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(color: RichColor) -> float:
    parts = [part / 255 for part in Color.from_rich_color(color).rgb]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
