"""CrewAI: one agent, one task."""

import os
import sys

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool


@tool("read_file")
def read_file(path: str) -> str:
    """Read a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


@tool("shell")
def shell(command: str) -> str:
    """Run a command."""
    return os.popen(command).read()


llm = LLM(model="openai/gpt-4o", base_url=os.environ["OPENAI_BASE_URL"], api_key="any")
worker = Agent(role="worker", goal="do what is asked", backstory="none", llm=llm, tools=[read_file, shell])
task = Task(description=sys.argv[1], expected_output="what the tools gave", agent=worker)
print(Crew(agents=[worker], tasks=[task]).kickoff())
