"""docs/adapters.md: its blocks run, and it names every adapter and every setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adapters.test_examples import needs, run_with_addresses
from workbench.adapters.conversations import AdapterSettings

PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
NAMES = [re.findall(r"^(?:from|import) (\S+)", block, re.MULTILINE)[0] for block in BLOCKS]


@pytest.mark.xdist_group("litellm")
@pytest.mark.parametrize(("name", "block"), zip(NAMES, BLOCKS, strict=True), ids=NAMES)
async def test_a_block_of_the_page_runs(name: str, block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(name)
    await run_with_addresses(monkeypatch, lambda: exec(block, {}))


def test_the_page_has_a_block_for_every_adapter() -> None:
    folder = Path(__file__).parents[2] / "workbench" / "adapters"
    shared = {"__init__", "chat_messages", "conversations", "planned_methods", "recorded_streams", "same_messages"}
    wanted = {path.stem for path in folder.glob("*.py")} - shared
    assert {found for block in BLOCKS for found in re.findall(r"workbench\.adapters\.(\w+)", block)} == wanted


def test_the_page_explains_every_setting() -> None:
    explained = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert AdapterSettings.__annotations__.keys() <= explained
