"""Secrets in texts: what is masked, what is counted, and what stays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.secrets import KINDS, ORDINARY
from workbench.proxy.redaction import MASK, Redactor, redact_text, redacted

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"
SECRETS = {
    "provider": KEY,
    "project": "sk-proj-AbCdEfGhIjKlMnOpQrSt",
    "github": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "aws": "AKIAABCDEFGHIJKLMNOP",
    "google": "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "key file": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
def test_a_secret_in_the_form_of_its_issuer_is_masked_wherever_it_is(secret: str) -> None:
    for text in (secret, f"it is {secret} there", f'{{"x": "{secret}"}}', f"a={secret}\nb"):
        found, many = redact_text(text)
        assert secret not in found
        assert (found.count(MASK), many) == (1, 1)


@pytest.mark.parametrize(
    "line",
    [
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI",
        'my_password: "correct-horse"',
        '"api_key" : "0123456789"',
        "DB_PASSWORD='hunter2hunter2'",
    ],
)
def test_what_is_assigned_to_the_name_of_a_secret_is_masked_and_the_name_stays(line: str) -> None:
    found, many = redact_text(line)
    assert many == 1
    assert MASK in found
    assert found.startswith(line[:8])
    assert not any(value in found for value in ("wJalr", "correct", "01234", "hunter"))


@pytest.mark.parametrize("text", ["the password is wrong", "sk-learn is a package", "secret: short", "see api_key()"])
def test_words_are_no_secrets(text: str) -> None:
    assert redact_text(text) == (text, 0)


@given(st.text(alphabet="sk-_ab1:= \n\"'eyJ.api", max_size=60), st.sampled_from(list(SECRETS.values())))
def test_masked_text_stays_as_it_is(text: str, secret: str) -> None:
    found, _ = redact_text(f"{text} {secret} {text}")
    assert redact_text(found)[0] == found
    assert secret not in found


@pytest.mark.parametrize("piece", ["sk-", "secret", "eyJ-", "eyJa.", "://a:", "-----BEGIN ", "password: ", "sk-a_"])
def test_a_text_that_was_made_to_take_long_does_not(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    assert redact_text(text)[0]  # with a repetition that has no limit this would not end


def test_a_known_key_is_masked_whatever_it_looks_like_and_all_are_counted() -> None:
    redactor = Redactor(["my own word", "my own"])
    assert redactor.redact(f"my own word, my own word, {KEY}") == f"{MASK}, {MASK}, {MASK}"
    assert redactor.redact("my own") == MASK
    assert redactor.count == 4


def test_a_json_value_keeps_its_keys() -> None:
    assert redacted({KEY: [KEY, 1, None, {"a": f"see {KEY}"}]}) == {KEY: [MASK, 1, None, {"a": f"see {MASK}"}]}


@given(st.sampled_from(sorted(KINDS)).flatmap(lambda kind: KINDS[kind]), st.data())
def test_a_planted_secret_never_survives(planted: tuple[str, str], data: st.DataObject) -> None:
    """In a text, in JSON, and in JSON inside of JSON, as in a call of a tool."""
    text, secret = planted
    around = data.draw(st.sampled_from(["", "first line\n", "run this: ", "`"]))
    value = {"content": [{"text": f"{around}{text}\nmore"}], "arguments": json.dumps({"command": text})}
    found = redacted(value)
    assert secret not in found["content"][0]["text"]
    assert secret not in json.loads(found["arguments"])["command"]
    assert json.loads(Redactor().redact(json.dumps(value["arguments"]))), "it is JSON as before"
    assert redacted(found) == found


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_no_secret(text: str) -> None:
    assert redact_text(text) == (text, 0)
    assert redacted({"content": text, "arguments": json.dumps({"a": text})}) == {
        "content": text,
        "arguments": json.dumps({"a": text}),
    }


@pytest.mark.parametrize(
    "text",
    [
        "bot --token abc123def",
        "bot --token QwErTyUiOpAsDfGh",
        "bot --token=swordfish",
        "bot --password swordfish",
        "bot --api-key qwertyuiopasdfghjkl",
    ],
)
def test_the_value_of_an_option_is_masked_if_it_is_not_a_word(text: str) -> None:
    name = text.replace("=", " ").split()[1]
    assert redact_text(text) == (f"bot {name}{'=' if '=' in text else ' '}{MASK}", 1)


def test_what_an_object_has_under_the_name_of_a_secret_is_masked() -> None:
    value = {"password": "hunter", "Authorization": "hunter2", "passwords": 3, "tokens": "12", "token_count": "a lot"}
    masked = {"password": MASK, "Authorization": MASK}
    assert redacted(value) == value | masked


@pytest.mark.parametrize("key", ["token", "Token", "GITHUB_TOKEN", "x-token", "token=abcdef1234.token"])
@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ("d41d8cd98f00b204e980", MASK),
        ("v1.abcdef0123456789", MASK),
        ('"a1b2c3d4e5"', f'"{MASK}"'),
        ("abc1", "abc1"),
        ("the next of them", "the next of them"),
        ("identifier", "identifier"),
        (MASK, MASK),
    ],
)
def test_a_token_in_an_object_is_masked_as_in_a_text(key: str, value: str, masked: str) -> None:
    redactor = Redactor()
    assert redactor.redact_json({"input": {key: value}}) == {"input": {key: masked}}
    assert redactor.count == (value != masked)
    assert redacted({key: masked}) == {key: masked}
