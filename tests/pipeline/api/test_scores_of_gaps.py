"""What a log leaves open, undoes or does not answer: which scores and verdicts that takes.

Each line of `gaps.jsonl` is a `log` beside its `cases` and the `criteria` that score it. `says`: the turns of
criteria that have no score (`missing`), criteria with a threshold whose whole has no outcome, values of the
`whole` conversation, and the verdict.
"""

import json

import pytest

import turnwise
from tests.tables import lines_beside

LINES = lines_beside(__file__, "gaps.jsonl")


@pytest.mark.parametrize("name", LINES)
def test_what_a_gap_takes(name, tmp_path):
    line = LINES[name]
    # Codex's logs are known by the names of their files.
    place = tmp_path / "rollout-s1.jsonl"
    place.write_text("".join(json.dumps(record) + "\n" for record in line["log"]))
    (conversation,) = turnwise.read_conversations(place)
    if "cases" in line:
        conversation.eval_id = "e"
    criteria = line["criteria"]
    result = turnwise.evaluate(conversation, cases=line.get("cases"), criteria=criteria, judge="local")
    assert {row["criterion"] for row in result.scores} == criteria.keys()
    wholes = {row["criterion"]: row for row in result.scores if row["turn_index"] is None}
    missing: dict[str, list[int]] = {}
    for row in result.scores:
        if row["turn_index"] is not None and row["value"] is None:
            missing.setdefault(row["criterion"], []).append(row["turn_index"])
    gated = [name for name, stated in criteria.items() if not isinstance(stated, dict)]
    values = {name: wholes[name]["value"] for name in line["says"].get("whole", ())}
    today = {
        "missing": missing,
        "no_outcome": sorted(name for name in gated if wholes[name]["outcome"] is None),
        "whole": {n: value if value is None else pytest.approx(value) for n, value in values.items()},
        "status": result.status,
    }
    assert {key: today[key] for key in line["says"]} == line["says"]
