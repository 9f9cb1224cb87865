"""A server that stands in for Gemini."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

SERVER = Path(__file__).parent / "gemini_server.py"
KEY = "key-of-the-tests"


class Server:
    """The server that stands in for Gemini."""

    key = KEY

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"

    def _get(self, path):
        with urllib.request.urlopen(self.url + path) as response:
            return json.load(response)

    def script(self, *rules):
        data = json.dumps(rules).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/script", data, method="POST")).close()

    def stats(self):
        return self._get("/stats?times=1")

    def last(self):
        return self._get("/last")


@pytest.fixture(scope="session")
def running_server():
    command = [sys.executable, str(SERVER), "--key", KEY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield Server(int(process.stdout.readline()))
        process.terminate()


@pytest.fixture
def server(running_server):
    running_server.script()
    return running_server
