"""What every command needs: settings, catalogue and store, each opened and imported on first use.

A command that answers from the cache needs the settings alone, and must not wait for the rest to be imported.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.foreign_files import read_small_text
from workbench.config.paths import config_dir
from workbench.config.settings import FILE_NAME, Settings, load_settings
from workbench.config.tables import read_table
from workbench.config.writing import replace_file

if TYPE_CHECKING:
    from workbench.context.load import LoadedPolicy
    from workbench.context.setup import Setup
    from workbench.live.finder import AgentSessionFinder
    from workbench.log.store import Store
    from workbench.models.catalogue import Catalogue
    from workbench.models.endpoints import Endpoint
    from workbench.models.gateway import SilenceLimits
    from workbench.models.model_routes import ModelRoutes
    from workbench.sources.options import Options
    from workbench.sources.source import Source


class Services:
    """Settings, models, store and model routes for one run, each created on first use."""

    @cached_property
    def settings(self) -> Settings:
        return load_settings()

    def keep_setting(self, key: str, value: str) -> Path:
        """Write one of the user's settings into `config.toml` and keep its other lines; returns the path."""
        import tomlkit  # late: most sessions change no settings

        path = (config_dir() / FILE_NAME).resolve()
        try:
            document = tomlkit.parse(read_small_text(path) if path.exists() else "")
            document[key] = value
            replace_file(path, tomlkit.dumps(document).encode())
        except OSError as error:
            raise WrongCall(f"{path}: cannot be written: {error.strerror or error}") from None
        self.settings = load_settings()
        return path

    @cached_property
    def catalogue(self) -> Catalogue:
        from workbench.models.catalogue import Catalogue

        return Catalogue(self.settings.models, str(self.settings.file))

    @cached_property
    def store(self) -> Store:
        from workbench.log.store import Store

        return Store.open()

    @cached_property
    def agents(self) -> AgentSessionFinder:
        """The sessions of other agents on this machine."""
        from workbench.live.finder import AgentSessionFinder  # late: it loads the readers of all formats

        return AgentSessionFinder(more=self.agent_places)

    @property
    def agent_places(self) -> tuple[str, ...]:
        """Extra folders and file patterns from the config in which to look for other agents' sessions."""
        from workbench.live.homes import AgentPlaces  # late, for the same reason

        return read_table(AgentPlaces, self.settings.agents, str(self.settings.file), "agents").paths

    @cached_property
    def routes(self) -> ModelRoutes:
        """Which endpoint and key serve a model."""
        # late: planning a file needs no gateway and no event loop
        from workbench.models.model_routes import ModelRoutes
        from workbench.rehearsal.in_process import rehearse

        rehearse()
        return ModelRoutes(self.settings, self.catalogue)

    def source(self, ref: str, *, growing: bool = False) -> Source:
        """A session or a file to plan; `growing`: the last line of the file may be unfinished."""
        from workbench.sources.source import read_source

        return read_source(self.whole_ref(ref), lambda: self.store, growing=growing)

    def sources(self, ref: str) -> list[Source]:
        """Like `source`, but all conversations of a file if none is chosen."""
        from workbench.sources.source import read_sources

        return read_sources(self.whole_ref(ref), lambda: self.store)

    def whole_ref(self, ref: str) -> str:
        """The reference itself, or the file of the agent session whose id starts with it.

        Files and our own sessions come first. Raises WrongCall if several sessions begin so.
        """
        from workbench.live.choosing import MAY_BE_ID, session_with_id
        from workbench.log.errors import NotFound
        from workbench.sources.source import names_file

        if not MAY_BE_ID.fullmatch(ref) or names_file(ref):
            return ref
        with suppress(NotFound):
            self.store.info(ref)
            return ref
        found = session_with_id(self.agents.find_sessions(), ref)
        return found.ref if found is not None else ref

    def source_bytes(self, ref: str) -> int:
        """The approximate size of a source in bytes, without reading it."""
        from workbench.sources.source import source_bytes

        return source_bytes(ref, lambda: self.store)

    def available_store(self) -> Store | None:
        """The store; None if it cannot be opened, which is no reason to fail for those who can do without."""
        with suppress(WorkbenchError):
            return self.store
        return None

    def set_up(self, options: Options, source: Source | None = None) -> Setup:
        """A setup from the user's options and a source."""
        from workbench.context.setup import PlanOptions, set_up
        from workbench.sources.source import as_source

        source = source or as_source("", [])
        knobs = (*source.knobs, *options.knobs)
        asked = PlanOptions(options.policy, knobs, options.model, options.window, options.reserve)
        store = self.available_store()
        return set_up(
            asked,
            self.settings,
            self.catalogue,
            model=source.model,
            policy=source.policy,
            counts=store.counts if store is not None else None,
            events=source.events,
            reported=self._local_window(options.model or source.model or self.settings.model, options.api_base),
        )

    @property
    def default_model(self) -> str:
        """The model if none is named: the user's, or the stand-in, which needs no key."""
        from workbench.models.catalogue import REHEARSAL

        return self.settings.model or REHEARSAL

    def own_policy(self, model: str) -> LoadedPolicy:
        """The policy that our own sessions begin with."""
        from workbench.context.load import load_policy

        settings = self.settings
        knobs, origin = settings.model_knobs(model), settings.model_origin(model)
        return load_policy(settings.policy or None, model_knobs=knobs, model_origin=origin)

    def _local_window(self, model: str, api_base: str) -> int | None:
        """The window of a model on a local server; None for other models."""
        from workbench.models.model_table import LOCAL_PROVIDERS

        if model.partition("/")[0] not in LOCAL_PROVIDERS:
            return None
        offer = self.routes.offer(model, api_base)
        return offer.model.window if offer else None

    def fallback(self, model: str, options: Options, source: Source) -> tuple[Setup, Endpoint, SilenceLimits]:
        """What is needed to ask a fallback model."""
        setup = self.set_up(options.for_any_model, source._replace(model=model))
        return setup, self.routes.endpoint(model), self.routes.patience(model)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if "store" in self.__dict__:
            self.store.close()
