"""An agent of LangChain, planned and recorded: `python langchain_agent.py "read notes.txt"`."""

import sys
from pathlib import Path

from langchain.agents import create_agent

from workbench.adapters.langchain import PlannedMiddleware

planned = PlannedMiddleware(window=16_000, store="langchain example")


def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text(encoding="utf-8")


agent = create_agent("openai:gpt-4o", tools=[read_file], system_prompt="Be brief.", middleware=[planned])
done = agent.invoke({"messages": [{"role": "user", "content": sys.argv[1]}]})
print(done["messages"][-1].text)
