"""Another agent's session as it should look: what is not in the file as row and segment, a what-if and its curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.pilot import Pilot

from tui.play import full_screen, main_screen, settle
from tui.recorded.long_run import as_session, run
from workbench.sources.services import Services
from workbench.tui.messages import Send

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]
pytestmark = pytest.mark.usefixtures("project")


@pytest.mark.parametrize(
    ("said", "keys", "words"),
    [
        ("", ["home"], ("request 63, recorded", "52,370 of 200,000 tokens", "63 of 63", "+ 2 added (+345)")),
        ("/request 6", ["home"], ("request 6, recorded", "900 of 200,000", "6 of 63", "+ 1 added (+2)")),
        (
            "",
            ["right_square_bracket", "home"],
            ("the next request, if it went on", "52,423 of 200,000 tokens", "next of 63"),
        ),
        ("/policy layers", ["home"], ("what-if layers for request 63", "~35,092 of 200,000", "m masked file3")),
    ],
    ids=["recorded", "sub-agent", "next", "what-if"],
)
def test_what_was_recorded(
    services: Services, pictures: Pictures, said: str, keys: list[str], words: tuple[str, ...]
) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        main = main_screen(pilot.app)
        main.focus_pane("context")
        await settle(pilot)
        if said:
            main.send_or_run(Send(said))
            await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)

    pictures.compare(full_screen(services, as_session(services, run())), act, words=words, size=(120, 40))
