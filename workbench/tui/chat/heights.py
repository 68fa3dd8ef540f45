"""The height of each entry and the line where it starts, fast for any number of entries."""

from __future__ import annotations


class EntryHeights:
    """Heights in lines. Most are guesses until the entry is drawn.

    A Fenwick tree: changing a height and finding the entry at a line both take logarithmic time.
    """

    def __init__(self, count: int, guess: int) -> None:
        """Start with `count` entries of the height `guess`."""
        self._guess = guess
        self._heights = [guess] * count
        self._tree = [0] + [guess * (index & -index) for index in range(1, count + 1)]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        return self.top(len(self._heights))

    def grow(self, count: int) -> None:
        """Add entries at the end, up to `count`."""
        for place in range(len(self._heights) + 1, count + 1):
            self._heights.append(self._guess)
            # A node has its own height plus those of the nodes below it, which are complete by now.
            below, low = self._guess, place - (place & -place)
            child = place - 1
            while child > low:
                below += self._tree[child]
                child -= child & -child
            self._tree.append(below)

    def set_height(self, index: int, height: int) -> None:
        difference = height - self._heights[index]
        if not difference:
            return
        self._heights[index] = height
        place = index + 1
        while place < len(self._tree):
            self._tree[place] += difference
            place += place & -place

    def top(self, index: int) -> int:
        """The line where an entry starts."""
        line = 0
        while index:
            line += self._tree[index]
            index -= index & -index
        return line

    def at(self, line: int) -> tuple[int, int]:
        """The entry at a line, and the line's number in it; past the end, the number of entries and the rest."""
        place, rest = 0, max(line, 0)
        step = 1 << len(self._heights).bit_length()
        while step:
            if place + step < len(self._tree) and self._tree[place + step] <= rest:
                place += step
                rest -= self._tree[place]
            step >>= 1
        return place, rest
