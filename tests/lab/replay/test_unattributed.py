"""What requests have beside the log is the same under every policy: what changes nothing sends what was recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.logs import number
from support.talk import iteration, words
from workbench.compaction.source import source_block
from workbench.context.plan import ContextPlan
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.log.events import AssistantMessage, Body, Setting, SlotContent, Usage, UserMessage
from workbench.sources.found_plans import find_plan
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source
from workbench.sources.source_setups import opening_planner


def lab(*bodies: Body, model: str = "gpt-4o", options: Options | None = None) -> LabSource:
    events = number([Setting("model", model), *bodies, Setting(RECORDED, "test")])
    return LabSource(Services(), options or Options(), as_source("made", events))


def answered(reports: Sequence[tuple[str, int | None]]) -> list[Body]:
    """Iterations, each with the model that was asked and what was reported for it."""
    found: list[Body] = [UserMessage("go")]
    for at, (model, prompt) in enumerate(reports):
        found += [*iteration(f"c{at}", words(300, f"w{at}")), Usage(model, 0, prompt=prompt, completion=5)]
    return found


def tokens(source: LabSource, policy: str) -> list[int]:
    return [point.tokens for point in source.run_policy(policy).points]


def test_what_is_billed_and_in_no_file_may_grow_and_shrink() -> None:
    sizes = [9_000, 10_500, 16_000, 12_000]
    source = lab(*answered([("gpt-4o", size) for size in sizes]))
    assert tokens(source, "confirm") == tokens(source, RECORDED) == sizes


@pytest.mark.parametrize("policy", [RECORDED, "confirm"])
def test_where_the_provider_counts_fewer_tokens_than_we_do_so_does_every_policy(policy: str) -> None:
    counted = tokens(lab(*answered([("gpt-4o", None)] * 4)), "confirm")
    reported = [round(share * size) for share, size in zip((0.95, 0.95, 0.85), counted, strict=False)]
    source = lab(*answered([*(("gpt-4o", size) for size in reported), ("gpt-4o", None)]))
    assert tokens(source, policy)[:3] == reported
    assert source.unattributed[3].share < 0.95
    assert [source.plan_request(at, policy).size for at in (1, 2, 3, 4)] == tokens(source, policy)


def test_a_request_without_a_report_has_what_the_one_before_had() -> None:
    source = lab(*answered([("gpt-4o", 9_000), ("gpt-4o", None), ("gpt-4o", 9_800)]))
    assert tokens(source, "confirm") == tokens(source, RECORDED)
    assert source.unattributed[0] == source.unattributed[1]


def test_each_model_of_a_session_has_its_own() -> None:
    source = lab(*answered([("claude-opus-4-5", 30_000), ("claude-opus-4-5", 30_900), ("gpt-4o", 4_000)]))
    assert tokens(source, "confirm") == [30_000, 30_900, 4_000]
    assert sum(tokens(source, "layers")) <= 64_900


def test_what_was_planned_at_a_request_has_it_too() -> None:
    source = lab(*answered([("gpt-4o", size) for size in (9_000, 16_000, 12_000)]))
    assert [source.plan_request(at, "confirm").size for at in (1, 2, 3)] == [9_000, 16_000, 12_000]


def test_whether_a_request_fits_is_told_by_what_it_has_at_that_time() -> None:
    source = lab(*answered([("gpt-4o", size) for size in (9_000, 127_900, 9_000)]))
    assert [point.fits for point in source.run_policy("confirm").points] == [True, False, True]


CUSTOM = '{"type": "custom", "name": "exec", "description": "Run it.", "format": {"type": "text"}}'
PROVIDERS = '{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}'


def test_the_agents_own_tools_count_as_it_describes_them_under_every_policy() -> None:
    slots: list[Body] = [SlotContent("tools", "exec", CUSTOM), SlotContent("tools", "web_search", PROVIDERS)]
    sizes = [9_000, 10_500]
    source = lab(*slots, *answered([("gpt-4o", size) for size in sizes]))
    assert tokens(source, "confirm") == tokens(source, RECORDED) == sizes
    described = [[item.text for item in plan.items if item.slot == "tools"] for plan in planned_in_all_ways(source)]
    assert described == [[CUSTOM, PROVIDERS]] * len(described)


def planned_in_all_ways(source: LabSource) -> list[ContextPlan]:
    """The newest request as it was sent, and under a policy that changes nothing: of the lab, `plan` and the screen."""
    services, given = source.services, source.source
    named = [find_plan(services, given, Options(policy=policy), nth) for policy in ("", "confirm") for nth in (None, 2)]
    opened = [opening_planner(services, Options(policy=policy), given)[1].plan() for policy in ("", "confirm")]
    return [
        source.plan_request(2, RECORDED),
        source.plan_request(2, "confirm"),
        *(each.plan for each in named),
        *opened,
    ]


def test_what_only_its_provider_takes_counts_as_it_was_sent_under_every_policy(tmp_path: Path) -> None:
    """Whole requests with thinking, a tool that the provider runs, and documents."""
    found = [{"type": "web_search_result", "url": "https://x.test", "title": "Dough", "encrypted_content": "abc" * 90}]
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": words(90)}}
    messages: list[object] = [{"role": "user", "content": "look"}]
    lines, sizes = [], [2_000, 2_500, 3_100]
    for at, size in enumerate(sizes):
        search = {"type": "server_tool_use", "id": f"s{at}", "name": "web_search", "input": {"query": "dough"}}
        searched = {"type": "web_search_tool_result", "tool_use_id": f"s{at}", "content": found}
        read = {"type": "tool_use", "id": f"c{at}", "name": "Read", "input": {"path": f"{at}.txt"}}
        answer = [{"type": "thinking", "thinking": words(80), "signature": "abcd"}, search, searched, read]
        request = {"model": "claude-sonnet-4-5", "system": "You help.", "tools": [json.loads(PROVIDERS)]}
        request |= {"messages": [*messages]}
        usage = {"input_tokens": size, "output_tokens": 100}
        response = {"type": "message", "role": "assistant", "content": answer, "usage": usage}
        lines.append(json.dumps({"request": request, "response": response}))
        result = {"type": "tool_result", "tool_use_id": f"c{at}", "content": [document]}
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": [result]}]
    file = tmp_path / "requests.jsonl"
    file.write_text("\n".join(lines))
    with Services() as services:
        source = LabSource(services, Options(), services.source(str(file)))
        assert all(mark.exact for mark in source.marks)
        assert tokens(source, "confirm") == tokens(source, RECORDED) == sizes
        assert source.run_policy("confirm").cost == source.run_policy(RECORDED).cost
        planned = source.plan_request(3, "confirm")
        texts = [source_block(item).content for item in planned.items if item.kind == "tool_result"]
        assert texts == [words(90)] * 2, "whoever summarises reads the documents, too"
        changed = [item.edits for item in planned.items if item.in_request]
        assert not any(changed), "nothing is put into another form"


def test_another_models_cache_has_nothing_of_a_request() -> None:
    reports = [("claude-opus-4-5", 30_000), ("gpt-4o", None), ("gpt-4o", None)]
    read = [point.cache_read for point in lab(*answered(reports)).run_policy("confirm").points]
    assert read[1] == 0
    assert read[2] > 29_000
    assert lab(*answered(reports), options=Options(model="gpt-4o")).run_policy("confirm").points[1].cache_read > 29_000


def test_no_more_is_read_from_the_cache_than_the_request_before_had() -> None:
    said = answered([("gpt-4o", 9_000), ("gpt-4o", 30_000)])
    said[-1] = Usage("gpt-4o", 0, prompt=30_000, cached=8_832, completion=5)
    assert lab(*said).recorded_cache.losses == 0


@pytest.mark.parametrize("policy", [RECORDED, "confirm"])
def test_a_request_costs_what_its_own_model_costs(policy: str) -> None:
    turns: list[Body] = []
    for model in ("gpt-4o-mini", "gpt-4o"):
        turns += [UserMessage("go"), AssistantMessage("done", model), Usage(model, 0, prompt=1_000, completion=100)]
    mini, whole = 1_000 * 0.15e-6 + 100 * 0.6e-6, 1_000 * 2.5e-6 + 100 * 10e-6
    assert lab(*turns).run_policy(policy).cost == pytest.approx(mini + whole)
    assert lab(*turns, options=Options(model="gpt-4o")).run_policy(policy).cost == pytest.approx(2 * whole)
