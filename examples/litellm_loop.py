"""A loop over litellm, planned and recorded: `python litellm_loop.py "read notes.txt"`."""

import asyncio
import json
import sys
from pathlib import Path

import litellm

from workbench.adapters.litellm import plan_litellm

litellm.callbacks = [plan_litellm(window=16_000, store="litellm example")]

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"type": "function", "function": {"name": "read_file", "description": "Read a file.", "parameters": SCHEMA}}]


async def main() -> None:
    messages = [{"role": "user", "content": sys.argv[1]}]
    while True:
        response = await litellm.acompletion(model="openai/gpt-4o", messages=messages, tools=TOOLS)
        answer = response.choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        for call in answer.tool_calls or ():
            text = Path(json.loads(call.function.arguments)["path"]).read_text(encoding="utf-8")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        if not answer.tool_calls:
            break
    print(answer.content)


asyncio.run(main())
