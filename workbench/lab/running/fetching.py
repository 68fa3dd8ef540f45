"""Files that lie elsewhere: addresses such as `s3://bucket/talk.jsonl`, which fsspec knows how to read."""

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
from workbench.lab.optional_packages import import_extra

_URL = re.compile(r"[a-z][a-z0-9+.-]+:(?://|:)", re.IGNORECASE)
"""As `s3://`, or `simplecache::s3://`; a letter alone is a drive."""
_PART = 1024 * 1024
LOCAL: Final = "local"
"""In place of a cluster's address: Dask on this machine, for as long as it is needed."""
NONE: Final = "none"
"""No Dask, but processes of this machine."""


def is_url(ref: str) -> bool:
    """Whether a source is an address and no path."""
    return _URL.match(ref) is not None


def remote_files(url: str) -> list[str]:
    """The files that an address means: itself, all below a folder, or what fits a pattern."""
    with _as_wrong_call(url):
        system, path = import_extra("fsspec.core", url).url_to_fs(url)
        if any(char in path for char in "*?["):
            found = system.glob(path)
            files = [each for each in found if not system.isdir(each)]
        else:
            files = system.find(path) if system.isdir(path) else [path]
        return [system.unstrip_protocol(each) for each in sorted(files)]


def remote_stamp(url: str) -> str:
    """What changes when the file does, as its server tells it: no need to read the file."""
    with _as_wrong_call(url):
        system, path = import_extra("fsspec.core", url).url_to_fs(url)
        return str(system.ukey(path))


@contextmanager
def local_copy(url: str) -> Iterator[str]:
    """A copy of the file for as long as it is read; of one with conversations, `#2` stays behind the path."""
    address, number = _split(url)
    with TemporaryDirectory(prefix="workbench-") as folder:
        copy = Path(folder) / (re.sub(r"[^\w.-]", "_", address.rpartition("/")[2])[-100:] or "file")
        with _as_wrong_call(url):
            system, path = import_extra("fsspec.core", url).url_to_fs(address)
            if _is_local(system):
                copy = Path(path)
            else:
                _fetch(system, path, copy)
        try:
            yield f"{copy}{number}"
        except WorkbenchError as error:  # whoever reads it names the copy, of which nobody knows
            raise type(error)(str(error).replace(str(copy), address)) from None


def _is_local(system: Any) -> bool:
    """Whether an address is one of this machine's own disks, as in `file:///tmp/talk.jsonl`."""
    return type(system).__name__ == "LocalFileSystem"


def _fetch(system: Any, path: str, target: Path) -> None:
    """Copy a file to this machine; raises TooLargeFile, whatever size its server told before."""
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
    """Whatever a file system complains of is a file that cannot be read."""
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:  # each of the many systems has errors of its own
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise WrongCall(f"{url}: cannot be read: {said}") from None
