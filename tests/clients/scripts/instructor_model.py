"""instructor: an answer in a form."""

import os
import sys

import instructor
from pydantic import BaseModel


class Answer(BaseModel):
    """What was found."""

    text: str


client = instructor.from_provider("openai/rehearsal", api_key="any", base_url=os.environ["OPENAI_BASE_URL"])
print(client.create(response_model=Answer, messages=[{"role": "user", "content": sys.argv[1]}]))
