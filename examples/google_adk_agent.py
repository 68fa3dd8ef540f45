"""An agent of Google's ADK, planned and recorded: `python google_adk_agent.py "read notes.txt"`."""

import asyncio
import sys
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner

from workbench.adapters.google_adk import PlannedPlugin

planned = PlannedPlugin(window=16_000, store="adk example")


def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text(encoding="utf-8")


agent = LlmAgent(name="reader", model="gemini-2.5-pro", instruction="Be brief.", tools=[read_file])
runner = InMemoryRunner(app=App(name="reading", root_agent=agent, plugins=[planned]))
events = asyncio.run(runner.run_debug(sys.argv[1], quiet=True))
print(events[-1].content.parts[0].text)
