"""Fetches files from addresses such as `s3://bucket/talk.jsonl`, with fsspec."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.file_limits import largest_file
from workbench.config.foreign_files import TooLargeFile
from workbench.config.optional_packages import import_optional

_URL = re.compile(r"[a-z][a-z0-9+.-]+:(?://|:)", re.IGNORECASE)
"""As in `s3://` or `simplecache::s3://`. A single letter is a drive."""
_PART = 1024 * 1024
LOCAL: Final = "local"
"""In place of a cluster's address: start Dask on this machine for this run."""
NONE: Final = "none"
"""In place of a cluster's address: processes without Dask."""


def is_url(ref: str) -> bool:
    """Whether a source is an address, not a path."""
    return _URL.match(ref) is not None


def remote_files(url: str) -> list[str]:
    """The files that an address names: one file, all files below a folder, or those that match a pattern."""
    with _as_wrong_call(url):
        system, path = import_optional("fsspec.core", url, "cluster").url_to_fs(url)
        if any(char in path for char in "*?["):
            found = system.glob(path)
            files = [each for each in found if not system.isdir(each)]
        else:
            files = system.find(path) if system.isdir(path) else [path]
        return [system.unstrip_protocol(each) for each in sorted(files)]


def remote_stamp(url: str) -> str:
    """A text that changes when the file does, as reported by its server. Does not read the file."""
    with _as_wrong_call(url):
        system, path = import_optional("fsspec.core", url, "cluster").url_to_fs(url)
        return str(system.ukey(path))


@contextmanager
def local_copy(url: str) -> Iterator[str]:
    """The path of a temporary copy. A number such as `#2` stays after the path."""
    address, number = _split(url)
    with TemporaryDirectory(prefix="workbench-") as folder:
        copy = Path(folder) / (re.sub(r"[^\w.-]", "_", address.rpartition("/")[2])[-100:] or "file")
        with _as_wrong_call(url):
            system, path = import_optional("fsspec.core", url, "cluster").url_to_fs(address)
            if _is_local(system):
                copy = Path(path)
            else:
                _fetch(system, path, copy)
        try:
            yield f"{copy}{number}"
        except WorkbenchError as error:  # the message names the copy, which the user does not know
            raise type(error)(str(error).replace(str(copy), address)) from None


def _is_local(system: Any) -> bool:
    """Whether an address is one of this machine's own disks, as in `file:///tmp/talk.jsonl`."""
    return type(system).__name__ == "LocalFileSystem"


def _fetch(system: Any, path: str, target: Path) -> None:
    """Copy a file to this machine. Raises TooLargeFile, even if its server reported a smaller size."""
    limit = largest_file()
    size = system.info(path).get("size") or 0
    if size > limit:
        raise TooLargeFile(limit, size)
    with system.open(path, "rb") as reading, target.open("wb") as writing:
        copied = 0
        while part := reading.read(_PART):
            copied += writing.write(part)
            if copied > limit:
                raise TooLargeFile(limit)


def _split(url: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.+?)(#\d+)?", url, re.DOTALL)
    assert found is not None
    return found[1], found[2] or ""


@contextmanager
def _as_wrong_call(url: str) -> Iterator[None]:
    """Turn every error of a file system into a WrongCall that names the address."""
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:  # each of the many systems has errors of its own
        problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise WrongCall(f"{url}: cannot be read: {problem}") from None
