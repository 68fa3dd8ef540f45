"""A loop over OpenAI's client, planned and recorded: `python openai_client.py "read notes.txt"`."""

import json
import sys
from pathlib import Path

from openai import OpenAI

from workbench.adapters.openai import plan_openai

client = plan_openai(OpenAI(), window=16_000, store="openai example")

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"type": "function", "function": {"name": "read_file", "description": "Read a file.", "parameters": SCHEMA}}]
messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS).choices[0].message
    messages.append(answer)
    for call in answer.tool_calls or ():
        text = Path(json.loads(call.function.arguments)["path"]).read_text(encoding="utf-8")
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    if not answer.tool_calls:
        break
print(answer.content)
