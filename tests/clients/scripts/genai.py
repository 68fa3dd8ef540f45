"""google-genai, which calls functions by itself."""

import os
import sys

from google import genai
from google.genai import types


def read_file(path: str) -> str:
    """Read a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def run_shell_command(command: str) -> str:
    """Run a command."""
    return os.popen(command).read()


config = types.GenerateContentConfig(tools=[read_file, run_shell_command])
client = genai.Client(api_key="any")
print(client.models.generate_content(model="gemini-2.5-pro", contents=sys.argv[1], config=config).text)
