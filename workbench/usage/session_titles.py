"""The titles of sessions: what the user called them or asked first."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.config.errors import WorkbenchError
from workbench.live.stamps import stamp_of
from workbench.sources.services import Services
from workbench.traces.references import split_ref
from workbench.usage.kept_usage import KeptUsage


def session_titles(services: Services, refs: Mapping[str, str]) -> dict[str, str]:
    """The titles of sessions by their ids, empty where there is none; `refs`: what opens each. They are kept."""
    with KeptUsage() as kept:
        return {session: _title(services, kept, session, ref) for session, ref in refs.items()}


def _title(services: Services, kept: KeptUsage, session: str, ref: str) -> str:
    if ref == session:
        try:
            return services.store.info(ref).title
        except WorkbenchError:
            return ""
    stamp = stamp_of(split_ref(ref)[0])
    if stamp is None:
        return ""
    title = kept.load_title(ref, stamp)
    if title is None:
        found = services.agents.session_at(ref)
        title = found.title if found else ""
        kept.keep_title(ref, stamp, title)
    return title
