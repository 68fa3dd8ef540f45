"""pydantic-ai, with the model that its second argument names."""

import os
import sys

from pydantic_ai import Agent

agent = Agent(sys.argv[2])


@agent.tool_plain
def read_file(path: str) -> str:
    """Read a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


@agent.tool_plain
def shell(command: str) -> str:
    """Run a command."""
    return os.popen(command).read()


print(agent.run_sync(sys.argv[1]).output)
