"""A project, a session and a gateway for each test that asks for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from workbench.log.session import Session
from workbench.log.store import Store
from workbench.models.gateway import Gateway
from workbench.rehearsal.in_process import rehearse


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with two files."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("print('a')\n")
    (folder / "b.py").write_text("print('b')\n")
    return folder


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """An empty session in a store of its own."""
    with Store.open(tmp_path / "store.db") as store, store.create() as made:
        yield made


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    """A gateway whose rehearsal model has no script until a test gives it one."""
    rehearse()
    made = Gateway()
    yield made
    await made.close()
