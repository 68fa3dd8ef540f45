"""How probes that rules make are worded. The rehearsal model recognises these forms (`rehearsal/probe_reading`)."""

from __future__ import annotations

BLANK = "____"


def blank_question(sentence: str) -> str:
    """For one value of a sentence; the sentence has the blank in its place."""
    return f'Fill in the blank, as it was said: "{sentence}"'


def rest_question(beginning: str) -> str:
    """For the second part of a sentence."""
    return f'How does this go on: "{beginning} …"'


def status_question(command: str) -> str:
    """For the exit status of a command."""
    return f"With which exit status did this command end the last time it ran: `{command}`"


def error_question(command: str) -> str:
    """For the error that a command printed."""
    return f"Which error did this command print the last time it ran: `{command}`"


def changed_question(folder: str) -> str:
    """For the files that were changed in a folder."""
    return f"Which files in the folder `{folder}` were changed? Name all of them."


OPEN_TASKS = "Which tasks of the plan are still open? Name all of them."
FAILED_COMMANDS = "Which commands failed the last time they ran? Name all of them."
