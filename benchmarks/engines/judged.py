"""Two workers that share the replies and the limit of a judge in PostgreSQL."""

import json
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.engines.cases import Case
from benchmarks.engines.engines import Engine, Tools, find_engine
from benchmarks.engines.final_rows import check_same, final_rows
from benchmarks.engines.runs import check, succeeded
from benchmarks.judge_calls import server
from tests.conftest import KEY
from tests.postgres_server import created, lacks_postgres, postgres_server

_CRITERION = "final_response_match_v2"
_CONVERSATIONS = 60
_LIMIT = 25
_ENVIRON = {"GOOGLE_API_KEY": KEY}


def _logs(folder: Path) -> Path:
    """Returns two files of conversations, so that both workers have some."""
    for part in range(2):
        rows = (_conversation(number) for number in range(part, _CONVERSATIONS, 2))
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def _conversation(number: int) -> dict[str, Any]:
    turn = {"user": f"Order {number}?", "agent": f"{number} comes.", "expected": {"response": f"{number}!"}}
    return {"conversation_id": f"c{number}", "turns": [turn]}


def _config(path: Path, port: int, **judge: object) -> Path:
    sampled = {"threshold": 0.5, "judge_model_options": {"num_samples": 1}}
    asked = {"base_url": f"http://127.0.0.1:{port}", **judge}
    path.write_text(json.dumps({"criteria": {_CRITERION: sampled}, "judge": asked}))
    return path


def _requests(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as answer:
        return int(json.load(answer)["requests"])


def _run(engine: Engine, tools: Tools, folder: Path, turns: int) -> str:
    (folder / "logs").mkdir()
    logs = _logs(folder / "logs")
    with server(50) as port, postgres_server() as address, engine.started(tools, folder) as options:
        job = ["--input", str(logs), "--run_id", "engines"]

        def run(name: str, *more: str, **judge: object) -> tuple[Path, int]:
            config, before = _config(folder / f"{name}.json", port, **judge), _requests(port)
            command = [*job, "--config", str(config), "--output", str(folder / name), *more]
            succeeded(command, folder, _ENVIRON)
            document = json.loads((folder / name / "run.json").read_text())
            return folder / name / document["folder"], _requests(port) - before

        cache = created(address, "replies")
        here, asked_here = run("here", "--judge_cache", "none")
        there, asked = run("there", *options, cache=cache)
        again, asked_again = run("again", *options, cache=cache)
        check_same(final_rows(here), final_rows(there))
        check_same(final_rows(here), final_rows(again))
        asked_all = (asked_here, asked, asked_again)
        check(asked_all == (_CONVERSATIONS, _CONVERSATIONS, 0), f"requests: {asked_all}")
        _, limited = run("limited", *options, cache=created(address, "limited"), max_calls=_LIMIT)
        check(limited == _LIMIT, f"{limited} requests, and max_calls is {_LIMIT}")
    return f"same rows; {asked} requests, then none; {limited} where max_calls is {_LIMIT}"


def _case(name: str) -> Case:
    engine = find_engine(name)
    return Case(
        f"{name}: judge's replies in PostgreSQL",
        lambda tools: engine.lacks(tools) or lacks_postgres(),
        lambda tools, folder, turns: _run(engine, tools, folder, turns),
    )


JUDGED = (_case("several processes"), _case("flink"))
