"""The stand-in takes the path of any other model: gateway, engine, litellm."""

from __future__ import annotations

import pytest

from workbench.models.gateway import Gateway
from workbench.models.reply_parts import CallFragment, Finished, Part, Text
from workbench.rehearsal.litellm_provider import rehearse
from workbench.rehearsal.script import Script

pytestmark = pytest.mark.xdist_group("litellm")

HELLO = {"model": "rehearsal", "messages": [{"role": "user", "content": "hello"}]}


async def test_the_stand_in_answers_without_key_and_network() -> None:
    rehearse()
    parts = [part async for part in Gateway().stream(HELLO)]
    assert any(isinstance(part, Text) for part in parts)
    assert parts[-1] == Finished("stop")


async def test_the_stand_in_plays_a_script_with_calls_though_litellm_is_there_already() -> None:
    await Gateway().warm()
    rehearse(Script(steps=[{"calls": [{"tool": "f", "arguments": {"a": 1}}, {"tool": "g"}]}]))
    parts: list[Part] = [part async for part in Gateway().stream(HELLO)]
    assert [part.name for part in parts if isinstance(part, CallFragment) and part.name] == ["f", "g"]
    assert parts[-1] == Finished("tool_calls")
