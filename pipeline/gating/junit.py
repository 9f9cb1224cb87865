"""The result of a gate as JUnit XML, as GitHub, GitLab and Jenkins read it."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from turnwise.pipeline.io.terminal import printable
from turnwise.schemas.gate import GateCheck, GateReport, RuleResult

_LONGEST = 4000
_RULES, _RUN, _LOST = "gate rules", "run", "lost records"


def junit_xml(report: GateReport) -> bytes:
    """Returns a document with one suite of the rules, and one suite a criterion with one test a conversation.

    What is undecided is skipped, but an undecided rule is a failure. A lost record is an error.
    """
    suites = [_suite(_RULES, map(_rule, report.rules))]
    if report.problems:
        suites.append(
            _suite(_RUN, (_case(_RUN, line, ("failure", "failed", line)) for line in report.problems))
        )
    if report.lost:
        lost = (_case(_LOST, one.place, ("error", "lost", one.message)) for one in report.lost)
        suites.append(_suite(_LOST, lost))
    by_criterion: dict[str, list[GateCheck]] = {}
    for check in report.checks:
        by_criterion.setdefault(check.criterion, []).append(check)
    suites += [_suite(name, map(_check, checks)) for name, checks in by_criterion.items()]
    root = ET.Element("testsuites", {"name": "turnwise", **_sums(suites, ("tests", "failures", "errors"))})
    root.extend(suites)
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _suite(name: str, cases: Iterable[ET.Element]) -> ET.Element:
    found = list(cases)
    counts = {
        "tests": len(found),
        "failures": sum(case.find("failure") is not None for case in found),
        "errors": sum(case.find("error") is not None for case in found),
        "skipped": sum(case.find("skipped") is not None for case in found),
    }
    suite = ET.Element(
        "testsuite", {"name": _text(name), **{key: str(number) for key, number in counts.items()}}
    )
    suite.extend(found)
    return suite


def _sums(suites: Sequence[ET.Element], names: Sequence[str]) -> dict[str, str]:
    return {name: str(sum(int(suite.get(name, "0")) for suite in suites)) for name in names}


def _rule(rule: RuleResult) -> ET.Element:
    name = f"{rule.rule} ({rule.app_version})" if rule.app_version else rule.rule
    if rule.status == "passed":
        return _case(_RULES, name, None)
    names = ", ".join(rule.conversations) + (f" and {rule.more} more" if rule.more else "")
    lost = ", ".join(rule.lost) + (f" and {rule.more_lost} more" if rule.more_lost else "")
    body = "; ".join(filter(None, (names, lost and f"lost: {lost}")))
    return _case(_RULES, name, ("failure", rule.status, rule.why), body)


def _check(check: GateCheck) -> ET.Element:
    place = f"{check.app_version}.{check.criterion}" if check.app_version else check.criterion
    if check.status == "passed":
        return _case(place, check.conversation_id, None)
    turn = "" if check.turn_index is None else f"turn {check.turn_index}: "
    if check.status == "undecided":
        return _case(
            place, check.conversation_id, ("skipped", "undecided", f"{turn}{check.why or 'not decided'}")
        )
    value = "" if check.value is None else f"value {check.value:.6g}"
    threshold = "" if check.threshold is None else f"threshold {check.threshold:g}"
    body = ", ".join(part for part in (value, threshold) if part)
    return _case(place, check.conversation_id, ("failure", "failed", f"{turn}{check.why or 'failed'}"), body)


def _case(place: str, name: str, ending: tuple[str, str, str] | None, body: str = "") -> ET.Element:
    case = ET.Element("testcase", {"classname": _text(place), "name": _text(name)})
    if ending is not None:
        tag, kind, message = ending
        ET.SubElement(case, tag, {"type": kind, "message": _text(message)}).text = _text(body) or None
    return case


def _text(text: str) -> str:
    """Returns a text with every character escaped that XML does not allow or that cannot be seen."""
    return printable(text, _LONGEST)
