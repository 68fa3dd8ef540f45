"""The library and the program plan the same log in the same way."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

import workbench
from library.conversations import POLICIES, Chat, conversations
from workbench.context.render import render_messages
from workbench.sources.options import Options
from workbench.sources.services import Services


@given(conversations(), st.sampled_from(POLICIES), st.sampled_from([1_500, 16_000]))
def test_a_file_is_planned_as_its_messages_are(chat: Chat, policy: str, window: int) -> None:
    with TemporaryDirectory() as folder, Services() as services:
        file = Path(folder, "messages.json")
        file.write_text(json.dumps(chat))
        source = services.source(str(file))
        options = Options(policy=policy, model="gpt-4o", window=window)
        theirs = services.set_up(options, source).plan(source.events)
    ours = workbench.plan(chat, policy=policy, window=window)
    assert ours.messages == render_messages(theirs)
    assert ours.tokens == theirs.size
    assert [item for item in theirs.items if item.kind != "aside"] == list(ours.items)
