"""Output of unknown length in bounded memory: its beginning and its end."""

from __future__ import annotations


class OutputEnds:
    """Keeps the first and the last bytes of its input."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0
        """Bytes added so far."""

    def add_bytes(self, data: bytes) -> None:
        self.total += len(data)
        room = self._first - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not self._last:
            return
        self._tail += data[-self._last :]
        if len(self._tail) > 2 * self._last:  # not each time: moving bytes is slow
            del self._tail[: -self._last]

    @property
    def held(self) -> int:
        """Bytes in memory."""
        return len(self._head) + len(self._tail)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return self.total <= self._first + self._last

    @property
    def data(self) -> bytes:
        """The bytes that are kept, without a marker; all bytes if nothing was left out."""
        return bytes(self._head + self._ending())

    def text(self) -> str:
        """The whole output, or its beginning and end around a line that says how much is missing."""
        if self.is_whole:
            return self.data.decode(errors="replace")
        head, tail = whole_end(bytes(self._head)), _whole_start(self._ending())
        missing = self.total - len(head) - len(tail)
        start = head.decode(errors="replace")
        gap = "" if not start or start.endswith("\n") else "\n"
        return f"{start}{gap}[... left out {missing} of {self.total} bytes ...]\n{tail.decode(errors='replace')}"

    def _ending(self) -> bytes:
        return bytes(self._tail[-self._last :]) if self._last else b""


def whole_end(data: bytes) -> bytes:
    """The data without the first bytes of a character that the cut splits."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
    return data


def _whole_start(data: bytes) -> bytes:
    """The data without the last bytes of a character that began before the cut."""
    skip = 0
    while skip < min(3, len(data)) and 0x80 <= data[skip] < 0xC0:
        skip += 1
    return data[skip:]
