"""What every command's arguments are made with: a parser that complains in one line, and options that many share."""

from __future__ import annotations

import argparse
from typing import NoReturn

from workbench.config.errors import WrongCall


class Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        raise WrongCall(f"{self.prog}: {message} (see {self.prog} --help)")


Commands = argparse._SubParsersAction  # the only name it has


def count(text: str) -> int:
    """A number of rows."""
    most, digits = (1 << 31) - 1, text.lstrip("0")
    if not digits.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 up, got {text[:40]!r}")
    if int(digits[:11]) > most:  # of millions of digits, those are enough
        raise argparse.ArgumentTypeError(f"expected at most {most:,}, got {text[:40]!r}")
    return int(digits)


def add_command(commands: Commands[Parser], name: str, run: str, text: str) -> Parser:
    """A command, and the function that runs it."""
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=f"workbench.{run}")
    return parser


def add_json(parser: Parser) -> None:
    """What nearly every command has."""
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def add_wishes(parser: Parser, model: str = "plan for this model") -> None:
    """A policy and what else a plan is made with."""
    parser.add_argument("--policy", metavar="NAME|FILE", help="a preset, a policy of yours, or a TOML file")
    add_budget(parser, model)


def add_budget(parser: Parser, model: str = "plan for this model") -> None:
    """What a plan is made with beside its policy."""
    parser.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob, as in masking.keep_last=3")
    parser.add_argument("--model", "-m", metavar="MODEL", help=model)
    parser.add_argument("--window", type=int, metavar="N", help="a window of N tokens")
    parser.add_argument("--reserve", type=int, metavar="N", help="keep N tokens for the answer")
