"""A request under someone's hands, held or recorded: what was decided on its items, and what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.config.errors import WrongCall
from workbench.log.events import DialectName
from workbench.models.tokens import estimator_for
from workbench.proxy.breakpoints import item_name
from workbench.proxy.control import ReleaseOrder
from workbench.wire.rewriting import BodyItem, Rewrite, items_in, rewritten

UNCHANGED = Rewrite()


class RequestEdit:
    """A request, and what it would be after changes. It is counted once; each change counts what is new in it."""

    def __init__(
        self, dialect: DialectName, model: str, body: dict[str, Any], new: Sequence[str] = (), fixed: str = ""
    ) -> None:
        """`new`: the paths of what is new in it. `fixed`: why it may not be changed."""
        self.dialect = dialect
        self.model = model
        self.body = body
        self.fixed = fixed
        self.items: Sequence[BodyItem] = items_in(dialect, body)
        self.new = frozenset(new)
        self._counter = estimator_for(model)
        self.sizes: Mapping[str, int] = {item.path: self.count(item.text) for item in self.items}
        """By path: tokens."""

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self._counter.count(text).tokens

    def marker(self, path: str) -> str:
        """What stands in the place of a masked item."""
        kind = next(item.kind for item in self.items if item.path == path)
        return f"[{'result' if kind == 'result' else 'message'} masked — ~{self.sizes[path]} tokens removed]"

    def changed(self, rewrite: Rewrite) -> ChangedRequest:
        """What comes of changes. Raises WorkbenchError for what may not be changed."""
        if rewrite != UNCHANGED and self.fixed:
            raise WrongCall(self.fixed)
        body = rewritten(self.dialect, self.body, rewrite)
        left = items_in(self.dialect, body)
        names = Counter(map(_name, left))
        written = {*rewrite.mask, *rewrite.texts}
        gone = {path for path in rewrite.exclude if path in self.sizes}
        for item in self.items:
            if item.path not in gone and item.path not in written:
                if names[_name(item)] > 0:
                    names[_name(item)] -= 1
                else:
                    gone.add(item.path)
        before = sum(self.sizes.values())
        return ChangedRequest(rewrite, body, before, sum(self.count(item.text) for item in left), frozenset(gone))


def _name(item: BodyItem) -> object:
    """A tool is known by its own name: its definition may get the cache mark of one that left."""
    return item.tool if item.kind == "tool" else item_name(item)


@dataclass(frozen=True, slots=True)
class ChangedRequest:
    """A request after changes."""

    rewrite: Rewrite
    body: dict[str, Any]
    before: int
    after: int
    """Tokens of all items."""
    gone: frozenset[str]
    """What left, by the paths in the request as it was: also what had to leave with something."""

    @property
    def order(self) -> ReleaseOrder:
        """How it is let go."""
        if self.rewrite == UNCHANGED:
            return ReleaseOrder("as_it_was")
        return ReleaseOrder("changed", body=self.body, model=self.rewrite.model)


def excluding(rewrite: Rewrite, path: str) -> Rewrite:
    """The same with an item left out, or in again."""
    rewrite = restoring(rewrite, path) if path not in rewrite.exclude else rewrite
    return replace(rewrite, exclude=rewrite.exclude ^ {path})


def masking(rewrite: Rewrite, path: str, marker: str) -> Rewrite:
    """The same with an item masked, or not any more."""
    is_masked = path in rewrite.mask
    rewrite = restoring(rewrite, path)
    return rewrite if is_masked else replace(rewrite, mask={**rewrite.mask, path: marker})


def rewording(rewrite: Rewrite, path: str, text: str) -> Rewrite:
    """The same with another text for an item."""
    rewrite = restoring(rewrite, path)
    return replace(rewrite, texts={**rewrite.texts, path: text})


def restoring(rewrite: Rewrite, path: str) -> Rewrite:
    """The same with an item as it was."""
    mask = {key: text for key, text in rewrite.mask.items() if key != path}
    texts = {key: text for key, text in rewrite.texts.items() if key != path}
    return replace(rewrite, exclude=rewrite.exclude - {path}, mask=mask, texts=texts)
