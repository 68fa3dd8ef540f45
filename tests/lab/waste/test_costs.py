"""What waste cost: the requests that carried it, at the model's prices."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lab.waste.waste_sample import FILE, call, definition, found, read, run, told
from support.logs import number
from support.talk import words
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.waste.costs import WasteReport
from workbench.lab.waste.output import waste_json, waste_lines, waste_name, waste_table
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Override,
    Setting,
    SlotContent,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source


def measured(bodies: Sequence[Body], model: str = "gpt-4o") -> WasteReport:
    events = number([Setting("model", model), *bodies])
    return LabSource(Services(), Options(), as_source("made", events)).waste


def answered(*parts: Sequence[Body], cached: int = 0) -> list[Body]:
    """Each part is one answer, and its report."""
    found: list[Body] = [UserMessage("go")]
    for part in parts:
        found += [*part, Usage("gpt-4o", 0, prompt=4_000, cached=cached, completion=1)]
    return found


def test_waste_is_carried_from_the_request_behind_its_copy_on() -> None:
    text = words(500)
    parts: list[list[Body]] = [read(text), read(text), run("ls", "a"), run("pwd", "b"), [AssistantMessage("done", "z")]]
    (item,) = measured(answered(*parts)).items
    assert (item.kind, item.tool, item.tokens) == ("repeated", "Read", 500)
    assert (item.request, item.requests, item.carried) == (3, 3, 1_500)
    assert item.cost == pytest.approx(1_500 * 2.5e-6)
    assert item.line == "Read /src/app.py"


def test_what_was_read_from_the_cache_costs_what_the_cache_costs() -> None:
    text = words(500)
    parts: list[list[Body]] = [read(text), read(text), [AssistantMessage("done", "z")]]
    (item,) = measured(answered(*parts, cached=4_000)).items
    assert item.requests == 1
    assert item.cost == pytest.approx(500 * 1.25e-6)


def test_no_price_no_cost() -> None:
    (item,) = measured([UserMessage("go"), *read(FILE), *read(FILE)], "nobody/knows").items
    assert item.cost is None


@pytest.mark.parametrize("gone", [Override("mask", 4, 4), Override("mask", 6, 6), Compaction(2, 4, "they read it")])
def test_what_is_not_sent_and_the_only_copy_that_is_left_are_not_carried(gone: Body) -> None:
    log: list[Body] = [UserMessage("go"), *read(words(500)), *read(words(500))]
    end: list[Body] = [AssistantMessage("done", "z"), UserMessage("more"), AssistantMessage("so", "y")]
    assert [item.carried for item in measured([*log, *end]).items] == [1_000]
    assert measured([*log, gone, *end]).items == ()


def test_sums_by_kind_and_by_tool() -> None:
    text = words(200)
    parts: list[list[Body]] = [
        read(text),
        read(text),
        run("make", "error", True),
        run("make", "ok"),
        [AssistantMessage("done", "z")],
    ]
    report = measured(answered(*parts))
    assert [(each.name, each.items) for each in report.kinds] == [("repeated", 1), ("retried", 1)]
    assert [each.name for each in report.tools] == ["Read", "Bash"]
    total = report.total
    assert total.tokens == sum(item.tokens for item in report.items)
    assert total.carried == sum(each.carried for each in report.tools) == sum(each.carried for each in report.kinds)
    assert total.cost == pytest.approx(sum(each.cost or 0 for each in report.tools))


def test_what_came_behind_the_last_request_is_told_though_nothing_carried_it() -> None:
    (item,) = measured([UserMessage("go"), *read(words(300)), *read(words(300))]).items
    assert (item.tokens, item.request, item.requests, item.carried) == (300, 0, 0, 0)


def test_a_definition_is_carried_while_it_stands() -> None:
    one, other = definition("mcp__a__search", words(50)), definition("mcp__b__search", words(50))
    parts = [run("ls", "a"), [SlotContent("tools", "mcp__b__search", ""), *run("pwd", "b")]]
    (item,) = measured([one, other, *answered(*parts)]).items
    assert (item.kind, item.tool, item.requests) == ("duplicate", "mcp__a__search", 1)
    assert item.tokens > 50


def test_a_text_in_parts_is_read_like_one_in_one() -> None:
    body = ToolResult("a", (TextPart(FILE),), "Read")
    other = ToolResult("b", (TextPart(FILE),), "Read")
    made = [ToolCall(name, "Read", '{"file_path": "/a"}', name) for name in "ab"]
    assert told(found([made[0], body, made[1], other])) == [("repeated", 3, 5)]


def test_on_a_narrow_terminal_the_end_of_a_path_stays_and_no_sum_is_cut() -> None:
    path = "/work/packages/coding-agent/src/theme/light.json"
    report = measured(answered(read(FILE, path), read(FILE, path), run("echo " + "word " * 40, "one\ntwo")))
    for width in (60, 80):
        made = [*waste_table(report, width), *waste_lines(report, width)]
        assert max(map(len, made)) <= width
        assert made[1].endswith("light.json")
        assert " ".join(" ".join(waste_lines(report, width)).split()) == " ".join(
            " ".join(waste_lines(report, 0)).split()
        )
    assert waste_table(report, 0)[1].endswith(f"Read {report.items[0].line.partition(' ')[2]}")
    assert [len(waste_name(report.items[0], room)) for room in (20, 6, 3)] == [20, 6, 6], "one column is always left"


def test_a_tools_name_does_not_act_on_the_terminal() -> None:
    report = measured(answered(call("evil\x1b[31m", FILE), call("evil\x1b[31m", FILE)))
    assert not any("\x1b" in line for line in [*waste_lines(report, 0), *waste_table(report, 0)])


def test_the_worst_tools_are_on_the_line_below_the_sums() -> None:
    sums, worst = waste_lines(measured(answered(read(FILE), read(FILE), run("ls", "a"))), 0)
    assert sums.startswith("waste: 1 item, ")
    assert worst.strip().startswith("most by Read ")


def test_json_names_kinds_and_tools_and_has_items_if_asked_for() -> None:
    made = waste_json(measured(answered(read(FILE), read(FILE))))
    assert [(each["kind"], each["tokens"]) for each in made["kinds"]] == [("repeated", made["tokens"])]
    assert [each["tool"] for each in made["tools"]] == ["Read"]
    assert [each["tool"] for each in made["items"]] == ["Read"]
    assert "items" not in waste_json(measured([]), items=False)
