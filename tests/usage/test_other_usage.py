"""What files of other agents report, read as for opening them."""

from __future__ import annotations

import json
from pathlib import Path

from traces.test_spans import CALL, FIRST, SAID, SECOND, called, parts, span, text
from workbench.usage.other_usage import read_other_file


def test_a_sub_agent_is_no_session_of_its_own(tmp_path: Path) -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ls", "gen_ai.tool.call.id": "c"}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "finder"}
    other = called([parts("user", text("and now?"))], SAID)
    spans = [
        span(1, called(FIRST, parts("assistant", CALL))),
        span(2, {**tool, "gen_ai.conversation.id": "c"}),
        span(3, agent, parent_id="2"),
        span(4, called([parts("user", text("find it"))], SAID), parent_id="3"),
        span(5, called(SECOND, SAID)),
        span(6, {**other, "gen_ai.conversation.id": "d"}),
    ]
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(spans), encoding="utf-8")
    found = read_other_file("", str(path), lambda _: None)
    assert [each.ref for each in found] == [f"{path}#1", f"{path}#3"]
