"""Phrases that matter: constraints, decisions, to-dos, quotations and numbers with their units.

Constraints and decisions are recognised by marker words, in English and the common forms of German, French and
Spanish. That is a filter and not an understanding; it is the same for the same text, and it costs no request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from workbench.config.patterns import late_pattern

SHORTEST, LONGEST = 8, 300
"""Characters of a phrase; a longer one is cut."""

_CONSTRAINTS = (
    "must|never|do not|don't|dont|don’t|only|always|keep|should not|shouldn't|may not|at most|at least|no more than|"
    "make sure|ensure|without|avoid|required|forbidden|not allowed|"
    "muss|müssen|darf nicht|dürfen nicht|nie|niemals|immer|nur|bitte nicht|auf keinen fall|höchstens|mindestens|"
    "doit|doivent|jamais|toujours|seulement|uniquement|ne pas|interdit|au plus|au moins|"
    "debe|deben|nunca|siempre|solo|sólo|solamente|no uses|no usar|prohibido|como máximo"
)
_DECISIONS = (
    "decided|decision|we will use|we'll use|i will use|i'll use|let's use|let's go with|going with|go with|chose|"
    "chosen|agreed|settled on|instead of|"
    "entschieden|entscheidung|wir nehmen|wir verwenden|décidé|décision|nous utilisons|on utilise|decidido|decidimos|"
    "usaremos|vamos a usar"
)
_TODOS = (
    "todo|to-do|fixme|next step|next steps|still need|still needs|still have to|remaining|not yet|left to do|"
    "noch zu tun|noch offen|nächster schritt|à faire|reste à|prochaine étape|por hacer|pendiente|próximo paso"
)


class MarkerWords:
    """Words that mark a phrase.

    They are tested one by one: a pattern of so many words is slow, and most texts have none of them.
    """

    def __init__(self, words: str) -> None:
        self._words = tuple(words.split("|"))

    def phrases(self, text: str) -> Iterator[str]:
        """The sentences with one of the words."""
        lower = text.lower()
        found = [word for word in self._words if word in lower and _is_own_word(word, lower)]
        if found:
            for sentence in sentences_in(text):
                lower = sentence.lower()
                if any(_is_own_word(word, lower) for word in found):
                    yield sentence


def _is_own_word(word: str, text: str) -> bool:
    """Whether a word is in a text, and not inside another one."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            return True
        at = text.find(word, end)
    return False


CONSTRAINTS, DECISIONS, _OPEN = MarkerWords(_CONSTRAINTS), MarkerWords(_DECISIONS), MarkerWords(_TODOS)
_BOX = late_pattern(r"[-*+] \[ \] +(.+)")
_BULLET = late_pattern(r"^(?:[-*+•]|\d{1,3}[.)]|#{1,6}) +")
_END = late_pattern(r"(?<=[.!?。！？])(?: +|(?<=[。！？]))")

_QUOTE = late_pattern(
    r'"(?<!\w")([^"\n]{3,80})"|“([^”\n]{3,80})”|„([^“”\n]{3,80})[“”]|«([^»\n]{3,80})»|`([^`\n]{3,80})`'
)
_QUOTE_SIGNS = ('"', "`", "“", "„", "«")
"""How every quotation begins; tested one by one first, because that is much faster than a pattern."""
_UNIT_NAMES = (
    "% ms µs us ns s sec secs second seconds min mins minute minutes h hour hours day days week weeks month months "
    "year years B KB MB GB TB KiB MiB GiB byte bytes bit bits px pt rem em Hz kHz MHz GHz fps rpm rps qps K k M x "
    "token tokens line lines file files test tests row rows user users request requests item items event events commit "
    "commits error errors time times °C °F km m cm mm kg g W kW V A USD EUR dollar dollars euro euros € Sekunden "
    "Minuten Stunden Tage Zeilen Dateien secondes heures jours lignes fichiers segundos minutos horas días"
)
_UNITS = frozenset(_UNIT_NAMES.split())
_NUMBER = late_pattern(
    # The first digit comes before the lookbehind: a pattern that begins with a digit is found quickly.
    r"([0-9](?<![\w.,$€£/:-][0-9])(?:[0-9]{0,2}(?:,[0-9]{3})+|[0-9]*)(?:\.[0-9]+)?)"
    r"[ \u00a0]?([%€°A-Za-zµí]{1,9})(?!\w)"
)
_MONEY = late_pattern(r"([$€£]) ?([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)")


def without_fenced_code(text: str) -> str:
    return "\n".join(text.split("```")[::2]) if "```" in text else text


def fenced_code(text: str) -> str:
    """The fenced code of a message."""
    return "\n".join(text.split("```")[1::2]) if "```" in text else ""


def sentences_in(text: str) -> Iterator[str]:
    """The sentences of a text, one line at a time, without the marks of a list."""
    for line in text.split("\n"):
        line = line.strip()
        if len(line) >= SHORTEST:
            for sentence in _END.split(_BULLET.sub("", line)):
                sentence = " ".join(sentence.split())
                if len(sentence) >= SHORTEST:
                    yield one_short_line(sentence)


def one_short_line(text: str, most: int = LONGEST) -> str:
    """One line of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def quoted_texts(text: str) -> Iterator[str]:
    """What is quoted, or marked as code, in a text."""
    if not any(sign in text for sign in _QUOTE_SIGNS):
        return
    for found in _QUOTE.finditer(text):
        quoted = " ".join(next(filter(None, found.groups())).split())
        quoted = quoted.rstrip(".,;:")  # of the sentence around it
        if len(quoted) > 2 and quoted[0] not in "[{(":
            yield quoted


def numbers_with_units(text: str) -> Iterator[str]:
    """Numbers with their units, in one spelling: `1500 MB`, `3 %`, `$20`."""
    for number, unit in _NUMBER.findall(text):
        if unit in _UNITS:
            yield f"{number.replace(',', '')} {unit}"
    for sign, amount in _MONEY.findall(text) if "$" in text or "€" in text or "£" in text else ():
        yield f"{sign}{amount.replace(',', '')}"


def open_tasks(text: str) -> Iterator[str]:
    """Open tasks: unticked boxes, and sentences that name one."""
    if "[ ]" in text:
        for line in text.split("\n"):
            box = _BOX.match(line.strip())
            if box:
                yield one_short_line(box[1])
    for sentence in _OPEN.phrases(text):
        if not sentence.startswith(("[ ]", "[x]", "[X]")):
            yield sentence


_STEP_KEYS = ("content", "step", "title", "task", "text", "description")
_DONE = ("completed", "done", "cancelled", "canceled")


@lru_cache(maxsize=1_000)
def _keeps_a_list(tool: str) -> bool:
    return any(name in tool.lower() for name in ("todo", "plan", "task"))


def listed_todos(tool: str, arguments: str) -> list[str] | None:
    """The open entries of a to-do list or plan in a call; None if the call has no such list.

    Each such call replaces the list before it.
    """
    if not _keeps_a_list(tool):
        return None
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    lists: list[Sequence[object]] = []
    if isinstance(value, dict):
        lists = [entry for entry in value.values() if isinstance(entry, list)]
    steps = [step for step in chain.from_iterable(lists) if isinstance(step, dict) and "status" in step]
    if not steps:
        return None
    found = []
    for step in steps:
        text = next((step[key] for key in _STEP_KEYS if isinstance(step.get(key), str)), "")
        if text.strip() and str(step["status"]).lower() not in _DONE:
            found.append(one_short_line(text))
    return found
