"""Long chats under every preset, against a server that counts and validates: no turn fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.long_chats import hold_chat, plain_messages, tool_messages, write_project
from workbench.context.policy_names import PRESETS, RECORDED
from workbench.log.session import Session

pytestmark = pytest.mark.long
POLICIES = [name for name in PRESETS if name != RECORDED]
FEW_POLICIES = [
    name if name in ("workbench", "codex") else pytest.param(name, marks=pytest.mark.wide) for name in POLICIES
]
"""Two of them, and the others where all cases run."""


def wide(turns: int) -> object:
    """So many where all cases run."""
    return pytest.param(turns, marks=pytest.mark.wide)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("turns", [21, wide(105)])
async def test_many_turns_with_tools_in_a_window_of_12_000(
    session: Session, project: Path, policy: str, turns: int
) -> None:
    write_project(project)
    outcome = await hold_chat(session, project, tool_messages(turns), 12_000, policy=policy)
    assert outcome.failures == []
    assert outcome.invalid == []
    assert 6_000 < outcome.largest <= 12_000
    assert outcome.requests > 2 * turns


@pytest.mark.parametrize("policy", FEW_POLICIES)
@pytest.mark.parametrize("turns", [24, wide(60)])
async def test_many_turns_in_a_window_of_4_096(session: Session, project: Path, policy: str, turns: int) -> None:
    outcome = await hold_chat(session, project, plain_messages(turns), 4_096, policy=policy)
    assert outcome.failures == []
    assert outcome.invalid == []
    assert 2_000 < outcome.largest <= 4_096


@pytest.mark.parametrize("policy", FEW_POLICIES)
@pytest.mark.parametrize("turns", [24, wide(60)])
async def test_many_turns_beside_instructions_that_take_most_of_the_window(
    session: Session, project: Path, policy: str, turns: int
) -> None:
    (project / ".git").mkdir()
    (project / "AGENTS.md").write_text(" ".join(["keep"] * 2_884))
    outcome = await hold_chat(session, project, plain_messages(turns, 2), 4_096, policy=policy)
    assert outcome.failures == []
    assert outcome.invalid == []
    assert 3_000 < outcome.largest <= 4_096
