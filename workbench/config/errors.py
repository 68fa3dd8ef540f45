"""Errors for the user: one clear line each, and the exit code they lead to."""

from __future__ import annotations


class WorkbenchError(Exception):
    """A failure that a person can act on; its text is the whole message."""

    exit_code = 1


class WrongCall(WorkbenchError):
    """The call itself is wrong: a bad argument, an unreadable file, a value out of range."""

    exit_code = 2


class Refused(WorkbenchError):
    """The answer is no: the plan does not fit, or the request was refused."""

    exit_code = 3
