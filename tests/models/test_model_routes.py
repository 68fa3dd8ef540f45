"""The ways to models: addresses, keys and patience, by the settings and by what is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.local_servers import WINDOW, patiently, serving, vllm
from workbench.config.errors import WrongCall
from workbench.config.settings import Settings
from workbench.models import keys
from workbench.models.catalogue import Catalogue
from workbench.models.endpoints import NO_KEY, Endpoint
from workbench.models.keys import KeyOrigin
from workbench.models.model_routes import ModelRoutes


def reach(**settings: object) -> ModelRoutes:
    return ModelRoutes(Settings(file=Path("c.toml"), **settings), Catalogue())  # type: ignore[arg-type]  # plain dicts


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key store that holds Anthropic's key."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setattr(keys, "find_spec", lambda name: object())
    monkeypatch.setattr(
        keys,
        "_stored",
        lambda names: (
            KeyOrigin("key store", names, names[0], "k") if "ANTHROPIC_API_KEY" in names else KeyOrigin("none")
        ),
    )


def test_a_key_of_the_store_goes_with_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reach().endpoint("claude-sonnet-4-5") == Endpoint("", "k")
    assert reach().endpoint("gpt-4o") == Endpoint()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "in the environment")
    assert reach().endpoint("claude-sonnet-4-5") == Endpoint(), "litellm finds that one by itself"


def test_where_no_key_is_found_the_endpoint_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("workbench.models.keys.find_spec", lambda _: None)
    assert reach().endpoint("gpt-4o").lacks_key == "OPENAI_API_KEY"
    assert not reach().endpoint("gpt-4o", "http://127.0.0.1:9/v1").lacks_key, "a server of one's own may need none"
    assert not reach().endpoint("nobody-knows-this").lacks_key
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert not reach().endpoint("gpt-4o").lacks_key


def test_the_address_of_a_call_wins_over_that_of_the_settings() -> None:
    ways = reach(models={"house": {"api_base": "http://house/v1"}})
    assert ways.endpoint("house") == Endpoint("http://house/v1")
    assert ways.endpoint("house", "http://other/v1") == Endpoint("http://other/v1")


def test_a_server_is_asked_once_for_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    patiently(monkeypatch)
    with serving(vllm("m")) as server:
        ways = reach(servers={"vllm": server.port})
        found = ways.offer("vllm/m")
    assert found is not None
    assert found.model.window == WINDOW
    assert ways.offer("vllm/m") is found, "the server is gone by now"
    assert ways.endpoint("vllm/m") == Endpoint(f"{server.url}/v1", NO_KEY, "openai", "m")
    assert ways.offer("vllm/m", "http://elsewhere") is None
    assert ways.offer("gpt-4o") is None


def test_patience_and_schedule_come_from_the_settings() -> None:
    ways = reach(requests={"first_token_seconds": 5, "tries": 2})
    assert (ways.patience("gpt-4o").first, ways.schedule.tries) == (5, 2)


@pytest.mark.parametrize("settings", [{"servers": {"x": 1}}, {"requests": {"x": 1}}])
def test_a_wrong_table_is_told_at_once(settings: dict[str, object]) -> None:
    with pytest.raises(WrongCall, match=r"^c\.toml: "):
        reach(**settings)
