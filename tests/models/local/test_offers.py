"""Models of servers on this machine, under names of our own."""

from __future__ import annotations

import pytest

from support.local_servers import KINDS, WINDOW, serving
from workbench.config.errors import WrongCall
from workbench.models.endpoints import NO_KEY, Endpoint
from workbench.models.local.discovery import PORTS, FoundModel, LocalServer
from workbench.models.local.offers import (
    PREFIXES,
    check_ports,
    endpoint_of,
    look_around,
    offers_of,
    pick_offer,
    server_kind_of,
)


@pytest.mark.parametrize("prefix", list(PREFIXES))
def test_what_a_server_offers_is_named_with_its_kind_and_reached_without_a_key_of_the_users(prefix: str) -> None:
    with serving(KINDS[prefix]("some-model")) as server:
        found = look_around({PREFIXES[prefix]: server.port}, 60)
    [offer] = offers_of(found)
    assert (offer.name, offer.model.window) == (f"{prefix}/some-model", WINDOW)
    assert offer.endpoint == Endpoint(f"{server.url}/v1", NO_KEY, "openai", "some-model")
    assert pick_offer(f"{prefix}/some-model", found) == offer
    assert pick_offer(f"{prefix}/another", found) is None
    assert server_kind_of(offer.name) == PREFIXES[prefix]


def at(kind: str, *names: str) -> LocalServer:
    models = tuple(FoundModel(name, 4096) for name in names)
    return LocalServer(kind, "http://127.0.0.1:1", models)  # type: ignore[arg-type]  # the kinds of the test


@pytest.mark.parametrize(
    ("asked", "server", "meant"),
    [
        ("ollama/qwen3", at("ollama", "qwen3:latest", "qwen3:8b"), "qwen3:latest"),
        ("ollama/qwen3:8b", at("ollama", "qwen3:latest", "qwen3:8b"), "qwen3:8b"),
        ("ollama_chat/qwen3", at("ollama", "qwen3"), "qwen3"),
        ("llamacpp/tiny", at("llama.cpp", "/models/tiny.gguf"), "/models/tiny.gguf"),
        ("llama.cpp/tiny.gguf", at("llama.cpp", "/models/tiny.gguf"), "/models/tiny.gguf"),
        ("vllm/org/model", at("vllm", "org/model"), "org/model"),
        ("hosted_vllm/model", at("vllm", "org/model"), "org/model"),
        ("vllm/model", at("vllm", "one/model", "two/model"), None),
        ("lmstudio/m", at("vllm", "m"), None),
        ("gpt-4o", at("vllm", "gpt-4o"), None),
    ],
)
def test_a_name_means_one_model_or_none(asked: str, server: LocalServer, meant: str | None) -> None:
    found = pick_offer(asked, [server])
    assert (found.model.name if found else None) == meant


def test_other_names_speak_of_no_server() -> None:
    assert [server_kind_of(name) for name in ("gpt-4o", "openai/gpt-4o", "ollama", "ollama/", "local", "")] == [
        None
    ] * 6


def test_an_address_that_was_given_wins() -> None:
    assert endpoint_of("vllm/m", "http://far/v1", PORTS, None, {}) == Endpoint("http://far/v1", NO_KEY, "openai", "m")
    assert endpoint_of("ollama/m", "http://far", PORTS, None, {}) == Endpoint("http://far"), "litellm knows the way"
    environ = {"OLLAMA_API_BASE": "http://far"}
    assert endpoint_of("ollama/m", "", PORTS, None, environ) == Endpoint()


def test_a_server_that_was_not_found_is_asked_where_it_would_be() -> None:
    found = endpoint_of("llamacpp/m", "", PORTS, None, {})
    assert (found.api_base, found.model) == ("http://127.0.0.1:8080/v1", "m")


def test_ports_stand_in_the_settings() -> None:
    assert check_ports({}) == dict(PORTS)
    assert check_ports({"lmstudio": 4321})["lm_studio"] == 4321
    for table, said in (({"olama": 1}, "servers.olama: no such key"), ({"vllm": "x"}, "servers.vllm: expected")):
        with pytest.raises(WrongCall, match=said):
            check_ports(table)
    for port in (0, 65536, True, 1.5):
        with pytest.raises(WrongCall, match="from 1 to 65535"):
            check_ports({"vllm": port})
