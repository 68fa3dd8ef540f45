"""Turns that the user of Codex undid: after `thread_rolled_back`, Codex no longer sends the last turns.

Each message of the user begins a turn. After a compaction, older messages count only if it kept them. Its summary also
begins a turn, because Codex sends it as a message of the user. What is sent before the first turn stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.log.events import Body, Compaction, Override, Revert, UserMessage
from workbench.traces.undone import exclude_events, undo_from


def rolled_back(bodies: Sequence[Body], turns: int, sealed: str) -> list[Body]:
    """The events that exclude the last turns. `sealed`: our text for an encrypted summary, which begins no turn."""
    reverted = {body.target for body in bodies if isinstance(body, Revert)}
    made = [at for at, body in _numbered(bodies) if isinstance(body, Compaction) and at not in reverted]
    gone = {seq for body in bodies if isinstance(body, Override) for seq in range(body.first, body.last + 1)}
    users = [at for at, body in _numbered(bodies) if isinstance(body, UserMessage) and at not in gone]
    last = made[-1] if made else 0
    compaction = bodies[last - 1] if last else None
    kept: set[int] = set()
    if isinstance(compaction, Compaction):
        kept = {each.seq for each in compaction.kept} - gone
        summary = [] if compaction.summary == sealed else [last]
        users = [*(at for at in users if at in kept), *summary, *(at for at in users if at > last)]
    if not users or turns < 1:
        return []
    first = users[-turns] if turns <= len(users) else users[0]
    count = "a turn" if turns == 1 else f"{turns:,} turns"
    why = f"rolled back in Codex: its user undid {count}"
    if first > last:
        return undo_from(bodies, first, why)
    stays = {seq for seq in kept if seq < first}
    dropped = (seq for seq in range(1, len(bodies) + 1) if seq not in stays and seq not in made)
    return [*map(Revert, made), *exclude_events(dropped, why)]


def _numbered(bodies: Sequence[Body]) -> Iterable[tuple[int, Body]]:
    return enumerate(bodies, 1)
