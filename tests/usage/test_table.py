"""Each request counts once, with the right price, on the right day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usage.homes import claude_reply, codex_count, codex_header, codex_model, write_claude, write_codex
from workbench.config.values import replace
from workbench.live.stamps import FileStamp
from workbench.log.events import AssistantMessage, Body, Request, Setting, Usage, UserMessage
from workbench.log.store import Store
from workbench.models.catalogue import Catalogue
from workbench.sources.services import Services
from workbench.usage.gathering import all_usage
from workbench.usage.reading import summed_file
from workbench.usage.records import RequestUse, SessionUse, UsageEntry
from workbench.usage.stored_usage import read_stored_session
from workbench.usage.summing import Summing
from workbench.usage.usage_table import (
    DIMENSIONS,
    UsageTable,
    chosen_buckets,
    grouped,
    total_row,
    week_of,
)
from workbench.usage.usage_windows import HOUR, LENGTH, hour_end


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def table() -> UsageTable:
    with Services() as services:
        return all_usage(services, "")


def made_table(sessions: Sequence[SessionUse]) -> UsageTable:
    summing = Summing(Catalogue())
    file = summed_file(summing, UsageEntry(FileStamp(0, 0, 0), [*sessions]))
    return summing.make_table([*file.summed_sessions()])


def requests_of(found: UsageTable) -> dict[str, int]:
    return {row.name: row.sums.requests for row in grouped(found.buckets, "session")}


def test_a_resumed_session_that_copies_earlier_lines_counts_only_its_own(home: Path) -> None:
    first = [claude_reply("m1", 1, 10, 1), claude_reply("m2", 2, 10, 1)]
    write_claude(home, "a-later", [*first, claude_reply("m3", 30, 10, 1)])
    write_claude(home, "b-first", first)
    assert requests_of(table()) == {"a-later": 1, "b-first": 2}


def test_a_sub_agents_replies_count_once_for_its_session(home: Path) -> None:
    helper = claude_reply("m9", 2, 10, 3, isSidechain=True, agentId="a7")
    progress = {"type": "progress", "data": {"agentId": "a7", "message": helper}}
    write_claude(home, "s1", [claude_reply("m1", 1, 10, 1), progress])
    write_claude(home, "s1/subagents/agent-a7", [helper, claude_reply("m10", 3, 10, 3, isSidechain=True)])
    write_claude(home, "agent-old", [claude_reply("m11", 4, 10, 3, sessionId="s1", isSidechain=True)])
    [row] = grouped(table().buckets, "session")
    assert (row.name, row.sums.requests, row.sub_agents) == ("s1", 4, 2)


def test_a_fork_of_codex_counts_only_its_own(home: Path) -> None:
    begun = [codex_model(), codex_count(1, 110, 100, 10), codex_count(2, 230, 110, 10)]
    write_codex(home, "t1", [codex_header("t1"), *begun])
    write_codex(home, "t2", [codex_header("t2", forked_from_id="t1"), *begun, codex_count(9, 390, 150, 10)])
    write_codex(home, "t3", [codex_header("t3", forked_from_id="t2"), *begun, codex_count(8, 380, 140, 10)])
    write_codex(home, "t4", [codex_header("t4"), *begun])  # another session with the same totals by chance
    assert requests_of(table()) == {"t1": 2, "t2": 1, "t3": 1, "t4": 2}


def test_sub_agents_of_codex_belong_to_the_session_that_started_them(home: Path) -> None:
    spawn = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "t1"}}}}
    write_codex(home, "t1", [codex_header("t1"), codex_model(), codex_count(1, 110, 100, 10)])
    write_codex(home, "t2", [codex_header("t2", **spawn), codex_model(), codex_count(2, 50, 40, 10)])
    [row] = grouped(table().buckets, "session")
    assert (row.name, row.sums.requests, row.sub_agents) == ("t1", 2, 1)


AT = 1_794_736_800_000


def passed(store: Store, *reports: tuple[int, Usage]) -> SessionUse:
    bodies: list[Body] = [Setting("recorded", "Claude Code"), UserMessage("hello"), AssistantMessage("well")]
    for _, report in reports:
        bodies += [Request("anthropic", report.model), report]
    session = store.create(bodies)
    found = read_stored_session(store, store.info(session.id))
    times = [at for at, _ in reports]
    found.requests = [replace(each, at=at) for each, at in zip(found.requests, times, strict=True)]
    return found


def test_a_request_in_an_agents_file_and_in_the_proxys_log_counts_once(tmp_path: Path) -> None:
    own = SessionUse("Claude Code", "s1", "x", folder="/srv/bakery")
    own.requests = [
        RequestUse(AT, "claude-sonnet-4-5", 1_000, 900, 50, 0, 3, None, "m1 r1"),
        RequestUse(AT + 500_000, "claude-sonnet-4-5", 1_000, 900, 50, 0, 3, None, "m2 r2"),
    ]
    report = Usage("claude-sonnet-4-5", 0, 1_000, 900, 50, 700)
    with Store.open(tmp_path / "workbench.db") as store:
        other = passed(store, (AT + 20_000, report), (AT + 100_000, report))
    assert (other.agent, other.is_passed) == ("Claude Code", True)
    found = made_table([own, other])
    assert requests_of(found) == {"s1": 2, other.session: 1}
    # The agent wrote its report down before the answer had ended; the proxy saw the end.
    assert total_row(found.buckets).sums.out == 700 + 3 + 700


def test_what_was_imported_into_the_store_is_not_used_again(tmp_path: Path) -> None:
    with Store.open(tmp_path / "workbench.db") as store:
        report = Usage("gpt-5.4", 0, 100, completion=5)
        session = store.create([UserMessage("hello"), report, Setting("recorded", "Codex"), UserMessage("on"), report])
        found = read_stored_session(store, store.info(session.id))
    assert (found.agent, len(found.requests)) == ("Workbench", 1)


def test_a_stored_session_that_has_grown_is_counted_again(home: Path) -> None:
    with Services() as services:
        session = services.store.create([UserMessage("hello"), Usage("gpt-5.4", 0, 100, completion=5)])
    assert requests_of(table()) == {session.id: 1}
    with Services() as services:
        services.store.session(session.id).append(Usage("gpt-5.4", 0, 100, completion=5))
    assert requests_of(table()) == {session.id: 2}


USES = st.builds(
    RequestUse,
    at=st.integers(AT, AT + 10 * 86_400_000),
    model=st.sampled_from(["claude-sonnet-4-5", "gpt-5.4", "of nobody"]),
    prompt=st.integers(300, 1_000),
    cached=st.integers(0, 100),
    written=st.integers(0, 100),
    hour=st.just(0),
    out=st.integers(0, 50),
    cost=st.sampled_from([None, None, 0.5]),
    key=st.sampled_from("abcdef"),
    sub_agent=st.sampled_from(["", "", "helper"]),
    tools=st.sampled_from([(), ("Read",), ("Bash", "Read")]),
)
SESSIONS = st.lists(
    st.builds(
        SessionUse,
        agent=st.sampled_from(["Claude Code", "pi"]),
        session=st.sampled_from("xyz"),
        ref=st.just("r"),
        folder=st.sampled_from(["", "/srv/bakery"]),
        requests=st.lists(USES, max_size=5),
    ),
    max_size=4,
)


@given(SESSIONS)
def test_every_way_to_group_has_the_same_total(sessions: list[SessionUse]) -> None:
    found = made_table(sessions)
    whole = total_row(found.buckets).sums
    for by in DIMENSIONS:
        rows = grouped(found.buckets, by)
        for name in ("requests", "tokens", "uncosted", "calls"):
            assert sum(getattr(row.sums, name) for row in rows) == getattr(whole, name)
        assert sum(row.sums.cost for row in rows) == pytest.approx(whole.cost)
    assert whole.requests == len({(used.agent, use.key) for used in sessions for use in used.requests})


@given(SESSIONS)
def test_the_order_of_files_changes_no_figure(sessions: list[SessionUse]) -> None:
    counts = {total_row(made_table(each).buckets).sums.requests for each in permutations(sessions)}
    assert len(counts) == 1


def test_an_unknown_price_is_unknown_and_not_zero() -> None:
    use = RequestUse(AT, "of nobody", 100, 0, 0, 0, 5, None, "a")
    known = replace(use, model="claude-sonnet-4-5", key="b", prompt=1_000_000)
    [row] = grouped(made_table([SessionUse("pi", "s", "r", requests=[use])]).buckets, "agent")
    assert (row.sums.known_cost, row.sums.uncosted) == (None, 1)
    [row] = grouped(made_table([SessionUse("pi", "s", "r", requests=[use, known])]).buckets, "agent")
    assert (row.sums.known_cost or 0) > 1
    silent = made_table([SessionUse("Cursor", "s", "r", silent_since=AT)])
    [row] = grouped(silent.buckets, "agent")
    assert (row.sums.is_known, row.sums.known_cost, row.last_day != "") == (False, None, True)


def test_days_are_those_of_the_users_time_zone_and_weeks_begin_on_mondays() -> None:
    use = RequestUse(AT, "gpt-5.4", 100, 0, 0, 0, 5, None, "a")
    found = made_table([SessionUse("pi", "s", "r", requests=[use])])
    day = datetime.fromtimestamp(AT / 1000).date()
    [row] = grouped(found.buckets, "day")
    assert row.name == day.isoformat()
    assert week_of("2026-11-15") == "2026-11-09"
    assert week_of("2026-11-16") == "2026-11-16"
    assert chosen_buckets(found.buckets, since=day.isoformat()) == found.buckets
    assert chosen_buckets(found.buckets, since="2999-01-01") == []


def test_an_hour_ends_with_its_last_moment() -> None:
    assert [hour_end(at) for at in (HOUR, HOUR + 1, 2 * HOUR)] == [HOUR, 2 * HOUR, 2 * HOUR]


MINUTES = st.integers(0, 4 * 24 * 60) | st.integers(0, 4 * 24).map(lambda hour: 60 * hour)


@given(st.lists(st.lists(MINUTES, min_size=1), min_size=1, max_size=4))
def test_windows_hold_every_request_and_are_never_longer_than_five_hours(sessions: list[list[int]]) -> None:
    def session(number: int, minutes: list[int]) -> SessionUse:
        uses = [RequestUse(AT + at * 60_000, "m", 1, 0, 0, 0, 1, 0.5, "") for at in minutes]
        return SessionUse("Claude Code", f"s{number}", "r", requests=uses)

    windows = made_table([session(number, minutes) for number, minutes in enumerate(sessions)]).windows
    expected: list[list[int]] = []
    for at in sorted(AT + each * 60_000 for minutes in sessions for each in minutes):
        if not expected or at - expected[-1][0] > LENGTH or at - expected[-1][1] > LENGTH:
            expected.append([at // HOUR * HOUR, at, 0])
        expected[-1][1:] = [at, expected[-1][2] + 1]
    assert [[each.start, each.last, each.requests] for each in windows] == expected
    for each in windows:
        assert each.start % HOUR == 0
        assert each.start <= each.last <= each.start + LENGTH
        assert (each.tokens, each.cost) == (2 * each.requests, 0.5 * each.requests)
