"""`workbench help` and `workbench completions`, and the help of the program with its commands in groups."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from workbench.cli.arguments import Commands, Parser, add_command, suggestion
from workbench.config.distribution import installed_version
from workbench.config.errors import WrongCall

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "look": ("open", "demo", "plan", "requests", "sessions", "agents", "usage", "compactions", "waste", "tokens"),
        "live": ("watch", "status", "serve", "proxy", "policy", "break", "held", "release"),
        "work": ("ask", "compact", "undo", "override", "continue", "import", "export", "snapshots", "restore"),
        "improve": ("lab", "judge", "tune", "check", "replay", "explain", "rehearse"),
        "more": ("policies", "models", "mcp", "plugins", "completions", "help"),
    }
)
"""The commands by what they are for. A test checks that each is in one group."""

SHELLS = ("bash", "zsh", "fish")

_FILES = ("SOURCE", "FILE", "NAME|FILE", "AGENT|FILE|ID", "PATH")
"""Arguments for which a shell offers files."""


class MainParser(Parser):
    """Shows the commands in groups, not all in one list."""

    def format_help(self) -> str:
        """The help of the whole program."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, [*self._actions], [])
        formatter.add_text(self.description)
        for title, names in GROUPS.items():
            shown = {each.dest: each for each in _commands(self)._choices_actions}
            formatter.start_section(title)
            formatter.add_arguments([shown[name] for name in names])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([each for each in self._actions if each.option_strings])
        formatter.end_section()
        formatter.add_text("Without a command: the full screen. `workbench help COMMAND` explains one command.")
        return formatter.format_help()


def add_help(commands: Commands[Parser], whole: MainParser) -> None:
    """`help`, `completions`."""
    parser = add_command(commands, "help", "cli.help:run_help", "what a command does and what it takes")
    parser.add_argument("command", metavar="COMMAND", nargs="*", help="a command, as in `help sessions search`")
    parser.set_defaults(whole=whole)
    parser.add_argument("--man", action="store_true", help="print the whole manual as a man page")
    text = "print the completions for a shell, to be sourced or saved"
    parser = add_command(commands, "completions", "cli.help:run_completions", text)
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(whole=whole)


def run_help(options: argparse.Namespace) -> int:
    """Print the help of a command, or of the whole program."""
    parser: Parser = options.whole
    if options.man:
        print(manual_page(parser), end="")
        return 0
    for word in options.command:
        action = next(_subcommands(parser), None)
        if action is None:
            raise WrongCall(f"{parser.prog} has no commands of its own, got {word!r}")
        if word not in action.choices:
            parser.error(f"there is no command {word!r}{suggestion(word, action.choices)}")
        parser = action.choices[word]
    print(parser.format_help(), end="")
    return 0


def run_completions(options: argparse.Namespace) -> int:
    """Print what a shell needs to complete commands, options and files."""
    import shtab

    parser: Parser = options.whole
    for each in _with_subparsers(parser):
        for action in each._actions:
            if action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab reads it
            elif action.metavar == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=options.shell))
    return 0


def _subcommands(parser: argparse.ArgumentParser) -> Iterator[Commands[Parser]]:
    return (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))


def _commands(parser: argparse.ArgumentParser) -> Commands[Parser]:
    return next(_subcommands(parser))


def _with_subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in _subcommands(parser):
        for each in action.choices.values():
            yield from _with_subparsers(each)


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
    return "\n".join([*head, *_manual_commands(parser), *exits]) + "\n"


def _manual_commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _manual_command(each)
                yield from _manual_commands(each)


def _manual_command(parser: argparse.ArgumentParser) -> Iterator[str]:
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
