"""An agent of Pydantic AI, planned and recorded: `python pydantic_ai_agent.py "read notes.txt"`."""

import sys
from pathlib import Path

from pydantic_ai import Agent

from workbench.adapters.pydantic_ai import PlannedRequests

planned = PlannedRequests(window=16_000, store="pydantic-ai example")
agent = Agent("openai-chat:gpt-4o", instructions="Be brief.", capabilities=[planned])


@agent.tool_plain
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text(encoding="utf-8")


print(agent.run_sync(sys.argv[1]).output)
