"""Masks secrets in what is stored or given away: keys and passwords in files and in the output of commands.

This is the one list of what looks like a secret. Repetitions in it have limits: a text may be made to take long.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterable
from typing import Any, Final

MASK: Final = "[redacted]"

_SHAPES: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_](?=[\w-]{0,64}?[A-Za-z0-9]{16})[\w-]{16,}"
    r"|\b(?:gh[oprsu]|github_pat|gl(?:pat|dt|rt|cbt|ptt|soat)|xox[abeprs]|xapp|nvapi)[-_][\w-]{16,}"
    r"|\b(?:npm|hf|gsk|xai|pplx|shpat|dop_v1|pypi)[-_][A-Za-z0-9]{16,}[\w-]*"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\b(?:AIza|ya29\.|SG\.)[\w.-]{30,}"
    r"|(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"
    r"|(?<=://)[^\s/:@\"'<>]*:[^\s/\"'<>]+(?=@)"
    r"|(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/-]{8,}"
    r"|(?<=/api/webhooks/)\d{5,30}/[\w-]{16,}"
)
"""Secrets in the forms of their issuers, private keys, and passwords in addresses."""

_END = r"[\"'\\]{0,8}\s{0,16}[:=]\s{0,16}"
"""Between a name and its value, also in JSON inside of a string."""
_QUOTED = r"(?P<quote>\\{0,7}[\"'])(?P<quoted>(?:(?!(?P=quote))[^\n]){4,256})(?=(?P=quote))"

_LONG_NAMES = r"(?:api[_-]?key|secret|password|passwd|(?:access|auth|refresh|session|bot)[_-]?token|private[_-]?key)"
_SHORT_NAMES = r"(?:pwd|passphrase|credentials?|(?:access|account)[_-]?key|sharedaccess(?:key|signature))"
_PASS = r"(?:(?<=[_-])pass|(?<![\w-])pass(?==))"
"""The results of tests have lines that begin with `pass:`."""
_NAME = rf"(?=[abcprs])(?:{_LONG_NAMES}[\w.-]{{0,64}}|(?:(?<![a-z]){_SHORT_NAMES}|{_PASS})(?:_\d{{1,4}})?)"
_ASSIGNED: Final = re.compile(
    rf"(?P<name>{_NAME}{_END})(?:{_QUOTED}|(?P<value>(?![/~$<{{(])[^\s\"',;\\]{{3,}}))", re.IGNORECASE
)
"""An assignment to a name that suggests a secret."""
_TOKEN: Final = re.compile(
    r"(?P<name>(?<![a-z])token[\"'\\]{0,8}\s{0,16}[:=]\s{0,16}[\"'\\]{0,8})"
    r"(?P<value>(?=[\w./+=~%:!#*-]{0,64}[0-9])[\w./+=~%:!#*-]{8,}+)(?![(\[])",
    re.IGNORECASE,
)
"""A token is often a piece of text: only a long one with a digit in it is taken for a secret."""
_SENT: Final = re.compile(
    r"(?P<name>[?&](?:access_|auth_|id_)?(?:token|auth|sig|signature|secret|password|passwd|pwd|pass|api_?key)="
    r"|[?&]key=(?=[\w-]{16}))(?P<value>[^\s&\"'#<>\\]{4,})"
    r"|(?P<header>authorization[\"'\\]{0,8}\s{0,16}[:=,]\s{0,16}[\"'\\]{0,8}"
    r"(?:[a-z]{3,20}+[ \t]{1,4}+|(?![a-z]{3,20}[ \t])))"
    r"(?P<after>[\w.~+/=*:-]{3,})"
    r"|(?P<bearer>\bBearer\s{1,4})(?P<long>(?=[\w.~+/=-]{0,64}[0-9])[\w.~+/=-]{16,})",
    re.IGNORECASE,
)
"""In an address, or in a header."""
_OPTION: Final = re.compile(
    r"(?P<name>--(?:\w{1,32}-){0,4}(?:password|passwd|pass|passphrase|token|secret|(?:api|access|secret)-?key)"
    r"[=\s\"',\\]{1,8})(?P<value>(?![-$<{(])[^\s\"'\\]{3,})"
    r"|(?P<user>\bcurl\b[^\n]{0,200}?[\s\"'](?:-[uU]|--user|--proxy-user)[=\s\"',\\]{0,8}[^\s:\"']{1,128}:)"
    r"(?P<after>[^\s\"'\\]+)"
)
"""On a command line."""
_SPOKEN: Final = re.compile(r"--[\w-]*(?:token|secret|key)\s+[A-Z]?[a-z]{1,14}(?:['’-][a-z]{1,14})*[.,;:!?)*]*")
"""An option in a sentence, and the next word of it. No token looks like a word; a password may."""
_BASIC: Final = re.compile(r"(?P<name>\bBasic\s{1,4})(?P<value>[A-Za-z0-9+/]{6,}={0,2})", re.IGNORECASE)
_CALL: Final = re.compile(r"[A-Za-z_][\w.]*[(\[]")
_SHORT: Final = 8
"""A shorter value without quotes is a secret only if it has a digit in it, or belongs to a name in capitals."""
_KEY_NAME: Final = re.compile(rf"[\w.-]{{0,64}}?(?:{_NAME}|authorization)", re.IGNORECASE)


def redact_text(text: str) -> tuple[str, int]:
    """A text with its secrets masked, and how many there were."""
    masking = _Masking()
    text, shapes = _SHAPES.subn(MASK, text)
    for pattern, replace in (
        (_SENT, masking.mask),
        (_OPTION, masking.mask_option),
        (_ASSIGNED, masking.mask_assigned),
        (_TOKEN, masking.mask),
        (_BASIC, masking.mask_basic),
    ):
        text = pattern.sub(replace, text)
    return text, shapes + masking.count


class _Masking:
    """Replaces what the patterns find, and counts it."""

    def __init__(self) -> None:
        self.count = 0

    def mask(self, found: re.Match[str]) -> str:
        """Keep the first group that was found, which is the name, and mask the second, the value."""
        name, value = (each for each in found.groups() if each is not None)
        return name + self._masked(value)

    def mask_option(self, found: re.Match[str]) -> str:
        return found[0] if _SPOKEN.fullmatch(found[0]) else self.mask(found)

    def mask_assigned(self, found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        if value is None:
            return name + found["quote"] + self._masked(found["quoted"])
        is_variable = name.rstrip("= ").isupper()
        if _CALL.match(value) or (len(value) < _SHORT and not is_variable and not any(map(str.isdigit, value))):
            return found[0]
        return name + self._masked(value)

    def mask_basic(self, found: re.Match[str]) -> str:
        """Of the words that can follow `Basic`, only a user and a password have a colon in them."""
        try:
            decoded = b64decode(found["value"], validate=True)
        except ValueError:
            return found[0]
        return found["name"] + self._masked(found["value"]) if b":" in decoded else found[0]

    def _masked(self, value: str) -> str:
        if value.startswith(MASK) and not any(map(str.isalnum, value.removeprefix(MASK))):
            return value  # it was masked already
        self.count += 1
        return MASK


class Redactor:
    """Masks secrets in many texts, and counts them."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        """`known`: keys that are masked whatever they look like."""
        self._known = sorted(known, key=len, reverse=True)
        self.count = 0

    def redact(self, text: str) -> str:
        """The text with its secrets masked."""
        for key in self._known:
            if key in text:
                self.count += text.count(key)
                text = text.replace(key, MASK)
        text, found = redact_text(text)
        self.count += found
        return text

    def redact_json(self, value: Any) -> Any:
        """A JSON value with its secrets masked. The keys of objects are unchanged."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, list):
            return [self.redact_json(each) for each in value]
        if isinstance(value, dict):
            return {key: self._redact_member(key, each) for key, each in value.items()}
        return value

    def redact_line(self, line: str) -> str:
        """A line of JSON with its secrets masked."""
        return json.dumps(self.redact_json(json.loads(line)), ensure_ascii=False, separators=(",", ":"))

    def _redact_member(self, key: str, value: Any) -> Any:
        made = self.redact_json(value)
        if made != value or not isinstance(value, str):
            return made
        if len(value) >= 4 and _KEY_NAME.fullmatch(key):
            self.count += value != MASK
            return MASK
        return self._redact_token(key, value) if key[-5:].lower() == "token" else value

    def _redact_token(self, key: str, value: str) -> str:
        """The value of a member, masked where it would be in `key=value`."""
        text, start = f"{key}={value}", len(key) + 1
        found = _TOKEN.match(text, len(key) - 5)
        if found is None:
            return value
        self.count += 1
        return text[start : found.start("value")] + MASK + text[found.end("value") :]


def redacted(value: Any) -> Any:
    """A JSON value with its secrets masked. The keys of objects are unchanged."""
    return Redactor().redact_json(value)
