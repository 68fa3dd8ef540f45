"""openai-agents, without its traces, which go to OpenAI."""

import os
import sys

from agents import Agent, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


@function_tool
def shell(command: str) -> str:
    """Run a command."""
    return os.popen(command).read()


print(Runner.run_sync(Agent("worker", model="rehearsal", tools=[read_file, shell]), sys.argv[1]).final_output)
