"""What the local judge says of sentences, records and answers: rows that a person labelled."""

import pytest

import turnwise
from tests.tables import rows_test
from tests.transforms.local_judge.test_coverage import covered
from tests.transforms.local_judge.test_grounding import EVIDENCE, verdict
from turnwise.transforms.local_judge import claims
from turnwise.transforms.local_judge.grounding import (
    FOLLOWING,
    NO_MEASURE,
    GroundingVerdict,
    compare_answers,
    ground,
)

ACCOUNT = """
    {"card": "4000123412344242", "old_card": "4000 1234 5678 9010", "gift": "gift_card_6276644",
     "iban": "AT61 1904 3002 3457 3201", "phone": "5551234567", "mobile": "01012345679",
     "hotline": "0800 123456", "booked": "20260314", "flight": "LH 452", "serial": "SN-8842-AB",
     "email": "anna@shop.de", "room": "12a", "days": 1500}
"""
HOTEL = ["The hotel does not allow pets. The pool is open 5 days a week.", "Das Zimmer hat einen Balkon."]
PRICES = '{"outbound": {"flight": "HAT069", "price": 105}, "return": {"flight": "HAT258", "price": 102}}'


test_rows = rows_test(globals())


def claims_nothing(sentence, reason):
    found = verdict(sentence, HOTEL)
    assert found == GroundingVerdict("not_applicable", found.quote, getattr(claims, reason))


def labelled(sentence, evidence, *labels):
    assert verdict(sentence, evidence).label in labels


def not_labelled(sentence, evidence, label):
    assert verdict(sentence, evidence).label != label


def surroundings(evidence):
    return evidence, f"Ada Vale wrote this guide. {evidence} Zoe Quill drew the maps."


def refuted(evidence, sentence, reason):
    for text in surroundings(evidence):
        found = verdict(sentence, [text])
        assert (found.label, found.coverage) == ("contradictory", 0.0) and reason in found.reason
        assert verdict(evidence, [text]).label == "supported"


def not_refuted(evidence, sentence):
    """The same in other words."""
    for text in surroundings(evidence):
        found = verdict(sentence, [text])
        assert found.label != "contradictory" and "No evidence holds" not in found.reason


def covers(sentence, evidence, wanted):
    assert covered(sentence, evidence) == pytest.approx(wanted, abs=0.001)


def replaces_a_number(sentence, evidence, reason):
    found = verdict(sentence, [evidence])
    assert (found.label == "contradictory") == (reason is not None)
    assert reason is None or (reason in found.reason and found.coverage == 0.0 and found.is_certain)


def known_and_why(sentence, label, reason):
    said_and_why(sentence, EVIDENCE, label, reason)


def said_and_why(sentence, evidence, label, reason):
    found = verdict(sentence, evidence)
    assert found.label == label and reason in found.reason
    assert any(found.quote in piece for piece in evidence) and (found.quote or label != "supported")
    assert found.coverage == 0.0 or label != "contradictory"
    if len(evidence) == 1:
        assert verdict(evidence[0], evidence).label == "supported"


def may_follow(sentence, evidence, is_open, earlier=()):
    """A number that may follow from the evidence refutes nothing, and nothing supports it."""
    sentences, pieces = ([item] if isinstance(item, str) else item for item in (sentence, evidence))
    *_, found = ground(sentences, pieces, earlier=earlier)
    assert found.label != "supported" and (found.unsure == FOLLOWING) == (not found.is_certain) == is_open


def cannot_tell(sentence, evidence):
    found = verdict(sentence, evidence)
    assert found.label == "unsupported" and found.unsure and not found.is_certain


def may_be_of_a_policy(sentence, evidence, is_open):
    found = verdict(sentence, [evidence])
    assert found.label == "unsupported" and (found.unsure == NO_MEASURE) == (not found.is_certain) == is_open


def invented_numbers(sentences, wanted):
    """Numbers that follow from others of the answer are not invented."""
    verdicts = ground(sentences, [PRICES], ["Two tickets, we are 2."])
    assert [i for i, found in enumerate(verdicts) if found.is_certain] == wanted


def compared_answer(expected, actual, scores, reason):
    found = compare_answers(expected, actual)
    assert found.score in scores and reason in found.reason


def only_looks_known(sentence, evidence, reason):
    found = verdict(sentence, [ACCOUNT if evidence == "ACCOUNT" else evidence])
    assert found.coverage == 0.0 and reason in found.reason


def known(sentence, evidence):
    assert verdict(sentence, [ACCOUNT if evidence == "ACCOUNT" else evidence]).coverage > 0.0


def code(code, other):
    """What the user said is not invented; it supports nothing either: the tool alone says what is blocked."""
    call = {"tool_calls": [{"name": "get_card"}], "tool_responses": [{"response": "The card is blocked."}]}
    for criterion in ("hallucination", "hallucinations_v1"):
        for user, is_invented in ((code, 0), (code.replace("-", ""), 0), (other, 1), ("my card", 1)):
            turn = {"user": f"Please block {user} now.", "agent": f"The card {code} is blocked.", **call}
            log = {"conversation_id": "c", "turns": [turn]}
            (row, _) = turnwise.evaluate(log, criteria={criterion: 0.5}, judge="local").scores
            assert row["outcome"] == "FAIL"
            assert row["explanation"].startswith("No evidence holds") == is_invented, user


def refuted_by_record(sentence, evidence, reason):
    found = verdict(sentence, [evidence])
    assert (found.label, found.coverage) == ("contradictory", 0.0) and reason in found.reason
