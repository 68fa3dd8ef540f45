"""What a status bar shows of the agents that run."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live.test_finder import SESSIONS, put
from live.test_reports import REPORTS
from session.test_following import FILES, TURNS, lines
from support.claude_sessions import agent_lines, write_session
from support.recordings import readable_files
from workbench.config.values import replace
from workbench.live import heads, status
from workbench.live.finder import AgentSession, AgentSessionFinder
from workbench.live.processes import AgentProcess, running_paths
from workbench.live.status import StatusReader, running_sessions
from workbench.session import opening
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.traces.formats import read_file


def boundary(before: int, trigger: str = "auto") -> dict[str, Any]:
    """How Claude Code notes a compaction."""
    meta = {"trigger": trigger, "preTokens": before}
    return {"type": "system", "subtype": "compact_boundary", "uuid": f"b{before}", "compactMetadata": meta}


def at(path: Path) -> AgentSession:
    found = AgentSessionFinder({}).session_at(str(path))
    assert found is not None
    return found


def test_a_session_in_figures(tmp_path: Path, services: Services) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(lines(*TURNS[0], *TURNS[1]))
    found = StatusReader(services.catalogue, lambda: services.store).read_status(at(path))
    assert (found.session.agent, found.tokens, found.window, found.share) == ("Claude Code", 20_200, 200_000, 0.101)
    assert (found.cached, found.compacts_at, found.left) == (0.0, None, None)
    assert found.cost == pytest.approx((20_100 + 20_200) * 5e-6 + 18 * 25e-6)


def test_before_the_first_report_no_figure_is_known(tmp_path: Path, services: Services) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(lines(TURNS[0][0]))
    found = StatusReader(services.catalogue, lambda: services.store).read_status(at(path))
    assert (found.tokens, found.share, found.cached, found.left) == (None, None, None, None)


def test_a_path_may_have_the_sign_in_it_that_stands_before_the_number_of_a_conversation(
    tmp_path: Path, services: Services
) -> None:
    path = tmp_path / "c#" / "talk#1.jsonl"
    path.parent.mkdir()
    path.write_bytes(lines(*TURNS[0]))
    for each in (at(path), at(Path(f"{path}#1")), replace(at(path), path=f"{path}#1")):
        found = StatusReader(services.catalogue, lambda: services.store).read_status(each)
        assert found.cost == pytest.approx(20_100 * 5e-6 + 9 * 25e-6)
        assert each.ref == f"{path}#1"


def test_what_a_session_did_before_tells_when_it_compacts(tmp_path: Path, services: Services) -> None:
    path = tmp_path / "1.jsonl"
    summary = {"type": "user", "uuid": "s", "isCompactSummary": True, "message": {"role": "user", "content": "so far"}}
    path.write_bytes(lines(*TURNS[0], boundary(155_000), summary, *TURNS[1], boundary(60_000, "manual"), *TURNS[2]))
    found = StatusReader(services.catalogue, lambda: services.store).read_status(at(path))
    assert (found.compacts_at, found.left) == (155_000, 155_000 - 20_300)


def test_of_codex_its_preset_tells_it(tmp_path: Path, services: Services) -> None:
    path = put(tmp_path / "1.jsonl", [*SESSIONS["Codex"][1], REPORTS["Codex"][0]])
    found = StatusReader(services.catalogue, lambda: services.store).read_status(at(path))
    assert (found.compacts_at, found.left) == (180_881, 179_881)


def test_a_file_is_read_again_only_once_it_has_changed(
    tmp_path: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, reads = tmp_path / "1.jsonl", list[str]()
    path.write_bytes(lines(*TURNS[0]))

    def counted(source: str, **more: Any) -> Any:
        reads.append(source)
        return read_file(source, **more)

    monkeypatch.setattr(status, "read_file", counted)
    reader = StatusReader(services.catalogue, lambda: services.store)
    first = reader.read_status(at(path))
    assert reader.read_status(at(path)) == first
    assert len(reads) == 1
    with path.open("ab") as file:
        file.write(lines(*TURNS[1]))
    assert (reader.read_status(at(path)).cost or 0) > (first.cost or 0)
    monkeypatch.setattr(status, "LARGE", 10)
    assert reader.read_status(at(path)).cost is None


@pytest.mark.parametrize("name", FILES)
def test_the_cost_is_that_of_the_opened_session(name: str, tmp_path: Path, services: Services) -> None:
    path = tmp_path / "1.jsonl"
    path.write_bytes(FILES[name])
    if name not in ("our own", "aider"):
        _same_cost(path, services)


@pytest.mark.parametrize("path", readable_files(".jsonl"), ids=lambda path: path.name)
def test_so_it_is_for_what_real_agents_wrote(path: Path, services: Services) -> None:
    _same_cost(path, services)


def test_what_sub_agents_cost_is_counted_and_seen_when_they_go_on(tmp_path: Path, services: Services) -> None:
    reader = StatusReader(services.catalogue, lambda: services.store)
    path = write_session(tmp_path, {})
    alone = reader.read_status(AgentSession("", str(path), "", "", "", 0)).cost
    write_session(tmp_path, {"a1": agent_lines("a1", 4, 6)})
    together = reader.read_status(AgentSession("", str(path), "", "", "", 0)).cost
    assert alone is not None
    assert together is not None
    assert together > alone
    _same_cost(path, services)


def _same_cost(path: Path, services: Services) -> None:
    total = opening.open_source(services, Options(follow=True), f"{path}#1").ledger.total
    expected = total.cost if total.requests > total.uncosted else None
    found = StatusReader(services.catalogue, lambda: services.store).read_status(
        AgentSession("", str(path), "", "", "", 0)
    )
    assert found.cost == (None if expected is None else pytest.approx(expected))


PROCESSES = st.builds(
    AgentProcess, st.sampled_from([*SESSIONS, "aider"]), st.sampled_from(["/srv/bakery", "/srv/mill"]), st.floats(0, 99)
)


@given(st.lists(PROCESSES, max_size=4), st.permutations(range(len(SESSIONS))))
def test_the_same_sessions_run_as_where_all_are_read(processes: list[AgentProcess], order: list[int]) -> None:
    with TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setattr(status, "running_agents", lambda: processes)
        for (path, values), changed in zip(SESSIONS.values(), order, strict=True):
            os.utime(put(Path(home, path), values), (changed * 10, changed * 10))
        put(Path(home, ".gemini/tmp/bakery/.project_root"), "/srv/bakery")
        every = AgentSessionFinder({"HOME": home}).find_sessions()
        expected = running_paths(every, processes)
        read, real = list[str](), heads.read_head

        def noted(path: str, *more: str) -> heads.TranscriptHead:
            read.append(path)
            return real(path, *more)

        patch.setattr("workbench.live.finder.read_head", noted)
        found = running_sessions(AgentSessionFinder({"HOME": home}), "")
        assert {each.path for each in found} == expected
        assert len(read) <= sum(each.agent in {one.agent for one in processes} for each in every)
