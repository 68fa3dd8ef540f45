"""Judge and explain: what we compute for a request, beside the time that its answer takes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from bench.harness import Row, Scale, Target, in_units, now, rounds, timed
from bench.labs import RESULT, made_events
from bench.serving import served
from support.judged import after_summary, judge_task, judged_work, piece_of_work, setup_of
from workbench.compaction.requests import without_stages
from workbench.explain.explaining import explain_request, prepare_explanation
from workbench.explain.kept_answers import KeptAnswers
from workbench.explain.values import ExplainWish
from workbench.judge.asking import AskedModel
from workbench.judge.budget import Spending
from workbench.judge.by_rule import prepare_probes
from workbench.judge.contexts import JudgedSource, PlannedContext
from workbench.judge.record_file import FULL, JudgeRecord
from workbench.judge.requests import ANSWER, PROBES, judge_prompt
from workbench.judge.runner import JudgeRun
from workbench.judge.values import JudgedContext, ProbeAnswer
from workbench.models.catalogue import Catalogue
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.reply_parts import ReplyPart
from workbench.models.retry import RetrySchedule
from workbench.sources.options import Options
from workbench.sources.replay_answers import ReplayAnswer
from workbench.sources.replay_sending import ReplaySender
from workbench.sources.services import Services

SECONDS = 0.3
"""Seconds of a quick answer of a provider."""
BESIDE = 0.05
"""The share of that which we may compute for each request, without what it takes to send it."""
PREPARED = 250
"""Units in which many probes are ready: 3 s on a machine where one takes 12 ms."""
CHUNKS = 40
"""Of every answer. It answers no probe, so that each is asked once more."""
TEXTS = 4
"""They are made from so many of the texts that are truncated: 4 MB."""


def run(scale: Scale) -> Iterator[Row]:
    """Probes of a long session; then a judgement and an explanation with a long context, request by request."""
    long, source = _source(TEXTS * scale.text), _source(scale.text)
    contexts = [after_summary(long, "short", "Some work was done.")]
    ready = rounds(
        {"probes": lambda: timed(lambda: prepare_probes(long, contexts, 50))}, scale.slow_repeats, warm_up=False
    )
    yield in_units("50 probes of 4 MB are ready", ready, "probes", PREPARED)
    found: dict[str, list[float]] = {"judge": [], "explain": []}
    with TemporaryDirectory() as name, patch.dict(os.environ, {"WORKBENCH_CACHE_DIR": name}), served(CHUNKS) as url:
        for at in range(scale.slow_repeats):
            found["judge"].append(asyncio.run(_judge(source, url, Path(name) / str(at))))
            found["explain"].append(asyncio.run(_explain(scale.text, url, Path(name))))
    limit = Target("at most", BESIDE)
    for name, seconds in found.items():
        ours = max(median(seconds), 1e-6)
        yield Row(f"{name}, for each request with 1 MB", ours, "s", SECONDS, "a quick answer", ours / SECONDS, limit)


def _source(characters: int) -> JudgedSource:
    return judged_work([*piece_of_work(), *(event.body for event in made_events(characters)[1:])])


class KeepingGateway(Gateway):
    """Keeps what it sends."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.sent: list[Mapping[str, Any]] = []

    def stream(
        self, request: Mapping[str, Any], *, patience: SilenceLimits | None = None
    ) -> AsyncGenerator[ReplyPart, None]:
        self.sent.append(request)
        return super().stream(request, patience=patience)


async def _judge(source: JudgedSource, url: str, folder: Path) -> float:
    """The processor's time for a request, over a whole judgement of a context with everything in it; without what it
    takes to send the same requests once more."""
    gateway = KeepingGateway(Endpoint(url, "key", "openai", plain=True))
    model = AskedModel(without_stages(setup_of("answerer")), gateway, Catalogue(), RetrySchedule())
    await model.ask_model(judge_prompt(PROBES), ("warm up",), 10, Spending())
    gateway.sent.clear()
    everything = JudgedContext("all", tuple(source.blocks), 1)
    contexts = [PlannedContext(everything, frozenset(item.id for item in source.items))]
    task = judge_task(source, contexts, wanted=20, tries=3)
    record = JudgeRecord(source.key, folder)
    record.add_written("answerer", judge_prompt(PROBES).hash)
    for probe in task.pool(record):
        known = "; ".join(probe.expected)
        record.add_answer(ProbeAnswer(probe.id, FULL, "answerer", 1, known, judge_prompt(ANSWER).hash))
    began = now()
    await JudgeRun(task, record, model, model, Spending()).finish_judgement()
    middle, sent = now(), list(gateway.sent)
    for body in sent:
        async for _ in gateway.stream(body):
            pass
    seconds = (middle - began) - (now() - middle)
    await gateway.close()
    return seconds / len(sent)


async def _explain(characters: int, url: str, folder: Path) -> float:
    """The same for an explanation. One result in the middle decides the answer, whatever the server says."""
    results = characters // RESULT
    file, needed = folder / "requests.jsonl", f"<fact{results // 2}>"
    file.write_text(json.dumps(_recorded(results)), "utf-8")
    with Services() as services, KeptAnswers() as kept:
        wish = ExplainWish(to=url.removesuffix("/v1"), fresh=True, budget=100.0)
        job = prepare_explanation(services, Options(), services.source(str(file)), wish)

        async with ReplaySender(services, job.job.destination) as sender:
            sent: list[dict[str, Any]] = []
            await sender.send_body({"model": "gpt-4o", "messages": [{"role": "user", "content": "warm up"}]})

            async def send(body: dict[str, Any]) -> ReplayAnswer:
                sent.append(body)
                answer = await sender.send_body(body)
                held = any(str(each.get("content", "")).startswith(needed) for each in body["messages"])
                return answer._replace(text="the same" if held else "something else", calls=())

            began = now()
            found = await explain_request(job, send, kept)
            middle = now()
            for body in sent:
                await sender.send_body(body)
            seconds = (middle - began) - (now() - middle)
    assert found.complete, found.ended
    return seconds / len(sent)


def _recorded(results: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "look"}]
    for number in range(results):
        function = {"name": "read", "arguments": json.dumps({"path": f"{number}.py"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"<fact{number}> {'word ' * 700}"})
    messages.append({"role": "user", "content": "go on"})
    answer = {"model": "gpt-4o", "choices": [{"message": {"role": "assistant", "content": "the same"}}]}
    return {"request": {"model": "gpt-4o", "messages": messages}, "response": answer}
