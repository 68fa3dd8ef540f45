"""A file that another agent writes is followed: at every moment it is what opening its whole lines gives."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live.test_finder import SESSIONS, put
from live.test_reports import REPORTS
from support.waiting import GIVE_UP
from tui.play import Watcher, opened, until
from workbench.config.errors import WorkbenchError
from workbench.live.processes import AgentProcess
from workbench.live.stamps import FileStamp
from workbench.log.codec import encode_event
from workbench.log.events import AssistantMessage, Event, Failure, Setting, UserMessage
from workbench.session import following, opening, outside_changes
from workbench.session.following import GONE, REPLACED, UNREADABLE, ReadPace, follow_file, follow_session, is_replaced
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import Source, number_events, read_source
from workbench.views.values import FOLLOWING

pytestmark = pytest.mark.usefixtures("project")

BREAD = "Größe des Brots 🥖 – „so“?"
GEMINI = [
    *SESSIONS["Gemini CLI"][1],
    {"id": "2", "type": "gemini", "content": BREAD, "model": "m-1", "tokens": {"input": 90, "output": 5}},
    {"$set": {"messages": [{"id": "8", "type": "user", "content": [{"text": "all in short"}]}], "summary": BREAD}},
    {"id": "4", "type": "user", "content": [{"text": "and now?"}]},
    {"id": "5", "type": "gemini", "content": "wait", "model": "m-1"},
    {"id": "5", "type": "gemini", "content": "done", "model": "m-1", "tokens": {"input": 120, "output": 5}},
]


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in values)


def claude(number: int, said: str, **usage: int) -> list[dict[str, Any]]:
    """A question and its answer."""
    asked = {"role": "user", "content": said}
    answer = {"id": f"m{number}", "role": "assistant", "model": "claude-opus-4-5", "content": said.upper()}
    names = {"sessionId": "s", "cwd": "/srv/bakery"}
    return [
        {"type": "user", "uuid": f"u{number}", **names, "message": asked},
        {"type": "assistant", "uuid": f"a{number}", **names, "message": {**answer, "usage": usage}},
    ]


TURNS = [claude(at, f"{BREAD} {at}", input_tokens=20_000 + 100 * at, output_tokens=9) for at in range(1, 5)]
FILES: dict[str, bytes] = {
    "Claude Code": lines(*(line for turn in TURNS for line in turn)),
    "Gemini CLI": lines(*GEMINI),
    "Codex": lines(*SESSIONS["Codex"][1], REPORTS["Codex"][0]),
    "pi": lines(*SESSIONS["pi"][1], REPORTS["pi"][0]),
    "Kimi Code": lines(*SESSIONS["Kimi Code"][1], REPORTS["Kimi Code"][0]),
    "aider": f"# aider chat started at 2026-11-15 21:11:01\n\n#### {BREAD}\n\nso\n\n#### und?\n\nja\n".encode(),
    "our own": "".join(
        f"{encode_event(each)}\n"
        for each in number_events([UserMessage(BREAD), AssistantMessage("so"), UserMessage("und?")])
    ).encode(),
    "without a last line feed": lines(*TURNS[0]).rstrip(),
}


def events_of(path: Path, *, growing: bool = False) -> list[Event] | None:
    """The log; None where there is nothing that could be one."""
    try:
        return read_source(f"{path}#1", pytest.fail, growing=growing).events
    except WorkbenchError:
        return None


def whole(raw: bytes) -> bytes:
    """All lines that have an end, and what behind them needs none."""
    end = raw.rfind(b"\n") + 1
    try:
        json.loads(raw[end:])
    except ValueError:
        return raw[:end]
    return raw


@given(st.sampled_from([*FILES]), st.data())
def test_whatever_pieces_a_file_grows_by_it_is_what_its_whole_lines_are(name: str, data: st.DataObject) -> None:
    raw = FILES[name]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    with TemporaryDirectory() as folder:
        grown, other = Path(folder, "grown.jsonl"), Path(folder, "whole.jsonl")
        follower, last = follow_file(f"{grown}#1", lambda: 0.0), None
        for at, to in pairwise([0, *cuts, len(raw)]):
            with grown.open("ab") as file:
                file.write(raw[at:to])
            os.utime(grown, (to, to))
            other.write_bytes(whole(raw[:to]))
            expected = events_of(other)
            look = follower.read_if_changed(lambda: read_source(f"{grown}#1", pytest.fail, growing=True).events)
            last = look.read or last
            assert look.read == expected or (look.read is None and (at == to or expected is None))
        assert last == events_of(grown)
        assert last is not None
        assert not any(isinstance(each.body, Failure) for each in last)


@pytest.mark.parametrize("name", ["Claude Code", "our own"])
def test_a_last_line_that_is_not_whole_is_told_unless_the_file_is_followed(name: str, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(FILES[name][:-5])
    told = events_of(path)
    assert told is None or any(isinstance(each.body, Failure) or _left_out(each) for each in told)
    followed = events_of(path, growing=True)
    path.write_bytes(whole(FILES[name][:-5]))
    assert followed == events_of(path)


def _left_out(event: Event) -> bool:
    return isinstance(event.body, Setting) and "line" in str(event.body.value)


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 3), st.booleans()), max_size=30),
)
def test_reading_never_takes_more_than_a_fifth_of_the_time(looks: list[tuple[float, float, bool]]) -> None:
    pace, now, spent = ReadPace(), 0.0, 0.0
    last = 0.0
    for at, (wait, takes, fails) in enumerate(looks):
        now += wait
        stamp = FileStamp(1, at, at)
        if pace.is_due(stamp, now):
            pace.was_read(None if fails else stamp, now, now + takes)
            now, spent, last = now + takes, spent + takes, takes
    assert spent - last <= following.SHARE * now + 1e-6


def test_what_did_not_change_is_not_read_again_and_what_failed_is() -> None:
    pace, stamp = ReadPace(), FileStamp(1, 10, 5)
    assert pace.is_due(stamp, 0)
    pace.was_read(stamp, 0, 1)
    assert not pace.is_due(stamp, 100)
    assert not pace.is_due(stamp._replace(changed=6), 4.9)
    assert pace.is_due(stamp._replace(changed=6), 5)
    pace.was_read(None, 10, 10)
    assert pace.is_due(stamp, 10)


def test_a_file_that_is_put_in_place_of_another_or_cut_is_replaced() -> None:
    stamp = FileStamp(1, 10, 5)
    assert not is_replaced(stamp, FileStamp(1, 11, 6))
    assert not is_replaced(stamp, FileStamp(1, 10, 6))
    assert is_replaced(stamp, FileStamp(1, 9, 6))
    assert is_replaced(stamp, FileStamp(2, 11, 6))


# On a session model, with real files

WRITE = """
import sys
for line in sys.stdin:
    with open(sys.argv[1], "ab") as file:
        file.write(bytes.fromhex(line))
    print("written", flush=True)
