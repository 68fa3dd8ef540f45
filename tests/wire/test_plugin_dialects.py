"""Dialects of plug-ins: recognised after ours, and guarded where they raise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from support.installed import installed
from workbench.config.plugins import PROBLEMS
from workbench.log.events import UserMessage
from workbench.wire.chat import ChatDialect, ChatReader
from workbench.wire.dialect import Dialect, ProviderHome
from workbench.wire.dialects import DEFAULT, DIALECTS, MissingDialect, read_answer, read_request
from workbench.wire.event_builder import EventBuilder

BODY = {"model": "m", "messages": [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]}


class Torn(ChatReader):
    """Fails at one message."""

    def message(self, value: Any) -> None:
        if value["content"] == "one":
            raise RuntimeError("torn")
        super().message(value)


class TornDialect(ChatDialect):
    """Fails in every way."""

    name = "torn"
    title = "Torn"
    provider = ProviderHome("torn", "https://torn.example", ())
    ends: ClassVar[dict[str, str]] = {"/torn": ""}

    def new_reader(self, builder: EventBuilder) -> ChatReader:
        return Torn(builder)

    def recognises_path(self, path: str) -> Any:
        raise RuntimeError("path")

    def recognises_body(self, body: dict[str, Any]) -> bool:
        raise SystemExit("body")

    def items_in_message(self, message: dict[str, Any]) -> Any:
        yield from ()
        raise RuntimeError("items")

    def read_request(self, body: dict[str, Any]) -> Any:
        for each in body["messages"]:
            self.new_reader(EventBuilder(self.title)).message(each)


class DeafDialect(ChatDialect):
    """Fails to say what belongs to it."""

    name = "deaf"

    def recognises_message(self, message: dict[str, Any]) -> bool:
        raise RuntimeError("message")

    def recognises_tool(self, tool: dict[str, Any]) -> bool:
        raise RuntimeError("tool")

    def messages_in_answer(self, body: dict[str, Any]) -> Any:
        raise RuntimeError("answer")

    @property
    def takes_plain(self) -> Any:  # type: ignore[override]
        raise RuntimeError("plain")


@pytest.fixture(autouse=True)
def _torn(tmp_path: Any) -> Iterator[None]:
    with installed(tmp_path, {"dialects": {"torn": f"{__name__}:TornDialect"}}, "torn"):
        yield


def test_a_plug_in_s_dialect_comes_before_the_one_that_accepts_the_rest() -> None:
    assert list(DIALECTS)[-2:] == ["torn", DEFAULT.name]
    assert (DIALECTS["torn"].title, DIALECTS["torn"].places) == ("Torn", DEFAULT.places)
    assert len(DIALECTS) == len(list(DIALECTS))


def test_one_that_raises_recognises_nothing_and_the_default_answers_for_it() -> None:
    torn = DIALECTS["torn"]
    assert torn.recognises_path("/torn") is None
    assert torn.recognises_body({}) is False
    message = {"role": "user", "content": "hello"}
    assert list(torn.items_in_message(message)) == list(DEFAULT.items_in_message(message))
    assert read_request("torn", dict(BODY)) == DEFAULT.read_request(dict(BODY))
    reader = torn.new_reader(EventBuilder("Torn"))
    for each in BODY["messages"]:
        reader.message(each)
    assert reader.builder.bodies == [UserMessage("two")]
    assert read_answer("torn", {"choices": []}) == DEFAULT.read_answer({"choices": []})
    said = {each.message for each in PROBLEMS.listed() if each.entry.distribution == "torn"}
    assert said >= {"raised RuntimeError: path", "raised SystemExit: body", "raised RuntimeError: torn"}


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[Dialect]:
    with installed(tmp_path / "deaf", {"dialects": {"deaf": f"{__name__}:DeafDialect"}}, "deaf"):
        yield DIALECTS["deaf"]


def test_a_message_at_which_it_raises_is_not_its_own(deaf: Dialect) -> None:
    message = {"role": "user", "content": "hello"}
    assert deaf.recognises_message(message) is False
    assert deaf.recognises_tool({"type": "function", "function": {"name": "f"}}) is False
    assert deaf.messages_in_answer({"choices": [{"message": message}]}) is None


def test_a_property_that_raises_is_that_of_the_default(deaf: Dialect) -> None:
    assert deaf.takes_plain == DEFAULT.takes_plain
    assert "raised RuntimeError: plain" in {each.message for each in PROBLEMS.listed()}


def test_a_dialect_whose_package_is_gone_is_named() -> None:
    with pytest.raises(MissingDialect, match="the dialect gone: no installed package has it"):
        read_request("gone", {})
    assert "gone" not in DIALECTS
    assert DIALECTS.get("gone") is None
