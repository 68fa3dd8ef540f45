"""Sends a recorded request again, in its own dialect."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import aiohttp

from workbench.config.errors import WrongCall
from workbench.log.events import DialectName
from workbench.models.diagnose import connection_words
from workbench.models.keys import KeyOrigin, find_key
from workbench.proxy.headers import outgoing_proxy
from workbench.proxy.replay_targets import headers_again
from workbench.proxy.routes import Upstreams
from workbench.proxy.server import CONNECT_SECONDS, MAX_FIELD
from workbench.proxy.sessions import ReceivedAnswer, problem_of
from workbench.proxy.unpacking import LARGEST, BodyTooLarge, too_large, unpack_answer
from workbench.wire.dialects import DIALECTS

SILENCE: Final = 600
"""Seconds without data after which the request is given up."""


class ResentRequest(NamedTuple):
    """A request to send."""

    dialect: DialectName
    model: str
    body: dict[str, Any]
    headers: Mapping[str, str]
    """The recorded headers."""


def key_for(dialect: DialectName, model: str, *, needed: bool) -> str:
    """The key for the provider of a dialect. Raises WrongCall if it is missing and `needed`."""
    provider = DIALECTS[dialect].provider.name
    needed = needed and DIALECTS[dialect].needs_key
    found: KeyOrigin = find_key(model, provider)
    value = found.value or os.environ.get(found.variable, "")
    if needed and not value:
        how = found.described.removeprefix("none: ")
        raise WrongCall(f"no key for {provider}: {how}; or name another server with --to")
    if not (value.isascii() and value.isprintable()):
        raise WrongCall(f"{found.variable}: expected a key, got a text with line breaks or other letters than ASCII's")
    return value


async def resend_request(
    request: ResentRequest, upstreams: Upstreams, key: str, largest: int = LARGEST
) -> ReceivedAnswer:
    """Send a request and read the answer. Errors are part of the result."""
    dialect = DIALECTS[request.dialect]
    url = upstreams.address(dialect.provider.name, dialect.path_for(request.model))
    headers = headers_again(request.headers)
    if authorization := upstreams.authorization(dialect.provider.name):
        headers["Authorization"] = authorization
    began = time.monotonic()
    status, problem = 0, ""
    answer, size = io.BytesIO(), 0
    answer_headers: Mapping[str, str] = {}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE)
    try:
        async with (
            aiohttp.ClientSession(
                timeout=timeout, auto_decompress=False, max_line_size=MAX_FIELD, max_field_size=MAX_FIELD
            ) as client,
            client.post(
                url,
                json=dialect.body_sent_again(request.body),
                headers={**dialect.credentials(key), **headers},
                allow_redirects=False,
                proxy=outgoing_proxy(url.scheme, url.host or ""),
            ) as response,
        ):
            status, answer_headers = response.status, response.headers
            async for chunk in response.content.iter_any():
                size += answer.write(chunk)
                if size > largest:
                    raise BodyTooLarge(too_large(largest))
    except BodyTooLarge as error:
        problem, answer = f"the answer is not read: {error}", io.BytesIO()
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        problem = connection_words(error)
    took = round((time.monotonic() - began) * 1000)
    try:
        body = unpack_answer(request.dialect, answer.getvalue(), answer_headers, largest)
    except BodyTooLarge as error:
        body, problem = {}, f"the answer is not read: {error}"
    made = ReceivedAnswer(status, answer_headers, body, None, took, problem)
    return made._replace(problem=problem_of(made)) if problem or status != 200 else made
