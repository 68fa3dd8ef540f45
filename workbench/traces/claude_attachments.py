"""Claude Code: the text with which an attachment without `rendered` was sent.

The wording is that of Claude Code 2.1.38 to 2.1.100. Kinds whose wording depends on more than the file has (todo lists,
plan mode, diagnostics) are unknown here. A file is sent with numbered lines, as the tool Read returns it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from workbench.log.events import Content
from workbench.wire.values import content_from, dict_in, json_text, list_in, number_in, part_of, text_in

NEVER_SENT: Final = frozenset(
    (
        *("already_read_file", "command_permissions", "edited_image_file", "structured_output", "dynamic_skill"),
        *("hook_cancelled", "hook_error_during_execution", "hook_non_blocking_error", "hook_system_message"),
        *("hook_permission_decision", "context_efficiency", "autocheckpointing", "background_task_status"),
    )
)
"""Kinds that Claude Code shows only to the user."""
_HOOKS: Final = ("SessionStart", "UserPromptSubmit")
"""The hooks whose output the model sees."""
_SELECTED: Final = 2000
"""Characters of a selection in the editor that are sent."""


def sent_contents(attached: dict[str, Any]) -> list[Content] | None:
    """The messages of an attachment; empty if it is never sent, None if its wording is not known."""
    kind = text_in(attached, "type")
    if kind in NEVER_SENT:
        return []
    if kind == "file":
        return _file(attached)
    if kind == "hook_success":
        content = text_in(attached, "content")
        text = f"{text_in(attached, 'hookName')} hook success: {content}" if content else ""
        return _reminders(text) if text_in(attached, "hookEvent") in _HOOKS else []
    if kind not in _WORDS:
        return None
    return _reminders(_WORDS[kind](attached))


def _reminders(*texts: str) -> list[Content]:
    return [f"<system-reminder>\n{text}\n</system-reminder>" for text in texts if text]


def _file(attached: dict[str, Any]) -> list[Content] | None:
    content, name = dict_in(attached, "content"), text_in(attached, "filename")
    file = dict_in(content, "file")
    called = f"Called the Read tool with the following input: {json_text({'file_path': name})}"
    if text_in(content, "type") == "image":
        source = {"type": "base64", "media_type": text_in(file, "type"), "data": text_in(file, "base64")}
        return [*_reminders(called), content_from([part_of({"type": "image", "source": source})])]
    text = text_in(file, "content") or text_in(attached, "content")
    if not text and not file:
        return None
    if text_in(content, "type") == "text":
        text = _numbered(text, number_in(file, "startLine") or 1)
    elif not text:
        text = json_text(file)
    cut = f"Note: The file {name} was too large and has been truncated." if attached.get("truncated") is True else ""
    return _reminders(called, f"Result of calling the Read tool:\n{text}", cut)


def _numbered(text: str, first: int) -> str:
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(text.split("\n"), first))


def _edited(attached: dict[str, Any]) -> str:
    return (
        f"Note: {text_in(attached, 'filename')} was modified, either by the user or by a linter. This change was "
        "intentional, so make sure to take it into account as you proceed (ie. don't revert it unless the user asks "
        "you to). Don't tell the user this, since they are already aware. Here are the relevant changes (shown with "
        f"line numbers):\n{text_in(attached, 'snippet')}"
    )


def _selected(attached: dict[str, Any]) -> str:
    text = text_in(attached, "content")
    text = text[:_SELECTED] + "\n... (truncated)" if len(text) > _SELECTED else text
    lines = f"{number_in(attached, 'lineStart')} to {number_in(attached, 'lineEnd')}"
    where = f"The user selected the lines {lines} from {text_in(attached, 'filename')}:"
    return f"{where}\n{text}\n\nThis may or may not be related to the current task."


def _opened(attached: dict[str, Any]) -> str:
    name = text_in(attached, "filename")
    return f"The user opened the file {name} in the IDE. This may or may not be related to the current task."


def _referenced(attached: dict[str, Any]) -> str:
    return (
        f"Note: {text_in(attached, 'filename')} was read before the last conversation was summarized, but the contents "
        "are too large to include. Use Read tool if you need to access it."
    )


def _plan_file(attached: dict[str, Any]) -> str:
    return (
        f"A plan file exists from plan mode at: {text_in(attached, 'planFilePath')}\n\nPlan contents:\n\n"
        f"{text_in(attached, 'planContent')}\n\n"
        "If this plan is relevant to the current work and not already complete, continue working on it."
    )


def _memory(attached: dict[str, Any]) -> str:
    content = dict_in(attached, "content")
    return f"Contents of {text_in(content, 'path')}:\n\n{text_in(content, 'content')}"


def _directory(attached: dict[str, Any]) -> str:
    path = text_in(attached, "path")
    called = json_text({"command": f"ls {path}", "description": f"Lists files in {path}"})
    listed = text_in(attached, "content")
    return f"Called the Bash tool with the following input: {called}\nResult of calling the Bash tool:\n{listed}"


def _skills(attached: dict[str, Any]) -> str:
    listed = text_in(attached, "content")
    return f"The following skills are available for use with the Skill tool:\n\n{listed}" if listed else ""


def _invoked(attached: dict[str, Any]) -> str:
    skills = "\n\n---\n\n".join(
        f"### Skill: {text_in(each, 'name')}\nPath: {text_in(each, 'path')}\n\n{text_in(each, 'content')}"
        for each in list_in(attached, "skills")
    )
    first = "The following skills were invoked in this session. Continue to follow these guidelines:"
    return f"{first}\n\n{skills}" if skills else ""


def _context(attached: dict[str, Any]) -> str:
    text = "\n".join(each for each in list_in(attached, "content") if isinstance(each, str))
    return f"{text_in(attached, 'hookName')} hook additional context: {text}" if text else ""


_WORDS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "edited_text_file": _edited,
    "selected_lines_in_ide": _selected,
    "opened_file_in_ide": _opened,
    "compact_file_reference": _referenced,
    "plan_file_reference": _plan_file,
    "nested_memory": _memory,
    "directory": _directory,
    "skill_listing": _skills,
    "invoked_skills": _invoked,
    "hook_additional_context": _context,
    "critical_system_reminder": lambda attached: text_in(attached, "content"),
}
