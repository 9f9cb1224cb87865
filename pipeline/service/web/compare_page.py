"""The page of the comparison of two app versions."""

from collections.abc import Iterator

from starlette.responses import Response

from turnwise.pipeline.service.comparison import compare_app_versions
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.web.html import Html, el, joined, page
from turnwise.pipeline.service.web.parts import UNKNOWN_FIGURE, between, navigation, number, percent, table
from turnwise.schemas.ces.tools import CompareAppVersionsRequest
from turnwise.schemas.jsonio import JsonObject

_PAGE = 100
_SIDES = ("base", "candidate")
_COUNTS = (
    ("Conversations compared", "ConversationCount"),
    ("Without a verdict", "UndecidedCount"),
    ("Records lost", "LostRecordCount"),
    ("Cases of this version alone", "OnlyCaseCount"),
)


def compare_page(service: Service, app: str, base: str, candidate: str) -> Response:
    """Returns the page; raises ServiceError."""
    wanted = {"parent": app, "baseVersion": base, "candidateVersion": candidate, "pageSize": _PAGE}
    found = compare_app_versions(service, CompareAppVersionsRequest.from_value(wanted))
    verdict = found.get("verdict", {})
    parts = [_verdict(verdict), _sides(found), _criteria(verdict), _changes(found)]
    return page(f"{candidate} against {base}", navigation(app), *parts)


def _verdict(verdict: JsonObject) -> Html:
    if verdict.get("refusal"):
        return el("p", f"Not compared: {verdict['refusal']}", class_="bad")
    notes = [el("li", note) for note in verdict.get("notes", ())]
    sentence = el("p", el("strong", verdict.get("sentence", "Nothing is known of the verdicts.")))
    return joined(sentence, el("ul", *notes) if notes else "")


def _sides(found: JsonObject) -> Html:
    verdict = found.get("verdict", {})
    sides = [found.get(side, {}) for side in _SIDES]
    rate = [between(one, "passRateLow", "passRateHigh", percent(one.get("passRate"))) for one in sides]
    rows = [["Pass rate of the results", *rate]]
    unstated = 0 if "sentence" in verdict else UNKNOWN_FIGURE
    rows += [
        [text, *(str(verdict.get(f"{side}{name}", unstated)) for side in _SIDES)] for text, name in _COUNTS
    ]
    names = [one.get("appVersionId", UNKNOWN_FIGURE) for one in sides]
    return joined(el("h2", "Versions"), table(("", *names), rows))


def _criteria(verdict: JsonObject) -> Html:
    rows = list(_criterion_rows(verdict))
    if not rows:
        return Html("")
    heads = ("Criterion", "Verdict", "Base", "Candidate", "Difference", "Pairs")
    return joined(el("h2", "Criteria"), table(heads, rows))


def _criterion_rows(verdict: JsonObject) -> Iterator[list[str]]:
    for one in verdict.get("criteria", ()):
        difference = number(one.get("difference"))
        figures = [number(one.get("baseValue")), number(one.get("candidateValue"))]
        told = [one["criterion"], one.get("sentence", ""), *figures]
        interval = between(one, "differenceLow", "differenceHigh", difference)
        yield [*told, interval, str(one.get("pairCount", 0))]
    for one in verdict.get("notCompared", ()):
        yield [one["criterion"], f"not compared: {one.get('reason', '')}", *[UNKNOWN_FIGURE] * 4]


def _changes(found: JsonObject) -> Html:
    rows = [
        [
            one.get("displayName") or one["evaluation"],
            one.get("change", UNKNOWN_FIGURE),
            *(f"{one.get(f'{side}PassCount', 0)} of {_decided(one, side)}" for side in _SIDES),
        ]
        for one in found.get("changes", ())
    ]
    if not rows:
        return Html("")
    more = el("p", f"The first {_PAGE} are shown.", class_="note") if found.get("nextPageToken") else ""
    heads = ("Evaluation", "Change", "Passed (base)", "Passed (candidate)")
    return joined(el("h2", "Evaluations that changed"), table(heads, rows), more)


def _decided(one: JsonObject, side: str) -> int:
    return int(one.get(f"{side}PassCount", 0) + one.get(f"{side}FailCount", 0))
