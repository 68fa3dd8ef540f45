"""The manual as a man page, made from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from workbench.config.distribution import installed_version


def manual_page(parser: argparse.ArgumentParser) -> str:
    """The page in roff, as `man` reads it."""
    head = [
        f'.TH WORKBENCH 1 "" "workbench {installed_version()}" "User Commands"',
        ".SH NAME",
        f"workbench \\- {_escaped(str(parser.description)).lower().rstrip('.')}",
        ".SH SYNOPSIS",
        ".B workbench",
        "[\\fICOMMAND\\fR] [\\fIARGUMENTS\\fR]",
        ".PP",
        "Without a command, the full screen opens with the last session of this folder, or a new one.",
        ".SH COMMANDS",
    ]
    exits = [
        ".SH EXIT STATUS",
        "0 done; 1 failed; 2 wrong call; 3 does not fit, or refused; 130 interrupted; 143 and 129 ended by SIGTERM or",
        "SIGHUP; 131 ended by SIGQUIT.",
    ]
    return "\n".join([*head, *_commands(parser), *exits]) + "\n"


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _command(each)
                yield from _commands(each)


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    yield f'.SS "{_escaped(usage)}"'
    yield _escaped(_sentence(parser.description or ""))
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help and action.dest != "help":
            name = formatter._format_action_invocation(action)
            yield from (".TP", f"\\fB{_escaped(name)}\\fR", _escaped(action.help % {"prog": parser.prog}))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _escaped(text: str) -> str:
    """A text without meaning for roff: backslashes, hyphens, and a control character at a line's start."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
