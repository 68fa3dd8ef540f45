"""For programs that own a terminal: keeps the output of litellm's dependencies off it."""

from __future__ import annotations

_LOGGERS = ("litellm", "openai", "httpx", "httpcore", "aiohttp.client")

_wishes: set[str] = set()


def silence_libraries() -> None:
    """Drop the log messages and warnings of litellm's dependencies in this process, once litellm is imported.

    A program calls this at its start. A user of Workbench as a library keeps their own logging setup.
    """
    _wishes.add("silence")


def silence_if_wished() -> None:
    """Called right after litellm is imported, which sets up its own loggers."""
    if not _wishes:
        return
    import logging  # imported late: a program that only calls `silence_libraries` need not wait for it
    import warnings

    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False
        logger.setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", module=r"(litellm|pydantic|openai|httpx|aiohttp)(\.|$)")
