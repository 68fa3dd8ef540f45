"""Every block of docs/library.md runs, in order, against a model without AI."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench
from workbench.rehearsal.server import RehearsalServer

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture
def address() -> Iterator[str]:
    """A rehearsal server in a thread of its own: the page's client waits in this one."""
    urls: list[str] = []
    started = threading.Event()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serve() -> None:
        async with RehearsalServer() as server:
            urls.append(server.url)
            started.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert started.wait(30)
    yield urls[0]
    loop.call_soon_threadsafe(ended.set)
    thread.join()
    loop.close()


@pytest.mark.xdist_group("litellm")
def test_the_page_runs(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)
    assert len(BLOCKS) >= 10
    said = capsys.readouterr().out
    assert "8029 True 8,029 tokens" in said
    assert "messages[1].content[0].text: expected a text, got None" in said
    context = workbench.Context("codex", window=8_000)
    context.extend({"role": role, "content": "word " * 300} for role in ("user", "assistant") * 12)
    turn = names["turn"]
    assert inspect.iscoroutinefunction(turn)
    asyncio.run(turn(context))
    assert "Summary" in str(context.plan.messages) or context.plan.tokens < 5_000


def test_the_page_names_all_that_is_public() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in workbench.__all__ if not re.search(rf"\b{name}\b", text)] == []
