"""A file is whole or as it was before; nothing is left next to it; nobody else can read it."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.rights import in_a_fork_without_rights
from workbench.config.writing import copy_file, make_private_file, make_private_folder, replace_file, replacing_file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file of this process may grow over a size: to the program that is a disk which fills up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def interrupted(path: Path, data: bytes, private: bool) -> None:
    with replacing_file(path, private=private) as file:
        file.write(data)
        raise KeyboardInterrupt


def overtaken(path: Path) -> None:
    """Another program makes the file meanwhile."""
    with replacing_file(path, new=True) as file:
        file.write(b"ours")
        path.write_bytes(b"another's")


@given(old=st.none() | st.binary(max_size=300), new=st.binary(max_size=300), private=st.booleans())
def test_a_file_has_the_new_content_or_the_old(
    tmp_path_factory: pytest.TempPathFactory, old: bytes | None, new: bytes, private: bool
) -> None:
    folder = tmp_path_factory.mktemp("writing")
    path = folder / "file"
    if old is not None:
        path.write_bytes(old)
    with pytest.raises(KeyboardInterrupt):
        interrupted(path, new, private)
    assert (path.read_bytes() if path.exists() else None) == old
    replace_file(path, new, private=private)
    assert path.read_bytes() == new
    assert [each.name for each in folder.iterdir()] == ["file"]


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("private", [False, True])
def test_a_full_disk_changes_nothing(tmp_path: Path, private: bool, new: bool) -> None:
    path = tmp_path / "file"
    if not new:
        path.write_bytes(b"before")
    with small_files(5_000), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        replace_file(path, bytes(20_000), private=private, new=new)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir() if each.is_file()] == (
        [] if new else [("file", b"before")]
    )


@pytest.mark.parametrize("failing", ["fsync", "replace", "fchmod"])
def test_so_does_a_failure_at_the_end(tmp_path: Path, failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, failing, fail)
        with pytest.raises(OSError, match="No space"):
            replace_file(path, b"after")
    assert path.read_bytes() == b"before"
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["file"]


@pytest.mark.usefixtures("open_umask")
def test_files_and_folders_are_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "one" / "two" / "file"
    replace_file(path, b"secret")
    assert [mode(each) for each in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]
    copy_file(path, tmp_path / "copy")
    assert mode(tmp_path / "copy") == 0o600
    make_private_file(tmp_path / "three" / "four" / "db")
    assert mode(tmp_path / "three" / "four" / "db") == 0o600
    assert mode(tmp_path / "three") == mode(tmp_path / "three" / "four") == 0o700


@pytest.mark.usefixtures("open_umask")
def test_nobody_can_read_a_file_while_it_is_written(tmp_path: Path) -> None:
    with replacing_file(tmp_path / "file") as file:
        file.write(b"secret")
        file.flush()
        [passing] = [each for each in tmp_path.iterdir() if each.is_file()]
        assert mode(passing) == 0o600


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_of_a_project_are_as_the_umask_says(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        replace_file(tmp_path / "folder" / "file", b"", private=False)
    finally:
        os.umask(before)
    assert mode(tmp_path / "folder" / "file") == 0o666 & ~umask
    assert mode(tmp_path / "folder") == 0o777 & ~umask


@pytest.mark.parametrize("private", [False, True])
def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path, private: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    path.chmod(0o751)
    replace_file(path, b"new", private=private)
    assert mode(path) == 0o751


def test_a_database_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "db"
    path.write_bytes(b"content")
    path.chmod(0o644)
    make_private_file(path)
    assert (mode(path), path.read_bytes()) == (0o600, b"content")


def test_a_read_only_file_stays_as_it_is_though_its_folder_may_be_written(tmp_path: Path) -> None:
    path = tmp_path / "approvals.toml"
    path.write_bytes(b"old")
    path.chmod(0o444)

    def write() -> None:
        with pytest.raises(PermissionError, match=r"approvals\.toml"):
            replace_file(path, b"new")
        path.chmod(0o644)
        replace_file(path, b"new")

    in_a_fork_without_rights(write)
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["approvals.toml"]


def test_a_new_file_never_replaces_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        replace_file(path, b"new", new=True)
    path.unlink()

    def another(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    for links in (True, False):
        with monkeypatch.context() as patched:
            if not links:
                patched.setattr(os, "link", another)
            with pytest.raises(FileExistsError):
                overtaken(path)
            assert path.read_bytes() == b"another's"
            path.unlink()
            replace_file(path, b"ours", new=True)
            assert path.read_bytes() == b"ours"
            path.unlink()
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == []


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("😀" * 63)
    replace_file(path, b"content")
    assert path.read_bytes() == b"content"


def test_a_copy_has_the_time_of_the_original(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"content")
    os.utime(source, ns=(10**18, 10**18 + 7))
    copy_file(source, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mtime_ns == 10**18 + 7
    assert (tmp_path / "copy").read_bytes() == b"content"


def test_readers_never_see_a_part(tmp_path: Path) -> None:
    path, sizes, over = tmp_path / "file", set[int](), threading.Event()
    replace_file(path, bytes(100_000))

    def read() -> None:
        while not over.is_set():
            sizes.add(len(path.read_bytes()))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(40):
        replace_file(path, bytes(100_000 + number % 2))
    over.set()
    reader.join()
    assert sizes <= {100_000, 100_001}


def test_many_at_once_make_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    threads = [threading.Thread(target=make_private_folder, args=(folder,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert folder.is_dir()


def test_a_signal_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from workbench.config.writing import replacing_file\n"
        "with replacing_file(Path(sys.argv[1])) as file:\n"
        "    file.write(b'x'); file.flush(); os.kill(os.getpid(), signal.SIGINT)\n"
    )
    (tmp_path / "file").write_bytes(b"before")
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "file"], capture_output=True, check=False)
    assert done.returncode != 0
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir() if each.is_file()] == [("file", b"before")]
