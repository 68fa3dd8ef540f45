"""The argument parser, and the options that many commands share."""

from __future__ import annotations

import argparse
from typing import NoReturn

from workbench.config.errors import WrongCall


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        raise WrongCall(f"{self.prog}: {message} (see {self.prog} --help)")


Commands = argparse._SubParsersAction  # argparse has no public name for it


def count_argument(text: str) -> int:
    """The type of arguments that count something."""
    most, digits = (1 << 31) - 1, text.lstrip("0")
    if not digits.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 up, got {text[:40]!r}")
    if int(digits[:11]) > most:  # int() refuses thousands of digits
        raise argparse.ArgumentTypeError(f"expected at most {most:,}, got {text[:40]!r}")
    return int(digits)


def add_command(commands: Commands[Parser], name: str, run: str, text: str) -> Parser:
    """Add a command and the function that runs it."""
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=f"workbench.{run}")
    return parser


def add_json(parser: Parser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def add_plan_options(parser: Parser, model: str = "plan for this model") -> None:
    """Add the options that a plan depends on."""
    parser.add_argument("--policy", metavar="NAME|FILE", help="a preset, a policy of yours, or a TOML file")
    add_budget(parser, model)


def add_budget(parser: Parser, model: str = "plan for this model") -> None:
    """Add the options that a plan depends on, except for the policy."""
    parser.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob, as in masking.keep_last=3")
    parser.add_argument("--model", "-m", metavar="MODEL", help=model)
    parser.add_argument("--window", type=int, metavar="N", help="a window of N tokens")
    parser.add_argument("--reserve", type=int, metavar="N", help="keep N tokens for the answer")
