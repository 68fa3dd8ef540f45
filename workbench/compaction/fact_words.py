"""Words that matter: paths, URLs, identifiers, errors, commits and versions, recognised from single words of a text.

A text is split into words first, and each different word is tested once. So a long transcript costs what its different
words cost, and no pattern here ever sees more than one word of bounded length.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from functools import lru_cache

from workbench.compaction.values import FactKind
from workbench.config.patterns import late_pattern

LONGEST_WORD = 300
"""A longer word is encoded data."""
_APART = "\"'`,;<>{}[]|*\\“”„«»‘’"
"""Never part of a word that matters. Parentheses may be: `load_policy()`."""
_PLAIN = late_pattern(r"\(?(?:[^\W\d_][^\W\d_A-Z]*|\d[\d:,]*(?:\.\d*)?)[.:!?…)]*")
"""Plain words and plain numbers, which most words are."""
_TRIM = ".:!?…)"
_SPACE = "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace())
_BETWEEN = re.escape(_SPACE + _APART)
_ODD = late_pattern(rf"(?:(?:[A-Za-z][a-z]*+|[0-9][0-9:]*+)?[.:!?)]*+[{_BETWEEN}]++)*+([^{_BETWEEN}]*+)")
"""The next word after a run of plain ones. All separators are spelt out: `\\s` is slower."""

_FILES = (
    "bash bat c cc cfg conf cpp cs css csv db diff env ex exs go gradle graphql h hpp htm html ini ipynb java jpeg jpg "
    "js json jsonl jsx kt lock log lua mak md mjs mod patch pdf php pl png proto ps1 py pyi r rb rs rst scala scss sh "
    "sql sqlite svelte svg swift tar tcss tex toml traj ts tsv tsx txt vue wasm xml yaml yml zig zip zsh"
)
_FOLDERS = "app bin build code data dev etc home lib mnt opt proc project repo root run src srv sys testbed tmp usr var"
_PLACES = frozenset(
    f"{_FOLDERS} apps assets cli client cmd config core doc docs examples include internal libs packages pkg "
    "scripts server spec static test tests tools utils vendor web".split()
)
_EXTENSIONS = frozenset(_FILES.split())
_URL = late_pattern(r"(?:https?|ftp|ssh|git|file|wss?|s3|gs)://[^\s/]\S*", re.IGNORECASE)
_PATH = late_pattern(r"(?:~?/)?[\w@+.-]+(?:/[\w@+.-]+)*/?")
_LINE = late_pattern(r"(?::\d+){1,2}$|#L\d+(?:-L?\d+)?$")
_COMMIT = late_pattern(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}")
_ERROR = late_pattern(
    # A class of errors begins with a capital; `showError` and `setTimeout` are functions.
    r"(?:[A-Za-z_]\w*\.)*_*[A-Z]\w*(?:Error|Exception|Warning|Fault|Timeout)|SIG(?:KILL|SEGV|TERM|ABRT|BUS|PIPE|INT)"
    r"|(?:TS|CS|E|SC)\d{4}|CVE-\d{4}-\d+"
)
_METHOD = late_pattern(r".*(?:No|With|On|Is|As|Has|To|\.)(?:Error|Exception|Warning)")
"""Names that end like an error but are what a program does with one: `t.Error`, `require.NoError`."""
_OBJECTS = frozenset(
    {"console", "process", "self", "this", "cls", "math", "Math", "np", "os", "sys", "import", "window"}
)
"""The part before the dot of `console.log` and `process.env`, which end like files."""
_VERSION = late_pattern(r"v?\d+\.\d+\.\d+(?:[-+][\w.]+)?")
_SNAKE = late_pattern(r"_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_*|__[a-z]\w*__")
_CAMEL = late_pattern(r"_*[A-Z]?[a-z][a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+|[A-Z]{2,}[a-z][A-Za-z0-9]+")
_DOTTED = late_pattern(r"[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+")
_FLAG = late_pattern(r"--[a-z][\w-]*[a-z]")
_DOMAINS = frozenset({"com", "org", "net", "io", "dev", "ai", "de", "fr", "uk", "eu", "www"})
_ERRNO = frozenset(errno.errorcode.values())

_ROOTS = ("./", "../", "~/", *(f"/{name}/" for name in _FOLDERS.split()))

Found = tuple[FactKind, str]


def split_words(text: str) -> set[str]:
    """The different words of a text."""
    for sign in _APART:  # faster than a table or a pattern, because most signs are in few texts
        text = text.replace(sign, " ")
    return set(text.split())


def odd_words(text: str) -> set[str]:
    """The different words of a text without most of the plain ones, which say nothing: that saves making them."""
    return set(_ODD.findall(text))


@lru_cache(maxsize=1 << 15)  # the same words come again and again
def facts_in_word(word: str) -> tuple[Found, ...]:
    """The facts in a word; mostly none."""
    if len(word) > LONGEST_WORD or len(word) < 3 or _PLAIN.fullmatch(word):
        return ()
    if "://" in word:
        found = _URL.search(word)
        return (("url", _bare(found[0])),) if found else ()
    if "=" in word:
        return tuple(one for part in word.split("=") for one in facts_in_word(part))
    called = word.endswith("()")
    word = word.lstrip("+")  # of a line that a diff adds
    bare = word.lstrip("(").split("(")[0].strip(_TRIM) if "(" in word else word.strip(_TRIM[1:]).rstrip(_TRIM)
    return _kinds(bare, called) if len(bare) > 2 else ()


def _kinds(bare: str, called: bool) -> tuple[Found, ...]:
    kind: FactKind | None = None
    if bare.isalnum():
        kind = _alphanumeric(bare)
    else:
        # A call, such as `response.json()`, is no file.
        path = as_path(bare) if not called and ("/" in bare or "." in bare) else ""
        if path:
            is_site = path.split("/")[0].rpartition(".")[2] in _DOMAINS
            return (("url" if is_site else "path", path),)
        if _ERROR.fullmatch(bare) and not _METHOD.fullmatch(bare):
            kind = "error"
        elif bare[0].isdigit() or bare[1].isdigit():
            kind = "number" if _VERSION.fullmatch(bare) else None
        elif _is_identifier(bare):
            kind = "identifier"
    if called and kind in (None, "identifier"):
        return (("identifier", f"{bare}()"),)
    return ((kind, bare),) if kind else ()


def _alphanumeric(bare: str) -> FactKind | None:
    """The kind of a word of letters and digits alone."""
    if bare.isalpha():
        if bare.islower() or bare[1:].islower():
            return None
        if bare.isupper():
            return "error" if bare in _ERRNO or _ERROR.fullmatch(bare) else None
    elif _COMMIT.fullmatch(bare):
        return "commit"
    elif bare[0].isdigit():
        return None
    if _ERROR.fullmatch(bare) and not _METHOD.fullmatch(bare):
        return "error"
    return "identifier" if _CAMEL.fullmatch(bare) else None


def _is_identifier(bare: str) -> bool:
    if _SNAKE.fullmatch(bare) or _CAMEL.fullmatch(bare) or _FLAG.fullmatch(bare):
        return True
    if not _DOTTED.fullmatch(bare):
        return False
    first, *_, last = bare.split(".")
    # `finished.Then` is the end of a sentence with the blank missing.
    is_prose = first.isalpha() and last.isalpha() and last.istitle()
    return not is_prose and last.lower() not in _DOMAINS and first not in _DOMAINS


def as_path(bare: str) -> str:
    """A path without its line number; empty if the word is none.

    A word with a slash may be prose (`and/or`, `1/2`, `bug/fix/chore`) or a pattern (`/def/`): it must begin like a
    path, or end like a file, or have two slashes, letters, and a part that is no plain word.
    """
    bare = _LINE.sub("", bare)
    name = bare.rstrip("/").rsplit("/", 1)[-1]
    stem, dot, extension = name.rpartition(".")
    known = extension in _EXTENSIONS or (extension.isupper() and extension.lower() in _EXTENSIONS)
    is_file = bool(dot) and known and (bool(stem) or "/" in bare)
    if "/" not in bare:
        return bare if is_file and bare.split(".")[0] not in _OBJECTS and _PATH.fullmatch(bare) else ""
    if bare.startswith("s/") and bare.endswith(("/", "/g")):
        return ""  # a sed command
    begins = f"{bare}/".startswith(_ROOTS)
    deep = bare.strip("/").count("/") >= 2 and sum(map(str.isalpha, bare)) * 2 > len(bare) and _is_placed(bare)
    return bare if (is_file or begins or deep) and _PATH.fullmatch(bare) else ""


def _is_placed(path: str) -> bool:
    """Whether a part of a path is a folder that many projects have, or a name that is no plain word."""
    return any(part in _PLACES or not part.isalpha() for part in path.strip("/").split("/"))


def path_tails(path: str) -> list[str]:
    """The ends by which people shorten a path: `src/app.py` and `app.py` for `/home/ann/src/app.py`."""
    parts = path.strip("/").split("/")
    ends = ["/".join(parts[at:]) for at in range(len(parts))]
    return ends if path.startswith("/") else ends[1:]


def _bare(url: str) -> str:
    return url.rstrip(_TRIM + "/")


def word_parts(words: Iterable[str]) -> set[str]:
    """Words and the parts of dotted ones, without case and brackets, to look names up in."""
    found: set[str] = set()
    for word in words:
        low = word.casefold().strip("()" + _TRIM)
        found.add(low)
        if "(" in low:
            found.update(low.split("("))
        if "." in low:
            found.update(low.replace("(", ".").split("."))
        if "=" in low:
            found.update(low.split("="))
    return found
