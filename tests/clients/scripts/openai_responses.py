"""OpenAI's own library: Responses that go on from earlier ones over HTTP, with bare texts."""

import json
import os
import sys
from pathlib import Path

from openai import OpenAI

client = OpenAI()
tools = [
    {
        "type": "function",
        "name": "read_file",
        "description": "Read a file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
    {
        "type": "function",
        "name": "shell",
        "description": "Run a command",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
]
came = client.responses.create(model="rehearsal", input=sys.argv[1], tools=tools)
while calls := [item for item in came.output if item.type == "function_call"]:
    results = []
    for call in calls:
        given = json.loads(call.arguments)
        gave = (
            Path(given["path"]).read_text(encoding="utf-8")
            if call.name == "read_file"
            else os.popen(given["command"]).read()
        )
        results.append({"type": "function_call_output", "call_id": call.call_id, "output": gave})
    came = client.responses.create(model="rehearsal", input=results, tools=tools, previous_response_id=came.id)
print(came.output_text)
more = client.responses.create(model="rehearsal", input="thanks", tools=tools, previous_response_id=came.id)
print(more.output_text)
