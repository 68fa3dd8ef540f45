"""The lines of the list: the same rows as ever, filtered, sorted and grouped, and found again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support import logs
from support.talk import COUNTER
from tui.inspector.host import BODIES, TOOL, Model
from tui.inspector.sample import SAMPLE, CountedRows, item, plan_of
from workbench.context.budget import Limits
from workbench.context.items import SIGNS, SLOTS
from workbench.context.plan import ContextPlan
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.log.events import Event, SlotContent, UserMessage
from workbench.tui.inspector.filters import Filter, parse_filter
from workbench.tui.inspector.order import (
    GROUPINGS,
    SORTINGS,
    Grouping,
    RowGroup,
    RowLines,
    RowOrder,
    Sorting,
    arrange_rows,
    find_rows,
    row_sums,
    rows_in_order,
)
from workbench.views.row_lookup import row_of

rows = st.lists(
    st.builds(
        lambda text, size, more, turn, slot, state, role: item(
            1, text, tokens=size, original_tokens=size + more, turn=turn, slot=slot, state=state, role=role
        ),
        st.sampled_from(["alpha", "Alpha beta", "beta", ""]),
        st.integers(0, 50),
        st.integers(0, 3),
        st.integers(0, 12),
        st.sampled_from(SLOTS),
        st.sampled_from(list(SIGNS)),
        st.sampled_from(["user", "assistant", None]),
    ),
    max_size=40,
)
plans = rows.map(plan_of)


def arranged(made: ContextPlan, wish: RowOrder, folded: frozenset[str] = frozenset()) -> RowLines:
    lines = arrange_rows(made, wish, folded)
    assert lines is not None
    return lines


@given(plans, st.sampled_from(["", "role:user", ">20", "state:sent,masked"]), st.sampled_from(GROUPINGS))
def test_every_row_that_matches_is_there_once(made: ContextPlan, text: str, group: Grouping) -> None:
    wanted = parse_filter(text)
    lines = arranged(made, RowOrder(wanted, group, all=True))
    rows = [line for line in map(lines.__getitem__, range(len(lines))) if isinstance(line, int)]
    assert sorted(rows) == [number for number, row in enumerate(made.items) if wanted.holds(row)]
    assert lines.matches == len(rows)


@given(plans, st.sampled_from(GROUPINGS), st.sampled_from(SORTINGS), st.data())
def test_heads_stand_before_their_rows_and_add_them_up(
    made: ContextPlan, by: Grouping, sort: Sorting, data: st.DataObject
) -> None:
    lines = arranged(made, RowOrder(Filter(), by, sort, all=True))
    keys = [group.key for group in lines.groups]
    folded = frozenset(data.draw(st.lists(st.sampled_from(keys), unique=True))) if keys and by else frozenset()
    lines = lines.fold(folded)
    under: RowGroup | None = None
    for number in range(len(lines)):
        line = lines[number]
        if isinstance(line, RowGroup):
            under = line
            assert line.tokens == sum(made.items[row].tokens for row in line.rows)
            assert line.original_tokens == sum(made.items[row].original_tokens for row in line.rows)
        else:
            assert (under is not None) == bool(by)
            if under is not None:
                assert str(getattr(made.items[line], by)) == under.key
                assert under.key not in folded
            assert lines.line_of(line) == number
            assert lines.line_at(lines.position(number)) == number
    one_by_one = [line if isinstance(line := lines[at], RowGroup) else made.items[line] for at in range(len(lines))]
    first, end = sorted(data.draw(st.tuples(*[st.integers(0, len(lines))] * 2)))
    assert list(lines.between(first, end)) == one_by_one[first:end]


@given(plans, st.sampled_from(["largest", "smallest"]))
def test_sorting_orders_by_tokens(made: ContextPlan, sort: Sorting) -> None:
    lines = arranged(made, RowOrder(sort=sort))
    tokens = [row.tokens for row in map(lines.item, range(len(lines))) if row is not None]
    assert tokens == sorted(tokens, reverse=sort == "largest")


@given(plans, st.sampled_from(GROUPINGS))
def test_a_search_finds_what_a_filter_would(made: ContextPlan, by: Grouping) -> None:
    lines = arranged(made, RowOrder(group=by))
    found = find_rows(lines, parse_filter("alpha"))
    assert len(found) == arranged(made, RowOrder(parse_filter("alpha"))).matches
    assert list(found) == sorted(found)
    for position in found:
        match = lines.item(lines.line_at(position))
        assert match is not None
        assert "alpha" in match.original.lower()


@settings(max_examples=25)
@given(logs.logs(), logs.policies(), logs.limits)
def test_an_event_is_found_by_its_number(log: list[Event], policy: Policy, limits: Limits) -> None:
    made = plan(log, policy, limits, COUNTER)
    seqs = [row.seq for row in made.items]
    known = [seq for seq in seqs if seq is not None]
    if known == sorted(known):  # results that came late stand before their number
        for seq in known:
            at = row_of(made.items, seq)
            assert at is not None
            assert made.items[at].seq == seq
    assert (row_of(made.items, 10**9) is None) == (not seqs)


def test_a_row_is_found_among_a_hundred_thousand_by_halves() -> None:
    rows = CountedRows()
    made = plan_of(rows)
    assert row_of(made.items, 77_777) == 77_776
    assert rows.looks < 400
    assert row_of(made.items, 500_000) == 99_999


def test_the_plain_order_looks_at_no_row() -> None:
    rows = CountedRows()
    lines = rows_in_order(plan_of(rows))
    assert (len(lines), lines[77_777]) == (100_000, 77_777)
    assert (lines.line_of(5), lines.position(9), lines.line_at(9)) == (5, 9, 9)
    assert lines.line_of(100_000) is None
    assert rows.looks == 0


def test_a_pass_that_nobody_wants_any_more_ends() -> None:
    looked = iter([False, True])
    rows = [SAMPLE[0]] * 1_000
    assert arrange_rows(plan_of(rows), RowOrder(sort="largest"), stop=lambda: next(looked)) is None


def test_groups_come_in_their_own_order() -> None:
    made = plan_of(SAMPLE)
    assert [group.key for group in arranged(made, RowOrder(group="slot")).groups] == [
        "system",
        "tools",
        "history",
        "turn",
    ]
    states = [group.key for group in arranged(made, RowOrder(group="state")).groups]
    assert states == ["sent", "truncated", "masked", "dropped"]
    states = [group.key for group in arranged(made, RowOrder(group="state", all=True)).groups]
    assert states[-1] == "aside"
    rows = [SAMPLE[0]._replace(turn=turn) for turn in (10, 9, 2)]
    assert [group.key for group in arranged(plan_of(rows), RowOrder(group="turn")).groups] == ["2", "9", "10"]


def test_a_folded_row_is_found_at_the_head_of_its_group() -> None:
    lines = arranged(plan_of(SAMPLE), RowOrder(group="state"), frozenset({"sent"}))
    assert lines.line_of(2) == 0
    assert lines.line_at(3) == 0
    assert lines.group_at(0).key == "sent"
    assert lines.item(0) is None
    assert lines.item(99) is None


def test_a_filter_that_hides_a_row_has_no_line_for_it() -> None:
    assert arranged(plan_of(SAMPLE), RowOrder(parse_filter("state:masked"))).line_of(0) is None
    assert arrange_rows(plan_of(SAMPLE), RowOrder()) is not None


def test_sums_leave_heads_out() -> None:
    lines = arranged(plan_of(SAMPLE), RowOrder(group="state", all=True))
    whole = sum(row.original_tokens for row in SAMPLE)
    assert row_sums(lines, range(len(lines))) == (10, sum(row.tokens for row in SAMPLE), whole)


@settings(max_examples=40)
@given(logs.logs(), logs.policies(), logs.limits)
def test_what_was_never_to_be_sent_is_passed_over_and_nothing_else(
    log: list[Event], policy: Policy, limits: Limits
) -> None:
    made = plan(log, policy, limits, COUNTER).items
    listed = made.candidates()
    wanted = [row for row in made if row.state != "aside"]
    assert list(listed) == wanted
    assert [listed[at] for at in range(len(listed))] == wanted
    assert [listed[at:] for at in range(len(listed))] == [wanted[at:] for at in range(len(wanted))]
    assert sum(made.asides.values()) == len(made) - len(listed)
    assert list(listed.sent_items()) == list(made.sent_items())


def test_definitions_of_tools_are_one_line_until_they_are_unfolded() -> None:
    slots = [SlotContent("tools", name, TOOL.replace("read_file", name)) for name in ("read_file", "run_command")]
    rows = Model([BODIES[0], *slots, UserMessage("hello")]).plan()
    lines = rows_in_order(rows)
    head = lines[1]
    assert isinstance(head, RowGroup)
    assert (len(head.rows), head.about) == (2, "read_file, run_command")
    assert head.tokens == sum(row.tokens for row in rows.items[1:3])
    assert [row.who if (row := lines.item(at)) else "" for at in range(len(lines))] == ["system", "", "user"]
    opened = lines.fold(frozenset())
    assert [item.who if (item := opened.item(at)) else "" for at in range(len(opened))] == [
        *("system", "", "read_file", "run_command", "user")
    ]
    assert [opened.line_of(row) for row in range(4)] == [0, 2, 3, 4]
    assert [lines.line_of(row) for row in range(4)] == [0, 1, 1, 2]
