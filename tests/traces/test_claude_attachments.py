"""What Claude Code attaches to a message: files, images, reminders."""

from __future__ import annotations

from typing import Any

import pytest

from traces.claude_code_lines import line, read_lines, reply
from workbench.config.values import replace
from workbench.log.events import (
    AgentCut,
    AssistantMessage,
    ImagePart,
    Setting,
    SlotContent,
    SystemMessage,
    Unknown,
    UserMessage,
)


def attachment(kind: str, rendered: tuple[str, ...] = (), role: str = "", **more: Any) -> dict[str, Any]:
    shown = {"rendered": [{"content": text} for text in rendered], "renderedRole": role} if rendered else {}
    return {"type": "attachment", "uuid": "a", "sessionId": "s", "attachment": {"type": kind, **more}, **shown}


REMINDER = "<system-reminder>\nToday is Monday.\n</system-reminder>"


def test_what_was_typed_while_the_agent_worked_is_a_message_in_its_place() -> None:
    [bodies] = read_lines(
        line("user", "look"),
        reply({"type": "text", "text": "I look."}),
        attachment("queued_command", prompt="and hurry", commandMode="prompt"),
        attachment("queued_command", prompt=[{"type": "text", "text": "please"}]),
        reply({"type": "text", "text": "Yes."}, "msg2"),
    )
    assert bodies == [
        UserMessage("look"),
        AssistantMessage("I look.", "msg"),
        UserMessage("and hurry"),
        UserMessage("please"),
        AssistantMessage("Yes.", "msg2"),
    ]


def test_attachments_that_were_rendered_are_messages_as_they_were_sent() -> None:
    [bodies] = read_lines(
        line("user", "look"),
        attachment("date", (REMINDER,), "system"),
        attachment("file", (REMINDER, "its text"), "user"),
        attachment("queued_command", (REMINDER,), "system", prompt="x"),
        attachment("task", (REMINDER,), "user"),
        attachment("novelty"),
    )
    assert bodies == [
        UserMessage("look"),
        SystemMessage("Today is Monday.", "system"),
        SystemMessage(REMINDER, "user"),
        SystemMessage("its text", "user"),
        UserMessage("Today is Monday."),
        SystemMessage(REMINDER, "user"),
        Unknown("Claude Code attachment novelty", {"entry": attachment("novelty")}),
    ]


def reminder(text: str) -> SystemMessage:
    return SystemMessage(f"<system-reminder>\n{text}\n</system-reminder>", "user")


def test_a_file_that_was_attached_is_content() -> None:
    file = {"filePath": "/a.py", "content": "import os\nprint()" + "#" * 40, "startLine": 3, "numLines": 2}
    attached = attachment("file", filename="/a.py", content={"type": "text", "file": file}, truncated=True)
    [bodies] = read_lines(line("user", "look"), attached)
    result = reminder("Result of calling the Read tool:\n     3→import os\n     4→print()" + "#" * 40)
    assert bodies == [
        UserMessage("look"),
        reminder('Called the Read tool with the following input: {"file_path": "/a.py"}'),
        replace(result, cut=AgentCut("truncated", "Claude Code")),
        reminder("Note: The file /a.py was too large and has been truncated."),
    ]


@pytest.mark.parametrize(
    ("file", "text"), [({"content": "a cell"}, "a cell"), ({"numPages": 3}, '{"numPages": 3}')], ids=["text", "none"]
)
def test_an_attached_file_of_another_kind_is_its_text_or_what_is_known_of_it(file: dict[str, Any], text: str) -> None:
    attached = attachment("file", filename="/a.ipynb", content={"type": "notebook", "file": file})
    [bodies] = read_lines(line("user", "look"), attached)
    assert bodies[-1] == reminder(f"Result of calling the Read tool:\n{text}")


def test_an_image_that_was_attached_is_one() -> None:
    file = {"type": "image", "file": {"base64": "AA==", "type": "image/png"}}
    [bodies] = read_lines(line("user", "look"), attachment("file", filename="/a.png", content=file))
    assert bodies[-1] == SystemMessage((ImagePart("data:image/png;base64,AA=="),), "user")


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [
        ("nested_memory", {"content": {"path": "/x/CLAUDE.md", "content": "be brief"}}, "be brief"),
        ("edited_text_file", {"filename": "/a", "snippet": "1 x"}, "1 x"),
        ("selected_lines_in_ide", {"filename": "/a", "content": "y" * 3000}, "y" * 2000 + "\n... (truncated)"),
        ("opened_file_in_ide", {"filename": "/a"}, "opened the file /a"),
        ("compact_file_reference", {"filename": "/a"}, "too large to include"),
        ("plan_file_reference", {"planFilePath": "/p", "planContent": "first"}, "first"),
        ("directory", {"path": "/d", "content": "a b"}, "a b"),
        ("skill_listing", {"content": "- sing"}, "- sing"),
        ("invoked_skills", {"skills": [{"name": "sing", "path": "/s", "content": "la"}]}, "### Skill: sing"),
        ("hook_additional_context", {"hookName": "H", "content": ["a", "b"]}, "H hook additional context: a\nb"),
        ("hook_success", {"hookEvent": "SessionStart", "hookName": "H", "content": "ok"}, "H hook success: ok"),
        ("critical_system_reminder", {"content": "stop"}, "stop"),
    ],
)
def test_what_the_program_attached_is_read_with_the_words_it_was_sent_with(
    kind: str, more: dict[str, Any], words: str
) -> None:
    [bodies] = read_lines(line("user", "look"), attachment(kind, **more))
    assert len(bodies) == 2
    assert isinstance(bodies[1], SystemMessage)
    assert words in str(bodies[1].content)


@pytest.mark.parametrize(
    "more", [{"type": "hook_success", "hookEvent": "Stop", "content": "x"}, {"type": "hook_cancelled"}]
)
def test_attachments_that_only_the_user_sees_are_counted(more: dict[str, Any]) -> None:
    [bodies] = read_lines(line("user", "look"), {**attachment(""), "attachment": more})
    assert bodies == [UserMessage("look"), Setting("left out", {f"attachment {more['type']}": 1})]


def test_a_snapshot_of_the_prompt_fills_the_slots() -> None:
    schema = {"name": "Read", "input_schema": {"type": "object"}}
    [bodies] = read_lines(
        line("user", "look"), attachment("prompt_snapshot", systemPrompt=["one", "two"], tools=[{"schema": schema}])
    )
    assert bodies[1:3] == [
        SlotContent("system", "system", "one\n\ntwo"),
        SlotContent(
            "tools", "Read", '{"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}'
        ),
    ]
