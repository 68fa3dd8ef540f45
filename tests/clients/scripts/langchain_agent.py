"""LangChain's agent, with the model that its second argument names."""

import os
import sys

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.tools import tool


@tool
def read_file(path: str) -> str:
    """Read a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


@tool
def shell(command: str) -> str:
    """Run a command."""
    return os.popen(command).read()


agent = create_agent(init_chat_model(sys.argv[2]), tools=[read_file, shell])
print(agent.invoke({"messages": [{"role": "user", "content": sys.argv[1]}]})["messages"][-1].text)
