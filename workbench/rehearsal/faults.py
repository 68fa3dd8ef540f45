"""The faults that the rehearsal can simulate: by a step of a script, or for one request by a header (`HEADER`)."""

from __future__ import annotations

from msgspec import Struct

from workbench.wire.answers import Refusal

HEADER = "x-rehearse-fault"

FAULTS = {
    "status": "`status 429`, `status 429 wait 7`: an error with this status, in the provider's own form",
    "context": "`context`, `context 8192`: the request is too long for a window of so many tokens",
    "quota": "429 because the account is used up; waiting does not help",
    "policy": "400 because the provider's filter refuses the content",
    "html": "a page of HTML with status 200",
    "drop": "the connection is closed instead of an answer",
    "cut": "the connection is closed in the middle of the answer",
    "no_finish": "the answer ends cleanly, but without a finish reason",
    "no_usage": "the answer is whole, but without a usage report",
    "bad_json": "in the middle of the answer something that is not JSON",
    "error": "in the middle of the answer an error in the provider's own form",
    "silence": "headers, then nothing until the client goes away",
    "mute": "not even headers, until the client goes away",
    "stall": "half the answer, then nothing until the client goes away",
    "slow": "`slow`, `slow 5`: so many characters per second (10)",
    "length": "the answer is cut in half and ends with the reason `length`",
    "refused": "the answer is empty and ends with the reason of a refusal",
}
"""The faults by name, with what each does or how it is written."""

IN_THE_MIDDLE = ("cut", "stall", "bad_json", "error")
"""Faults that happen after half of a stream was sent."""

_NUMBERED = {"context": 8192, "slow": 10}
"""Faults that may have a number, and its default."""


class UnknownFault(ValueError):
    """A text is not the name of a fault; the message says what was expected."""


class Fault(Struct, frozen=True):
    kind: str
    number: int = 0
    """By `kind`: the HTTP status, the window in tokens, or the characters per second."""
    wait: int = 1
    """Seconds in `Retry-After` (429, 503 and 529)."""

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read a fault as `FAULTS` describes it, for example `status 429 wait 7`. Raises UnknownFault."""
        words = text.split()
        match words:
            case ["status", status] if status.isdecimal() and 400 <= int(status) <= 599:
                return cls("status", int(status))
            case ["status", status, "wait", wait] if (
                status.isdecimal() and wait.isdecimal() and 400 <= int(status) <= 599
            ):
                return cls("status", int(status), int(wait))
            case [kind, number] if kind in _NUMBERED and number.isdecimal() and int(number) > 0:
                return cls(kind, int(number))
            case [kind] if kind in FAULTS and kind != "status":
                return cls(kind, _NUMBERED.get(kind, 0))
        names = ", ".join(name for name in FAULTS if name != "status")
        raise UnknownFault(
            f"expected `status 400` to `status 599` (with `wait SECONDS`), `context N`, `slow N` or one of "
            f"{names}; got {text!r}"
        )


_WAITING = (429, 503, 529)
"""The statuses that come with `Retry-After`."""


def refusal_for(fault: Fault, asked: int) -> Refusal | None:
    """The error for a fault; None if the fault is in the answer or the connection. `asked`: the request's tokens."""
    match fault.kind:
        case "status":
            return Refusal(fault.number, wait=fault.wait if fault.number in _WAITING else None)
        case "context":
            return Refusal(400, "context", limit=fault.number, asked=max(asked, fault.number + 1))
        case "quota":
            return Refusal(429, "quota")
        case "policy":
            return Refusal(400, "policy")
    return None
