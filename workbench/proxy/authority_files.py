"""The files of the forward proxy's certificate authority. Removing them needs no package for certificates."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from workbench.config.errors import WorkbenchError
from workbench.config.foreign_files import is_regular_file, read_regular_file
from workbench.config.paths import data_dir
from workbench.config.writing import make_private_folder, replace_file
from workbench.log.lock import locked_folder

FOLDER: Final = "tls"
REMOVE: Final = "workbench proxy --tls-remove"
_SECONDS: Final = 30
"""How long to wait for another proxy that makes an authority."""


class AuthorityFiles:
    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: by default one in the data folder."""
        self.folder = folder or data_dir() / FOLDER
        self.private = self.folder / "authority.pem"
        """The key and the certificate in one file, so that they always belong together."""
        self.public = self.folder / "ca.pem"
        """The certificate alone."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder, and keep other proxies from writing to it. Raises WorkbenchError if that fails."""
        try:
            make_private_folder(self.folder)
            with locked_folder(self.folder, _SECONDS):
                yield
        except TimeoutError as error:
            raise WorkbenchError(f"{self.folder}: another proxy still holds it after {_SECONDS:g} s") from error
        except OSError as error:
            raise WorkbenchError(f"{self.folder}: cannot be written: {error.strerror or error}") from error

    def write_public(self, data: bytes) -> None:
        """Write the certificate, unless it is written already."""
        if not is_regular_file(self.public) or read_regular_file(self.public) != data:
            replace_file(self.public, data)

    def check_private(self) -> None:
        """Raise WorkbenchError if other users may read the key."""
        if os.name == "posix" and self.private.stat().st_mode & 0o077:
            raise WorkbenchError(f"{self.private}: other users may read this key; {REMOVE} deletes it, for a new one")

    def remove(self) -> list[Path]:
        """Delete the authority. Return the files that were deleted. Raises WorkbenchError if one cannot be."""
        deleted = []
        for file in (self.private, self.public):
            try:
                file.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise WorkbenchError(f"{file}: cannot be deleted: {error.strerror or error}") from error
            deleted.append(file)
        return deleted
