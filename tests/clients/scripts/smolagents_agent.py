"""smolagents, with its agent that calls tools."""

import os
import sys

from smolagents import OpenAIServerModel, ToolCallingAgent, tool


@tool
def read_file(path: str) -> str:
    """Read a file.

    Args:
        path: the file
    """
    with open(path, encoding="utf-8") as file:
        return file.read()


@tool
def shell(command: str) -> str:
    """Run a command.

    Args:
        command: the command
    """
    return os.popen(command).read()


model = OpenAIServerModel("rehearsal", api_base=os.environ["OPENAI_BASE_URL"], api_key="any")
print(ToolCallingAgent(tools=[read_file, shell], model=model, max_steps=4).run(sys.argv[1]))
