"""Made-up secrets of every kind, each with the text around it."""

from __future__ import annotations

import string
from base64 import b64encode

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

_ALNUM = string.ascii_letters + string.digits


def _chars(least: int, most: int, more: str = "") -> SearchStrategy[str]:
    return st.text(_ALNUM + more, min_size=least, max_size=most)


def _password(least: int = 8) -> SearchStrategy[str]:
    """As people choose them."""
    return st.tuples(_chars(least, 20, "!#*+-_"), st.integers(10, 99)).map(lambda both: f"x{both[0]}{both[1]}")


def _kind(text: str, secret: SearchStrategy[str]) -> SearchStrategy[tuple[str, str]]:
    """The text with the secret in it, and the secret."""
    return secret.map(lambda made: (text.replace("HERE", made), made))


_BASIC = _password().map(lambda made: b64encode(f"user:{made}".encode()).decode())
_KEY_FILE = _chars(40, 200, "+/\n").map(
    lambda made: f"-----BEGIN RSA PRIVATE KEY-----\nMII{made}\n-----END RSA PRIVATE KEY-----"
)
_JWT = st.tuples(*[_chars(12, 40, "-_")] * 3).map(lambda made: f"eyJ{made[0]}.eyJ{made[1]}.{made[2]}")

KINDS: dict[str, SearchStrategy[tuple[str, str]]] = {
    "a basic header": _kind("Authorization: Basic HERE", _BASIC),
    "a basic header of curl": _kind("curl -H 'Authorization: Basic HERE' http://a.b", _BASIC),
    "a bearer header": _kind('{"authorization": "Bearer HERE"}', _chars(8, 40)),
    "xai": _kind("it is HERE", _chars(20, 80).map("xai-{}".format)),
    "stripe": _kind("it is HERE", _chars(24, 40).map("sk_live_{}".format)),
    "anthropic": _kind("it is HERE", _chars(40, 90).map("sk-ant-api03-{}".format)),
    "npm": _kind("//registry/:_authToken=HERE", _chars(36, 36).map("npm_{}".format)),
    "gitlab": _kind("it is HERE", _chars(20, 20, "-_").map("glpat-{}".format)),
    "github": _kind("it is HERE", _chars(36, 36).map("ghp_{}".format)),
    "hugging face": _kind("login(HERE)", _chars(34, 34).map("hf_{}".format)),
    "a json web token": _kind("it is HERE", _JWT),
    "a private key": _kind("the key:\nHERE\nend", _KEY_FILE),
    "an address": _kind("git clone https://me:HERE@host/x.git", _password()),
    "an address without a user": _kind("redis://:HERE@host:6379", _password()),
    "a slack webhook": _kind("https://hooks.slack.com/services/HERE", _chars(9, 40).map("T0/B0/{}".format)),
    "azure": _kind("AccountName=a;AccountKey=HERE;EndpointSuffix=b", _chars(40, 88, "+/").map("{}==".format)),
    "a variable": _kind("export DB_PASS=HERE", _password(2)),
    "a variable of capitals": _kind("PASSWORD=HERE", _password(2)),
    "a variable in quotes": _kind('APP_SECRET="HERE"', _password(2)),
    "a setting": _kind("password: HERE", _password(4)),
    "json": _kind('{"client_secret": "HERE"}', _password(4)),
    "a phrase": _kind('password = "HERE"', _password(4).map("two words {}".format)),
    "a token in an address": _kind("https://a.b/c?x=1&token=HERE&y=2", _password(2)),
    "a token in a text": _kind("token=HERE", _password()),
    "an option": _kind("mysql --password HERE -h host", _password(2)),
    "an option with a sign": _kind("tool --api-key=HERE run", _password(2)),
    "curl": _kind("curl -s -u admin:HERE https://a.b/c", _password(2)),
}

ORDINARY = (
    "use --token for it, or --api-key instead; a --bot-token comes from outside.",
    "token_count = 5",
    "tokens=12",
    '{"max_tokens": 4096, "total_tokens": 123456}',
    '{"token": "Hello", "logprob": -0.1}',
    'pad_token="<pad>"',
    "token = self.tokenizer2.next()",
    "password = get_password()",
    'secret=os.environ["SECRET_KEY"]',
    "def login(password: Optional[str] = None)",
    "DB_PASSWORD=$OTHER_PASSWORD",
    "Authorization: Bearer $TOKEN",
    "d41d8cd98f00b204e9800998ecf8427e",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 23eb9034a1b2c3d4e5f60718293a4b5c6d7e8f90",
    "docker run -u 1000:1000 image",
    "http://localhost:8080/x",
    "PWD=/home/someone/project",
    "--- PASS: TestLoginForm (0.00s)",
    "PASS: 1200",
    "Basic understanding of authentication",
    "npm_config_registry_url and hf_model_name_or_path",
    "sk-learn is a package",
)
"""Text that looks a little like a secret."""
