"""The models: those of the catalogue, those of servers on this machine, and any other by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.context.setup import corrected_info
from workbench.models.catalogue import LOCAL, REHEARSAL, ModelInfo, is_built_in, price_texts
from workbench.models.keys import KeyOrigin
from workbench.models.local.offers import OfferedModel
from workbench.models.well_known import well_known
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import MOST, Finder, FinderResult
from workbench.tui.widgets.input_line import has_words
from workbench.tui.widgets.main_screen_api import MainScreenApi

HERE = {
    REHEARSAL: "A stand-in that follows rules: no AI, no network, no key. Good for trying things out.",
    LOCAL: "A small model that runs inside this program; slow, and too weak to call tools.",
}
"""The built-in models."""
STORE_LOST = "did not answer"
"""A part of the problem reported for a key store that hangs; then no other keys are looked up."""


class ModelsScreen(Finder[str]):
    """Lists models with windows, prices, and whether a key is set."""

    NAME = "models"
    PLACEHOLDER = "a part of the name; or the whole name of a model that is not listed"
    COLUMNS = (
        Column("model"),
        Column("window", 10, right=True),
        Column("state", 27, least=52),
        Column("$/M in", 7, right=True, least=84),
        Column("out", 7, right=True, least=84),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "use it from the next turn on", id="models.use", priority=True)
    ]

    def __init__(self, host: MainScreenApi) -> None:
        super().__init__(host)
        self._catalogue = host.services.catalogue
        self._offers: dict[str, OfferedModel] = {}
        self._is_asking = True
        """Whether the servers on this machine are still being asked."""
        self._keys: dict[str, KeyOrigin] = {}
        """The keys by provider."""
        self._names: Sequence[str] = ()
        self._known: tuple[str, ...] = ()
        """The well-known models."""

    def on_mount(self) -> None:
        """Ask the servers on this machine in the background."""
        self._ask_servers()

    @work
    async def _ask_servers(self) -> None:
        routes = self.host.services.routes
        try:
            found = await self.host.in_background(routes.all_offers)
        finally:
            self._is_asking = False
        self._offers = {offer.name: offer for offer in found}
        self.refill()

    async def search_rows(self, text: str) -> FinderResult:
        """Find models: first those with a key, then without need of one, then well-known ones; best matches first."""
        return await self.host.in_background(partial(self._search, text.strip()))

    def _search(self, text: str) -> FinderResult:
        if not self._names:
            self._names = self._catalogue.names()
            self._known = well_known(self._names)
        first = [REHEARSAL, LOCAL, *self._offers]
        every = [*first, *(name for name in self._names if name not in self._offers)]
        matching = [name for name in every if has_words(name, text)]
        shown = self._best(matching, text.lower())[:MOST]
        rows = [self._row(self._info(name), name) for name in shown]
        if text and " " not in text and text.lower() not in {name.lower() for name in every}:
            rows.append(self._unknown(text))
        note = f"{len(shown):,} of {len(matching):,}; type to find the others" if len(matching) > MOST else ""
        return FinderResult(rows, "asking the servers on this machine…" if self._is_asking else note)

    def _best(self, names: Iterable[str], text: str) -> list[str]:
        order = {name: place for place, name in enumerate(self._known)}

        def rank(name: str) -> tuple[bool, int, int, bool, int]:
            lower = name.lower()
            exact = bool(text) and text in (lower, lower.rpartition("/")[2])
            starts = bool(text) and lower.rpartition("/")[2].startswith(text)
            known = order.get(name, len(order))
            return not exact, self._group(name), known, not starts, len(name) if text else 0

        return sorted(names, key=rank)

    def _group(self, name: str) -> int:
        """The group for sorting: current model, with a key, no key needed or the user's own, the rest."""
        if name == self.host.model.state.status.model:
            return 0
        if self._key(name).origin in ("environment", "key store"):
            return 1
        if is_built_in(name) or name in self._offers or name in self.host.services.settings.models:
            return 2
        return 3

    def _info(self, name: str) -> ModelInfo:
        offer = self._offers.get(name)
        return corrected_info(self._catalogue.find_model(name), None, offer.model.window if offer else None)

    def _key(self, name: str) -> KeyOrigin:
        """Where the key comes from, looked up once per provider; a key store that hangs is not asked again."""
        if is_built_in(name):
            return KeyOrigin("not needed")
        provider = self._catalogue.provider_of(name)
        if provider not in self._keys:
            lost = any(STORE_LOST in key.problem for key in [*self._keys.values()])  # another thread may add one
            self._keys[provider] = KeyOrigin("other") if lost else self.host.services.routes.key(name)
        return self._keys[provider]

    def _row(self, info: ModelInfo, name: str) -> Row:
        return self._with_facts(info, name, self._state(name))

    def _unknown(self, name: str) -> Row:
        return self._with_facts(
            self._catalogue.find_model(name), name, Content.styled("use this name as it is", "$accent")
        )

    def _with_facts(self, info: ModelInfo, name: str, state: Content) -> Row:
        title = Content(f"  {name}")
        if name == self.host.model.state.status.model:
            ready = self._key(name).origin != "none"
            title = Content.assemble(("● ", "$success") if ready else ("○ ", "$error"), name, ("  now", "$quiet"))
        about = "~" if info.window_source == "guess" else ""
        return Row(name, (title, f"{about}{info.window:,}", state, *price_texts(info)))

    def _state(self, name: str) -> Content:
        """Whether it can be used, or what is missing."""
        key = self._key(name)
        if name.partition("/")[0] == REHEARSAL:
            return Content.styled("no AI", "$warning")
        if name == LOCAL or name in self._offers or key.origin == "not needed":
            return Content.styled("on this machine", "$success")
        match key.origin:
            case "environment" | "key store":
                return Content.styled("key set", "$success")
            case "other":
                return Content.styled("credentials of its own", "$quiet")
        return Content.styled(f"no key: set {key.variables[0]}" if key.variables else "provider unknown", "$quiet")

    async def row_details(self, value: str) -> Content:
        """Everything known about a model, and where it comes from."""
        return await self.host.in_background(partial(self._details, value))

    def _details(self, name: str) -> Content:
        info, offer = self._info(name), self._offers.get(name)
        kind = "input alone" if info.input_only else "input and output together"
        price_in, price_out = price_texts(info)
        address = offer.server.url if offer else self.host.services.routes.address(name)
        facts = name_value_rows(
            [
                ("window", f"{info.window:,} tokens for {kind} ({info.window_source})"),
                ("output", f"at most {info.max_output:,}" if info.max_output else "unknown"),
                ("price", "unknown" if info.input_price is None else f"${price_in} in, ${price_out} out per million"),
                ("provider", info.served_by),
                ("address", address),
                ("key", self._key(name).described),
                ("tokenizer", info.counts_with),
                ("can", ", ".join(sorted(info.capabilities)) or "unknown"),
            ],
            self.wide,
        )
        return join_blocks(Content.styled(name, "bold"), paragraph(HERE.get(name, "")), facts, *self._guessed(info))

    def _guessed(self, info: ModelInfo) -> Iterator[Content]:
        if info.window_source == "guess":
            close = self._catalogue.close_matches(info.name)
            near = f" Did you mean {', '.join(close)}?" if close else ""
            text = f"Unknown model: its window is a guess. Set it under [models] in config.toml.{near}"
            yield paragraph(text, "$warning")

    def choose_row(self, value: str) -> None:
        self.dismiss(value)