"""


class OtherProcess:
    """Somebody else, who writes a file."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", WRITE, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def write(self, raw: bytes) -> None:
        """Returns once it is in the file."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{raw.hex()}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "written\n"

    def end(self) -> None:
        """It has nothing more to write."""
        self._process.communicate()


def said(on: Watcher) -> list[str]:
    return [text for kind, text in on.said if kind in ("you", "ai")]


async def test_what_another_process_writes_is_shown_and_the_newest_stays_the_newest(
    services: Services, tmp_path: Path
) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(lines(*TURNS[0]))
    process = OtherProcess(path)
    async with opened(services, str(path), follow=True) as on:
        assert on.following == FOLLOWING
        assert (on.shown.at, len(on.shown.requests)) == (0, 1)
        raw = lines(*TURNS[1], *TURNS[2])
        process.write(raw[:-40])
        await until(lambda: len(on.shown.requests) == 2)
        assert len(said(on)) == 5  # the answer of which the end is missing is not there
        assert on.shown.at == 1
        assert on.told == ""
        process.write(raw[-40:])
        await until(lambda: on.shown.at == 2)
        assert said(on)[-1] == f"{BREAD} 3".upper()
        assert on.shown.reported == 20_300
    process.end()


async def test_elsewhere_one_stays_on_the_same_request(services: Services, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(lines(*TURNS[0], *TURNS[1]))
    async with opened(services, str(path), follow=True) as on:
        on.model.travel(0)
        await until(lambda: on.shown.at == 0)
        with path.open("ab") as file:
            file.write(lines(*TURNS[2]))
        await until(lambda: len(on.shown.requests) == 3)
        assert on.shown.at == 0
        on.model.travel(None)
        await until(lambda: on.shown.at is None)
        with path.open("ab") as file:
            file.write(lines(*TURNS[3]))
        await until(lambda: len(on.shown.requests) == 4)
        assert on.shown.at is None


async def test_what_was_tried_on_it_is_tried_on_what_comes(services: Services, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(lines(*TURNS[0]))
    async with opened(services, str(path), follow=True) as on:
        on.model.switch_policy("codex")
        await on.settled()
        on.model.set_knob("masking.keep_last=3")
        await on.settled()
        with path.open("ab") as file:
            file.write(lines(*TURNS[1]))
        await until(lambda: len(on.shown.requests) == 2)
        assert on.shown.view == "what-if"
        assert on.shown.policy == "codex"
        assert await on.ask(lambda opened: opened.knobs) == ("masking.keep_last=3",)


async def test_a_file_that_is_cut_replaced_or_gone_is_read_anew_and_it_is_said(
    services: Services, tmp_path: Path
) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(lines(*TURNS[0], *TURNS[1]))
    async with opened(services, str(path), follow=True) as on:
        path.write_bytes(lines(*TURNS[2]))
        await until(lambda: on.following == REPLACED)
        await until(lambda: said(on)[:1] == [f"{BREAD} 3"])
        put(tmp_path / "2.jsonl", lines(*TURNS[3], *TURNS[0]).decode()).rename(path)
        await until(lambda: said(on)[:1] == [f"{BREAD} 4"])
        assert on.following == REPLACED
        path.unlink()
        await until(lambda: on.following == GONE)
        assert said(on)[:1] == [f"{BREAD} 4"]
        path.write_bytes(b'{"no": "transcript"}\n')
        await until(lambda: on.following == UNREADABLE)
        path.write_bytes(lines(*TURNS[1]))
        await until(lambda: said(on)[:1] == [f"{BREAD} 2"])


async def test_messages_that_gemini_replaces_are_replaced(services: Services, tmp_path: Path) -> None:
    path = tmp_path / "session-1.jsonl"
    path.write_bytes(lines(*GEMINI[:4]))
    async with opened(services, str(path), follow=True) as on:
        with path.open("ab") as file:
            file.write(lines(*GEMINI[4:7]))
        await until(lambda: said(on)[-1:] == ["wait"])
        with path.open("ab") as file:
            file.write(lines(GEMINI[7]))
        await until(lambda: said(on)[-1:] == ["done"])
        assert "wait" not in said(on)


async def test_a_database_is_followed_through_its_log_while_another_writes_it(
    services: Services, tmp_path: Path
) -> None:
    from traces.test_opencode import finish, numbered, reply, store, text, user

    talk = numbered((user(text("one")), reply(text("two"), finish(900)), user(text("three")), reply(text("four"))))
    path = store(tmp_path / "opencode.db", (*talk[:2],))
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        assert writer.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        async with opened(services, f"{path}#1", follow=True) as on:
            assert said(on) == ["one", "two"]
            writer.execute("BEGIN IMMEDIATE")  # a writer that takes its time keeps nobody from reading
            for info, parts in talk[2:]:
                row = (info["id"], "s0", info["time"]["created"], 0, json.dumps(info))
                writer.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
                for at, part in enumerate(parts):
                    row = (f"{info['id']}-{at}", info["id"], "s0", at, json.dumps(part))
                    writer.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)
            assert said(on) == ["one", "two"]
            writer.execute("COMMIT")
            await until(lambda: said(on) == ["one", "two", "three", "four"])
            assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0  # no reader holds it


async def test_following_is_switched_on_and_off(services: Services, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(lines(*TURNS[0]))
    async with opened(services, str(path)) as on:
        assert on.following == ""
        on.model.follow()
        await on.settled()
        assert on.following == FOLLOWING
        with path.open("ab") as file:
            file.write(lines(*TURNS[1]))
        await until(lambda: len(on.shown.requests) == 2)
        on.model.follow()
        await on.settled()
        assert on.following == ""
        on.model.new_session()
        await on.settled()
        on.model.follow()
        await on.settled()
        assert "only the file of another agent can be followed" in on.told


async def test_a_file_is_shown_and_followed_on_where_something_else_cannot_be_opened(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(lines(*TURNS[0]))
    services.store.create([UserMessage("x")] * 50, title="long").close()
    gate, make = threading.Event(), opening._opened

    def planned(services: Services, options: Options, source: Source, *more: Any) -> OpenSession:
        if source.is_file:
            return make(services, options, source, *more)
        assert gate.wait(GIVE_UP)
        raise WorkbenchError("it cannot be planned")

    monkeypatch.setattr(opening, "LONG", 40)
    monkeypatch.setattr(opening, "_opened", planned)
    monkeypatch.setattr(outside_changes, "CHECK_SECONDS", 0)
    async with opened(services, str(path), follow=True) as on:
        on.model.open_session("long")
        await until(lambda: bool(on.title == "long"))
        gate.set()
        await on.settled()
        assert "it cannot be planned" in on.told
        assert on.title == str(path)
        assert len(on.shown.requests) == 1
        with path.open("ab") as file:
            file.write(lines(*TURNS[1]))
        await until(lambda: len(on.shown.requests) == 2)


async def test_a_session_of_an_agent_that_runs_is_followed_when_it_is_opened(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "home" / f".claude/projects/-srv-bakery/{name}.jsonl" for name in ("old", "new")]
    for at, path in enumerate(paths):
        put(path, lines(*TURNS[at]).decode())
        os.utime(path, (1000 + at, 1000 + at))
    running = partial(list[AgentProcess], [AgentProcess("Claude Code", "/srv/bakery", 0.0)])
    monkeypatch.setattr(following, "running_agents", running)
    assert [following.is_running(services, f"{path}#1") for path in paths] == [False, True]
    async with opened(services) as on:
        on.model.open_session(f"{paths[0]}#1")
        await on.settled()
        on.model.open_session(f"{paths[1]}#1")
        await until(lambda: on.following == FOLLOWING)
        assert [value for name, value in on.seen if name == "following" and value] == [FOLLOWING]
        with paths[1].open("ab") as file:
            file.write(lines(*TURNS[2]))
        await until(lambda: len(on.shown.requests) == 2)
        on.model.new_session()
        await on.settled()
        assert on.following == ""


def test_what_was_just_read_of_a_session_is_not_read_again() -> None:
    with Services() as services, services.store.create([UserMessage("hello")]) as session:
        follower = follow_session(services.store, session.id, len(session))
        assert follower.read_if_changed(session.events).read is None
        session.append(UserMessage("and more"))
        assert follower.read_if_changed(session.events).read == session.events()


def test_what_was_written_before_a_session_was_followed_is_read() -> None:
    with Services() as services, services.store.create([UserMessage("hello"), UserMessage("and more")]) as session:
        follower = follow_session(services.store, session.id, len(session) - 1)
        assert follower.read_if_changed(session.events).read == session.events()
