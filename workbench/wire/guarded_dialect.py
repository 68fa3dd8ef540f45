"""Guards a plug-in's dialect: an exception is reported, and the default dialect is used for that call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from workbench.config.plugins import PluginRegistry
from workbench.log.events import Usage
from workbench.wire.dialect import Dialect, DialectReader
from workbench.wire.event_builder import EventBuilder

_ON_FAILURE: Final = {
    "recognises_body": False,
    "recognises_request": False,
    "recognises_client": False,
    "recognises_message": False,
    "recognises_tool": False,
    "recognises_path": None,
    "messages_in_answer": None,
}
"""What these methods return if the plug-in raises: that it does not recognise something."""
_FAILED: Final = object()


def guarded_dialect(registry: PluginRegistry[Dialect], dialect: Dialect, default: Dialect) -> Dialect:
    """The dialect with its methods guarded. `default`: what answers if one of them raises."""
    return cast(Dialect, _GuardedDialect(registry, dialect, default))


class _GuardedDialect:
    def __init__(self, registry: PluginRegistry[Dialect], dialect: Dialect, default: Dialect) -> None:
        self._registry = registry
        self._dialect = dialect
        self._default = default
        self.name = dialect.name

    def __getattr__(self, name: str) -> Any:
        found = self._registry.guarded(self.name, lambda: getattr(self._dialect, name), _FAILED)
        if found is _FAILED:  # a property that raises
            return getattr(self._default, name)
        return self._guarded_method(name, found) if callable(found) else found

    def _guarded_method(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            def made() -> Any:
                result = method(*values, **named)
                # An iterator is read here, so that its errors are caught too.
                return list(result) if isinstance(result, Iterator) else result

            result = self._registry.guarded(self.name, made, _FAILED)
            if result is not _FAILED:
                return result
            return _ON_FAILURE[name] if name in _ON_FAILURE else getattr(self._default, name)(*values, **named)

        return call

    def new_reader(self, builder: EventBuilder) -> DialectReader:
        made = self._registry.guarded(self.name, lambda: self._dialect.new_reader(builder), None)
        return self._default.new_reader(builder) if made is None else _GuardedReader(self._registry, self.name, made)


class _GuardedReader:
    """Reads what it can: a message at which the plug-in fails is left out."""

    def __init__(self, registry: PluginRegistry[Dialect], name: str, reader: DialectReader) -> None:
        self._registry = registry
        self._name = name
        self._reader = reader
        self.builder = reader.builder

    def head(self, body: dict[str, Any]) -> int:
        return self._registry.guarded(self._name, lambda: self._reader.head(body), 0)

    def message(self, value: Any) -> None:
        self._registry.guarded(self._name, lambda: self._reader.message(value), None)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        return self._registry.guarded(self._name, lambda: self._reader.answer(body), None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)
