"""Which session of another agent is meant: by the folder, by the agent, by the beginning of an id."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.live.choosing import choose_agent_session, short_ids
from workbench.live.finder import AgentSession
from workbench.live.known_agents import agent_programs

HERE = "/srv/bakery"
SESSIONS = [
    AgentSession("Codex", "/h/.codex/abd1.jsonl", "/srv/mill", "newest of all", "m", 9),
    AgentSession("pi", "/h/.pi/abc2.jsonl", HERE, "newest here", "m", 8),
    AgentSession("Claude Code", "/h/.claude/x3.jsonl", HERE, "bread", "m", 7),
    AgentSession("Codex", "/h/.codex/x4.jsonl", HERE, "older, but here", "m", 6),
    AgentSession("opencode", "/h/opencode.db#2", "", "no folder", "m", 5, key="ses_1"),
]


@pytest.mark.parametrize(
    ("wanted", "title"),
    [
        ("", "newest here"),
        ("pi", "newest here"),
        ("codex", "older, but here"),
        ("Claude Code", "bread"),
        ("claude", "bread"),
        ("claude-code", "bread"),
        ("CLAU", "bread"),
        ("abc", "newest here"),
        ("x3", "bread"),
        ("ses_", "no folder"),
    ],
)
def test_one_is_chosen(wanted: str, title: str) -> None:
    assert choose_agent_session(SESSIONS, wanted, HERE).session.title == title
    assert choose_agent_session(SESSIONS, wanted, HERE).note == ""


def test_of_another_folder_it_is_said() -> None:
    chosen = choose_agent_session(SESSIONS, "codex", "/srv/elsewhere")
    assert chosen.session.title == "newest of all"
    assert chosen.note == "no session of Codex in this folder; this is the last one on this machine, of /srv/mill"
    assert "unknown folder" in choose_agent_session(SESSIONS, "opencode", HERE).note


@pytest.mark.parametrize(
    ("wanted", "here", "told"),
    [
        ("", "/srv/elsewhere", "no session of another agent in /srv/elsewhere; `workbench agents` lists"),
        ("gemini", HERE, "gemini: no session of Gemini CLI on this machine"),
        ("nobody", HERE, "nobody: no such file, no agent, and no session with this id"),
        ("ab", HERE, "ab: 2 sessions have such an id: abd1 (Codex,"),
        ("co", HERE, "co: no such file, no agent"),
        ("cop", HERE, "no session of Copilot CLI"),
    ],
)
def test_what_is_not_found_or_not_one_is_told(wanted: str, here: str, told: str) -> None:
    with pytest.raises(WrongCall) as error:
        choose_agent_session(SESSIONS, wanted, here)
    assert told in str(error.value)


def test_on_an_empty_machine_it_is_said_where_was_looked() -> None:
    for wanted in ("", "codex", "x"):
        with pytest.raises(WrongCall, match=r"looked in ~/\.claude, ~/\.codex"):
            choose_agent_session([], wanted, HERE)


@given(st.sampled_from([*agent_programs()]), st.permutations(SESSIONS))
def test_a_programs_name_never_gives_another_agents_session(program: str, sessions: list[AgentSession]) -> None:
    of_agent = [each for each in sessions if each.agent == agent_programs()[program]]
    if of_agent:
        assert choose_agent_session(sessions, program, HERE).session in of_agent
    else:
        with pytest.raises(WrongCall, match=agent_programs()[program]):
            choose_agent_session(sessions, program, HERE)


@given(st.sets(st.text("ab1", min_size=1, max_size=14), max_size=30))
def test_what_is_shown_of_an_id_means_it(ids: set[str]) -> None:
    shown = short_ids(ids)
    assert shown.keys() == ids
    for each, begin in shown.items():
        meant = [other for other in ids if other.startswith(begin)]
        assert meant == [each] or begin == each  # all of it, where another goes on behind it
        assert begin == each or len(begin) >= 8


def test_ids_are_shown_as_long_as_they_need_to_be() -> None:
    ids = ["01a1e3bd-f5e0-72ca", "01a1e3bd-eab6-7113", "37ce7a97-305e-4e41"]
    assert [*short_ids(ids).values()] == ["01a1e3bd-e", "01a1e3bd-f", "37ce7a97"]


def test_the_id_of_gemini_cli_is_what_tells_its_files_apart() -> None:
    session = AgentSession("Gemini CLI", "/h/chats/session-2026-11-16T09-55-df3ef958.jsonl", HERE, "t", "m", 1)
    assert session.id == "df3ef958"
