"""The argument parser, and the options that many commands share."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any, NoReturn

from workbench.config.errors import WrongCall
from workbench.config.terminal_alerts import AlertWay, parse_alert_ways

_NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}
"""What is expected of an argument, by its type."""


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one line, and suggests what may have been meant."""

    def error(self, message: str) -> NoReturn:
        raise WrongCall(f"{self.prog}: {message} (see {self.prog} --help)")

    def parse_args(  # type: ignore[override]  # argparse has overloads for namespaces of other classes
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Read the arguments. The command that got an unknown one complains, because it knows its own options."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser: Parser = getattr(options, "parser", self)
            wrong = next((each for each in unknown if each.startswith("-")), "").partition("=")[0]
            if wrong:
                known = [option for option in parser._option_string_actions if option.startswith("--")]
                parser.error(f"there is no option {wrong}{suggestion(wrong, known)}")
            parser.error(f"too many arguments: {' '.join(unknown)}")
        return options

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Say what a number should look like, instead of naming Python's type."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type not in _NUMBERS:
                raise
            raise argparse.ArgumentError(action, f"expected {_NUMBERS[action.type]}, got {arg_string[:40]!r}") from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Say which command may have been meant, instead of listing all of them."""
        if not isinstance(action, argparse._SubParsersAction) or value in action.choices:
            super()._check_value(action, value)
            return
        hint = suggestion(value, action.choices)
        if not hint and os.path.exists(value):
            hint = f"; to look at a file: {self.prog.partition(' ')[0]} open {value}"
        raise argparse.ArgumentError(None, f"there is no command {value!r}{hint}")


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of a sentence that names what may have been meant; empty if nothing is near."""
    import difflib  # late, as few words are mistyped

    near = difflib.get_close_matches(word, list(known), n=2, cutoff=0.65)
    return f"; did you mean {' or '.join(near)}?" if near else ""


Commands = argparse._SubParsersAction  # argparse has no public name for it


def count_argument(text: str, least: int = 1) -> int:
    """The type of arguments that count something."""
    most, digits = (1 << 31) - 1, text.lstrip("0")
    if not digits.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from {least} up, got {text[:40]!r}")
    if int(digits[:11]) > most:  # int() refuses thousands of digits
        raise argparse.ArgumentTypeError(f"expected at most {most:,}, got {text[:40]!r}")
    return int(digits)


def notify_argument(text: str) -> tuple[AlertWay, ...]:
    """The type of arguments that say how the screen draws attention."""
    try:
        return parse_alert_ways(text)
    except WrongCall as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_notify(parser: argparse._ActionsContainer) -> None:
    """The option for a bell and notifications."""
    ways = "at 80 %% of the window, a compaction, a held request or an error: bell, desktop, bell,desktop or none"
    parser.add_argument("--notify", metavar="HOW", type=notify_argument, help=ways)


def whole_argument(text: str) -> int:
    """The type of limits that may be 0."""
    return 0 if text and not text.strip("0") else count_argument(text, least=0)


def percent_argument(text: str) -> float:
    """The type of limits that are a share of a whole: `80%` or `80` gives 0.8."""
    digits, sign, after = text.partition("%")
    share = _amount(digits, "a share in per cent, as in 80%", text if not after else "")
    if not sign and 0 < share < 1:
        raise argparse.ArgumentTypeError(f"expected a share in per cent, as in 80%; say {text[:20]}% if that is meant")
    return share / 100


def dollars_argument(text: str) -> float:
    """The type of limits in dollars: `2.5` or `$2.5`."""
    return _amount(text.removeprefix("$"), "an amount of dollars, as in 2.50", text)


def _amount(digits: str, expected: str, text: str) -> float:
    if not text or not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12}", digits):
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text[:40]!r}")
    return float(digits)


def day_argument(text: str) -> str:
    """The type of arguments that name a day, by its date or by how many days or weeks ago it was: 2026-11-17."""
    number, unit = text[:-1], text[-1:]
    try:
        if unit in ("d", "w") and number.isdecimal():
            days = int(number[:9]) * (7 if unit == "w" else 1)
            return (date.today() - timedelta(days=max(0, days - 1))).isoformat()
        return date.fromisoformat(text).isoformat()
    except (ValueError, OverflowError):
        message = f"expected a date such as 2026-11-01, or a number of days such as 7d, got {text[:40]!r}"
        raise argparse.ArgumentTypeError(message) from None


def add_command(commands: Commands[Parser], name: str, run: str, text: str) -> Parser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=f"workbench.{run}", parser=parser)
    return parser


def add_flag(parser: argparse._ActionsContainer, name: str, text: str) -> None:
    """Add an option without a value."""
    parser.add_argument(name, action="store_true", help=text)


def add_json(parser: argparse._ActionsContainer) -> None:
    add_flag(parser, "--json", "print JSON, for programs")


def add_plan_options(parser: Parser, model: str = "plan for this model") -> None:
    parser.add_argument("--policy", metavar="NAME|FILE", help="a preset, a policy of yours, or a TOML file")
    add_budget(parser, model)


def add_budget(parser: Parser, model: str = "plan for this model") -> None:
    """Add the options that a plan depends on, except for the policy."""
    parser.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob, as in masking.keep_last=3")
    parser.add_argument("--model", "-m", metavar="MODEL", help=model)
    parser.add_argument("--window", type=int, metavar="N", help="a window of N tokens")
    parser.add_argument("--reserve", type=int, metavar="N", help="keep N tokens for the answer")
