"""Sessions of other agents are found where those keep them, by the ends of their files."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.format_samples import SAMPLES
from workbench.live import finder, heads
from workbench.live.finder import AgentSession, AgentSessionFinder
from workbench.live.heads import HEAD, read_head
from workbench.live.homes import session_files
from workbench.sources.services import Services

WORK = "/srv/bakery"
SAID = "Why is the dough flat?"
LONG = "<environment_context>" + "x" * 2 * HEAD

SESSIONS: dict[str, tuple[str, list[Any]]] = {
    "Claude Code": (
        ".claude/projects/-srv-bakery/1.jsonl",
        [
            {"type": "user", "isMeta": True, "cwd": WORK, "message": {"role": "user", "content": "Caveat: ..."}},
            {"type": "user", "cwd": WORK, "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": SAID}},
            {"type": "assistant", "message": {"role": "assistant", "model": "m-1", "content": []}},
            {"type": "assistant", "message": {"role": "assistant", "model": "<synthetic>", "content": []}},
        ],
    ),
    "Codex": (
        ".codex/sessions/2026/11/15/rollout-1.jsonl",
        [
            {"type": "session_meta", "payload": {"id": "1", "cwd": WORK, "base_instructions": "x" * 9_000}},
            {"type": "response_item", "payload": {"type": "message", "role": "developer", "content": []}},
            {"type": "response_item", "payload": {"role": "user", "content": [{"type": "input_text", "text": LONG}]}},
            {"type": "turn_context", "payload": {"cwd": WORK, "model": "m-1"}},
            {"type": "event_msg", "payload": {"type": "user_message", "message": SAID}},
        ],
    ),
    "Gemini CLI": (
        ".gemini/tmp/bakery/chats/session-1.jsonl",
        [
            {"sessionId": "1", "projectHash": "0", "startTime": "2026-11-15T21:28:36.355Z"},
            {"id": "1", "type": "user", "content": [{"text": SAID}]},
            {"id": "2", "type": "gemini", "content": "", "model": "m-1"},
        ],
    ),
    "pi": (
        ".pi/agent/sessions/--srv-bakery--/1.jsonl",
        [
            {"type": "session", "id": "1", "cwd": WORK},
            {"type": "model_change", "modelId": "m-1"},
            {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": SAID}]}},
        ],
    ),
    "Qwen Code": (
        ".qwen/projects/-srv-bakery/chats/1.jsonl",
        [
            {"uuid": "1", "type": "user", "cwd": WORK, "message": {"role": "user", "parts": [{"text": SAID}]}},
            {"uuid": "2", "type": "assistant", "model": "m-1", "message": {"role": "model", "parts": []}},
        ],
    ),
    "Copilot CLI": (
        ".copilot/session-state/1/events.jsonl",
        [
            {"type": "session.start", "data": {"selectedModel": "m-1", "context": {"cwd": WORK}}},
            {"type": "user.message", "data": {"content": SAID, "transformedContent": "<now>"}},
        ],
    ),
    "Kimi Code": (
        ".kimi-code/sessions/w/s/agents/main/wire.jsonl",
        [
            {"type": "profile.bind", "modelAlias": "m-1", "systemPrompt": "..."},
            {"type": "turn.prompt", "input": [{"type": "text", "text": SAID}]},
        ],
    ),
}
BESIDE = {
    ".gemini/tmp/bakery/.project_root": WORK,
    ".kimi-code/sessions/w/s/state.json": json.dumps({"id": "s", "cwd": WORK}),
    ".claude/projects/-srv-bakery/agent-1.jsonl": "{}",
    ".continue/sessions/sessions.json": "[]",
}


def put(path: Path, values: Iterable[Any] | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = values if isinstance(values, str) else "".join(f"{json.dumps(each)}\n" for each in values)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which every agent has had a session, each a minute after the one before."""
    for number, (agent, (path, lines)) in enumerate(SESSIONS.items()):
        put(tmp_path / path, lines)
        os.utime(tmp_path / path, (number * 60, number * 60))
        assert agent
    for path, text in BESIDE.items():
        put(tmp_path / path, text)
    return tmp_path


def found(home: Path, **environ: str) -> list[AgentSession]:
    return AgentSessionFinder({"HOME": str(home), **environ}).find_sessions()


def test_every_agents_session_is_found_with_what_is_known_of_it(home: Path) -> None:
    sessions = found(home)
    assert [each.agent for each in sessions] == [*reversed(SESSIONS)]
    assert {(each.folder, each.title, each.model) for each in sessions} == {(WORK, SAID, "m-1")}
    assert [each.modified for each in sessions] == [minute * 60_000 for minute in reversed(range(len(SESSIONS)))]


