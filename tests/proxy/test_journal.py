"""What passed is written at once, without keys, and recorded once, even if the proxy or the recorder is killed."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.test_server import ASK, WHOLE
from support.provider import Answer, Provider
from support.waiting import GIVE_UP
from workbench.log.events import AssistantMessage, Request, RequestAnswer
from workbench.log.lock import locked_folder
from workbench.log.store import Store
from workbench.proxy import journal as journal_module
from workbench.proxy.journal import BrokenJournal, Journal, JournalReader, Position
from workbench.proxy.recorder import Recorder
from workbench.proxy.recorder_link import STARTS, in_process
from workbench.proxy.recorder_process import RecorderLoop, RecorderOptions
from workbench.proxy.recording import PROXY_ENDED
from workbench.proxy.records import AnsweredRecord, Feedback, NotedRecord
from workbench.proxy.redaction import redacted
from workbench.proxy.routes import Route, Upstreams
from workbench.proxy.server import ProxyServer

FINE = Answer(body=gzip.compress(WHOLE), content_type="application/json", headers={"Content-Encoding": "gzip"})
DEAD = "999999999-1"
ROUTE = Route("openai", "chat")
ASKED = json.dumps(ASK).encode()
JSON = {"Content-Type": "application/json"}


async def _ask(server: ProxyServer) -> None:
    headers = {"Authorization": "Bearer secret", "Cookie": "secret", "X-Api-Key": "secret", "User-Agent": "pi"}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{server.address}/v1/chat/completions", json=ASK, headers=headers) as came,
    ):
        assert (await came.json()) == json.loads(WHOLE)


def _events(database: Path) -> list[Any]:
    with Store.open(database) as store:
        return [event.body for info in store.list() for event in store.session(info.id, write=False).events()]


def _exchanges(database: Path) -> list[type[Any]]:
    return [type(each) for each in _events(database) if isinstance(each, Request | RequestAnswer)]


class Places:
    """Where a recorder reads and writes in a test."""

    def __init__(self, folder: Path) -> None:
        self.journals, self.store = folder / "unrecorded", folder / "proxy.db"

    def recorder(self, told: list[str], **more: Any) -> Recorder:
        return in_process(told.append, journals=self.journals, store=self.store, **more)

    def recover(self) -> list[Feedback]:
        """What the recorder of the next proxy does when it starts."""
        told: list[Feedback] = []
        options = RecorderOptions(str(self.journals), "1-1", store=str(self.store))
        RecorderLoop(options, told.append).record_until_end(lambda: False)
        return told


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


@contextmanager
def stopped(recorder: Recorder) -> Iterator[psutil.Process]:
    """A recorder process that does nothing."""
    link: Any = recorder._link
    process = psutil.Process(getattr(link, "_link", link)._process.pid)
    process.suspend()
    yield process


@asynccontextmanager
async def before(answer: Answer, recorder: Recorder) -> AsyncIterator[ProxyServer]:
    async with Provider(answer) as provider, ProxyServer(Upstreams(provider.url), recorder) as server:
        yield server


async def test_what_was_answered_outlives_a_proxy_and_a_recorder_that_are_killed(places: Places) -> None:
    told: list[str] = []
    recorder = places.recorder(told)
    with stopped(recorder) as process:
        async with before(FINE, recorder) as server:
            for _ in range(3):
                await _ask(server)
        [mine] = places.journals.iterdir()
        [file] = (path for path in mine.iterdir() if path.name.isdecimal())
        assert (file.stat().st_mode & 0o777, mine.stat().st_mode & 0o777) == (0o600, 0o700)
        assert b"secret" not in file.read_bytes()
        recorder._link._is_closing = True  # type: ignore[attr-defined]  # as the proxy is gone, it starts no other one
        process.kill()
    os.rename(mine, places.journals / DEAD)
    with (places.journals / DEAD / "000000000001").open("ab") as end:
        end.write(file_start(places)[:50])  # the kill came in the middle
    assert sum(feedback.recovered for feedback in places.recover()) == 3
    assert list(places.journals.iterdir()) == []
    assert _exchanges(places.store) == [Request, RequestAnswer] * 3
    assert [each.content for each in _events(places.store) if isinstance(each, AssistantMessage)] == ["done"] * 3
    assert places.recover() == []
    recorder.close(0)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed there")
async def test_a_recorder_that_is_closed_holds_no_file_of_its_journal(places: Places) -> None:
    def held() -> list[str]:
        found = [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
        return [each for each in found if each.startswith(str(places.journals))]

    recorder = places.recorder([])
    async with before(FINE, recorder) as server:
        await _ask(server)
        assert held()
    recorder.close(GIVE_UP)
    assert held() == []


def file_start(places: Places) -> bytes:
    return (places.journals / DEAD / "000000000001").read_bytes()


async def test_a_recorder_goes_on_to_the_end_when_its_proxy_is_gone(places: Places) -> None:
    recorder = places.recorder([])
    with stopped(recorder) as process:
        async with before(FINE, recorder) as server:
            for _ in range(5):
                await _ask(server)
        recorder.close(0)  # which closes the pipe, as a kill does
        process.resume()
    await asyncio.to_thread(process.wait, 120)
    assert _exchanges(places.store) == [Request, RequestAnswer] * 5
    assert list(places.journals.iterdir()) == [], "what is recorded is not left behind"


async def test_an_answer_finds_its_request_in_the_next_recorder_and_nothing_is_recorded_twice(places: Places) -> None:
    told: list[str] = []
    recorder = places.recorder(told)
    asked = [recorder.record_request(ROUTE, {}, [ASKED], 1) for _ in range(3)]
    await _recorded(recorder)
    asked[0].record_answer(200, JSON, [WHOLE], 1, 2)
    await _recorded(recorder)
    first = recorder._link._process  # type: ignore[attr-defined]
    first.kill()
    await asyncio.to_thread(first.wait)
    for each in asked[1:]:
        each.record_answer(200, JSON, [WHOLE], 1, 2)
    await _recorded(recorder)
    await asyncio.to_thread(recorder.close, 120)
    found = [each for each in _events(places.store) if isinstance(each, Request | RequestAnswer)]
    assert sum(isinstance(each, Request) for each in found) == 3
    assert len({each.request for each in found if isinstance(each, RequestAnswer)}) == 3
    assert (told, recorder.lost) == ([], 0)


@pytest.mark.parametrize("recorder_too", [False, True])
async def test_a_request_that_a_killed_proxy_left_open_says_so_once(places: Places, recorder_too: bool) -> None:
    recorder = places.recorder([])
    with stopped(recorder) as process:
        asked = [recorder.record_request(ROUTE, {}, [ASKED], 1) for _ in range(2)]
        asked[0].record_answer(200, JSON, [WHOLE], 1, 2)
        recorder._link._is_closing = True  # type: ignore[attr-defined]  # as the proxy is gone, it starts no other one
        if recorder_too:
            process.kill()
            [mine] = places.journals.iterdir()
            os.rename(mine, places.journals / DEAD)
        recorder.close(0)  # which closes the pipe, as a kill does
        if not recorder_too:
            process.resume()
    await asyncio.to_thread(process.wait)
    for _ in range(2):
        places.recover()
    answers = [each for each in _events(places.store) if isinstance(each, RequestAnswer)]
    assert [(each.status, each.problem) for each in answers] == [(200, ""), (0, PROXY_ENDED)]
    assert list(places.journals.iterdir()) == []


async def _recorded(recorder: Recorder) -> None:
    while recorder.waiting > 0:
        await asyncio.sleep(0.01)


async def test_a_recorder_that_ends_again_and_again_is_reported_once_and_stops_nobody(places: Places) -> None:
    told: list[str] = []
    recorder = places.recorder(told)
    link: Any = recorder._link
    async with before(FINE, recorder) as server:
        for _ in range(STARTS):
            process = link._process
            process.kill()
            while link._process is process and not told:
                await asyncio.sleep(0.01)
        for _ in range(2):
            await _ask(server)
    await asyncio.to_thread(recorder.close, 120)
    [line] = told
    assert "the next proxy records it" in line
    [mine] = places.journals.iterdir()
    os.rename(mine, places.journals / DEAD)
    places.recover()
    assert _exchanges(places.store) == [Request, RequestAnswer] * 2


async def test_with_redaction_no_secret_reaches_the_journal(places: Places) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwxyz"
    recorder = places.recorder([], redact=redacted)
    with stopped(recorder) as process:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"my key is {secret}"}]}).encode()
        said = {"choices": [{"message": {"role": "assistant", "content": f"{secret} is yours"}}]}
        packed = {**JSON, "Content-Encoding": "gzip"}
        frames = json.dumps([json.dumps({"type": "response.completed", "response": {"output": [secret]}})]).encode()
        recorder.record_request(ROUTE, packed, [gzip.compress(body)], 1).record_answer(
            200, packed, [gzip.compress(json.dumps(said).encode())], 1, 2
        )
        frame = json.dumps({"type": "response.create", "input": secret}).encode()
        recorder.record_request(Route("openai", "responses"), {}, [frame], 1, payload="frame").record_answer(
            0, {}, [frames], 1, 2, payload="frames"
        )
        link: Any = recorder._link
        link._queue.put(None)
        await asyncio.to_thread(link._thread.result)
        [mine] = places.journals.iterdir()
        written = (mine / "000000000001").read_bytes()
        assert b"my key is [redacted]" in written
        assert b"abcdefghij" not in written
        process.resume()
    await asyncio.to_thread(recorder.close, 120)
    texts = [str(each) for each in _events(places.store)]
    assert _exchanges(places.store) == [Request, RequestAnswer] * 2
    assert any("[redacted] is yours" in text for text in texts)
    assert not any("abcdefghij" in text for text in texts)


async def test_nothing_is_taken_from_a_proxy_that_lives_or_a_recorder_that_still_reads(places: Places) -> None:
    journal = Journal(places.journals)
    journal.append((AnsweredRecord(1, 200, {}, 1, 2), ()))
    assert places.recover() == []
    assert journal.folder.exists()
    os.rename(journal.folder, places.journals / DEAD)
    with locked_folder(places.journals / DEAD, 0):
        assert places.recover() == []
    assert len(places.recover()) == 1
    assert list(places.journals.iterdir()) == []


async def test_what_is_no_journal_is_said_and_left_out(places: Places) -> None:
    journal = Journal(places.journals, segment=1)
    for _ in range(3):
        journal.append((NotedRecord("s", "k", 1), [b"data"]))
    (journal.folder / "000000000002").unlink()
    os.mkfifo(journal.folder / "000000000002")
    os.rename(journal.folder, places.journals / DEAD)
    told = places.recover()
    assert any("cannot be read" in why for feedback in told for why in feedback.lost)
    assert sum(feedback.done for feedback in told) == 0
    assert list(places.journals.iterdir()) == []


async def test_a_folder_that_cannot_be_written_costs_nothing(places: Places) -> None:
    places.journals.write_bytes(b"")  # no folder
    told: list[str] = []
    recorder = places.recorder(told)
    async with before(FINE, recorder) as server:
        await _ask(server)
    await asyncio.to_thread(recorder.close, 120)
    [line] = told
    assert line.startswith("not recorded: the journal cannot be written")


@given(st.lists(st.lists(st.binary(max_size=40), max_size=4), max_size=12), st.integers(1, 400), st.data())
def test_a_journal_that_is_cut_anywhere_gives_its_beginning(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[bytes]], segment: int, data: st.DataObject
) -> None:
    journal = Journal(tmp_path_factory.mktemp("journals"), segment)
    for number, parts in enumerate(rows):
        journal.append((NotedRecord("s", "k", number), parts))
    journal.close()
    whole = [b"".join(parts) for parts in rows]
    assert _read(journal.folder) == whole
    files = sorted(journal.folder.iterdir()) if rows else []
    if files:
        os.truncate(files[-1], data.draw(st.integers(0, files[-1].stat().st_size)))
        found = _read(journal.folder)
        assert found == whole[: len(found)]


def _read(folder: Path) -> list[bytes]:
    reader, found = JournalReader(folder), []
    try:
        while (each := reader.next()) is not None:
            found.append(each[1])
    except BrokenJournal:
        pass
    assert reader.position == Position.from_number(reader.position.number)
    return found


def test_sizes_up_to_the_largest_are_read_and_others_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Journal(tmp_path)
    written.append((NotedRecord("s", "k", 1), [b"12345"]))
    written.close()
    head = written.folder / sorted(os.listdir(written.folder))[0]
    length = head.stat().st_size - journal_module._SIZES.size - 5
    for name, size in (("MOST_OF_PAYLOAD", 5), ("MOST_OF_HEAD", length)):
        for most, found in ((size, [b"12345"]), (size - 1, [])):
            with monkeypatch.context() as changed:
                changed.setattr(journal_module, name, most)
                assert _read(written.folder) == found


def test_only_the_newest_file_of_a_journal_is_open(tmp_path: Path) -> None:
    written = Journal(tmp_path, segment=1)
    for number in range(3):
        written.append((NotedRecord("s", "k", number), [b"12345"]))
    *_, newest = sorted(written.folder.iterdir())
    assert [each.path for each in psutil.Process().open_files() if tmp_path in Path(each.path).parents] == [str(newest)]
    written.close()


def test_no_link_is_followed_to_a_journal(tmp_path: Path) -> None:
    written = Journal(tmp_path)
    written.append((NotedRecord("s", "k", 1), [b"12345"]))
    written.close()
    [file] = written.folder.iterdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / file.name).symlink_to(file)
    assert [_read(folder) for folder in (written.folder, tmp_path / "other")] == [[b"12345"], []]


def test_a_disk_that_is_full_leaves_whole_records(tmp_path: Path) -> None:
    import resource

    journal = Journal(tmp_path)
    journal.append((NotedRecord("s", "k", 1), [b"first"]))
    before_, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before_[1]))
    try:
        with pytest.raises(OSError, match=r"No space|too large"):
            journal.append((NotedRecord("s", "k", 2), [b"x" * 5000]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before_)
        signal.signal(signal.SIGXFSZ, handler)
    journal.append((NotedRecord("s", "k", 3), [b"third"]))
    assert _read(journal.folder) == [b"first", b"third"]
