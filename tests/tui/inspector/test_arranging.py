"""Which rows are listed, and in which order: filter, search, groups, sizes, and what is never sent."""

from __future__ import annotations

from tui.inspector.host import BODIES, SEQS, TOOL, Host, Model, host, lines_of, press, settle, type_in
from workbench.log.events import Override, SlotContent, UserMessage
from workbench.tui.inspector.columns import ColumnHeads
from workbench.tui.inspector.rows import RowsView
from workbench.tui.widgets.input_line import InputLine

LAST = len(SEQS) - 1


async def test_the_filter_works_while_it_is_typed_and_counts() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "f", *"state:m")
        await type_in(pilot, "state:masked")
        assert app.told.startswith("3 of 20 items match · filter state:masked")
        assert [line.split()[0] for line in lines_of(app.pane.rows)[:2]] == ["12", "15"]
        await press(pilot, "enter")
        assert isinstance(app.focused, RowsView)
        await press(pilot, "f")
        await type_in(pilot, "state:masked zzz")
        assert "no row matches state:masked zzz: Esc clears the filter, f changes it" in lines_of(app.pane.rows)[0]
        await press(pilot, "escape")
        assert app.told.startswith("3 of 20 items match"), "what held before holds again"
        await press(pilot, "escape")
        assert len(app.pane.rows.lines or ()) == len(SEQS)


async def test_a_filter_that_is_not_understood_is_told_and_the_rows_stay() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "f")
        await type_in(pilot, "state:maskd")
        assert app.told.startswith("! state:maskd: expected one of sent, truncated")
        await press(pilot, "enter")
        assert app.told.startswith("! state:maskd")
        await press(pilot, "escape")
        assert not app.told.startswith("!")


async def test_the_line_to_type_in_says_what_it_wants() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "f")
        assert app.query_one(InputLine).display
        assert "state:" in app.query_one(InputLine).placeholder
        await press(pilot, "escape")
        assert not app.query_one(InputLine).display
        await press(pilot, "slash")
        assert app.told.startswith("search: Enter starts")


async def test_the_search_goes_from_match_to_match_and_around() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "home", "slash")
        await type_in(pilot, "tool:run_command", "enter")
        rows = app.pane.rows
        assert app.told == "match 1 of 6 for tool:run_command"
        seen = [rows.cursor]
        for key in ("n", "n", "N", "N", "N"):
            await press(pilot, key)
            seen.append(rows.cursor)
        assert seen == [7, 8, 9, 8, 7, 16]
        assert app.told == "match 6 of 6 for tool:run_command"
        await press(pilot, "slash")
        assert app.query_one(InputLine).value == "", "a search starts with an empty line"
        await press(pilot, "escape", "n")
        assert app.told == "match 1 of 6 for tool:run_command", "and the last one goes on"
        await press(pilot, "slash")
        await type_in(pilot, "nowhere", "enter")
        assert app.told == "! no row holds nowhere"
        await press(pilot, "n", "escape", "slash")
        await type_in(pilot, "a:b", "enter")
        assert app.told.startswith("! no such key: a:")


async def test_groups_fold_and_unfold() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        heads = {"slot": 5, "turn": 3, "state": 3}
        for by, count in heads.items():
            await press(pilot, "b")
            assert app.told.startswith(f"{count} groups by {by}")
        await press(pilot, "home")
        assert lines_of(app.pane.rows)[0].lstrip("▌ ").split()[:3] == ["▾", "sent", "554"]
        await press(pilot, "enter")
        lines = lines_of(app.pane.rows)
        assert lines[0].startswith("▌  ▸  sent")
        assert lines[1].split()[:2] == ["▾", "truncated"]
        await press(pilot, "z")
        assert all("▸" in line for line in lines_of(app.pane.rows)[:3])
        await press(pilot, "z")
        assert all("▾" in line or "▸" not in line for line in lines_of(app.pane.rows)[:20])
        await press(pilot, "b")
        assert not app.list.wish.group
        await press(pilot, "z")


async def test_a_search_opens_the_group_it_finds_something_in() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "b", "b", "z", "home", "slash")
        await type_in(pilot, "gamma", "enter")
        assert app.pane.rows.item is not None
        assert app.pane.rows.item.seq == 21


async def test_the_largest_first_and_the_smallest_first() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "s")
        assert app.told == "largest first · Esc: all items, in order"
        assert app.pane.rows.cursor == 0, "who sorts wants to see the largest"
        assert "tokens▼" in app.query_one(ColumnHeads).render_line(0).text
        assert [line.lstrip("▌ ").split()[0] for line in lines_of(app.pane.rows)[:2]] == ["9", "21"]
        await press(pilot, "s")
        assert app.told.startswith("smallest first")
        assert "tokens▲" in app.query_one(ColumnHeads).render_line(0).text
        assert app.pane.rows.cursor == 0
        assert lines_of(app.pane.rows)[len(SEQS) - 1].lstrip("▌ ").split()[0] == "9"
        await press(pilot, "s")
        assert app.list.wish.is_plain


async def test_a_new_plan_is_arranged_as_the_old_one_was() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "f")
        await type_in(pilot, "state:masked", "enter")
        app.grow(Override("mask", 21, 21))
        await settle(pilot)
        assert app.told.startswith("4 of 20 items match")


async def test_what_is_never_sent_is_hidden_counted_and_a_key_away() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert app.told == "9 hidden: 8 usage, 1 thinking · . shows them"
        assert "not sent" not in "".join(lines_of(app.pane.rows))
        await press(pilot, "full_stop")
        assert app.told == "9 never sent: 8 usage, 1 thinking · . hides them"
        assert sum("· not sent" in line for line in lines_of(app.pane.rows)) == 9
        await press(pilot, "full_stop")
        assert len(app.pane.rows.lines or ()) == len(SEQS)


async def test_a_filter_for_what_is_never_sent_finds_it_though_it_is_hidden() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "f")
        assert "state: tool: role:" in app.told
        await type_in(pilot, "state:")
        assert app.told.startswith("state: sent, truncated, masked")
        await type_in(pilot, 'state:"not sent"', "enter")
        assert app.told.startswith("9 of 29 items match")


async def test_the_tools_unfold_by_the_keys_that_open_a_row() -> None:
    tools = [SlotContent("tools", name, TOOL.replace("read_file", name)) for name in ("edit_file", "run_command")]
    app = Host(Model([*tools, *BODIES]))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "home", "down", "down")
        assert lines_of(app.pane.rows)[2].lstrip("▌ ").split()[:3] == ["▸", "3", "tools"]
        assert "edit_file, run_command, read_file" in lines_of(app.pane.rows)[2]
        await press(pilot, "space")
        assert app.pane.rows.group is not None
        assert "▾" in lines_of(app.pane.rows)[2]
        await press(pilot, "down")
        assert app.pane.rows.item is not None
        assert app.pane.rows.item.kind == "tool_definition"
        app.grow(UserMessage("and now?"))
        await settle(pilot)
        assert "▾" in lines_of(app.pane.rows)[2], "what was unfolded stays so while the session goes on"
