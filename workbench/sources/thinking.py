"""How much thinking came before a request: agents send it again, and files hold its text at best."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable

from workbench.log.events import Compaction, Event, Reasoning, Usage, UserMessage
from workbench.models.calibration import PastThinking

_COUNTED = frozenset((Compaction, UserMessage, Reasoning, Usage))


class ThinkingSoFar:
    """The thinking in a log's answers: as reported, else by our count of the text."""

    def __init__(self, events: Iterable[Event], reports: Collection[int], count: Callable[[str], int]) -> None:
        """`reports`: the events that report on the conversation itself."""
        self._seqs = [0]
        self._sums = [PastThinking()]
        read = 0
        for event in events:
            if type(event.body) not in _COUNTED:
                continue
            turn, whole = self._sums[-1]
            match event.body:
                case Compaction():
                    self._put(event.seq, PastThinking())
                case UserMessage():
                    self._put(event.seq, PastThinking(0, whole))
                case Reasoning(text=text) if text:
                    read += count(text)
                case Usage(reasoning=reported) if event.seq in reports:
                    more, read = reported or read, 0
                    self._put(event.seq, PastThinking(turn + more, whole + more))

    def _put(self, seq: int, so_far: PastThinking) -> None:
        if so_far != self._sums[-1]:
            self._seqs.append(seq)
            self._sums.append(so_far)

    def before(self, upto: int) -> PastThinking:
        """The thinking that a request made from the log up to an event may contain."""
        return self._sums[bisect_right(self._seqs, upto) - 1]
