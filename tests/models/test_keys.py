"""Keys come from the environment or the system's key store, and the store can neither hang, ask, nor break anything."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.waiting import GIVE_UP
from workbench.models.catalogue import Catalogue
from workbench.models.keys import KeyOrigin, find_key, variables_of

KEYRING = """
import {store} as _store
from {store} import Store
def get_keyring():
    return Store()
"""
STORE = """
ASKED = []
class Store:
    def get_password(self, service, name):
        ASKED.append((service, name))
        return {held!r}.get(name)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path in which a package `keyring` can be put."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.split(".")[0] in ("keyring", "keyrings", "some_store")]:
        monkeypatch.delitem(sys.modules, name)
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] in ("keyring", "keyrings", "some_store")]:
        del sys.modules[name]


def put(folder: Path, held: dict[str, str], store: str = "some_store") -> None:
    path = folder.joinpath(*store.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(STORE.format(held=held))
    (folder / "keyring.py").write_text(KEYRING.format(store=store))


def test_the_environment_comes_first_and_its_value_is_left_to_litellm(installed: Path) -> None:
    put(installed, {"OPENAI_API_KEY": "stored"})
    found = find_key("gpt-4o", "openai", {"OPENAI_API_KEY": "sk-1"})
    assert (found.origin, found.variable, found.value) == ("environment", "OPENAI_API_KEY", "")
    assert "keyring" not in sys.modules, "nobody needed it"


def test_the_key_store_is_asked_under_our_name_and_the_variables(installed: Path) -> None:
    put(installed, {"GOOGLE_API_KEY": "stored-key"})
    found = find_key("gemini/gemini-2.5-flash", "gemini", {}, seconds=60)
    assert (found.origin, found.variable, found.value) == ("key store", "GOOGLE_API_KEY", "stored-key")
    assert sys.modules["some_store"].ASKED == [("workbench", "GEMINI_API_KEY"), ("workbench", "GOOGLE_API_KEY")]
    assert "stored-key" not in repr(found)


def test_a_store_without_the_key_is_none(installed: Path) -> None:
    put(installed, {})
    assert find_key("gpt-4o", "openai", {}, seconds=60) == KeyOrigin("none", ("OPENAI_API_KEY",))


def test_without_the_package_there_is_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.models.keys.find_spec", lambda name: None)
    assert find_key("gpt-4o", "openai", {}) == KeyOrigin("none", ("OPENAI_API_KEY",))


@pytest.mark.parametrize(
    "code", ["raise RuntimeError('locked')", "raise SystemExit(3)", "1 / 0", "def get_keyring(: x"]
)
def test_a_store_that_fails_is_reported_and_nothing_else(installed: Path, code: str) -> None:
    (installed / "keyring.py").write_text(code)
    found = find_key("gpt-4o", "openai", {}, seconds=60)
    assert found.origin == "none"
    assert found.problem.startswith("the key store failed: ")


def test_a_store_that_never_answers_is_left_behind(installed: Path) -> None:
    (installed / "keyring.py").write_text(
        "import threading\ngate = threading.Event()\ndef get_keyring():\n    gate.wait()\n    raise OSError\n"
    )
    found = find_key("gpt-4o", "openai", {}, seconds=0.05)
    assert (found.origin, found.problem) == ("none", "the key store did not answer within 0.05 s")
    for thread in threading.enumerate():
        if thread.name == "key store":
            assert thread.daemon, "it must not hold the program at its end"
            # The import may not have come far yet on a busy machine.
            while thread.is_alive() and not hasattr(sys.modules.get("keyring"), "gate"):
                thread.join(0.01)
            sys.modules["keyring"].gate.set()
            thread.join(GIVE_UP)


def test_a_store_that_would_ask_on_the_terminal_is_not_asked(installed: Path) -> None:
    put(installed, {"OPENAI_API_KEY": "stored"}, "keyrings.alt.file")
    assert find_key("gpt-4o", "openai", {}, seconds=60).origin == "none"
    assert sys.modules["keyrings.alt.file"].ASKED == []


def test_of_several_stores_at_once_the_first_with_the_key_has_it(installed: Path) -> None:
    put(installed, {"OPENAI_API_KEY": "stored"})
    (installed / "keyring.py").write_text(
        "from some_store import Store\n"
        "class Empty:\n    def get_password(self, service, name):\n        return None\n"
        "class Chain:\n    backends = [Empty(), Store()]\n"
        "def get_keyring():\n    return Chain()\n"
    )
    assert find_key("gpt-4o", "openai", {}, seconds=60).value == "stored"


@pytest.mark.parametrize(
    ("provider", "variables"),
    [
        ("openai", ("OPENAI_API_KEY",)),
        ("anthropic", ("ANTHROPIC_API_KEY",)),
        ("groq", ("GROQ_API_KEY",)),
        ("text-completion-openai", ("OPENAI_API_KEY",)),
        ("together_ai", ("TOGETHERAI_API_KEY",)),
        ("some-new-one", ("SOME_NEW_ONE_API_KEY",)),
        ("bedrock_converse", ()),
        ("vertex_ai-language-models", ()),
        ("ollama", ()),
        ("", ()),
    ],
)
def test_the_variables_of_a_provider(provider: str, variables: tuple[str, ...]) -> None:
    assert variables_of(provider) == variables


@pytest.mark.parametrize(
    ("model", "origin"),
    [
        *(("rehearsal", "not needed"), ("local", "not needed"), ("local:/a.gguf", "not needed")),
        *(("ollama/qwen3", "not needed"), ("llamacpp/m", "not needed"), ("bedrock/x", "other")),
        *(("nobody", "none"), ("claude-3-5-sonnet", "none"), ("gpt-5.3-codex-spark", "none")),
    ],
)
def test_who_needs_no_key_is_told_apart(model: str, origin: str) -> None:
    assert find_key(model, Catalogue().find_model(model).provider, {}).origin == origin


@given(st.text(max_size=20))
def test_any_provider_has_names_that_can_be_variables(provider: str) -> None:
    for name in variables_of(provider):
        assert name
        assert name == name.upper() or not name.isascii()


@pytest.mark.xdist_group("litellm")
def test_litellm_looks_for_the_same_variables() -> None:
    from workbench.models.engine import engine

    found: dict[str, list[str]] = {}

    async def ask() -> None:
        for provider in ("openai", "anthropic", "groq", "mistral", "xai", "deepseek", "openrouter", "fireworks_ai"):
            checked = engine().litellm().validate_environment(model=f"{provider}/x")
            found[provider] = checked["missing_keys"]

    asyncio.run_coroutine_threadsafe(ask(), engine().loop).result(120)
    for provider, missing in found.items():
        assert set(missing) & set(variables_of(provider)) == set(missing), provider