def test_a_sub_agent_of_codex_is_no_session_of_its_own(tmp_path: Path) -> None:
    path, (header, *lines) = SESSIONS["Codex"]
    session = put(tmp_path / path, [header, *lines])
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "1", "depth": 1}}}
    other = {**header, "payload": {**header["payload"], "id": "2", "source": spawned}}
    agent = put(session.with_name("rollout-2.jsonl"), [other, *lines])
    assert [each.path for each in found(tmp_path)] == [str(session)]
    opened = AgentSessionFinder({"HOME": str(tmp_path)}).session_at(str(agent))
    assert opened is not None
    assert opened.is_sub_agent


def test_what_is_found_can_be_opened(home: Path, services: Services) -> None:
    [claude] = [each for each in found(home) if each.agent == "Claude Code"]
    assert services.source(claude.ref).events


@pytest.mark.parametrize(
    ("variable", "inside", "path"),
    [
        ("CLAUDE_CONFIG_DIR", "", ".claude/projects/-srv-bakery/1.jsonl"),
        ("CODEX_HOME", "", ".codex/sessions/2026/11/15/rollout-1.jsonl"),
        ("GEMINI_CLI_HOME", ".gemini/", ".gemini/tmp/bakery/chats/session-1.jsonl"),
        ("PI_CODING_AGENT_DIR", "", ".pi/agent/sessions/--srv-bakery--/1.jsonl"),
        ("KIMI_CODE_HOME", "", ".kimi-code/sessions/w/s/agents/main/wire.jsonl"),
    ],
)
def test_an_agents_own_variable_names_another_home(
    variable: str, inside: str, path: str, home: Path, tmp_path: Path
) -> None:
    rest = path.split("/", 2 if path.startswith(".pi") else 1)[-1]
    moved = put(tmp_path / "els[e]where" / f"{inside}{rest}", (home / path).read_text())
    paths = [each.path for each in found(home, **{variable: str(tmp_path / "els[e]where")})]
    assert str(moved) in paths
    assert str(home / path) not in paths


def test_a_variable_with_the_home_of_an_unknown_user_names_no_sessions(home: Path) -> None:
    sessions = found(home, CLAUDE_CONFIG_DIR="~nobody-has-this-name/x")
    assert {each.agent for each in sessions} == SESSIONS.keys() - {"Claude Code"}


def test_opencodes_sessions_are_numbered_as_its_reader_does(tmp_path: Path) -> None:
    path = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE session(id, parent_id, directory, title, model, time_created, time_updated)")
        model = json.dumps({"id": "m-1"})
        for row in (("b", None, 20, 90), ("c", "a", 30, 95), ("a", None, 10, 50)):
            name, parent, made, changed = row
            db.execute(
                "INSERT INTO session VALUES(?, ?, ?, ?, ?, ?, ?)", (name, parent, WORK, name, model, made, changed)
            )
        db.commit()
    assert found(tmp_path) == [
        AgentSession("opencode", f"{path}#2", WORK, "b", "m-1", 90, key="b"),
        AgentSession("opencode", f"{path}#1", WORK, "a", "m-1", 50, key="a"),
    ]


def test_aiders_last_chat_in_this_folder_is_found(tmp_path: Path, services: Services) -> None:
    chats = [
        f"# aider chat started at 2026-11-15 21:11:0{at}\n\n> Model: m-1 with whole\n\n#### {at}?\n\nyes\n"
        for at in (1, 2)
    ]
    put(tmp_path / ".aider.chat.history.md", "\n".join([*chats, "#### /exit\n"]))
    [session] = AgentSessionFinder({"HOME": str(tmp_path)}).find_sessions(str(tmp_path))
    assert (session.agent, session.title, session.model, session.folder) == ("aider", "2?", "m-1", str(tmp_path))
    assert services.source(session.ref).events


