"""Our own policies, dialects and formats pass the suite that others are given, and faulty ones do not."""

from __future__ import annotations

from typing import Any

import pytest

import workbench
from traces.format_samples import written
from workbench.context.policy_names import PRESETS, RECORDED
from workbench.library.context import Context
from workbench.testing import ConformanceError, check_dialect, check_format, check_policy, random_conversation
from workbench.traces.building import Recording
from workbench.traces.format_kinds import Format
from workbench.traces.formats import FORMATS
from workbench.traces.reading import Document
from workbench.wire.anthropic import AnthropicDialect
from workbench.wire.chat_requests import ChatRequest
from workbench.wire.dialects import DIALECTS


@pytest.mark.parametrize("policy", [name for name in PRESETS if name != RECORDED])
def test_our_policies_conform(policy: str) -> None:
    check_policy(policy, seeds=range(2))


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_our_dialects_conform(dialect: Any) -> None:
    check_dialect(dialect, seeds=range(10))


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_our_formats_conform(known: Format) -> None:
    check_format(known, [written(known.name)])


class Forgetful(Context):
    """A context that loses the last message of a request."""

    def request(self, dialect: str | None = None) -> dict[str, Any]:
        """The request without its end."""
        return {key: value[:-1] if key != "tools" else value for key, value in super().request(dialect).items()}


def test_a_context_that_breaks_pairs_is_found_out() -> None:
    with pytest.raises(ConformanceError, match="seed 0, window"):
        check_policy("codex", new_context=Forgetful)


class Deaf(AnthropicDialect):
    """A dialect that writes no results."""

    def write_request(self, chat: ChatRequest) -> dict[str, Any]:
        """The request without its results."""
        kept = [each for each in chat.entries if isinstance(each, dict) and each["role"] != "tool"]
        return super().write_request(chat._replace(entries=kept))


def test_a_dialect_that_loses_something_is_found_out() -> None:
    with pytest.raises(ConformanceError, match="what is written is read again"):
        check_dialect(Deaf())


def test_formats_that_fail_are_found_out() -> None:
    sample = written("Droid")
    own = next(each for each in FORMATS if each.name == "Droid")

    def careless(document: Document, text: str) -> list[Recording]:
        if text != sample:
            raise KeyError(text)
        return own.read(document, text)

    for broken, promise in (
        (own._replace(recognises=lambda document: False), "a sample is recognised"),
        (own._replace(recognises=lambda document: True), "other people's files are not recognised"),
        (own._replace(read=lambda document, text: []), "a sample has a conversation"),
        (own._replace(read=careless), "a broken file raises WorkbenchError at most"),
        (own._replace(name=""), "a format has a name"),
    ):
        with pytest.raises(ConformanceError, match=promise):
            check_format(broken, [sample])


def test_a_case_is_the_same_for_the_same_seed() -> None:
    assert random_conversation(3) == random_conversation(3) != random_conversation(4)
    assert workbench.plan(random_conversation(3)).fits
