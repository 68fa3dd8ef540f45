"""mini-swe-agent: a trajectory (`*.traj.json`), one JSON object of OpenAI-style messages, which `openai` reads.

`info.config` has the model and, if set, the folder (`environment.cwd`). The user's message begins with the agent's own
words; the task and more of the agent's words follow, in paragraphs.
"""

from __future__ import annotations

from workbench.traces import format_names, openai
from workbench.traces.building import Recording
from workbench.traces.reading import Document
from workbench.wire.values import text_in

NAME = format_names.MINI_SWE_AGENT
SIGN = b'"trajectory_format": "mini-swe-agent'
"""Near the end of a file."""
TASK = "Please solve this issue:"
"""The text before the task, unless the user's configuration changes it."""


def recognises(document: Document) -> bool:
    """Whether its `trajectory_format` says so."""
    first = document.values[0].value
    return not document.lines and text_in(first, "trajectory_format").startswith(NAME)


def read(document: Document, text: str) -> list[Recording]:
    return openai.openai_conversations(document, text, NAME)
