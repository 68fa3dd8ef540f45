"""A loop over Anthropic's client, planned and recorded: `python anthropic_client.py "read notes.txt"`."""

import sys
from pathlib import Path

from anthropic import Anthropic

from workbench.adapters.anthropic import plan_anthropic

client = plan_anthropic(Anthropic(), window=16_000, store="anthropic example")

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"name": "read_file", "description": "Read a file.", "input_schema": SCHEMA}]
messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    answer = client.messages.create(model="claude-opus-4-5", max_tokens=1_000, messages=messages, tools=TOOLS)
    messages.append({"role": "assistant", "content": answer.content})
    calls = [block for block in answer.content if block.type == "tool_use"]
    if not calls:
        break
    results = [(call.id, Path(call.input["path"]).read_text(encoding="utf-8")) for call in calls]
    blocks = [{"type": "tool_result", "tool_use_id": name, "content": text} for name, text in results]
    messages.append({"role": "user", "content": blocks})
print(answer.content[0].text)
