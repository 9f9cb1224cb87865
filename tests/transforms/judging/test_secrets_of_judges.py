"""What a server or a gateway answers: it gets no key by a redirect, and no key of it reaches rows."""

import http.server
import threading
from base64 import b64encode
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from turnwise.transforms.judging.backends.base import RawReply, cleaned, without_key

KEY = "sk-test/4711+geheim=="
on_all = pytest.mark.parametrize("wire", ["gemini", "chat", "responses", "messages"], indirect=True)


@contextmanager
def other_origin():
    """A server at another origin, which notes the headers that it gets."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(dict(self.headers))
            self.send_response(200)
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *arguments):
            pass

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{served.server_port}/there", seen
    finally:
        served.shutdown()
        thread.join()
        served.server_close()


@on_all
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(server, ask, status):
    with other_origin() as (place, seen):
        server.script({"status": status, "headers": {"Location": place}, "body": "moved"})
        (sample,) = ask(max_attempts=1)
        assert sample.reply is None and str(status) in sample.reason
        assert seen == []


@pytest.mark.parametrize("wire", ["gemini", "chat", "responses"], indirect=True)
def test_a_reply_that_states_one_key_twice_is_unusable(server, ask):
    server.script({"text": '{"quote": "x", "verdict": "invalid", "verdict": "valid"}'})
    (sample,) = ask()
    assert sample.reply is None and sample.reason == "the reply states one key twice"


SPELLINGS = [KEY, quote(KEY, safe=""), b64encode(KEY.encode()).decode()]
OTHERS = [
    "Authorization: Bearer abc.def-0123456789",
    "https://gateway/v1?key=AIzaSyA0123456789abcdefghij&x=1",
    '{"api_key": "0123456789abcdef"}',
    "upstream sk-proj-0123456789abcdef refused",
    "token ya29.a0AfH6SMBx0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_the_key_is_kept(spelling):
    assert spelling.rstrip("=") not in without_key(f"refused: {spelling} is no key", KEY)
    reply = cleaned(RawReply(f"because of {KEY}", model=f"m-{spelling}"), KEY)
    assert KEY not in (reply.text or "") and spelling.rstrip("=") not in reply.model


@pytest.mark.parametrize("text", OTHERS)
def test_what_looks_like_a_key_is_not_kept(text):
    assert "[key]" in without_key(text, None)
    assert not any(len(word) > 15 and "0123456789" in word for word in without_key(text, None).split())


@pytest.mark.parametrize(
    "text", ["the monkey: a keyword in the list", "HTTP 503 overloaded, try again", "token limit reached"]
)
def test_other_words_stay(text):
    assert without_key(text, KEY) == text


@on_all
def test_a_long_answer_of_a_gateway_is_cut(server, ask):
    server.script({"status": 400, "body": "<html>" + "x" * 100_000 + server.key})
    (sample,) = ask(max_attempts=1)
    assert sample.reply is None and len(sample.reason) <= 200 and server.key not in sample.reason