def trajectory(task: str, cwd: str = "") -> str:
    """A run of mini-swe-agent, as it is written after every step."""
    used = {"prompt_tokens": 793, "completion_tokens": 15, "prompt_tokens_details": {"cached_tokens": 640}}
    said = f"Please solve this issue: \n{task}\n\nYou can execute bash commands. " + "Be careful, ö. " * 200
    answers = [
        {"role": "assistant", "content": "ok", "extra": {"response": {"model": "m-1", "usage": {**used, **more}}}}
        for more in ({"prompt_tokens": 745}, {})
    ]
    config = {"agent": {"instance_template": "x" * 9_000}, "model": {"model_name": "m-1"}, "environment": {"cwd": cwd}}
    messages = [{"role": "system", "content": "You are"}, {"role": "user", "content": said}, *answers]
    whole = {"info": {"config": config}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    return json.dumps(whole, indent=2)


@pytest.mark.parametrize(
    ("place", "environ"),
    [
        (".config/mini-swe-agent", {}),
        ("settings/mini-swe-agent", {"XDG_CONFIG_HOME": "settings"}),
        ("elsewhere", {"MSWEA_GLOBAL_CONFIG_DIR": "elsewhere"}),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="its folder has another name there")
def test_mini_swe_agents_last_run_is_found(
    tmp_path: Path, place: str, environ: dict[str, str], services: Services
) -> None:
    put(tmp_path / place / "last_mini_run.traj.json", trajectory(SAID))
    [session] = found(tmp_path, **{name: str(tmp_path / value) for name, value in environ.items()})
    assert (session.agent, session.folder, session.title, session.model) == ("mini-swe-agent", "", SAID, "m-1")
    assert session.report is not None
    assert (session.report.prompt, session.report.cached, session.report.completion) == (793, 640, 15)
    assert services.source(session.ref).events


def test_mini_swe_agents_trajectories_in_this_folder_and_in_places_of_the_users_are_found(tmp_path: Path) -> None:
    here, runs = tmp_path / "here", tmp_path / "runs"
    put(here / "run.traj.json", trajectory("one"))
    put(runs / "a.traj.json", trajectory("two", cwd=WORK))
    sessions = AgentSessionFinder({"HOME": str(tmp_path)}, [f"{runs}/*.json"]).find_sessions(str(here))
    assert {(each.agent, each.folder, each.title) for each in sessions} == {
        ("mini-swe-agent", str(here), "one"),
        ("mini-swe-agent", WORK, "two"),
    }


def test_only_in_claude_codes_folders_a_name_says_that_a_file_is_a_sub_agents(home: Path) -> None:
    here, runs = home / "here", home / "runs"
    put(here / "agent-1.traj.json", trajectory("one"))
    put(runs / "agent-1.traj.json", trajectory("two"))
    copied = put(home / ".claude/projects/-srv-bakery/agent-2.jsonl", SESSIONS["Claude Code"][1])
    patterns = [f"{runs}/*.json", f"{copied.parent}/*.jsonl"]
    sessions = AgentSessionFinder({"HOME": str(home)}, patterns).find_sessions(str(here))
    assert {each.title for each in sessions if each.agent == "mini-swe-agent"} == {"one", "two"}
    assert str(copied) not in {each.path for each in sessions}


def test_a_title_of_the_agents_own_wins_over_what_was_said(home: Path) -> None:
    path = home / SESSIONS["Claude Code"][0]
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "ai-title", "aiTitle": "Flat  dough", "sessionId": "s"}) + "\n")
    assert read_head(str(path)).title == "Flat dough"


def test_a_file_is_read_again_only_when_it_is_another(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def look(path: str, agent: str, beside: str) -> heads.TranscriptHead:
        looked.append(path)
        return read_head(path, agent, beside)

    monkeypatch.setattr(finder, "read_head", look)
    finding = AgentSessionFinder({"HOME": str(home)})
    first = finding.find_sessions()
    assert len(looked) == len(SESSIONS)
    assert finding.find_sessions() == first
    assert len(looked) == len(SESSIONS)
    changed = home / SESSIONS["pi"][0]
    put(changed, changed.read_text() + "\n")
    assert finding.find_sessions()[0].agent == "pi"
    assert looked[len(SESSIONS) :] == [str(changed)]


def test_only_the_ends_of_a_file_are_read(tmp_path: Path) -> None:
    lines = [*SESSIONS["Claude Code"][1][1:3], *[{"type": "assistant", "message": {"content": "x" * 5_000}}] * 4_000]
    path = put(tmp_path / ".claude" / "projects" / "p" / "1.jsonl", lines)
    read = 0

    class Counted:
        """A file that counts what is read of it."""

        def __init__(self, path: str) -> None:
            self._file = open(path, "rb")  # noqa: SIM115 - closed by the reader

        def read(self, size: int) -> bytes:
            nonlocal read
            read += size
            content: bytes = self._file.read(size)
            return content

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def __enter__(self) -> Counted:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "open_regular_file", Counted)
        assert read_head(str(path), "Claude Code").title == SAID
    assert 0 < read <= HEAD + heads.TAIL < path.stat().st_size / 100


@given(
    st.binary(max_size=400)
    | st.text(max_size=200).map(lambda text: json.dumps({"type": "user", "message": text}).encode())
)
def test_no_content_is_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    home = tmp_path_factory.mktemp("home")
    for path in (".claude/projects/p/1.jsonl", ".local/share/opencode/opencode.db", ".aider.chat.history.md"):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(content)
    for session in AgentSessionFinder({"HOME": str(home)}).find_sessions(str(home)):
        assert isinstance(session.title, str)


