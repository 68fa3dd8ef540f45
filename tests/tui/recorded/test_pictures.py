"""Another agent's session as it should look: what is not in the file as row and segment, a what-if and its curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tui.play import settle
from tui.recorded.long_run import as_session, inspector, run
from workbench.session.services import Services

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]
pytestmark = pytest.mark.usefixtures("project")


@pytest.mark.parametrize(
    ("name", "said", "keys"),
    [
        ("recorded", "", ["home"]),
        ("sub-agent", "/request 6", ["home"]),
        ("next", "", ["right_square_bracket", "home"]),
        ("what-if", "/policy layers", ["home"]),
    ],
)
async def test_what_was_recorded(services: Services, pictures: Pictures, name: str, said: str, keys: list[str]) -> None:
    async with inspector(services, as_session(services, run()), (80, 24)) as (pilot, screen):
        if said:
            screen.say(said)
            await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        await pictures.compare(pilot, name, at_rest=lambda: screen.model.is_settled)
