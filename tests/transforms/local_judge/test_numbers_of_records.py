import pytest

import turnwise
from turnwise.transforms.local_judge.grounding import ground


def verdict(sentence, evidence):
    (found,) = ground([sentence], evidence)
    return found


PRICES = '{"flight":"HAT001","prices":{"basic_economy":80,"economy":109,"business":338}}'
ROOMS = '{"rooms":{"double":149,"family_double":199,"suite":300}}'


@pytest.mark.parametrize(
    ("sentence", "evidence", "label"),
    [
        ("Cabin: Basic Economy ($80), Business ($338)", PRICES, "supported"),
        ("Basic economy 85, business 338", PRICES, "unsupported"),
        ("Double: 149, suite: 300", "Double: 149, family double: 199, suite: 300", "supported"),
        ("Doppel: 149, Suite: 300", '{"Doppel":149,"Familie Doppel":199,"Suite":300}', "supported"),
        (
            "The hotel was opened in 1999 by Maria Huber.",
            '{"text":"The hotel was opened in 1987 by Maria Huber and sold in 1999."}',
            "contradictory",
        ),
    ],
)
def test_a_number_of_a_record_belongs_to_its_key(sentence, evidence, label):
    assert verdict(sentence, [evidence]).label == label


FLIGHT = '{"flight":"HAT1","departs":"14:00","price":140,"currency":"USD","date":"2024-05-24","n":[75,4]}'


@pytest.mark.parametrize(
    ("sentence", "evidence", "reason"),
    [
        ("Flight HAT1 departs at 02:00.", FLIGHT, "“02:00”"),
        ("HAT1の出発は02時です。", FLIGHT, "“02時”"),
        ("The date of HAT1 is 2024-75-24.", FLIGHT, "“2024-75-24”"),
        ("Flight HAT1 departs at 96:00.", '{"flight":"HAT1","departs":"18:00","price":96}', "“96:00”"),
        ("Flight HAT1 departs at 13:60.", FLIGHT, "“13:60”"),
        ("The address is 10.0.0.14.", '{"ip":"10.0.0.12","port":14}', "“10.0.0.14”"),
        ("The card is 4111 1111 1111 1235.", '{"card":"4111 1111 1111 1234","n":1235}', "1235”"),
        ("The phone is 555-124-2002.", '{"phone":"555-123-2002","n":124}', "“555-124-2002”"),
        ("The reservation is 4FBBAH.", '{"reservation":"2FBBAH","bags":4}', "“4FBBAH”"),
        ("Your seat is 12C.", '{"seat":"12A","row":"3C"}', "“12C”"),
        ("The price of HAT1 is 140 euros.", FLIGHT, "“USD”, not “euros”"),
    ],
)
def test_codes_and_currencies_that_only_look_known(sentence, evidence, reason):
    found = verdict(sentence, [evidence])
    assert found.coverage == 0.0 and reason in found.reason


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("Flight HAT1 departs at 2:00 PM.", FLIGHT),
        ("The price of HAT1 is 140 euros.", FLIGHT + " It costs 140 euros."),
        ("The address is 10.0.0.12.", '{"address":"10.0.0.12"}'),
        ("The phone is (555) 123-2002.", '{"phone":"555-123-2002"}'),
        ("The card is 4111-1111-1111-1234.", '{"card":"4111 1111 1111 1234"}'),
        ("HAT1 has 75 and 4 seats.", FLIGHT),
        ("The prices are 109 and 338.", '{"prices":[109,338]}'),
        ("The reservation is 2FBBAH.", '{"reservation":"2fbbah"}'),
        ("The total is 1.234.567 won.", '{"total":1234567}'),
        ("It costs $5K.", "It costs 5000 dollars."),
    ],
)
def test_codes_and_currencies_in_other_forms(sentence, evidence):
    assert verdict(sentence, [evidence]).coverage > 0.0


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("4000-1234-5678-9010", "9010 5678 1234 4000"),
        ("4000 1234 5678 9010", "4000 1234 5678 9011"),
        ("555-124-2002", "555-123-2002, 124"),
        ("12AB3F9Z", "AB3F9Z, 12"),
        ("2024-75-24", "2024, 24, 75"),
        ("10.2.33.4", "10.2.33.5, 4"),
        ("anna.berg@example.org", "anna@example.org, berg"),
    ],
)
@pytest.mark.parametrize("criterion", ["hallucination", "hallucinations_v1"])
def test_a_code_that_the_user_said_is_not_invented(code, other, criterion):
    """It supports nothing either: that a card is blocked stands in the tool's result alone."""
    said = {}
    for user in (code, code.replace("-", ""), other, "my card"):
        call = {
            "tool_calls": [{"name": "get_card"}],
            "tool_responses": [{"response": "The card is blocked."}],
        }
        turn = {"user": f"Please block {user} now.", "agent": f"The card {code} is blocked.", **call}
        log = {"conversation_id": "c", "turns": [turn]}
        (row, _) = turnwise.evaluate(log, criteria={criterion: 0.5}, judge="local").scores
        said[user] = row["explanation"]
        assert row["outcome"] == "FAIL"
    assert not any(said[own].startswith("No evidence holds") for own in (code, code.replace("-", "")))
    assert said[other].startswith("No evidence holds") and said["my card"].startswith("No evidence holds")
