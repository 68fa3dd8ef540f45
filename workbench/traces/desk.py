"""What every command needs: settings, catalogue and store, each opened when it is first asked for."""

from __future__ import annotations

import argparse
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import Self

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.settings import Settings, load_settings
from workbench.context.setup import Setup, Wishes, set_up
from workbench.log.store import Store
from workbench.models.catalogue import Catalogue
from workbench.traces.source import Source, open_source, weight


class Desk:
    """The user's things, for one call of the program."""

    @cached_property
    def settings(self) -> Settings:
        """The user's settings."""
        return load_settings()

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models."""
        try:
            return Catalogue(self.settings.models)
        except WrongCall as error:
            raise WrongCall(f"{self.settings.file}: {error}") from None

    @cached_property
    def store(self) -> Store:
        """The sessions."""
        return Store.open()

    def source(self, ref: str) -> Source:
        """A session or a file to plan."""
        return open_source(ref, lambda: self.store)

    def weight(self, ref: str) -> int:
        """About how many bytes a source has, told without reading it."""
        return weight(ref, lambda: self.store)

    def count_store(self) -> Store | None:
        """Where counts are remembered; None where there is no writing, which is no reason to fail."""
        with suppress(WorkbenchError):
            return self.store
        return None

    def set_up(self, options: argparse.Namespace, source: Source | None = None) -> Setup:
        """A setup from a command's options and its source."""
        wishes = Wishes(
            getattr(options, "policy", None) or "",
            getattr(options, "set", None) or (),
            getattr(options, "model", None) or "",
            getattr(options, "window", None),
            getattr(options, "reserve", None),
        )
        model, policy = (source.model, source.policy) if source else ("", "")
        return set_up(wishes, self.settings, self.catalogue, model=model, policy=policy, store=self.count_store())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if "store" in self.__dict__:
            self.store.close()
