"""What a worker keeps of the sources it has read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from workbench.lab.running.source_reader import SourceReader
from workbench.lab.running.tasks import LabTask
from workbench.log.events import AssistantMessage, UserMessage
from workbench.sources.options import Options
from workbench.sources.services import Services


@pytest.fixture
def tasks(tmp_path: Path) -> list[LabTask]:
    """Three sources of the same size."""
    for name in "abc":
        said = {"role": "user", "content": name * 1_000}
        (tmp_path / f"{name}.json").write_text(json.dumps([said, {"role": "assistant", "content": "yes"}]))
    return [LabTask(str(tmp_path / f"{name}.json"), ()) for name in "abc"]


def test_a_source_is_read_once_in_a_run_and_anew_in_another(tasks: list[LabTask], services: Services) -> None:
    reader = SourceReader(services)
    first = reader.read_sources(tasks[0], "one")
    assert reader.read_sources(tasks[0], "one") is first
    assert reader.read_sources(tasks[0], "two") is not first
    alone = reader.read_sources(tasks[0])
    assert reader.read_sources(tasks[0]) is not alone


def test_one_that_has_changed_or_is_asked_for_otherwise_is_another(tasks: list[LabTask], services: Services) -> None:
    reader, task = SourceReader(services), tasks[0]
    first = reader.read_sources(task, "one")
    assert reader.read_sources(task._replace(options=Options(model="gpt-4o")), "one") is not first
    assert reader.read_sources(task, "one") is first
    was = os.stat(task.source)
    os.utime(task.source, ns=(was.st_atime_ns, was.st_mtime_ns + 1))
    assert reader.read_sources(task, "one") is not first


def test_what_came_first_stays_where_there_is_no_room_for_all(tasks: list[LabTask], services: Services) -> None:
    reader = SourceReader(services, 10_000)  # each takes two bytes for each of its own, and 600 for each event
    first, second, third = (reader.read_sources(task, "one") for task in tasks)
    assert reader.read_sources(tasks[0], "one") is first
    assert reader.read_sources(tasks[1], "one") is second
    assert reader.read_sources(tasks[2], "one") is not third


def test_a_session_of_the_store_is_read_again_when_something_was_said(services: Services) -> None:
    with services.store.create([UserMessage("which port?"), AssistantMessage("48213")]) as session:
        reader = SourceReader(services)
        task = LabTask(session.id, ())
        first = reader.read_sources(task, "one")
        assert reader.read_sources(task, "one") is first
        session.append(UserMessage("and the other?"))
        again = reader.read_sources(task, "one")
    assert len(again[0].source.events) == len(first[0].source.events) + 1
