"""Finds identifiers that are not names in a program: tickets, orders, UUIDs, addresses of mail and of machines, names
with hyphens, packages with a scope, branches, headers and signals.

The audit of a summary does not list them, because a session has too many. But if an answer needs one, it counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_ID = re.compile(
    r"""(?<![A-Za-z0-9])(?:
    [0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2})?
    | [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
    | [A-Za-z0-9][\w.+-]{0,60}@[A-Za-z0-9][A-Za-z0-9-]{0,60}(?:\.[A-Za-z0-9-]{1,60})+
    | [0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.[0-9])
    | 0x[0-9a-f]{4,40}
    | (?-i:[A-Z][A-Z0-9]{1,9}-[0-9]{1,9})
    | (?-i:(?=[A-Z0-9]{0,30}[0-9])(?=[0-9]{0,30}[A-Z])[A-Z0-9]{5,32})
    | [a-z_]\w{0,60}(?:::\w{1,60})+
    | (?=\w{0,60}[^\x00-\x7F])[^\W_]\w{0,60}_\w{1,60}
    )(?![A-Za-z0-9])""",
    re.VERBOSE | re.IGNORECASE,
)
_NAMES = (
    re.compile(r"(?<![\w@-])@[a-z0-9][a-z0-9-]{0,60}/[a-z0-9][\w.-]{0,60}(?<![.-])"),
    re.compile(r"(?<![\w/.-])(?:feat|feature|fix|bugfix|hotfix|release|chore)/(?=[\w./]{0,60}[-_0-9])[\w./-]{1,80}\w"),
    re.compile(r"(?<![\w-])[a-z][a-z0-9]{0,30}(?:-[a-z0-9]{1,30}){1,8}(?![\w-])"),
    re.compile(r"(?<![\w-])(?:[XA-Z][A-Za-z0-9]{0,30})(?:-[A-Z][A-Za-z0-9]{0,30}){1,6}(?![\w-])"),
    re.compile(r"(?<![A-Za-z0-9])SIG[A-Z][A-Z0-9]{1,8}(?![A-Za-z0-9])"),
)
"""A package with a scope, a branch, a name with hyphens, a header, a signal. Each is searched on its own, because one
may be a part of another."""
_SMALL_WORDS = (
    "a all an and any as at be by do down end for free full go good hand high if in is it long low made make multi new "
    "no non not of off old on one open or out over per post pre re read run self set short so sub the then time to two "
    "un up user via well with word write"
)
_JOINING = frozenset(_SMALL_WORDS.split())
"""A word with hyphens that has one of these is prose: `up-to-date`, `read-only`, `self-contained`."""
_PAIR = re.compile(r"(?<![\w-])[a-z]{2,30}-[a-z]{2,30}(?![\w-])")
_ALONE = re.compile(r"(?<![\w/.-])[a-z]{2,30}(?![\w/-]|\.\w)")
_FORMS = re.compile(r".+(?:ed|ing|able|ible|ive|al|ly|ic|ent|ant|ary|less|wise)$")
"""How the second word of a pair ends if the pair is an adjective: `hard-coded`, `case-sensitive`."""
_PROSE_PAIRS = (
    "agnostic aware back based bound case client code command compile counter cross cut date deep drop "
    "effort error even ever example exact existing extra fail fast file first fix front grade green group half hard "
    "heavy home house key large last left level life light like line list live lower main man mid mini more most name "
    "near next null opt out own parent part party plain plus prone proof quick quote range rate real right root round "
    "row safe scale second semi server side single site size small soft source space specific stand start state status "
    "step stop style super text third three thread top trade tree true turn type under upper value version view way "
    "wide work world x year yes zero"
)
_PAIRED = frozenset(_PROSE_PAIRS.split())
"""Plain words of pairs that are prose: `third-party`, `server-side`, `command-line`."""
_KNOWN_HEADERS = (
    "accept-encoding access-control-allow-origin cache-control content-disposition content-encoding content-length "
    "content-type user-agent set-cookie x-api-key x-forwarded-for x-requested-with"
)
_HEADERS = frozenset(_KNOWN_HEADERS.split())
_COMMON = re.compile(
    r"(?:SHA|UTF|ISO|RFC|BASE|INT|UINT|FLOAT|AES|RSA|CP|LATIN|WINDOWS|HTTP|MP|IPV|GPT|ARM|AMD|X|ES|PEP|CVE)-?[0-9]+"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|127\.0\.0\.1|0\.0\.0\.0|255\.[0-9.]+|0x[0f]+",
    re.IGNORECASE,
)
"""Words that every model knows, and dates, whose year counts as a number."""


def find_ids(word: str) -> Iterator[str]:
    """The identifiers in a word, which may have more around them, as in `feature/JIRA-48213-fix`."""
    found = (each for pattern in (_ID, *_NAMES) for each in pattern.findall(word))
    return (each for each in found if not _COMMON.fullmatch(each) and not _is_prose(each))


def _is_prose(found: str) -> bool:
    """Whether words with hyphens are prose, or a header that every model knows."""
    parts = found.split("-")
    if len(parts) < 2 or "/" in found or not all(parts):
        return False
    if found.islower() and all(map(str.isalpha, parts)):
        return not _JOINING.isdisjoint(parts) or (is_pair(found) and _is_adjective(parts))
    return found.casefold() in _HEADERS


def is_pair(found: str) -> bool:
    """Whether this is two plain words with a hyphen: a name such as `blue-harbor`, or prose."""
    return _PAIR.fullmatch(found) is not None


def words_of_prose(answers: Iterable[str], texts: Iterable[str]) -> set[str]:
    """The words of pairs in answers that a session also has without the other: pairs with one of them are prose."""
    paired = {word for text in answers for pair in _PAIR.findall(text) for word in pair.split("-")}
    return {word for text in texts for word in paired.intersection(_ALONE.findall(text))} if paired else set()


def _is_adjective(parts: list[str]) -> bool:
    return not _PAIRED.isdisjoint(parts) or _FORMS.fullmatch(parts[-1]) is not None


def word_pieces(word: str) -> list[str]:
    """A word and its pieces, as in `load(first_row=last_row)` or `src/a.py:3:load_it`."""
    if "://" in word:
        return [word]
    found = [word, *word.split(":")]
    return [*found, *re.split(r"[(=]", word)] if "(" in word else found
