"""Comparisons of known conversations, and their first page. Nothing unmeasured looks good.

Each line of `comparisons.jsonl` compares a `baseline`, v1, with a `candidate`, v2: criterion -> what its
cases gave, `F*84 P|U^2*3` being 84 cases of one run and 3 of three. U and ? have no outcome and no value, -
no score, and % was sampled out. `each` gives fields to conversations ({}: the number of the case; a list:
one after the other), `also` to the side; `prefix` makes its cases others. `primary` and `rows` are for the
page. `says` is what the comparison, its first criterion and its page say: path -> value, or what it must be.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.compared_sides import F, P, U, observed, score_row
from tests.tables import is_as_wanted, lines_beside, stated, value_at
from turnwise.pipeline.report.comparison import fail_on_problems
from turnwise.schemas.comparison import Comparison
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.decisions.comparison.collect import (
    ComparedConversation,
    Observed,
    Summary,
    TurnScore,
    collect,
)
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.sides import ComparedSide, columns_of
from turnwise.transforms.decisions.first_page import counts_text, destructive_text, reasons_of, two_versions

LINES = lines_beside(__file__, "comparisons.jsonl")
STATUS = "verdict"


def cases_of(text: str) -> Iterator[list[str]]:
    """Yields what the runs of each case gave."""
    for word in text.split():
        runs, _, cases = word.partition("*")
        values = (run.partition("^") for run in runs.split("|"))
        given = [value for value, _, number in values for _ in range(int(number or 1))]
        yield from [given] * int(cases or 1)


def given(value: str, why: str) -> Observed:
    if value == "?":
        return Observed(None)
    if "/" in value:
        number, outcome, threshold = value.split("/")
        return Observed(float(number), outcome, float(threshold))
    return observed({"P": P, "F": F, "U": U}[value] if value in "PFU" else float(value), why)


def stated_side(name: str, stated: dict[str, Any]) -> ComparedSide:
    fields = {"each": {}, "also": {}, "from": 0, "prefix": "", "version": name}
    each, also, start, prefix, version = ({**fields, **stated}[key] for key in fields)
    columns = {own: [*cases_of(text)] for own, text in stated.items() if own not in fields}
    made: list[ComparedConversation] = []
    for case, runs in enumerate(zip(*columns.values(), strict=True)):
        for values in zip(*runs, strict=True):
            gave = dict(zip(columns, values, strict=True))
            named = {"conversation_id": f"{name}-{len(made)}", "eval_id": f"{prefix}e{start + case}", **each}
            own = (value[case % len(value)] if isinstance(value, list) else value for value in named.values())
            texts = (value.format(start + case) if isinstance(value, str) else value for value in own)
            made.append(ComparedConversation(app_version=version, **dict(zip(named, texts, strict=True))))
            made[-1].sampled_out = frozenset(key for key, value in gave.items() if value == "%")
            made[-1].criteria = {
                key: given(value, f"{key} of {name} {start + case}")
                for key, value in gave.items()
                if value not in "-%"
            }
    fields = {"name": name, "source": "out", "rejected": 0, "run_ids": ["run"], **also}
    return ComparedSide(conversations=columns_of(made), **fields)


def row(number: int, **columns: Any) -> Any:
    """Returns a row of the candidate for its page."""
    named = {"conversation_id": f"v2-{number}", "app_version": "v2", "eval_id": f"e{number}"}
    blank = dict.fromkeys(ConversationRow.__annotations__)
    return {**blank, **named, "verdict": F, "problem_type": f"type-{number}", **columns}


@pytest.mark.parametrize("name", LINES)
def test_what_a_comparison_says(name):
    line = LINES[name]
    two = (stated_side(name, line[side]) for name, side in (("v1", "baseline"), ("v2", "candidate")))
    options = {key: tuple(o) if isinstance(o, list) else o for key, o in line.get("options", {}).items()}
    found = compare(*two, CompareOptions(**options))
    flips = [[flip.kind, flip.case, flip.reason] for flip in found.flips]
    root = {"comparison": found, "flips": flips, "flip_kinds": [flip[:2] for flip in flips]}
    if found.criteria:
        root["criterion"] = found.criteria[0]
    if "primary" in line:
        rows = [row(**columns) for columns in line.get("rows", ())]
        page = two_versions(found, line["primary"], rows, "they were named")
        root |= {"page": page, "counts": counts_text(page), "destructive": destructive_text(page)}
        root |= {"reasons": reasons_of(page), "read_first": [one.conversation_id for one in page.read_first]}
    for path, wanted in line["says"].items():
        assert is_as_wanted(value_at(root, path), wanted), (path, value_at(root, path), wanted)


def conversation(case, side, found, number=0, **fields):
    """A conversation with criterion -> outcome or value."""
    criteria = {name: observed(value, f"{name} of {side} {case}") for name, value in found.items()}
    return ComparedConversation(
        f"{side}-{case}-{number}", side, fields.pop("eval_id", f"e{case}"), criteria=criteria, **fields
    )


def sides(a, b):
    return (
        ComparedSide("v1", "out", columns_of(a), ["run"]),
        ComparedSide("v2", "out", columns_of(b), ["run"]),
    )


def only(found: Comparison):
    (criterion,) = found.criteria
    return criterion


def test_slices_are_pulled_towards_the_whole_by_how_noisy_they_are():
    """By the variance between slices of DerSimonian and Laird 1986, about the difference of the whole."""

    def side(name, by_slice, step):
        values = [by_slice[i % 3] + 0.05 * (i * step % 7) for i in range(45)]
        return [
            conversation(i, name, {"response_match_score": value}, tags=[f"s:{i % 3}"])
            for i, value in enumerate(values)
        ]

    a, b = side("v1", [0.2] * 3, 2), side("v2", [0.2, 0.3, 0.4], 3)
    found = compare(*sides(a, b), CompareOptions(slices=("s",)))
    whole, slices = only(found).overall.difference, found.slices
    widths = [one.difference.interval.high - one.difference.interval.low for one in slices]
    weights = [(2 * 1.959964 / width) ** 2 for width in widths]
    gaps = [one.difference.difference - whole for one in slices]
    excess = sum(w * gap**2 for w, gap in zip(weights, gaps, strict=True)) - 2
    between = excess / (sum(weights) - sum(w**2 for w in weights) / sum(weights))
    assert len(slices) == 3 and between > 0
    for one, gap, weight in zip(slices, gaps, weights, strict=True):
        kept = between / (between + 1 / weight)
        assert 0.05 < kept < 0.95 and one.shrunk == pytest.approx(whole + gap * kept, abs=1e-6)


def test_turn_indices_are_compared():
    def side(name, late):
        made = [conversation(i, name, {"response_match_score": 0.5}) for i in range(30)]
        for i, own in enumerate(made):
            noise = 0.001 * (i % 7)
            own.criteria["response_match_score"].turns = [
                TurnScore(0, 0.5 + noise, None),
                TurnScore(1, late + (noise if name == "v1" else 0), None),
            ]
        return made

    found = only(compare(*sides(side("v1", 0.8), side("v2", 0.4)), CompareOptions()))
    assert [(turn.turn_index, turn.stands_out) for turn in found.turns] == [(0, False), (1, True)]
    assert found.turns[1].difference.difference == pytest.approx(-0.4, abs=0.01)


def test_the_same_conversations_give_the_same_figures_in_any_order_and_any_run():
    runs = [(i, n) for i in range(30) for n in range(2)]
    a = [conversation(i, "v1", {STATUS: P if (i * 7 + n) % 3 else F}, n) for i, n in runs]
    b = [conversation(i, "v2", {STATUS: P if (i * 5 + n) % 4 else F}, n) for i, n in runs]
    found = compare(*sides(a, b), CompareOptions())
    turned = compare(*sides(a[::-1], b[::-1]), CompareOptions())
    assert found.criteria[0].overall == turned.criteria[0].overall
    other = ComparedSide("v1", "out", columns_of(a), ["another run"]), sides(a, b)[1]
    assert compare(*other, CompareOptions()).criteria[0].overall == found.criteria[0].overall


def test_the_same_recordings_are_named():
    for run, text in ((0, "the same recordings"), (1, "the same app version")):
        a, b = ([conversation(i, "v1", {STATUS: P}, number) for i in range(3)] for number in (0, run))
        two = (ComparedSide(name, name, columns_of(own), [name]) for name, own in (("x", a), ("y", b)))
        assert any(text in note for note in compare(*two, CompareOptions()).notes)


def test_notes_and_gates_name_what_each_version_of_a_run_lost():
    a, b = sides(*([conversation(i, name, {STATUS: P}) for i in range(3)] for name in ("v1", "v2")))
    b.rejected, b.problems, b.errors = 1, ["run r3 broke off"], {"safety_v1": 1}
    found = compare(a, b, CompareOptions())
    rejected = [
        "v2: records or conversations that were rejected, not in the figures: 1",
        "v2: run r3 broke off",
    ]
    assert found.notes[:3] == [*rejected, "v2: 1 error of safety_v1"]
    failing = fail_on_problems(found, "worse")
    assert failing == ["v2: rejected 1 record or conversation", "v2: run r3 broke off"]
    a.rejected, a.problems = b.rejected, b.problems
    assert [note.partition(":")[0] for note in compare(a, b, CompareOptions()).notes[:2]] == ["out", "out"]


@pytest.mark.parametrize(
    ("values", "measure", "mean"), [((0.0, 1.0), "pass_rate", 0.5), ((0.5, 1.0), "mean", 0.75)]
)
def test_turns_without_a_claim_are_left_out(values, measure, mean):
    def side(version):
        for number in range(20):
            value = values[number % 2]
            claims = [TurnScore(0, value, None), TurnScore(1, value if number < 12 else -1.0, None)]
            criteria = {"hallucination": Observed(value, turns=claims)}
            yield ComparedConversation(f"{version}{number}", version, f"e{number}", criteria=criteria)

    found = only(compare(*sides(side("v1"), side("v2")), CompareOptions()))
    assert found.measure == measure
    turns = [(turn.difference.pairs, turn.difference.baseline_value) for turn in found.turns]
    assert turns == [(20, mean), (12, mean)]


def ended(eval_id, verdict):
    return Summary("c", "v", eval_id, verdict=verdict)


@stated("joined", "scores, verdicts, expected")
def test_scores_are_joined_to_the_verdict_of_their_case(scores, verdicts, expected):
    found = collect([score_row(*one) for one in scores], [ended(*one) for one in verdicts])
    values = [[own.criteria.get(name) for name in ("match", STATUS)] for own in found]
    told = [[None if value is None else value.value for value in both] for both in values]
    assert [[own.eval_id, *both] for own, both in zip(found, told, strict=True)] == expected


PART = "1 of 2 turns without a score: not in the log"


@pytest.mark.parametrize(
    ("whole", "turns", "value"),
    [
        ({"value": 1.0, "reason": PART}, [1.0, None], None),
        ({"value": 0.0, "reason": PART, "outcome": "FAIL"}, [0.0, None], 0.0),
        ({"value": 1.0, "reason": "1 turns could not be scored", "threshold": 0.8}, [1.0], None),
        ({"value": 1.0, "reason": "two of two sources were read"}, [1.0, 1.0], 1.0),
        ({"value": 0.7, "reason": "as the plugin says"}, [], 0.7),
        ({"value": 0.7}, [0.5, None], 0.7),
        (None, [1.0, None], None),
        (None, [1.0, 0.5], 0.75),
    ],
)
def test_the_mean_of_a_part_of_the_turns_is_no_score(whole, turns, value):
    rows = [score_row("e", of_turn, turn_index=index) for index, of_turn in enumerate(turns)]
    rows += [] if whole is None else [score_row("e", None) | whole]
    [found] = collect(rows, [])
    assert found.criteria["match"].value == value
