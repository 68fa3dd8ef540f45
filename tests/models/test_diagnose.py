"""Sizes, waits and categories are read from the words that providers use; keys are taken out."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.waiting import GIVE_UP
from workbench.config.variables import HIDDEN
from workbench.models.diagnose import diagnose, sizes_in_error
from workbench.models.endpoints import Endpoint, redact
from workbench.models.failures import ModelFailure


class Odd(Exception):
    """An exception with fields, as litellm's have them."""

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        for name, value in fields.items():
            setattr(self, name, value)


def odd(name: str, message: str, **fields: object) -> Exception:
    """An exception whose class has one of litellm's names."""
    named: type[Odd] = type(name, (Odd,), {})
    return named(message, **fields)


@pytest.mark.parametrize(
    ("words", "limit", "asked"),
    [
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            8192,
            9000,
        ),
        (
            "This model's maximum context length is 4,096 tokens. However, you requested 5,000 tokens "
            "(4000 in the messages, 1000 in the completion).",
            4096,
            5000,
        ),
        ("This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens", 8192, 9000),
        (
            "'max_tokens' is too large: 3000. This model's maximum context length is 4096 tokens and your request "
            "has 2000 input tokens (3000 > 4096 - 2000).",
            4096,
            2000,
        ),
        ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
        ("The prompt (total length 5000) is too long to fit into the model (context length 4096).", 4096, 5000),
        ("request (2003 tokens) exceeds the available context size (1024 tokens), try increasing it", 1024, 2003),
        ("the request exceeds the available context size (1024 tokens), try increasing it", 1024, None),
        ("prompt is too long: 205000 tokens > 200000 maximum", 200_000, 205_000),
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
            200_000,
            210_000,
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1_048_576,
            1_200_000,
        ),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            32_768,
            40_000,
        ),
        ("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000.", 30_000, 41_000),
        ("Please reduce the length of the messages or completion.", None, None),
    ],
)
def test_a_context_that_is_too_long_is_known_by_its_words(words: str, limit: int | None, asked: int | None) -> None:
    failure = diagnose(odd("BadRequestError", f"litellm.BadRequestError: XException - {words}", status_code=400))
    assert failure.category == "context_too_long"
    assert (failure.limit, failure.asked) == (limit, asked) == sizes_in_error(words)


def test_litellms_class_names_are_taken_off_the_providers_words() -> None:
    text = "litellm.InternalServerError: AnthropicException - Oh no. Handle with `litellm.InternalServerError`."
    assert diagnose(odd("InternalServerError", text, status_code=500)).detail == "Oh no."


def test_a_break_in_mid_stream_is_told_by_its_cause() -> None:
    long = odd("ContextWindowExceededError", "prompt is too long: 5 tokens > 4 maximum", status_code=400)
    assert diagnose(odd("MidStreamFallbackError", "x", original_exception=long)).category == "context_too_long"
    lost = odd("APIConnectionError", "gone")
    assert diagnose(odd("MidStreamFallbackError", "x", original_exception=lost)).category == "broken_stream"
    assert diagnose(odd("MidStreamFallbackError", "x", original_exception=None)).category == "broken_stream"


@pytest.mark.parametrize(
    ("status", "words", "category"),
    [
        (None, "Connection refused", "connection"),
        (500, "Cannot connect to host", "connection"),
        (500, "Oh no", "overloaded"),
        (502, "Connection refused", "overloaded"),
    ],
)
def test_a_lost_connection_is_known_by_its_words_where_no_server_answered(
    status: int | None, words: str, category: str
) -> None:
    assert diagnose(odd("InternalServerError", words, status_code=status)).category == category


def test_a_wait_may_be_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    failure = diagnose(odd("RateLimitError", "slow", litellm_response_headers={"Retry-After": soon}))
    assert failure.wait is not None
    assert 60 < failure.wait <= 100
    assert diagnose(odd("RateLimitError", "slow", litellm_response_headers={"Retry-After": "soon"})).wait is None


def test_a_quota_with_a_wait_is_a_rate_limit() -> None:
    words = 'You exceeded your current quota. {"retryDelay": "12s"}'
    failure = diagnose(odd("RateLimitError", words, status_code=429))
    assert (failure.category, failure.wait) == ("rate_limit", 12)
    assert diagnose(odd("RateLimitError", "You exceeded your current quota", status_code=429)).category == "bad_request"


def test_a_page_is_told_by_its_title() -> None:
    page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    assert (
        diagnose(odd("BadGatewayError", page, status_code=502)).detail == "the server sent a web page: 502 Bad Gateway."
    )


@pytest.mark.parametrize(
    "words",
    [
        """AnthropicException - b'{"type":"error","error":{"type":"x","message":"Your credit is too low."}}'""",
        'VertexException - {"error": {"message": "Your credit\\n is too low.", "code": 400}}',
        '{"error": "Your credit is too low"}',
        '{"message": "Your credit is too low."}',
    ],
)
def test_of_a_body_of_json_its_sentence_is_shown(words: str) -> None:
    assert diagnose(odd("BadRequestError", words, status_code=400)).detail == "Your credit is too low."


