"""What every way of looking at a session has in common: the setup that the services make."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.local_servers import WINDOW, ollama, patiently, serving
from workbench.log.events import Setting, UserMessage
from workbench.log.learnt_windows import LearntWindow, window_setting
from workbench.models.model_routes import ModelRoutes
from workbench.sources.compactors import compactor_for
from workbench.sources.options import Options
from workbench.sources.services import Services


def test_a_learnt_window_is_in_every_setup_of_the_session() -> None:
    with Services() as services:
        with services.store.create([Setting("model", "gpt-4o"), UserMessage("hi")]) as session:
            session.append(window_setting("gpt-4o", LearntWindow(20_000)))
        limits = services.set_up(Options(), services.source(session.id)).limits
        assert (limits.window, limits.window_source) == (20_000, "provider")
        assert services.set_up(Options(model="gpt-4"), services.source(session.id)).limits.window_source == "catalogue"
        assert services.set_up(Options(window=5_000), services.source(session.id)).limits.window == 5_000


@pytest.mark.parametrize(("written", "name"), [('policy = "codex"\n', "codex"), ("", "workbench")])
def test_our_own_sessions_begin_with_the_policy_of_the_settings(tmp_path: Path, written: str, name: str) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(written)
    with Services() as services:
        assert services.own_policy("gpt-4o").policy.name == name


def test_a_model_to_fall_back_on_is_prepared_without_the_wishes_for_another(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        '[models.house]\nwindow = 9_000\napi_base = "http://house/v1"\n[requests]\nfirst_token_seconds = 7\n'
    )
    options = Options(policy="layers", knobs=("masking.keep_last=3",), window=100, reserve=1, model="gpt-4o")
    with Services() as services:
        with services.store.create([Setting("model", "gpt-4o")]) as session:
            pass
        setup, endpoint, patience = services.fallback("house", options, services.source(session.id))
    assert (setup.model, setup.limits.window, setup.loaded.policy.name) == ("house", 9_000, "layers")
    assert setup.loaded.policy.masking.keep_last == 3
    assert (endpoint.api_base, patience.first) == ("http://house/v1", 7)


def test_a_server_is_asked_for_the_window_unless_its_address_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patiently(monkeypatch)
    (tmp_path / "config").mkdir()
    with serving(ollama("m")) as server:
        (tmp_path / "config" / "config.toml").write_text(f"[servers]\nollama = {server.port}\n")
        with Services() as services:
            assert services.set_up(Options(model="ollama/m")).limits.window == WINDOW
            far = services.set_up(Options(model="ollama/m", api_base="http://far"))
            assert far.limits.window_source != "server"


@pytest.mark.parametrize(("summariser", "address"), [("", "http://127.0.0.1:9/v1"), ("gpt-4o-mini", "")])
async def test_a_named_server_writes_summaries_only_if_they_are_of_its_model(
    summariser: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, endpoint = list[tuple[str, str]](), ModelRoutes.endpoint

    def watched(self: ModelRoutes, model: str, api_base: str = "") -> object:
        asked.append((model, api_base))
        return endpoint(self, model, api_base)

    monkeypatch.setattr(ModelRoutes, "endpoint", watched)
    knobs = (f"compaction.model={summariser}",) if summariser else ()
    options = Options(model="gpt-4o", api_base="http://127.0.0.1:9/v1", knobs=knobs)
    with Services() as services, services.store.create([UserMessage("hi")]) as session:
        setup = services.set_up(options, services.source(session.id))
        async with compactor_for(services, options, setup):
            assert asked == [(summariser or "gpt-4o", address)]
