"""The models: windows, prices, keys; servers of this machine; names nobody knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.play import program, settle, until
from tui.screens.looking import look, narrowed, seen, values
from workbench.models.keys import KeyOrigin
from workbench.models.local.discovery import FoundModel, LocalServer
from workbench.models.local.offers import OfferedModel, offers_of
from workbench.models.model_routes import ModelRoutes
from workbench.models.well_known import well_known
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send
from workbench.tui.screens.models import ModelsScreen
from workbench.tui.widgets.finder import MOST, Finder

WIDE = (160, 30)
pytestmark = pytest.mark.usefixtures("project", "machine")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One server on this machine, and the key of one provider."""
    server = LocalServer("ollama", "http://127.0.0.1:11434", (FoundModel("tiny:1b", 4096),))
    found: list[OfferedModel] = offers_of([server])
    monkeypatch.setattr(ModelRoutes, "all_offers", lambda self: found)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x" * 20)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def own_model(tmp_path: Path) -> None:
    """A model of the user's own."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[models."house/llama"]\nwindow = 32000\n')


@pytest.mark.usefixtures("own_model")
async def test_models_are_listed_found_told_of_and_used(services: Services) -> None:
    async with program(services, WIDE) as (pilot, screen):
        finder = await look(pilot, screen, "model")
        await those_with_a_key_come_first_then_those_that_need_none_then_well_known_ones(pilot, services, finder)
        await what_a_model_lacks_is_told_in_words(pilot)
        await what_is_shown_does_not_contradict_itself(pilot, finder)
        await the_marked_one_is_told_of_with_window_price_and_key(pilot)
        await the_columns_follow_the_list_also_where_the_page_next_to_it_takes_its_room_later(pilot, finder)
        assert values(await narrowed(pilot, "gpt-4o"))[0] == "gpt-4o", "the exact name is the first"
        await a_name_that_nobody_knows_may_be_used_and_its_window_is_said_to_be_a_guess(pilot, screen, finder)
        for model in ("gtp-4o", "gpt-5.3-codex-spark"):
            await a_model_without_a_key_is_never_marked_as_ready(pilot, screen, model)


async def those_with_a_key_come_first_then_those_that_need_none_then_well_known_ones(
    pilot: Pilot[Any], services: Services, finder: Finder[Any]
) -> None:
    await until(lambda: len(values(finder)) == MOST and "ollama/tiny:1b" in values(finder))
    rows = values(finder)
    machine = rows.index("local")
    known = well_known(services.catalogue.names())
    ours = [name for name in known if name.startswith("claude-")]
    assert rows[0] == "rehearsal", "the one that is used now"
    assert rows[1 : 1 + len(ours)] == ours, "of those with a key, the well-known first"
    assert all("claude" in name for name in rows[1:machine])
    assert rows[machine : machine + 3] == ["local", "ollama/tiny:1b", "house/llama"]
    assert rows[machine + 3 :][: len(known) - len(ours)] == [name for name in known if name not in ours]
    await seen(pilot, "● rehearsal", "no AI", "type to find the others", "key set")


async def what_a_model_lacks_is_told_in_words(pilot: Pilot[Any]) -> None:
    states = {
        "rehearsal": "no AI",
        "tiny": "on this machine",
        "claude": "key set",
        "gpt-4o": "no key: set OPENAI_API_KEY",
        "bedrock/": "credentials of its own",
    }
    for text, state in states.items():
        await narrowed(pilot, text)
        await seen(pilot, state)


async def what_is_shown_does_not_contradict_itself(pilot: Pilot[Any], finder: Finder[Any]) -> None:
    await narrowed(pilot, "rehearsal")
    await seen(pilot, "no network", "this program", "cl100k_base, as the rehearsal model counts")
    await narrowed(pilot, "claude")
    await seen(pilot, "1,000,000", "200,000")
    assert not re.search(r"\d[kM]\b", " ".join(str(option.prompt) for option in finder.found.options))


async def the_marked_one_is_told_of_with_window_price_and_key(pilot: Pilot[Any]) -> None:
    await narrowed(pilot, "gpt-4.1")
    await seen(pilot, "no key: set OPENAI", "1,047,576 tokens", "$2.00 in, $8.00 out per million", "set OPENAI_API_KEY")
    await narrowed(pilot, "tiny:1b")
    await seen(pilot, "4,096 tokens", "(server)", "http://127.0.0.1:11434", "none is needed")
    await narrowed(pilot, "claude")
    await seen(pilot, "ANTHROPIC_API_KEY, from the environment")
    await narrowed(pilot, "bedrock/")
    await seen(pilot, "credentials of its own", "the provider's own kind")
    assert values(await narrowed(pilot, "house")) == ["house/llama", "house"], "the user's own is among them"
    await seen(pilot, "32,000 tokens", "(config)")


async def the_columns_follow_the_list_also_where_the_page_next_to_it_takes_its_room_later(
    pilot: Pilot[Any], finder: Finder[Any]
) -> None:
    await narrowed(pilot, "claude")
    await seen(pilot, "key set")
    finder.page.display = False  # the list has all the room, then half of it; the screen's size stays
    await until(lambda: finder.found.size.width > 100)
    finder.refill()
    await settle(pilot)
    finder.page.display = True
    await until(lambda: finder.found.size.width < 100)
    await settle(pilot)
    await seen(pilot, "key set")


async def a_name_that_nobody_knows_may_be_used_and_its_window_is_said_to_be_a_guess(
    pilot: Pilot[Any], screen: MainScreen, finder: Finder[Any]
) -> None:
    await narrowed(pilot, "gtp-4o")
    assert values(finder) == ["gtp-4o"]
    await seen(pilot, "use this name as it is", "~128,000", "Unknown model", "Did you mean")
    await pilot.press("enter")
    await settle(pilot)
    await until(lambda: screen.model.state.status.model == "gtp-4o")


async def a_model_without_a_key_is_never_marked_as_ready(pilot: Pilot[Any], screen: MainScreen, model: str) -> None:
    screen.send_or_run(Send(f"/model {model}"))
    await until(lambda: (screen.model.state.status.model, screen.model.state.status.ready) == (model, "no key"))
    await pilot.press("f7")  # a key opens the list
    await until(lambda: isinstance(pilot.app.screen, ModelsScreen))
    await narrowed(pilot, model)
    await seen(pilot, f"○ {model}  now")
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is screen)


def test_the_newest_of_each_family_is_well_known() -> None:
    names = ["gpt-5", "gpt-5.6", "gpt-5.6-2026-01-01", "gpt-5.4-mini", "claude-opus-4-8", "claude-opus-5-5", "gpt-4o"]
    assert well_known(names) == ("claude-opus-5-5", "gpt-5.6", "gpt-5.4-mini")
    assert well_known(["mistral/mistral-large-2512", "mistral/mistral-large-4"]) == ("mistral/mistral-large-4",)
    assert well_known(["my/own"]) == ()


async def test_a_key_store_that_hangs_is_asked_once(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def hangs(self: ModelRoutes, model: str) -> KeyOrigin:
        asked.append(model)
        return KeyOrigin("none", ("SOME_KEY",), problem="the key store did not answer within 5 s")

    monkeypatch.setattr(ModelRoutes, "key", hangs)
    async with program(services) as (pilot, screen):
        await settle(pilot)
        asked.clear()
        await look(pilot, screen, "model")
        await seen(pilot, "on this machine")
        assert len(asked) == 1
