"""litellm itself."""

import sys

import litellm

asked = [{"role": "user", "content": sys.argv[1]}]
print(litellm.completion("openai/rehearsal", messages=asked).choices[0].message.content)
