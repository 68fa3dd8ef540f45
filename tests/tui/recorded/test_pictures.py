"""Another agent's session as it should look: what is not in the file as row and segment, a what-if and its curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tui.play import full_screen, main_screen, settle
from tui.recorded.long_run import as_session, run
from workbench.sources.services import Services
from workbench.tui.messages import Send

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]
pytestmark = pytest.mark.usefixtures("project")


SIZE = (120, 40)
STATES = (
    (
        *("recorded", "/policy recorded", ("right_curly_bracket", "left_square_bracket")),
        ("request 63, recorded", "52,370 of 200,000 tokens", "63 of 63", "+ 2 added (+345)"),
    ),
    (
        *("next", "", ("right_square_bracket",)),
        ("the next request, if it went on", "52,423 of 200,000 tokens", "next of 63"),
    ),
    ("sub-agent", "/request 6", (), ("request 6, recorded", "900 of 200,000", "6 of 63", "+ 1 added (+2)")),
    (
        *("what-if", "/policy layers", ("right_curly_bracket", "left_square_bracket")),
        ("what-if layers for request 63", "~35,092 of 200,000", "m masked file3"),
    ),
)
"""From one to the next: a name, what is said, the keys, and what is seen then at every size."""


async def test_what_was_recorded(services: Services, pictures: Pictures) -> None:
    async with full_screen(services, as_session(services, run())).run_test(size=SIZE) as pilot:
        await settle(pilot)
        main = main_screen(pilot.app)
        main.focus_pane("context")
        for size in sorted(pictures.sizes, key=SIZE.__ne__):
            await pictures.resize(pilot, size)
            for name, said, keys, words in STATES:
                if said:
                    main.send_or_run(Send(said))
                    await settle(pilot)
                await pilot.press(*keys, "home")
                await settle(pilot)
                await pictures.compare_at(SIZE, pilot, name, words)
