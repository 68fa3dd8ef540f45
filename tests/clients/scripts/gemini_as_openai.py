"""OpenAI's library at Google's endpoint for it."""

import os
import sys

from openai import OpenAI

client = OpenAI(base_url=os.environ["GEMINI_API_BASE"] + "/openai/", api_key="any")
asked = [{"role": "user", "content": sys.argv[1]}]
print(client.chat.completions.create(model="gemini-2.5-pro", messages=asked).choices[0].message.content)
