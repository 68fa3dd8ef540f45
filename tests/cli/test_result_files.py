"""Results that a command writes: checked before the work, whole or not at all, for this user alone."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.terminal import WORKBENCH
from workbench.cli.main import main
from workbench.config.output_files import OutputFile

ENDINGS = {"csv": b"codex", "html": b"</html>", "parquet": b"PAR1"}


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    turns = [{"role": role, "content": "words " * 300} for _ in range(20) for role in ("user", "assistant")]
    path.write_text(json.dumps({"messages": turns}))
    return path


@pytest.fixture
def session(transcript: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["import", str(transcript)]) == 0
    return capsys.readouterr().out.split()[0]


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever begins to work has not checked first."""

    def begun(*_: object) -> Any:
        raise AssertionError("the work has begun")

    monkeypatch.setattr("workbench.cli.lab.find_corpus", begun)
    monkeypatch.setattr("workbench.cli.tune.find_corpus", begun)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB that is full but for a page."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """On this disk files can get so large."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


@pytest.mark.parametrize("kind", ENDINGS)
def test_a_disk_that_fills_up_leaves_what_was_there(
    transcript: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "results"
    call = ["lab", str(transcript), "--policy", "codex", f"--{kind}", str(target), "--jobs", "1"]
    assert main(call) == 0
    before, beside = target.read_bytes(), names(tmp_path)
    target.write_bytes(before + bytes(5_000))  # begins as such results do
    before = target.read_bytes()
    capsys.readouterr()
    with small_files(0):
        assert main(call) == 1
    assert capsys.readouterr().err == f"workbench: --{kind} {target}: cannot be written: File too large\n"
    assert target.read_bytes() == before
    assert names(tmp_path) == beside
    target.unlink()
    with small_files(0):
        assert main(call) == 1
    assert names(tmp_path) == beside - {"results"}


def test_results_that_are_larger_than_the_disk_leave_what_was_there(
    transcript: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = small_disk / "lab.html"
    target.write_bytes(b"<!doctype html>" + bytes(20_000))
    before = target.read_bytes()
    (small_disk / "other").write_bytes(bytes(36_000))
    assert main(["lab", str(transcript), "--html", str(target), "--jobs", "1"]) == 1
    assert capsys.readouterr().err == f"workbench: --html {target}: cannot be written: No space left on device\n"
    assert target.read_bytes() == before
    assert names(small_disk) == {"lab.html", "other"}


@pytest.mark.usefixtures("no_work")
def test_a_full_disk_is_told_before_the_work(
    transcript: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (small_disk / "other").write_bytes(bytes(65_536))
    for call in (["lab", "--csv"], ["tune", "-o"]):
        command, option = call
        assert main([command, str(transcript), option, str(small_disk / "results")]) == 1
        assert "cannot be written: No space left on device" in capsys.readouterr().err
    assert names(small_disk) == {"other"}


@pytest.mark.usefixtures("no_work")
def test_a_missing_package_is_told_before_the_work_and_empties_nothing(
    transcript: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "lab.parquet"
    target.write_bytes(b"PAR1 results of yesterday")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["lab", str(transcript), "--parquet", str(target)]) == 2
    assert "expected the package pyarrow" in capsys.readouterr().err
    assert target.read_bytes() == b"PAR1 results of yesterday"


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("wrong", ["", "missing/results", "talk.json/results", ".", "a\0b"])
def test_a_place_that_cannot_be_written_is_told_before_the_work(
    transcript: Path, capsys: pytest.CaptureFixture[str], wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(transcript.parent)
    for call in (["lab", str(transcript), "--html"], ["tune", str(transcript), "-o"], ["export", "some", "-o"]):
        assert main([*call, wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.usefixtures("no_work")
def test_a_place_without_permission_is_told_before_the_work(transcript: Path, tmp_path: Path) -> None:
    """As another user, where the tests run as root, who may write anywhere."""
    code = (
        "import os, sys; from workbench.config.output_files import OutputFile; from workbench.config.errors import *\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: OutputFile(sys.argv[1]).check_writable()\n"
        "except WrongCall as error: print(error)\n"
    )
    folder = tmp_path / "closed"
    folder.mkdir()
    (tmp_path / "closed" / "file").write_bytes(b"")
    folder.chmod(0o555)
    (folder / "file").chmod(0o444)
    for each in [tmp_path, *tmp_path.parents][:-2]:
        if each.stat().st_uid == os.getuid() and os.getuid() == 0:
            each.chmod(each.stat().st_mode | 0o055)
    said = [
        subprocess.run([sys.executable, "-c", code, folder / name], capture_output=True, text=True, check=True).stdout
        for name in ("new", "file")
    ]
    assert said == [
        f"{folder / 'new'}: cannot be written: Permission denied\n",
        f"{folder / 'file'}: is write-protected\n",
    ]


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_results_are_for_this_user_alone(transcript: Path, session: str, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        for kind in ENDINGS:
            target = tmp_path / f"results.{kind}"
            assert main(["lab", str(transcript), "--policy", "codex", f"--{kind}", str(target), "--jobs", "1"]) == 0
        assert main(["export", session, "-o", str(tmp_path / "results.jsonl")]) == 0
        assert main(["export", session, "--format", "openai", "-o", str(tmp_path / "results.json")]) == 0
    finally:
        os.umask(before)
    made = [*tmp_path.glob("results.*"), *(each for each in (tmp_path / "cache").rglob("*") if each.is_file())]
    assert len(made) > 5
    assert {stat.S_IMODE(each.stat().st_mode) for each in made} == {0o600}


def test_everything_in_the_own_folders_is_for_this_user_alone(tmp_path: Path) -> None:
    """From the first call on, under an umask that hides nothing from anybody."""
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps([{"role": "user", "content": "words"}, {"role": "assistant", "content": "more"}]))
    before = os.umask(0)
    try:
        for call in (["lab", talk], ["import", talk], ["sessions", "--json"], ["sessions", "recover"]):
            assert main(list(map(str, call))) == 0
    finally:
        os.umask(before)
    found = [each for top in ("data", "cache") for each in (tmp_path / top, *(tmp_path / top).rglob("*"))]
    assert len(found) > 4
    wrong = {str(each): oct(each.stat().st_mode) for each in found if each.stat().st_mode & 0o077}
    assert not wrong


def test_a_file_keeps_the_mode_that_the_user_gave_it(session: str, tmp_path: Path) -> None:
    target = tmp_path / "shared.jsonl"
    target.touch()
    target.chmod(0o664)
    assert main(["export", session, "-o", str(target)]) == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o664


OUTPUTS = [
    pytest.param(kind, name, marks=[pytest.mark.wide] if (at + place) % len(ENDINGS) or place > 1 else [])
    for at, kind in enumerate(ENDINGS)
    for place, name in enumerate(["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
]
"""Two names with a kind of results each; all pairs are tried only where all cases run."""


@pytest.mark.parametrize(("kind", "name"), OUTPUTS)
def test_standard_output_is_written_to_where_it_is(transcript: Path, tmp_path: Path, kind: str, name: str) -> None:
    """`>> file` keeps what the file has."""
    target = tmp_path / "all"
    target.write_bytes(b"what was there\n")
    with target.open("ab") as file:
        call = [*WORKBENCH, "lab", str(transcript), "--policy", "codex", f"--{kind}", name, "--jobs", "1"]
        done = subprocess.run(call, stdout=file, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert target.read_bytes().startswith(b"what was there\n")
    assert ENDINGS[kind] in target.read_bytes()
    piped = subprocess.run(call, capture_output=True, check=True).stdout
    assert b"what was there\n" + piped == target.read_bytes()


@pytest.mark.parametrize("kind", ENDINGS)
def test_a_pipe_gets_all_of_it(transcript: Path, tmp_path: Path, kind: str) -> None:
    pipe, got = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    assert main(["lab", str(transcript), "--policy", "codex", f"--{kind}", str(pipe), "--jobs", "1"]) == 0
    reader.join()
    assert ENDINGS[kind] in got[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_stay_devices(
    transcript: Path, session: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", session, "-o", "/dev/null"]) == 0
    assert main(["lab", str(transcript), "--csv", "/dev/null", "--jobs", "1"]) == 0
    for call in (["export", session, "-o"], ["lab", str(transcript), "--jobs", "1", "--html"]):
        assert main([*call, "/dev/full"]) == 1
        assert "/dev/full: cannot be written: No space left on device" in capsys.readouterr().err
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_export_to_a_dash_is_standard_output(session: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", session]) == 0
    plain = capsys.readouterr().out
    assert main(["export", session, "-o", "-"]) == 0
    assert capsys.readouterr().out == plain
    assert not Path("-").exists()


def test_nothing_but_a_file_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    assert [OutputFile(str(tmp_path / name)).is_stream for name in ("file", "link", "missing")] == [False] * 3
    assert all(
        OutputFile(name).is_stream for name in ("-", "/dev/stdout", "/dev/fd/7", "/dev/null", "/dev/../dev/stderr")
    )


def test_recover_leaves_no_half_copy(session: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "data" / "workbench.db"
    before = names(store.parent)
    size = store.stat().st_size
    with small_files(size - 1):
        assert main(["sessions", "recover"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert {each for each in names(store.parent) - before if not each.endswith(("-wal", "-shm"))} == set()
