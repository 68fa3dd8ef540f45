"""One wiring for every way in: what holds on the screen holds for `ask`, and the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.play import opened
from workbench.agent.turn_services import TurnServices
from workbench.config.errors import WrongCall
from workbench.log.events import AssistantMessage, Failure
from workbench.session import opening
from workbench.session.connection import TurnConnection
from workbench.sources.options import Options
from workbench.sources.services import Services

pytestmark = [pytest.mark.xdist_group("litellm"), pytest.mark.usefixtures("project")]

GONE = "local:/no/such/file.gguf"


def configure(text: str, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "config.toml").write_text(text)


async def test_a_configured_fallback_helps_the_screen_where_the_embedded_model_cannot_start(
    services: Services, tmp_path: Path
) -> None:
    configure(f'model = "{GONE}"\nfallback = ["rehearsal"]\n', tmp_path)
    async with opened(services) as on:
        on.model.send("hello")
        await on.settled()
        bodies = [event.body for event in await on.ask(lambda now: list(now.events))]
    [failure] = [body for body in bodies if isinstance(body, Failure)]
    assert "/no/such/file.gguf: No such file" in failure.message
    assert [body.model for body in bodies if isinstance(body, AssistantMessage)] == ["rehearsal"]


def test_a_new_session_that_cannot_be_set_up_is_not_there(services: Services) -> None:
    with pytest.raises(WrongCall, match="no_such_policy"):
        opening.new_session(services, Options(policy="no_such_policy"))
    assert services.store.list() == []


async def test_what_a_turn_needs_is_checked_before_it_is_connected(services: Services, tmp_path: Path) -> None:
    configure("[mcp.notes]\ncommand = 7\n", tmp_path)
    with pytest.raises(WrongCall, match="notes"):
        TurnConnection(services, Options()).checked_preconditions()


async def test_turns_of_one_session_share_their_services(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[TurnServices] = []
    connected = TurnConnection._connected

    async def counted(*arguments: object) -> TurnServices:
        made.append(await connected(*arguments))  # type: ignore[arg-type]  # handed on as they came
        return made[-1]

    monkeypatch.setattr(TurnConnection, "_connected", counted)
    now = opening.new_session(services, Options(model="rehearsal"))
    assert now.session is not None
    with now.session:
        async with TurnConnection(services, Options()) as connection:
            first = await connection.agent(now)
            assert await connection.agent(now) is first
            now.off = ("write_file",)
            assert await connection.agent(now) is not first, "it has other tools"
    assert len(made) == 1
