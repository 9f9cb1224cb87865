"""The page in headless Chromium: screens, filters, keys, state, harmful texts, accessibility."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

import turnwise
from tests.pipeline.report_html.attacks import ATTACKS
from tests.pipeline.report_html.browser import Browser, Keys
from tests.pipeline.report_html.made_run import Row, conversation, score, scores, turn, write_run
from tests.pipeline.report_html.test_page import attacked_run
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.report.html import join_modules, write_report
from turnwise.pipeline.runs.directory import open_run
from turnwise.schemas.calibration import LabelDraw, parse_label
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.decisions.comparison.words import LONGEST_NAME, short_names
from turnwise.transforms.decisions.report.figures import Compared

VIEWS = ("overview", "conversations", "conversation", "where", "figures", "missing", "judge", "labels")


def made_report(directory: Path) -> Path:
    """Writes a report of two versions: passes, failures, no_verdict ones, slices, failures with records."""
    rows = []
    for i in range(30):
        about = {"eval_id": f"case-{i}", "tags": ["workshop" if i % 2 else "billing"], "tokens_in": i}
        about |= {"language": "en" if i % 5 else "de", "event_time": f"2026-05-01T09:{i:02}:00Z"}
        for version in ("v1", "v2"):
            verdict = None if i == 7 else "FAIL" if i % 3 == 0 and (version == "v1" or i == 0) else "PASS"
            about |= {"app_version": version, "severity_score": 0.0 if verdict == "PASS" else 10.0 - i / 10}
            rows.append(conversation(f"c{i}-{version}", verdict, tokens_out=10, **about))
    bad = next(row for row in rows if row["conversation_id"] == "c0-v1")
    booked = {"name": "book_slot", "args": {"date": "2026-07-08", "note": {"x": 1}}, "effect": "write"}
    deleted = {"name": "delete_all", "args": {}, "effect": "destructive", "error": None, "seconds": None}
    calls = [{**booked, "error": "closed", "result": None, "seconds": 0.4}, {**deleted, "result": None}]
    bad["transcript"]["turns"][1] = turn(1, tool_calls=calls)
    sentence = {"sentence": "The tyre is free.", "label": "unsupported", "reason": "nobody said so"}
    judged = {"details": {"sentences": [{**sentence, "votes": [1, 4]}]}}
    judged["judge"] = {"model": "m", "prompt_version": "p/1"}
    latency = {"criterion": "turn_latency", "outcome": None, "threshold": None}
    made = []
    for i, row in enumerate(rows):
        made += [*scores(row), score(row, 0, 1.5 + i / 10, **latency)]
        if row is bad:
            made.append(score(bad, 1, 0.0, criterion="hallucinations_v1", **judged))
    rejected = {"stage": "parse", "error_type": "ValueError", "message": "no JSON", "record": "{broken"}
    failed = {**rejected, "run_id": "run-1", "source": "a.jsonl", "position": 3}
    write_run(directory, rows, failures=[failed], own_scores=made)
    assert main(["report", str(directory)]) == 0
    return directory / "report.html"


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_report(tmp_path_factory.mktemp("report") / "run")


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = attacked_run(tmp_path_factory.mktemp("attacked") / "run")
    assert main(["report", str(run)]) == 0
    return run / "report.html"


def opened(browser: Browser, run: Path, **state: str) -> None:
    """Makes the report of a run, and opens it."""
    assert main(["report", str(run)]) == 0
    browser.open(run / "report.html", **state)


@pytest.mark.parametrize("view", VIEWS)
def test_every_screen_is_shown_without_a_message_on_the_console(browser, report, view):
    browser.open(report, view=view)
    assert browser.find("h1").text
    assert browser.texts("[role=alert]") == []


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(browser, report, view, theme, width):
    browser.emulate(width=width, theme=theme)
    browser.open(report, view=view)
    assert browser.find("html").get_attribute("data-theme") == theme
    assert browser.accessibility_faults() == []
    assert browser.run("return document.documentElement.scrollWidth") <= width


TICKS = r"""
const svg = document.querySelector('.trend svg'), all = (what) => [...svg.querySelectorAll(what)];
const lines = all('line.grid').map((line) => ['x1', 'x2'].map((name) => line.getAttribute(name)));
const ticks = lines.filter(([first, last]) => first === last);
const dayOf = (point) => point.querySelector('title').textContent.slice(0, 10);
const points = all('circle').map((point) => [dayOf(point), point.getAttribute('cx')]);
const days = all('text').map((text) => text.textContent).filter((text) => /^\d{4}-\d\d-\d\d$/.test(text));
return days.map((day, i) => [day, ticks[i][0], Object.fromEntries(points)[day] ?? null]);
"""
"""Day, place of its tick, and place of the point of a run on that day."""


def test_nights_are_one_line_a_version_on_a_dated_axis(browser, tmp_path, capsys):
    """Three versions over five nights; the settings changed at the fourth, and the last one has no value."""
    latency = {"criterion": "turn_latency", "outcome": None, "threshold": None}
    for day, versions in ((1, ["v1"]), (2, ["v1"]), (3, ["v1", "v2"]), (5, ["v2"]), (9, ["v3"])):
        rows = [
            conversation(f"{v}-{i}", "PASS" if i else "FAIL", app_version=v)
            for v in versions
            for i in range(4)
        ]
        made = [one for row in rows for one in (*scores(row), score(row, 0, 1.5 + day, **latency))]
        threshold = 1.0 if day < 5 else 0.5
        write_run(
            tmp_path / f"2026-11-{day:02}",
            [row | {"verdict": None} for row in rows] if day == 9 else rows,
            own_scores=made if day < 9 else [],
            run_id=f"night-{day}",
            date=f"2026-11-{day:02}",
            criteria={"tool_trajectory_avg_score": {"threshold": threshold}},
            config={"slices": ["tag"]} if day == 2 else {},  # which change no score
        )
    (tmp_path / "2026-11-10").mkdir()
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().err.endswith("without a finished run: " + str(tmp_path / "2026-11-10") + "\n")
    browser.emulate(width=390)
    browser.open(tmp_path / "report.html", view="trend")
    assert browser.accessibility_faults() == []
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    titles = browser.texts("main h2")
    assert titles[0] == "verdict, share that passes, by conversation"
    assert "turn_latency, mean, by turn" in titles
    assert browser.texts("main section:first-of-type .key li") == ["v1", "v2", "95 % interval", "× no value"]
    assert len(browser.run("return document.querySelectorAll('main section:first-of-type polyline')")) == 2
    assert browser.texts("main section:first-of-type .hint") == [
        "▲ First runs: v2 on 2026-11-03.",
        "┆ The scoring settings changed on 2026-11-05: figures before and after are not of one measure.",
    ]
    browser.run("document.querySelector('main details').open = true")
    cells = [row.split() for row in browser.texts("main section:first-of-type tbody tr")]
    assert cells[0][:3] == ["2026-11-09", "v3", "night-9"]
    assert "none of 4 scores has a value" in " ".join(cells[0])
    assert cells[1][:4] == ["2026-11-05", "v2", "night-5", "75.0%"] and cells[-1][:2] == ["2026-11-01", "v1"]
    ends = "[...document.querySelectorAll('.trend svg text')].map((t) => t.getBBox().x + t.getBBox().width)"
    width = browser.run("return document.querySelector('.trend svg').clientWidth")
    assert max(browser.run(f"return {ends}")) <= width
    placed = browser.run(TICKS)
    assert placed[0][0] == "2026-11-01" and all(own in (None, tick) for _, tick, own in placed)
    browser.open(tmp_path / "report.html")
    assert browser.texts("main label option") == [
        "v3 against v2 (2026-11-05)",
        "v2 (2026-11-03) against v1 (2026-11-01)",
        "v1 (2026-11-03) against v1 (2026-11-01)",
        "v1 (2026-11-02) against v1 (2026-11-01)",
    ], "the first and the last version are refused, because they were not measured in the same way"
    assert "baseline and candidate are of the last two runs" in browser.find("main").text
    browser.choose("compared", "1")
    browser.wait(lambda: "v2 (2026-11-03) may be up to 49.4 points worse" in browser.find("h1").text)
    assert "candidate=v2" in browser.state
    heads = browser.find("table.criteria thead").get_attribute("textContent")
    assert "v2 (2026-11-03) − v1 (2026-11-01)" in heads and "v3" not in heads, "of many, the compared ones"
    assert [text[:54] for text in browser.texts(".problems li")] == [
        "Not compared: v1 (2026-11-01) and v3 were not measured",
        "For such a reason, 1 more pair of versions cannot be c",
    ], "what is of the runs of other pairs is folded"
    assert "baseline=v1+%282026-11-01%29" in browser.run("return document.querySelector('.counts a').href")


def test_versions_that_nothing_compares_have_counts(browser, tmp_path):
    verdicts = ["FAIL"] * 2 + ["PASS"] * 7 + [None]
    rows = [conversation(f"c{i}", v, app_version="v1" if i % 2 else None) for i, v in enumerate(verdicts)]
    opened(browser, write_run(tmp_path / "run", rows, redacted={"EMAIL": 2}))
    redacted = "Values that left as markers: EMAIL 2."
    assert browser.find(".coverage").text.endswith(redacted)
    told = "v1 and (no version) are not compared: together 77.8% pass, 9 with a verdict, 1 without."
    assert browser.find("h1").text == told
    assert browser.texts(".counts li") == ["2 failed", "1 no verdict", "0 rejected"]
    browser.click("2 failed")
    browser.wait(lambda: shown(browser).startswith("2 of 10"))


def test_where_all_was_rejected_the_page_says_why(browser, tmp_path):
    rejected = {"stage": "parse", "error_type": "ValueError", "message": "no JSON", "record": "{"}
    failures = [{**rejected, "run_id": "run-1", "source": "a.jsonl", "position": i} for i in (3, 4)]
    counts = {"records": 2, "parsed_records": 0, "rejected_records": 2}
    opened(browser, write_run(tmp_path / "run", [], failures=failures, counts=counts))
    assert browser.find("h1").text == "Nothing was scored."
    assert browser.texts("[aria-label='Why records were rejected'] li") == [
        "2 records could not be read as a conversation (ValueError), such as a.jsonl:3: no JSON"
    ]


def test_the_page_shortens_names_as_python_does(browser, report):
    long = "ft:gpt-4.1-2025-04-14:sierra:tau2-full-sft:"
    names = ["v1", f"{long}BzrYdMNm", f"{long}BzrYdMNn", "日本語😀" * 9]
    names += [f"{'x' * 40}{i}{'y' * 40}" for i in (1, 2)]
    folder = files("turnwise.pipeline.report") / "page"
    script = join_modules(lambda name: (folder / f"{name}.js").read_text(encoding="utf-8"), "format")
    browser.open(report)
    for size in (LONGEST_NAME, 60):
        call = 'return [...modules["format"].cutNames(arguments[0], arguments[1])]'
        assert dict(browser.run(f"{script}\n{call}", names, size)) == short_names(names, size)


def test_a_report_of_one_run_has_no_trend(browser, report):
    browser.open(report)
    assert "Trend" not in browser.texts("#views a")


def test_axe_sees_a_fault(browser, report):
    browser.open(report)
    browser.run("document.querySelector('h1').style.color = '#ddd'")
    (fault,) = browser.accessibility_faults()
    assert fault.startswith("serious color-contrast: <h1")


def test_the_first_screen_holds_verdicts_and_coverage(browser, report):
    browser.open(report)
    assert browser.find("h1").text.startswith("v2 is better than v1: 96.6% pass against 65.5%, +31.0 points")
    coverage = browser.find(".coverage")
    assert coverage.rect["y"] + coverage.rect["height"] <= 720
    assert coverage.text.startswith("This run: 60 records = 60 read + 0 rejected.")
    assert browser.texts("table.criteria tbody th a")[0] == "verdict"
    counts = ["0 regressed", "9 fixed", "1 still failing", "1 no verdict", "0 rejected"]
    assert browser.texts(".counts li") == counts
    why = "No verdict (1 of v2), most often:\n1: the judge gave no answer"
    assert why in browser.find("main").text
    assert [row.split(" turn 2")[0] for row in browser.texts(".rows tbody tr")] == [
        "v2 ✕ failv1 ✕ fail",
        "v2 ? no verdictv1 ? no verdict",
    ], "what the candidate fails, and not the nine that the baseline alone fails"


def test_what_is_not_decided_is_neither_green_nor_nought(browser, report):
    browser.open(report, view="conversations", outcome="no_verdict")
    browser.wait(lambda: len(browser.texts(".virtual tbody tr:not(.space)")) == 2)
    badges = browser.texts(".virtual tbody tr:not(.space) td:first-child .badge")
    assert sorted(set(badges)) == ["v1 ? no verdict", "v2 ? no verdict"]
    assert browser.texts(".virtual .badge.pass") == []
    browser.click("turn 2: missing book_slot")
    browser.wait(lambda: browser.texts(".chat"))
    whole = browser.texts("section .score")[0]
    assert "? no score" in whole and "the judge gave no answer" in whole and "0.00" not in whole


def test_verdicts_that_flip_are_shown_where_there_were_several_votes(browser, report):
    browser.open(report, view="judge")
    browser.wait(lambda: browser.texts("table caption"))
    (table,) = browser.texts("table")
    assert table.startswith("Verdicts that flip between votes") and "safety_v1" in table
    assert "40" in table and "3 (7.5%" in table and "hallucination" not in table
    assert "0 (no model is asked)" in browser.find("main dl").text


def shown(browser: Browser) -> str:
    return browser.find("#found").text


@pytest.mark.parametrize(
    ("label", "value", "count"),
    [
        ("outcome", "FAIL", "11 of 60"),
        ("outcome", "no_verdict", "2 of 60"),
        ("language", "de", "12 of 60"),
        ("tool", "delete_all", "1 of 60"),
    ],
)
def test_filters(browser, report, label, value, count):
    browser.open(report, view="conversations")
    browser.choose(label, value)
    browser.wait(lambda: shown(browser).startswith(count))
    assert value in browser.state
    browser.click("Remove filters")
    browser.wait(lambda: shown(browser).startswith("60 of 60"))


@pytest.mark.parametrize(
    ("by", "leads"), [("eval_id", False), ("conversation_id", False), ("task", False), ("eval_id", True)]
)
def test_the_counts_of_the_first_screen_are_links(browser, tmp_path, by, leads):
    """Each leads to as many conversations of the candidate as it counts, by the criterion that leads."""
    rows = [
        conversation(
            f"c{i}" if by == "conversation_id" else f"c{i}-{version}",
            "FAIL" if i in failing else None if i == 29 else "PASS",
            app_version=version,
            **({} if by == "conversation_id" else {by: f"case-{i}"}),
        )
        for version, failing in (("v1", range(12)), ("v2", range(8, 14)))
        for i in range(30)
    ]
    own = None
    if leads:
        values = {"PASS": 1.0, "FAIL": 0.0, None: None}
        rewards = [score(row, None, values[row["verdict"]], criterion="recorded_reward") for row in rows]
        rows = [{**row, "verdict": None if row["verdict"] is None else "PASS"} for row in rows]
        own = [one for row, reward in zip(rows, rewards, strict=True) for one in (*scores(row), reward)]
    run = write_run(tmp_path / "run", rows, own_scores=own, counts={"rejected_records": 3})
    assert main(["report", str(run)]) == 0
    counts = {"regressed": 2, "fixed": 8, "still failing": 4}
    counts |= {"no score": 1, "no verdict": 1} if leads else {"no verdict": 1}
    browser.open(run / "report.html")
    listed = [f"{number} {name}" for name, number in counts.items()]
    # Whatever leads, what has no verdict is counted.
    assert browser.texts(".counts a") == [*listed, "3 rejected"]
    for name, text in zip(counts, listed, strict=True):
        browser.open(run / "report.html")
        browser.click(text)
        browser.wait(lambda name=name: shown(browser).startswith(f"{counts[name]} of 60"))
        assert ("criterion=recorded_reward" in browser.state) is (leads and name != "no verdict")
    browser.open(run / "report.html")
    browser.click("3 rejected")
    browser.wait(lambda: "view=missing" in browser.state)


def test_search_and_the_state_in_the_address(browser, report):
    browser.open(report, view="conversations")
    browser.find("#search").send_keys("C12-V")
    browser.wait(lambda: shown(browser).startswith("2 of 60"))
    address = browser.driver.current_url
    browser.driver.get("about:blank")
    browser.driver.get(address)
    browser.wait(lambda: shown(browser).startswith("2 of 60"))
    assert browser.find("#search").get_attribute("value") == "C12-V"


def copied(browser: Browser, button: str) -> str:
    browser.run(
        "window.copied = null; const own = { writeText: async (text) => { window.copied = text; } };"
        "Object.defineProperty(navigator, 'clipboard', { value: own, configurable: true });"
    )
    browser.click(button)
    return str(browser.wait(lambda: browser.run("return window.copied")))


def test_scores_sort_the_list_which_is_copied_as_csv(browser, tmp_path):
    """The link of a conversation is its id and version; a copy of both has a number, too."""
    rows = [conversation(name, app_version=v) for v in ("v1", "v2") for name in ("a", "=b", 'c,"d')]
    values = [None, 0.5, 1.0, 0.25, 0.125, 0.75]
    made = [score(row, None, value) for row, value in zip(rows, values, strict=True)]
    copy = conversation("a", app_version="v1", turns=1)
    run = write_run(tmp_path / "run", [*rows, copy], own_scores=made)
    opened(browser, run, view="conversations", version="v2")
    browser.click("tool_trajectory_avg_score")
    cells = "tbody tr:not(.space) td.score-cell"
    browser.wait(lambda: browser.texts(cells) == ["0.125", "0.250", "0.750"])
    assert "sort=score" in browser.state
    browser.click("tool_trajectory_avg_score ↑")
    browser.wait(lambda: browser.texts(cells) == ["0.750", "0.250", "0.125"])
    lines = copied(browser, "Copy as CSV").split("\r\n")
    assert lines[0].endswith("turns,latency_seconds,tool_trajectory_avg_score")
    assert [line.split(",v2,")[0] for line in lines[1:]] == ['"c,""d"', "a", "'=b", ""]
    assert lines[3].endswith(",2,4,0.125"), "a text is no formula, a number no text"
    found = []
    for nth in ("", "2", "3"):
        browser.open(run / "report.html", view="conversation", id="a", of="v1", nth=nth, beside="nothing")
        found.append(len(browser.texts(".turn")))
    assert sorted(found) == [0, 1, 2] and found[2] == 0


def test_slices_of_both_versions_stand_in_one_table(browser, report):
    browser.open(report, view="where")
    heads = browser.texts("section[aria-labelledby=slices] thead th")
    assert heads == ["slice?", "v1", "v2", "v2 − v1?"]
    rows = browser.texts("section[aria-labelledby=slices] tbody tr")
    (workshop,) = [row for row in rows if row.startswith("tag workshop")]
    assert "64.3% 9/14 +1 no verdict" in workshop and "100.0% 14/14 +1 no verdict" in workshop
    assert "+35.7 points 14 pairs" in workshop
    browser.choose("criterion", "turn_latency")
    table = "section[aria-labelledby=slices] tbody"
    browser.wait(lambda: "4.50 s\n4.60 s\n+0.10 s 15 pairs" in browser.find(table).text)
    assert "criterion=turn_latency" in browser.state
    browser.click("?")
    assert "language, tag, tool or number of turns" in browser.find("#about").text


def test_an_old_state_and_unknown_keys_do_not_matter(browser, report):
    browser.open(report, view="nothing", id="999", unknown="1", __proto__="x", version="77", change="x")
    assert browser.find("h1").text.startswith("v2 is better than v1: ")
    browser.open(report, view="conversation", id="999")
    assert "no such conversation" in browser.find("main").text


def test_keys(browser, report):
    browser.open(report, view="conversations")
    browser.press("j", "j")
    browser.wait(lambda: "id=c0-v2&of=v2" in browser.state)
    browser.press("k")
    browser.wait(lambda: "id=c0-v1&of=v1" in browser.state)
    browser.press("f")
    browser.wait(lambda: "id=c0-v2&of=v2" in browser.state)
    browser.find("body").send_keys(Keys.ENTER)
    browser.wait(lambda: browser.texts(".chat"))
    first = browser.find("h1").text
    browser.press("j")
    browser.wait(lambda: browser.find("h1").text != first)
    browser.press("k")
    browser.wait(lambda: browser.find("h1").text == first)
    browser.press("d")
    browser.wait(lambda: "beside=" in browser.state)
    browser.press("c")
    browser.wait(lambda: browser.find("#status").text == "Copied the id.")
    browser.press("?")
    browser.wait(lambda: browser.find("dialog").is_displayed())
    assert "next conversation" in browser.find("dialog").text
    browser.press(Keys.ESCAPE)
    browser.wait(lambda: not browser.texts("dialog"))


def test_from_a_criterion_to_the_turn_that_failed(browser, report):
    browser.open(report)
    browser.click("tool_trajectory_avg_score")
    browser.wait(lambda: shown(browser).startswith("11 of 60"))
    browser.run("document.querySelector('.virtual .why a').click()")
    browser.wait(lambda: browser.texts(".turn.worst"))
    assert browser.find(".turn.worst h2").text.startswith("turn 2")


def test_a_conversation_shows_calls_differences_and_evidence(browser, report):
    browser.open(report, view="conversations", text="c0-v1")
    browser.wait(lambda: browser.texts(".virtual .why a"))
    browser.run("document.querySelector('.virtual .why a').click()")
    browser.wait(lambda: browser.texts("#turn-1 .call"))
    made, wrong, *_ = browser.texts("#turn-1 .side:first-child .call")
    assert "other arguments" in made and "error" in made
    assert "date\n2026-07-08 instead of 2026-08-07" in made
    assert "time\n11:00 missing" in made and "note.x\n1 not expected" in made
    assert "unexpected destructive call" in wrong
    mark = browser.find("#turn-1 mark")
    assert mark.text == "The tyre is free." and "nobody said so" in (mark.get_attribute("title") or "")
    assert "votes: 1 yes, 4 no" in browser.find("#turn-1 .scores").text
    assert browser.texts("#turn-1 h3") == ["v1", "v2"]
    assert browser.texts("#turn-1 h2 .badge") == ["✕ fails here", "differs: calls"]
    assert "not as in v2" in made and "not in v2" in wrong
    browser.press("d", "d")
    browser.wait(lambda: browser.texts("#turn-1 h3") == ["expected"])


def test_labels_are_kept_and_exported_with_how_they_were_chosen(browser, report, tmp_path):
    browser.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    browser.open(report, view="labels", beside="nothing")
    browser.choose("criterion", "turn_latency")
    browser.wait(lambda: "of 0 conversations" in browser.find("main").text)
    browser.choose("scores of", "turns")
    browser.wait(lambda: "of 60 conversations" in browser.find("main").text)
    browser.run(
        "const field = document.querySelector('input[type=number]');"
        "field.value = 5; field.dispatchEvent(new Event('change'));"
    )
    browser.click("Draw")
    browser.wait(lambda: "5 of 60 conversations" in browser.find("main").text)
    browser.click("Next conversation")
    browser.wait(lambda: browser.texts(".chat"))
    label(browser, "turn_latency", "looks slow")
    label(browser, "tool_trajectory_avg_score", "")
    browser.find(".lead .label button").click()
    browser.driver.refresh()
    browser.wait(lambda: browser.texts(".chat"))
    browser.click("Labels")
    browser.wait(lambda: "1 labelled, 4 to do" in browser.find("main").text)
    browser.click("Export labels as JSON Lines")
    (file,) = browser.wait(lambda: list(tmp_path.glob("labels-*.jsonl")))
    rows = [parse_label(line) for line in file.read_text().splitlines()]
    first, *others, trajectory, verdict = rows
    draw = LabelDraw(seed="1", size=5, of=60, unit="conversation")
    assert (first.label, first.comment, first.chosen, first.number) == ("FAIL", "looks slow", "random", 1)
    assert first.draw == draw and first.turn_index == 0 and (first.score_id or "").endswith("/turn_latency")
    assert [(one.label, one.chosen, one.draw, one.number) for one in others] == [
        (None, "random", draw, number) for number in (2, 3, 4, 5)
    ]
    assert trajectory.criterion == "tool_trajectory_avg_score"
    assert (trajectory.label, trajectory.chosen) == ("FAIL", "hand-picked")
    assert (verdict.criterion, verdict.label, verdict.score_id) == ("verdict", "PASS", None)
    assert all(one.app_version == one.conversation_id.rpartition("-")[2] for one in rows)
    # Another person reads the file: what is drawn is the same, and so are the labels.
    browser.click("Discard the sample")
    browser.run("for (const key of Object.keys(localStorage)) localStorage.setItem(key, '{}')")
    browser.driver.refresh()
    browser.wait(lambda: "0 labels" in browser.find("main").text)
    picked = {"conversation_id": others[0].conversation_id, "criterion": "verdict", "label": None}
    file.write_text(f"{file.read_text()}{json.dumps(picked)}\n")
    browser.find("input[type=file]").send_keys(str(file))
    browser.wait(lambda: "8 of 8 lines fit this report" in browser.find("#status").text)
    assert "5 of 60 conversations" in browser.find("main").text and "3 labels" in browser.find("main").text
    file.unlink()
    browser.run(
        "const field = document.querySelector('input[type=text]');"
        "field.value = 'ana'; field.dispatchEvent(new Event('change'));"
    )
    browser.click("Export labels as JSON Lines")
    (file,) = browser.wait(lambda: list(tmp_path.glob("labels-*.jsonl")))
    again = [parse_label(line) for line in file.read_text().splitlines()]
    assert {one.rater for one in again} == {"ana"}
    drawn = [one for one in again if one.criterion == "turn_latency"]
    assert [(one.label, one.draw, one.number, one.score_id) for one in drawn] == [
        (one.label, one.draw, one.number, one.score_id) for one in rows[:5]
    ]


def label(browser: Browser, criterion: str, comment: str) -> None:
    """Gives the first score of a criterion the label FAIL, and a comment."""
    browser.run(
        "const scores = [...document.querySelectorAll('.score')];"
        "const score = scores.find((s) => s.querySelector('strong').textContent === arguments[0]);"
        "score.querySelectorAll('.label button')[1].click();"
        "const field = score.querySelector('.label input'); field.value = arguments[1];"
        "field.dispatchEvent(new Event('change'));",
        criterion,
        comment,
    )


def test_transcripts_beside_the_page_are_loaded_when_they_are_read(browser, tmp_path):
    rows = [conversation(f"c{i}", "FAIL", 2) for i in range(6)]
    for i, row in enumerate(rows):
        row["transcript"]["turns"][0]["user"] = f"{i}" * 300_000
    run = open_run(str(write_run(tmp_path / "run", rows)))
    path = tmp_path / "run/report.html"
    found = write_report(path, [run], Compared(), inline_characters=0)
    assert found.inline_chunks == 0 and found.chunks > 2
    browser.open(path, view="conversation", id="c5")
    browser.wait(lambda: browser.texts(".chat .bubble"))
    assert browser.errors() == []
    last = tmp_path / f"run/report_data/{found.chunks - 1:03}.js"
    last.write_text(last.read_text().replace(found.report_id, "0" * 16))
    browser.open(path, view="conversation", id="c5")
    assert "belongs to another report" in browser.find("[role=alert]").text
    last.unlink()
    browser.open(path, view="conversation", id="c5")
    assert "cannot be read; it must lie beside the report" in browser.find("[role=alert]").text
    assert browser.errors()


@pytest.mark.parametrize("view", VIEWS)
def test_harmful_texts_run_nothing(browser, attacked, view):
    ids = [f"{name} {text}" for name, text in ATTACKS.items()] if view == "conversation" else [""]
    for name in ids:
        named = name.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        browser.open(attacked, view=view, id=named)
        assert "no such conversation" not in browser.find("main").text
        browser.run(
            "document.querySelectorAll('details').forEach((d) => { d.open = true; });"
            "document.querySelectorAll('main a, mark, [tabindex]').forEach((e) => { e.focus(); "
            "e.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })); });"
        )
        assert browser.run("return window.attacked ?? null") is None
        links = browser.run("return [...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))")
        assert [link for link in links if not link.startswith("#")] == []
        elements = browser.run(
            "return [...document.querySelectorAll('iframe, form[action], base, img, object, embed')].length"
        )
        assert elements == 0


def test_harmful_texts_are_shown_as_they_are(browser, attacked):
    browser.open(attacked, view="conversations", text="<img src=x")
    browser.wait(lambda: browser.texts(".virtual .why a"))
    assert ATTACKS["event_handler"] in browser.texts(".virtual .why a")
    browser.open(attacked, view="conversations", text="fdp.exe")
    browser.wait(lambda: browser.texts(".virtual .why a"))
    assert "abc\\u202e fdp.exe" in browser.texts(".virtual .why a")[0]


def of_case(browser: Browser, tmp_path: Path, row: Row, *extra: Row) -> None:
    """Opens the conversation of a report of one."""
    run = write_run(tmp_path / "run", [row], extra)
    opened(browser, run, view="conversation")
    browser.wait(lambda: browser.texts("main .actions"))


def copied_case(browser: Browser) -> JsonObject:
    found: JsonObject = json.loads(copied(browser, "Copy as eval case"))
    return found


BIG = 9007199254740993


def test_a_copied_case_holds_only_what_was_expected(browser, tmp_path):
    call = {"name": "book", "args": {"id": BIG, "$integer": BIG}, "effect": "write"}
    parts = {"texts": ["Wait."], "variables": {"x": 1}, "rubrics": ["It is kind."]}
    deleted = {"name": "delete_all", "args": {}, "effect": "destructive"}
    turns = [
        turn(0, expected={"response": "Booked."}),
        turn(1, expected={"tool_calls": [call], **parts}),
        turn(2, label="EXTRA_TURN", user="x", tool_calls=[deleted], expected=None),
        turn(3, label="MISSING_TURN", user=None, agent=None, tool_calls=[], expected={"user": "Bye."}),
    ]
    whole = {"tool_calls": [call], "texts": ["20"], "variables": {"y": 2}, "rubrics": ["Short."], "task": "T"}
    transcript = {"turns": turns, "expected": whole, "cut": False, "left_out": None}
    row = conversation("a", "FAIL", 4, eval_id="E", eval_set_id="S", transcript=transcript)
    of_case(browser, tmp_path, row)
    found = copied_case(browser)
    bare = {"name": "book", "args": {"id": BIG, "$integer": BIG}}
    assert found == {
        "eval_id": "E",
        "eval_set_id": "S",
        "turns": [
            {"user": "Please book slot 0.", "response": "Booked."},
            {
                "user": "Please book slot 1.",
                "tool_calls": [bare],
                "intermediate_responses": ["Wait."],
                "expectations": [{"kind": "updated_variables", "variables": {"x": 1}}],
                "rubrics": [{"rubric_id": "turn-1-0", "text": "It is kind."}],
            },
            {"user": "Bye."},
        ],
        "actions": [bare],
        "outputs": ["20"],
        "final_session_state": {"y": 2},
        "rubrics": [{"rubric_id": "whole-0", "text": "Short."}],
        "task": "T",
    }
    (case,) = turnwise.read_cases(found)
    assert case.actions and case.actions[0].args == call["args"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"cut": True}, "the transcript was cut"),
        ({"turns": [turn(0, expected=None)]}, "nothing is expected of this conversation"),
        ({"turns": [turn(0, expected={"tool_calls": [], "transfers": ["b"]})]}, "a case needs of: transfers"),
    ],
)
def test_where_there_can_be_no_case_the_reason_is_shown(browser, tmp_path, changes, reason):
    row = conversation("a", "FAIL", 1)
    row["transcript"] |= changes
    of_case(browser, tmp_path, row)
    assert not browser.find("button[aria-describedby=no-case]").is_enabled()
    assert reason in browser.find("#no-case").text


def one_call(expected: Row, made: Row) -> Row:
    calls = [[{"name": "set", "args": args, "effect": "write"}] for args in (expected, made)]
    return turn(0, tool_calls=calls[1], expected={"tool_calls": calls[0]})


@pytest.mark.parametrize(
    ("expected", "made", "is_failed", "texts"),
    [
        ({"id": BIG - 1}, {"id": BIG}, True, ["other arguments", f"id\n{BIG} instead of {BIG - 1}"]),
        ({"id": -(10**30)}, {"id": -(10**30)}, False, ["as expected", f"id\n{-(10**30)}"]),
        ({"id": BIG}, {"id": str(BIG)}, True, ["other arguments", f'id\n"{BIG}" instead of {BIG}']),
        ({}, {"a": None}, True, ["other arguments", "a\nnull not expected"]),
        ({"a": 1}, {"a": 1}, False, ["as expected", "a\n1"]),
    ],
)
def test_calls_are_compared_exactly(browser, tmp_path, expected, made, is_failed, texts):
    row = conversation("a", "FAIL" if is_failed else "PASS", 1)
    row["transcript"]["turns"] = [one_call(expected, made)]
    extra = [score(row, 0, 0.0, criterion="tool_effects_v1")] if is_failed else []
    of_case(browser, tmp_path, row, *extra)
    card = browser.find("#turn-0 .side:first-child .call")
    assert [text for text in texts if text not in card.text] == []
    assert bool(browser.texts("#turn-0 .call .badge.pass")) is ("as expected" in texts)


def test_the_unexpected_change_stands_out_and_matchers_are_words(browser, tmp_path):
    """Also where calls are expected by the end alone: then no column beside the turns is empty."""
    row = conversation("a", "FAIL", 2, worst_turn=None)
    calls = [{"name": name, "args": {"id": 7}, "effect": "destructive"} for name in ("get", "drop")]
    for made, call in zip(row["transcript"]["turns"], calls, strict=True):
        made |= {"expected": None, "tool_calls": [call]}
    contains = {"name": "get", "args": {"id": {"$matchType": "contains", "$matchValue": "remse"}}}
    row["transcript"]["expected"] = {"tool_calls": [contains]}
    details = {"missing": [], "extra": ["drop(id: 7)"], "destructive": ["drop(id: 7)"]}
    wrong = {"parameter": "id", "expected": "8", "actual": "7"}
    details["wrong_arguments"] = [{"expected": "get(id: 8)", "actual": "get(id: 7)", "arguments": [wrong]}]
    of_case(browser, tmp_path, row, score(row, None, 0.0, criterion="tool_effects_v1", details=details))
    assert browser.texts(".call.unexpected") == ["drop\nunexpected destructive call\nid\n7"]
    assert "id is 7 instead of 8" in browser.find(".call.wrong").text
    assert browser.texts(".turn.failed h2") == ["turn 1 2.00 s✕ fails here", "turn 2 2.00 s✕ fails here"]
    assert browser.texts(".beside") == []
    assert "contains remse" in browser.find(".whole").text


def test_nothing_to_read_is_said_only_of_a_run_that_is_whole(browser, tmp_path):
    whole = write_run(tmp_path / "whole", [conversation("a")])
    rejected = write_run(tmp_path / "rejected", [], counts={"records": 5, "rejected_records": 5})
    pairs = [conversation("b", "FAIL", eval_id="e"), conversation("c", eval_id="e", app_version="v2")]
    more = [*pairs, conversation("d", eval_id="f", app_version="v1")]
    nothing = "Nothing was scored, so that there is no conversation to read. This run rejected 5 records."
    for run, text in (
        (whole, "Every conversation passed."),
        (write_run(tmp_path / "pairs", pairs), "Every conversation of v2 passed."),
        (write_run(tmp_path / "lacking", more), "1 case of v1 has no conversation of v2."),
        (rejected, nothing),
    ):
        opened(browser, run)
        found = browser.find("section[aria-labelledby=read]").text
        assert text in found and ("Every conversation" in found) is text.startswith("Every")
    browser.open(whole / "report.html", view="conversations", change="regressed")
    # An old address of a report of two versions.
    browser.wait(lambda: shown(browser).startswith("1 of 1"))


def test_panels_and_cascades(browser, tmp_path):
    """What is unknown is a dash, and never 0."""
    member = {"verdicts": 5, "unmeasured": 1, "pass_rate": 0.8, "bias": -0.125}
    none = {"verdicts": 0, "unmeasured": 6, "pass_rate": None, "bias": None}
    panel = {"questions": 6, "decided": 4, "agreement": 0.75, "alpha": None}
    panel |= {"members": {"a": member, "b": none}}
    saved = {"calls": 12, "tokens": None, "cost": None}
    unsure = {"votes": 1, "confidence": 2, "no_score": 0}
    cascade = {"first": "c", "questions": 20, "went_on": 3, "unsure": unsure, "saved": saved}
    judge = {"backend": "gemini", "model": "c > a, b", "sample_rate": 1.0, "usage": {}}
    judge |= {"panels": {"match": panel}, "cascades": {"match": cascade}}
    run = write_run(tmp_path / "run", [conversation("a")], judge=judge)
    opened(browser, run, view="judge")
    assert browser.texts("main tbody tr") == [
        "match 6 4 75.0% –",
        "match a 5 1 80.0% −12.5 points",
        "match b 0 6 – –",
        "match c 20 3 1 2 0 12 – –",
    ]
    assert "model\nc > a, b" in browser.find("main dl").text


def recordings():
    """13 cases of two versions, half of them recorded twice; of three, one of both runs of v2 fails.

    The last one fails in both, and expects something else in v2.
    """
    bad = {"v1": [(7, 0), (8, 0)], "v2": [(0, 1), (1, 1), (2, 1), (4, 0), (4, 1)]}
    for version in ("v1", "v2"):
        for case, run in [(i, n) for i in range(13) for n in range(2 if i < 6 else 1)]:
            is_bad = (case, run) in bad[version] or case in (9, 12)
            names = {"conversation_id": f"{version}-{case}-{run}", "eval_id": f"e{case}"}
            names |= {"app_version": version, "start_time": f"2026-11-0{version[1]}T00:00:{case:02}Z"}
            turn = {"user": f"Hi {case}", "agent": "No, never" if is_bad else "Hello"}
            turn["expected"] = {"response": "Hello again" if (version, case) == ("v2", 12) else "Hello"}
            yield {**names, "turns": [turn]}


def test_a_count_of_the_first_page_leads_to_as_many_items(browser, tmp_path):
    source, config, page = (tmp_path / name for name in ("logs.jsonl", "config.json", "out/report.html"))
    lines = [*map(json.dumps, recordings()), '{"foo": 1}', "{"]
    source.write_text("".join(f"{line}\n" for line in lines))
    config.write_text('{"criteria": {"response_match_score": 0.8}}')
    command = ["run", "--input", str(source), "--config", str(config), "--output", str(page.parent)]
    assert main(command) == 0 and main(["report", str(page.parent)]) == 0
    browser.open(page)
    counts = dict(reversed(text.split(" ", 1)) for text in browser.texts(".counts a"))
    names = ["regressed", "fixed", "still failing", "no verdict", "rejected"]
    assert counts == dict(zip(names, "42102", strict=True))
    for name, number in counts.items():
        browser.open(page)
        browser.find(f".counts li:nth-child({[*counts].index(name) + 1}) a").click()
        if name == "rejected":
            browser.wait(lambda: "Rejected: 2" in browser.texts("h2"))
            continue
        browser.wait(lambda: browser.texts("#found"))
        assert browser.texts("#found") == [f"{number} of 38 conversations"], name
        rows = browser.texts("table.virtual tbody tr[data-place]")
        assert len(rows) == int(number), name
        if name == "regressed":
            assert all("below the threshold 0.8" in row for row in rows), "the reason is the candidate's"
