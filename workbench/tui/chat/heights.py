"""How tall each entry is and where it begins, for as many entries as there are."""

from __future__ import annotations


class Heights:
    """Heights in lines, most of them guessed until somebody looks.

    A Fenwick tree: a height changes, and the entry under a line is found, in time that grows with the logarithm of
    their number.
    """

    def __init__(self, count: int, guess: int) -> None:
        """So many entries, all of the height that is guessed."""
        self._guess = guess
        self._heights = [guess] * count
        self._tree = [0] + [guess * (index & -index) for index in range(1, count + 1)]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        """The lines of all of them."""
        return self.top(len(self._heights))

    def grow(self, count: int) -> None:
        """More entries at the end, up to this number."""
        for place in range(len(self._heights) + 1, count + 1):
            self._heights.append(self._guess)
            # A node holds its own height and those of the nodes below it, which are complete by now.
            below, low = self._guess, place - (place & -place)
            child = place - 1
            while child > low:
                below += self._tree[child]
                child -= child & -child
            self._tree.append(below)

    def set(self, index: int, height: int) -> None:
        """An entry was measured."""
        difference = height - self._heights[index]
        if not difference:
            return
        self._heights[index] = height
        place = index + 1
        while place < len(self._tree):
            self._tree[place] += difference
            place += place & -place

    def top(self, index: int) -> int:
        """The line at which an entry begins."""
        line = 0
        while index:
            line += self._tree[index]
            index -= index & -index
        return line

    def at(self, line: int) -> tuple[int, int]:
        """The entry under a line, and which of its lines that is; past the end, the number of entries and the rest."""
        place, rest = 0, max(line, 0)
        step = 1 << len(self._heights).bit_length()
        while step:
            if place + step < len(self._tree) and self._tree[place + step] <= rest:
                place += step
                rest -= self._tree[place]
            step >>= 1
        return place, rest
