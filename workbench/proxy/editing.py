"""Edits a request that is held or recorded: the user's decisions on its items, and the resulting body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from workbench.config.errors import WrongCall
from workbench.config.values import replace
from workbench.log.events import DialectName
from workbench.models.calibrated_counts import estimator_for
from workbench.proxy.control import ReleaseOrder
from workbench.wire.rewriting import BodyItem, BodyRewriter, Rewrite, items_in, rewritten

UNCHANGED = Rewrite()


class RequestEdit:
    """A request and its possible changes. It is counted once; a change only counts its new texts."""

    def __init__(
        self, dialect: DialectName, model: str, body: dict[str, Any], new: Sequence[str] = (), fixed: str = ""
    ) -> None:
        """`new`: the paths of its new items. `fixed`: why it cannot be changed."""
        self.dialect = dialect
        self.model = model
        self.body = body
        self.fixed = fixed
        self.items: Sequence[BodyItem] = items_in(dialect, body)
        self.new = frozenset(new)
        self._rewriter = BodyRewriter(dialect, body)
        self._counter = estimator_for(model)
        self.sizes: Mapping[str, int] = {item.path: self.count(item.text) for item in self.items}
        """Tokens by path."""

    def count(self, text: str) -> int:
        return self._counter.count(text).tokens

    def marker(self, path: str) -> str:
        """The text that replaces a masked item."""
        kind = next(item.kind for item in self.items if item.path == path)
        return f"[{'result' if kind == 'result' else 'message'} masked — ~{self.sizes[path]} tokens removed]"

    def changed_request(self, rewrite: Rewrite) -> ChangedRequest:
        """Apply changes. Raises WorkbenchError for a change that is not allowed."""
        if rewrite != UNCHANGED and self.fixed:
            raise WrongCall(self.fixed)
        body = rewritten(self.dialect, self.body, rewrite)
        before, left = sum(self.sizes.values()), items_in(self.dialect, body)
        gone = self._rewriter.removed_paths(rewrite)
        return ChangedRequest(rewrite, body, before, sum(self.count(item.text) for item in left), gone)


class ChangedRequest(Struct, frozen=True):
    """A request after changes."""

    rewrite: Rewrite
    body: dict[str, Any]
    before: int
    after: int
    """The tokens of all items."""
    gone: frozenset[str]
    """The paths of removed items, in the original request, including those that were removed together with others."""

    @property
    def order(self) -> ReleaseOrder:
        """The order that releases the request with these changes."""
        if self.rewrite == UNCHANGED:
            return ReleaseOrder("as_it_was")
        return ReleaseOrder("changed", body=self.body, model=self.rewrite.model)


def with_excluded(rewrite: Rewrite, path: str) -> Rewrite:
    """Exclude an item, or include it again."""
    rewrite = with_restored(rewrite, path) if path not in rewrite.exclude else rewrite
    return replace(rewrite, exclude=rewrite.exclude ^ {path})


def with_masked(rewrite: Rewrite, path: str, marker: str) -> Rewrite:
    """Mask an item, or unmask it."""
    is_masked = path in rewrite.mask
    rewrite = with_restored(rewrite, path)
    return rewrite if is_masked else replace(rewrite, mask={**rewrite.mask, path: marker})


def with_reworded(rewrite: Rewrite, path: str, text: str) -> Rewrite:
    rewrite = with_restored(rewrite, path)
    return replace(rewrite, texts={**rewrite.texts, path: text})


def with_restored(rewrite: Rewrite, path: str) -> Rewrite:
    """Drop all changes of an item."""
    mask = {key: text for key, text in rewrite.mask.items() if key != path}
    texts = {key: text for key, text in rewrite.texts.items() if key != path}
    return replace(rewrite, exclude=rewrite.exclude - {path}, mask=mask, texts=texts)
