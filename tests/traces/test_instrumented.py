"""Spans of real frameworks, read from a file: the rows are those that the proxy recorded of the same run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proxy.test_server import proxy
from traces.instrumented import FRAMEWORKS, comparable_rows, run_instrumented, scripted_model
from workbench.traces.formats import read_conversations

pytest.importorskip("openinference.instrumentation")


@pytest.mark.xdist_group("litellm")  # where the other tests import the frameworks
@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_file_of_spans_has_the_rows_of_the_proxy(framework: str, tmp_path: Path) -> None:
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from workbench.traces.otlp import otlp_json

    exporter = InMemorySpanExporter()
    async with scripted_model() as url, proxy(tmp_path, url) as running:
        await run_instrumented(framework, running.address, exporter)
        passed = await running.bodies()
    written = json.dumps(otlp_json(encode_spans(exporter.get_finished_spans())))
    [found] = read_conversations("spans.json", written)
    assert comparable_rows(found) == comparable_rows(passed)
    assert [row[0] for row in comparable_rows(found)].count("usage") == 5
