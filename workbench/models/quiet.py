"""For programs that own a terminal: no word of litellm's dependencies on it."""

from __future__ import annotations

_LOGGERS = ("litellm", "openai", "httpx", "httpcore", "aiohttp.client")

_wishes: set[str] = set()


def silence_libraries() -> None:
    """What litellm's dependencies log and warn about is dropped in this process, once litellm is imported.

    A program says so at its start. Who uses parts of Workbench as a library keeps the logging that is set up there.
    """
    _wishes.add("silence")


def silence_if_wished() -> None:
    """Right after litellm is imported, which sets up loggers of its own."""
    if not _wishes:
        return
    import logging  # late: a program that only says its wish does not wait for it
    import warnings

    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False
        logger.setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", module=r"(litellm|pydantic|openai|httpx|aiohttp)(\.|$)")
