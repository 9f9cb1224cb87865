"""The page without a browser: its parts, its policy, and what becomes of harmful texts."""

import gzip
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.report_html.attacks import ATTACKS
from tests.pipeline.report_html.made_run import Row, conversation, score, write_run
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.report.html import join_modules, write_report
from turnwise.pipeline.runs.directory import open_run
from turnwise.schemas.rows import FailureRow
from turnwise.transforms.decisions.report.figures import Compared


class Parts(HTMLParser):
    """Scripts, styles and elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.contents.append("")

    def handle_endtag(self, tag: str) -> None:
        self.elements.append((f"/{tag}", {}))
        self.contents.append("")

    def handle_data(self, data: str) -> None:
        if self.contents:
            self.contents[-1] += data

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        rows = zip(self.elements, self.contents, strict=True)
        return [(attributes, content) for (name, attributes), content in rows if name == tag]

    def data(self, name: str) -> Any:
        """Returns the decoded content of a data element."""
        (content,) = [content for attributes, content in self.of("script") if attributes.get("id") == name]
        return json.loads(gzip.decompress(b64decode(content)))

    @property
    def policy(self) -> str:
        (policy,) = [
            a["content"] for a, _ in self.of("meta") if a.get("http-equiv") == "Content-Security-Policy"
        ]
        assert policy
        return policy


def report(*directories: Path, options: tuple[str, ...] = ()) -> Parts:
    assert main(["report", *map(str, directories), *options]) == 0
    return Parts((directories[0] / "report.html").read_text(encoding="utf-8"))


def attacked(name: str, text: str) -> Row:
    """Returns a conversation with a harmful text in every column that can hold one."""
    call = {"name": text, "args": {text: [text]}, "result": {text: text}, "error": text, "effect": text}
    matched = {"name": text, "args": {text: {"$matchType": text, "$matchValue": text}}, "effect": text}
    lists = {key: [text] for key in ("texts", "rubrics", "other", "transfers")}
    expected = {"user": text, "response": text, "tool_calls": [matched], **lists, "variables": {text: text}}
    calls = [{**call, "seconds": 1.0}]
    turn = {
        **dict.fromkeys(("label", "user", "agent"), text),
        **{key: [text] for key in ("messages", "transfers", "unknown")},
        **dict.fromkeys(("tool_calls", "user_tool_calls"), calls),
        **{"index": 0, "seconds": 1.0, "expected": expected},
    }
    whole = {**expected, "task": text, "user_tool_calls": expected["tool_calls"]}
    transcript = {"turns": [turn], "expected": whole, "cut": True, "left_out": None}
    columns = (
        *("eval_id", "eval_set_id", "task", "worst_criterion", "language", "reason", "ended", "why"),
        *("severity_reason", "problem_type", "problem_label", "source", "event_time"),
    )
    own = dict.fromkeys(columns, text)
    if name in ("end_of_script", "event_handler"):  # a version is a column of every table
        own["app_version"] = text
    return conversation(f"{name} {text}", "FAIL", 1, tags=[text], transcript=transcript, worst_turn=0, **own)


def attacked_score(row: Row, text: str) -> Row:
    details = {
        **dict.fromkeys(("claim_quote", "context_quote", text), text),
        "sentences": [{"sentence": text, "label": text, "reason": text, "votes": [1, 2]}],
        "panel": {"members": [{"model": text, "verdict": text}]},
        "cascade": {"decided_by": text, "why": text, "first": {"model": text}},
    }
    judge = {"model": text, "prompt_version": text, "samples": 1, "cached": 0}
    judge |= {"tokens_in": 1, "tokens_out": 1}
    columns = dict.fromkeys(("criterion", "label", "reason", "explanation", "score_id"), text)
    return score(row, 0, 0.0, details=details, judge=judge, **columns)


def attacked_run(directory: Path) -> Path:
    """Writes a run with a conversation and a failure for every harmful text."""
    rows = [attacked(name, text) for name, text in ATTACKS.items()]
    failures = [
        {**dict.fromkeys(FailureRow.__annotations__, text), "position": 1, "turn_index": 0}
        for text in ATTACKS.values()
    ]
    extra = [attacked_score(row, text) for row, text in zip(rows, ATTACKS.values(), strict=True)]
    text = ATTACKS["end_of_script"]
    judge = {
        **{"backend": text, "model": text, "usage": {text: {"unusable": {text: 1}}}},
        "panels": {text: {"members": {text: {}}}},
        "cascades": {text: {"first": text, "unsure": {}, "saved": {}}},
    }
    about = {"run_id": text, "problems": [text], "exit_status": 1, "criteria": {text: {text: text}}}
    return write_run(directory, rows, extra, failures, judge=judge, **about)


def test_the_page_holds_the_data_of_the_run(tmp_path):
    page = report(write_run(tmp_path / "run", [conversation("a"), conversation("b", "FAIL")]))
    data = page.data("report")
    assert data["conversations"]["id"] == ["b", "a"]
    assert data["read_first"] == [[0]]
    chunk = page.data("chunk-0")
    assert chunk["0"]["transcript"]["turns"][0]["user"] == "Please book slot 0."
    assert [one["outcome"] for one in chunk["0"]["scores"]] == ["PASS", "FAIL", "FAIL"]


def test_the_policy_names_the_scripts_and_styles_by_their_hashes(tmp_path):
    page = report(write_run(tmp_path / "run", [conversation("a")]))
    run = [content for attributes, content in page.of("script") if attributes.get("type") in (None, "module")]
    assert len(run) == 2
    for name, contents in (("script-src", run), ("style-src", [content for _, content in page.of("style")])):
        (sources,) = re.findall(rf"{name} ([^;]*)", page.policy)
        digests = [b64encode(sha256(content.encode()).digest()).decode() for content in contents]
        assert sources.split() == [f"'sha256-{digest}'" for digest in digests]


def test_the_page_loads_nothing_and_has_no_inline_handlers(tmp_path):
    page = report(write_run(tmp_path / "run", [conversation("a")]))
    assert page.policy.startswith("default-src 'none'; ") and "unsafe" not in page.policy
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        assert attributes.get("src") is None
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))


def not_data(page: Parts) -> list[str]:
    """Returns the tags of a page, but for data elements."""
    return [tag for tag, attributes in page.elements if tag != "/script" and "id" not in attributes]


def test_harmful_texts_are_data_and_nothing_else(tmp_path):
    plain = report(write_run(tmp_path / "plain", [conversation("a")]))
    page = report(attacked_run(tmp_path / "run"))
    assert not_data(page) == not_data(plain)
    text = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert "window.attacked" not in text.partition("</title>")[2], "the title names the versions, escaped"
    assert "\u2028" not in text and "\u202e" not in text
    assert set(page.data("report")["conversations"]["why"]) == set(ATTACKS.values())


def test_a_version_cannot_break_out_of_the_title(tmp_path):
    text = '"><script>alert(1)<title>&amp;\ud800'
    page = report(write_run(tmp_path / "run", [conversation("a", app_version=text)]))
    assert len(page.of("title")) == 1
    assert page.of("title")[0][1] == 'turnwise report: "><script>alert(1)<title>&amp;?'
    assert len(page.of("script")) == 4


def test_a_small_limit_puts_chunks_beside_the_page(tmp_path):
    rows = [conversation(f"c{i}", "FAIL", 2, tags=[f"{i}" * 100_000]) for i in range(10)]
    for row in rows:
        row["transcript"]["turns"][0]["user"] = row["tags"].pop()
    run = open_run(str(write_run(tmp_path / "run", rows)))
    found = write_report(tmp_path / "run/report.html", [run], Compared(), inline_characters=4000)
    page = Parts((tmp_path / "run/report.html").read_text(encoding="utf-8"))
    beside = sorted((tmp_path / "run/report_data").iterdir())
    assert found.inline_chunks >= 1 and len(beside) == found.chunks - found.inline_chunks > 0
    assert "'strict-dynamic'" in page.policy
    assert sorted(found.conversations.chunk) == sorted(
        chunk for chunk in found.conversations.chunk if 0 <= chunk < found.chunks
    )
    text = beside[0].read_text()
    assert text.startswith(f'reportChunk("{found.report_id}", {found.inline_chunks}, "')


def test_the_modules_of_the_page_are_joined_in_the_order_of_their_imports():
    texts = {
        "main": 'import { a } from "./one.js";\nimport { b } from "./two.js";\nuse(a, b);',
        "one": 'import { b } from "./two.js";\nexport const a = b;',
        "two": "export function b() {}\nconst hidden = 1;",
    }
    script = join_modules(texts.__getitem__, "main")
    assert re.findall(r'^modules\["(\w+)"\]', script, re.MULTILINE) == ["two", "one", "main"]
    assert "import" not in script and "export" not in script
    assert "return { b };" in script and 'const { b } = modules["two"];' in script


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        ({"main": 'import { a } from "./main.js";'}, "import each other: main, main"),
        ({"main": 'import a from "./one.js";'}, "is not supported"),
        ({"main": "export default 1;"}, "is not supported"),
    ],
)
def test_modules_that_cannot_be_joined_are_refused(texts, fault):
    with pytest.raises(ValueError, match=fault):
        join_modules(texts.__getitem__, "main")


def test_every_module_of_the_page_is_used_and_none_writes_markup():
    folder = files("turnwise.pipeline.report") / "page"
    names = [path.name for path in folder.iterdir() if path.name.endswith(".js")]
    starts = ("main", "service")
    script = "".join(
        join_modules(lambda name: (folder / f"{name}.js").read_text(), start) for start in starts
    )
    joined = {*re.findall(r'^modules\["([\w-]+)"\] =', script, re.MULTILINE)}
    assert joined == {name.removesuffix(".js") for name in names}
    forbidden = (
        r"(inner|outer|insertAdjacent)HTML|document\.write|\beval\(|new Function|setAttribute\(\"style"
    )
    assert re.findall(forbidden, script) == []
