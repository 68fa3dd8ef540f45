"""An agent of the OpenAI Agents SDK, planned and recorded: `python openai_agents_agent.py "read notes.txt"`."""

import sys
from pathlib import Path

from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled

from workbench.adapters.openai_agents import PlannedInput

set_tracing_disabled(True)
planned = PlannedInput(window=16_000, store="openai-agents example")


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text(encoding="utf-8")


agent = Agent("reader", instructions="Be brief.", model="gpt-4o", tools=[read_file])
done = Runner.run_sync(agent, sys.argv[1], session=SQLiteSession("reader"), **planned.run())
print(done.final_output)
