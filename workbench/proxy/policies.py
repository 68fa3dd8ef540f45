"""A policy on the way: results of tools that it masks or cuts are sent so, for good and in batches.

A provider caches what requests begin with. So what was sent in other words once is sent in the same words from then on,
and nothing new is changed before it frees enough to be worth the cache behind it. Only results that the model has seen
are changed: never the last message, what the model thought, or a call. What else a policy would leave out stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from workbench.config.text import counted
from workbench.context.setup import Setup
from workbench.log.events import Dialect
from workbench.proxy.body_plans import plan_body
from workbench.proxy.routes import Route
from workbench.traces.building import content_hash
from workbench.wire.rewriting import BodyItem, Rewrite, items_in, rewritten

REMEMBERED: Final = 20_000
"""Results whose words are kept; those that were sent least lately are forgotten first."""


@dataclass(slots=True)
class PolicyFigures:
    """What was done so far."""

    requests: int = 0
    """Those that were changed."""
    results: int = 0
    batches: int = 0

    def __str__(self) -> str:
        done = f"{counted(self.results, 'result')} in {counted(self.batches, 'batch', 'batches')}"
        return f"masked or cut {done}; {counted(self.requests, 'request')} changed"


class PassingPolicy:
    """Changes requests as they pass. May be asked from any thread."""

    def __init__(self, setup_for: Callable[[str], Setup], batch_tokens: int) -> None:
        """`setup_for` gives the policy's setup for a model; `batch_tokens`: what new changes free together at least."""
        self._setup_for = setup_for
        self._setups: dict[str, Setup] = {}
        self._batch_tokens = batch_tokens
        self._words: dict[str, str] = {}
        """By what a result is known by: what is sent in its place."""
        self._lock = Lock()
        self.figures = PolicyFigures()

    def changed(self, route: Route, body: dict[str, Any]) -> dict[str, Any] | None:
        """What is sent in place of a request; None: it is sent as it is."""
        if route.dialect is None or route.name or not body or body.get("previous_response_id"):
            return None
        with self._lock:
            results = _seen_results(items_in(route.dialect, body))
            if not results:
                return None
            model = route.model or str(body.get("model") or "")
            masks = self._masks(route.dialect, body, model, results)
            if not masks:
                return None
            self.figures.requests += 1
            return rewritten(route.dialect, body, Rewrite(mask=masks))

    def _masks(
        self, dialect: Dialect, body: dict[str, Any], model: str, results: dict[str, BodyItem]
    ) -> dict[str, str]:
        """By path: the words of earlier requests, and new ones where a batch of them is due."""
        if model not in self._setups:
            self._setups[model] = self._setup_for(model)
        planned = plan_body(dialect, body, self._setups[model])
        names = {path: _name(item) for path, item in results.items() if planned.can_change(path)}
        known = {path: self._words[name] for path, name in names.items() if name in self._words}
        fresh: dict[str, str] = {}
        freed = 0
        for path, change in planned.changes().items():
            if path in names and path not in known:
                fresh[path] = change.text
                freed += change.freed
        if not fresh or freed < self._batch_tokens:
            fresh = {}
        else:
            self.figures.results += len(fresh)
            self.figures.batches += 1
        for path, text in (known | fresh).items():
            self._words.pop(names[path], None)  # so that it is the latest
            self._words[names[path]] = text
        for name in list(self._words)[: len(self._words) - REMEMBERED]:
            del self._words[name]
        return known | fresh


def _seen_results(items: list[BodyItem]) -> dict[str, BodyItem]:
    """By path: the results behind which the model has said something."""
    spoke = max((at for at, item in enumerate(items) if item.kind in ("assistant", "call", "reasoning")), default=0)
    return {item.path: item for item in items[:spoke] if item.kind == "result"}


def _name(item: BodyItem) -> str:
    return content_hash([item.call_id, item.tool, item.text])
