"""A judgement at once: of the newest compaction, else of the one that the digest would make now."""

from __future__ import annotations

import re

import pytest

from support.judged import piece_of_work, summary_without
from support.logs import number
from support.talk import preset, summary_of
from tui.play import Script, answer
from workbench.judge.contexts import plan_compaction, write_context
from workbench.judge.quick import QuickJudgement, judge_at_once, judgement_rows
from workbench.judge.values import KINDS
from workbench.log.events import AssistantMessage, Body, Compaction, UserMessage
from workbench.models.failures import ModelFailure
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source

TURN = (UserMessage("go on"), AssistantMessage("yes " * 300))
LATER: list[Body] = [body for _ in range(6) for body in TURN]
WORK = [*piece_of_work(), *LATER]


async def judged(*more: Body) -> QuickJudgement:
    with Services() as services:
        return await judge_at_once(services, Options(), as_source("work", number([*WORK, *more])))


def compacted(text: str, **meta: object) -> Compaction:
    return summary_of(preset("workbench"), 1, len(WORK), text, meta=meta)


async def test_the_newest_compaction_is_judged() -> None:
    good, poor = await judged(compacted(summary_without())), await judged(compacted("Some work was done."))
    assert good.scores.all.mean == 1.0
    assert (poor.scores.all.mean or 0) < 0.3
    assert good.scores.all.probes == poor.scores.all.probes > 8
    rows = judgement_rows(poor)
    assert rows[0][1].startswith(f"compaction {len(WORK) + 1}")
    assert [label for label, _ in rows[: len(KINDS) + 3]] == ["judged", "score", *KINDS, "how"]
    lost = [text for label, text in rows if label == "lost"]
    assert len(lost) > 5
    assert all(re.search(r" \(#\d+(, #\d+)*\)$", text) for text in lost)


async def test_an_encrypted_summary_is_passed_over() -> None:
    found = await judged(compacted(summary_without()), compacted("nobody can read this", sealed=True))
    assert found.context.name == f"compaction {len(WORK) + 1}"


async def test_without_a_compaction_the_digest_of_now_is_judged() -> None:
    found = await judged()
    assert (found.context.name, found.context.made_by) == ("workbench", "digest")
    assert found.scores.all.probes > 0


async def test_nothing_to_ask_about_is_no_score() -> None:
    with Services() as services:
        source = as_source("short", number([UserMessage("hi"), AssistantMessage("hello", "a1")]))
        found = await judge_at_once(services, Options(), source)
    assert judgement_rows(found)[-1] == ("score", "none: there is nothing to ask about in what is replaced")


async def test_why_the_digest_was_used_is_noted_and_what_was_done_to_a_summary_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    too_long = "It was decided to keep the names. " * 40
    Script(answer(too_long), [ModelFailure("authentication", "no such key")]).play(monkeypatch)
    source, knobs = as_source("work", number(WORK)), ("compaction.summary_tokens=250",)
    with Services() as services:
        to_write = await plan_compaction(services, Options(knobs=knobs), source, "workbench", "scripted")
        by_model = await write_context(services, source, to_write)
        by_digest = await write_context(services, source, to_write)
    assert by_model.planned.context.made_by == "scripted"
    assert by_model.problems[0].startswith("too_long: ")
    assert by_model.planned.context.note == ""
    assert by_digest.planned.context.made_by == "digest"
    assert by_digest.planned.context.note == by_digest.problems[0]
    assert "no such key" in by_digest.problems[0]


async def test_a_model_that_no_request_fits_into_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    Script().play(monkeypatch)
    source = as_source("work", number(WORK))
    with Services() as services:
        to_write = await plan_compaction(
            services, Options(knobs=("budget.max_input_tokens=600",)), source, "workbench", "scripted"
        )
        written = await write_context(services, source, to_write)
    assert to_write.preview is not None
    assert (written.planned.context.made_by, written.cost) == ("digest", 0.0)
    assert written.planned.context.note == to_write.preview.unable
    assert written.planned.context.note.startswith("the summary request does not fit: ")