@pytest.mark.parametrize(
    "words", ["b'{broken'", '{"error": {"code": 5}}', '{"error": 5}', "{}", '{"message": " "}', "{5}"]
)
def test_a_body_without_a_sentence_is_shown_as_it_is(words: str) -> None:
    assert diagnose(odd("BadRequestError", words, status_code=400)).detail == f"{words}."


def test_no_object_of_pythons_and_no_advice_of_litellms_is_shown() -> None:
    lost = "Cannot connect to host a.b:443 ssl:<ssl.SSLContext object at 0x7f1e> [Name or service not known]"
    assert diagnose(odd("APIConnectionError", lost)).detail == (
        "Cannot connect to host a.b:443 [Name or service not known]."
    )
    nameless = (
        "LLM Provider NOT provided. Pass in the LLM provider you are trying to call. You passed model=x/y Pass model"
    )
    failure = diagnose(odd("BadRequestError", nameless, status_code=400))
    assert (failure.category, failure.detail) == ("unknown_model", "no provider is known for the model x/y.")


def test_long_words_are_cut() -> None:
    assert len(diagnose(odd("BadRequestError", "word " * 1000, status_code=400)).detail) < 700


@given(
    st.text(max_size=300), st.integers(0, 600), st.sampled_from(["APIError", "Timeout", "KeyError", "RateLimitError"])
)
def test_any_exception_becomes_a_failure_of_one_line(words: str, status: int, name: str) -> None:
    failure = diagnose(odd(name, words, status_code=status))
    assert "\n" not in str(failure)


@given(st.text("abcdefghij0123456789", min_size=8, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_a_key_never_passes(key: str, before: str, after: str) -> None:
    for endpoint, environ in ((Endpoint(api_key=key), {}), (Endpoint(), {"OTHER_API_KEY": key})):
        assert key not in redact(before + key + after, endpoint, environ)


def test_what_looks_like_a_key_is_hidden_too() -> None:
    for key in ("sk-proj-abcdefgh1234", "sk-ab****************wxyz", "AIzaSyA1234567890abc", "Bearer abcdefghijkl"):
        assert redact(f"wrong: {key}", Endpoint(), {}) == f"wrong: {HIDDEN}"


def test_a_short_value_is_no_key() -> None:
    text = "none x /usr/bin/and/so/on"
    assert redact(text, Endpoint(api_key="none"), {"A_TOKEN": "x", "PATH": "/usr/bin/and/so/on"}) == text


NASTY = (
    "maximum context length is 5 ",
    "prompt (length 5) ",
    "prompt contains 5 tokens ",
    "input token count ",
    "limit 9, requested ",
    "model ",
    "api key ",
    "try again in 1s",
    "retry after 1.1.1.1",
    "retryDelay ",
    "ssl:<",
    "<html><title>",
    "litellm.XError: ",
    "sk-sk-",
    "Bearer ",
    '{"error": ',
    "9",
    ".",
    "a",
)
"""Beginnings of what is looked for, which never comes to an end."""

ALL_OF_THEM = """
import sys
from workbench.models.diagnose import diagnose
for piece in sys.stdin.read().split(chr(0)):
    inner = ValueError(piece * (2_000_000 // len(piece)))
    outer = type("BadRequestError", (Exception,), {})("x" + str(inner))
    outer.__context__ = inner
    diagnose(outer)
"""


def test_two_million_characters_of_anything_are_read_in_linear_time() -> None:
    # What looks again from each place would take hours; the deadline only keeps such a mistake from hanging the tests.
    subprocess.run([sys.executable, "-c", ALL_OF_THEM], input="\0".join(NASTY), text=True, check=True, timeout=GIVE_UP)


PIECES = st.lists(st.sampled_from([*NASTY, "5", "99999999999999999999", "٣", "\x00", " tokens", "s", "> ", "\ud800"]))


@given(PIECES, st.text(max_size=30), st.sampled_from(["BadRequestError", "RateLimitError", "MidStreamFallbackError"]))
def test_whatever_a_provider_says_is_one_of_the_failures(pieces: list[str], header: str, name: str) -> None:
    words = "".join(pieces)
    error = odd(name, words, status_code=429, litellm_response_headers={"retry-after": header or words})
    error.__context__ = odd("Inner", words)
    failure = diagnose(error)
    assert failure.wait is None or 0 <= failure.wait < 10**12
    assert str(failure)


def test_a_failure_of_our_own_is_found_under_what_was_made_of_it() -> None:
    own = ModelFailure("redirected", "elsewhere.")
    wrapped = odd("APIConnectionError", "Connection error.")
    wrapped.__cause__ = own
    assert diagnose(odd("MidStreamFallbackError", "x", original_exception=wrapped)) is own
    circle = odd("A", "x")
    circle.__context__ = odd("B", "y", original_exception=circle)
    assert diagnose(circle).category == "bad_request"


@pytest.mark.parametrize(
    ("name", "words"), [("ContentPolicyViolationError", "no"), ("BadRequestError", "Rejected by our safety system")]
)
def test_contents_are_refused_by_the_name_of_an_error_or_by_its_words(name: str, words: str) -> None:
    assert diagnose(odd(name, words, status_code=400)).category == "refused_content"