def test_what_cannot_be_read_is_left_out(home: Path) -> None:
    broken = home / ".claude" / "projects" / "-srv-bakery" / "gone.jsonl"
    broken.symlink_to(home / "nowhere")
    (home / ".claude" / "projects" / "-srv-bakery" / "folder.jsonl").mkdir()
    assert len(found(home)) == len(SESSIONS)


def test_nothing_of_the_models_is_imported(home: Path) -> None:
    code = (
        "import sys; from workbench.live.finder import AgentSessionFinder;"
        "print(len(AgentSessionFinder().find_sessions()), 'litellm' in sys.modules)"
    )
    environ = {**os.environ, "HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=True)
    assert done.stdout.split() == [str(len(SESSIONS)), "False"]


@pytest.mark.parametrize("name", ["aider", "mini-swe-agent"])
def test_a_link_out_of_the_project_is_left_out_and_one_inside_is_followed(name: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "deep").mkdir(parents=True)
    (project / ".git").mkdir()
    content = b"# aider chat started at 2026-11-15 21:11:06\n\n#### one  \n\nan answer\n" if name == "aider" else b"{}"
    for folder in (tmp_path, project):
        (folder / "real").write_bytes(content)
    link = project / "deep" / (".aider.chat.history.md" if name == "aider" else "x.traj.json")
    finding = AgentSessionFinder({"HOME": str(tmp_path / "home")})
    link.symlink_to("../real")
    assert [each.agent for each in finding.find_sessions(str(project / "deep"))] == [name]
    link.unlink()
    link.symlink_to("../../real")
    assert finding.find_sessions(str(project / "deep")) == []


def test_a_view_in_the_place_of_a_table_is_not_asked(tmp_path: Path) -> None:
    path = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    endless = "WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c) SELECT id, id AS time_created FROM c"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE VIEW session AS {endless}")
    assert AgentSessionFinder({"HOME": str(tmp_path)}).find_sessions() == []


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        ("Amp", ".local/share/amp/threads/T-1.json"),
        ("Cursor", ".cursor/projects/srv-bakery/agent-transcripts/1.jsonl"),
        ("Cursor", ".cursor/projects/srv-bakery/agent-transcripts/1/1.jsonl"),
        ("Droid", ".factory/sessions/-srv-bakery/1.jsonl"),
        ("Droid", ".factory/sessions/1.jsonl"),
        ("Grok Build", ".grok/sessions/srv-bakery/1/chat_history.jsonl"),
        ("Hermes", ".hermes/sessions/session_1.json"),
        ("Windsurf", ".windsurf/transcripts/1.jsonl"),
        ("pi", ".openclaw/agents/main/sessions/1.jsonl"),
    ],
)
def test_sessions_of_more_agents_are_found_and_can_be_opened(
    agent: str, path: str, tmp_path: Path, services: Services
) -> None:
    sample = SAMPLES[agent]
    put(tmp_path / path, sample if isinstance(sample, list) else json.dumps(sample))
    [session] = found(tmp_path)
    assert session.agent == agent
    assert services.source(session.ref).events


def test_only_the_first_sign_of_a_home_is_one(tmp_path: Path) -> None:
    put(tmp_path / "runs~old/1.jsonl", "{}")
    files = session_files({"HOME": str(tmp_path)}, "", ["~/runs~old/*.jsonl"])
    assert [path for _, path in files] == [str(tmp_path / "runs~old/1.jsonl")]


def test_a_session_of_cursor_is_called_by_what_the_user_asked(tmp_path: Path) -> None:
    said = [{"type": "text", "text": f"<user_query>\n{SAID}\n</user_query>"}]
    put(tmp_path / ".cursor/projects/p/agent-transcripts/1.jsonl", [{"role": "user", "message": {"content": said}}])
    assert [each.title for each in found(tmp_path)] == [SAID]


@pytest.mark.parametrize(
    ("content", "folder"),
    [("/srv/bakery\n", "/srv/bakery"), ('{"cwd": "/srv/bakery"}', "/srv/bakery"), ("bakery", ""), ("/a\n/b", "")],
)
def test_a_folder_in_a_file_next_to_the_session_is_one_whole_path(tmp_path: Path, content: str, folder: str) -> None:
    (tmp_path / "root").write_text(content, encoding="utf-8")
    (tmp_path / "s.jsonl").write_text("{}\n", encoding="utf-8")
    assert read_head(str(tmp_path / "s.jsonl"), folder_file="root").folder == folder
