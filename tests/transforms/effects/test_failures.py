import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolResponse
from turnwise.transforms.effects.failures import changed_nothing, has_failed

# fmt: off
FAILED = [
    {"error": "x"}, {"error": {"code": 4}}, {"Error_Message": "x"}, {"errors": ["a"]},
    {"isError": True, "content": []}, {"content": [{"type": "text", "text": "Error: x"}]},
    {"status": "error", "message": "m"}, {"status": "404 Not Found"}, {"success": False},
    {"ok": "false"}, {"result": "Error: nope"}, {"result": {"error": "x"}},
    {"response": {"status": "failed"}}, ["Error: a"], {"state": "failed"}, {"outcome": "failure"},
    {"result": {"state": "failed"}}, {"resultCode": "ERROR"}, {"code": "NOT_FOUND", "message": "x"},
    {"type": "error", "text": "x"}, {"success": "failed"}, {"status": "declined"},
    {"status": "payment_failed"}, {"status": "not ok"}, {"status": "KO"}, {"state": "échec"},
    {"status": "fallido"}, {"status": "処理に失敗しました"}, {"status": "실패"}, {"state": "失败"},
    "Traceback (most recent call last):\n  File", '{"result": "{\\"error\\": \\"x\\"}"}',
]
# fmt: on


FAILED_TEXTS = """
    Error: x | error | ❌ Error: boom | ValueError: bad | requests.exceptions.HTTPError: 404
    Failed to cancel | User not found | HTTP 500 | 500 Internal Server Error | Unable to process
    Permission denied | Request denied: too late | You do not have any points | 오류: 없음 | Fehler: x
    {"error": "x"} | {"state": "failed"} | declined
    Your request cannot be processed right now, please try later
    Order cannot be cancelled later than 24 hours before departure
    Order already shipped and cannot be cancelled
    La cuenta no se puede modificar ahora, intente más tarde
    今は変更できません。後でもう一度お試しください | Error: report created twice
    Failed to send: message created | Connection reset by peer | Your booking cannot be changed
    Error: no | Errors: no seats
"""


# fmt: off
SUCCEEDED = [
    [{"error": "x"}, {"ok": True}], ["Error: a", "ok"], None, 5, {}, [], {"error": None}, {"error": ""},
    {"error": "none"}, {"errors": []}, {"error_code": 0}, {"status": "cancelled"}, {"status": 200},
    {"status": "success", "message": "not found duplicates"},
    {"success": True, "result": "Error in the name of a book"}, {"order": {"status": "failed"}},
    {"id": "404"}, ["a", "Error: b"], {"state": "CA"}, {"outcome": "APPROVED"}, {"error": "no errors"},
    {"status": "error-free"}, {"code": "OK"}, {"type": "refund"}, {"result": False}, "",
]
# fmt: on


SUCCEEDED_TEXTS = """
    Transfer successful | Reservation cancelled; refund not allowed | Done. It cannot be undone.
    No errors found | Error-free run | Completed with 0 failed | 404 | {not json
    your request cannot be cancelled later | Die Stornierung ist später nicht möglich
    後でキャンセルできません | 나중에 취소할 수 없습니다 | This action cannot be undone
    No validation errors | Nothing failed | It did not fail | aucune erreur trouvée | エラーはありません
    오류가 없습니다 | Error report created | Timeout set to 30 seconds | Fehler behoben
    Unauthorized access blocked
"""


def texts(table):
    return [text.strip() for line in table.strip().splitlines() for text in line.split(" | ")]


@pytest.mark.parametrize("answer", FAILED + texts(FAILED_TEXTS))
def test_answers_that_say_the_call_failed(answer):
    assert has_failed(ToolResponse(response=answer))


@pytest.mark.parametrize("answer", SUCCEEDED + texts(SUCCEEDED_TEXTS))
def test_answers_that_do_not(answer):
    assert not has_failed(ToolResponse(response=answer))


@pytest.mark.parametrize(("mark", "wanted"), [(True, True), ("boom", True), (False, False), ("", False)])
def test_the_mark_of_the_log(mark, wanted):
    assert has_failed(ToolResponse(response="fine", error=mark)) is wanted


def test_without_an_answer_a_call_has_succeeded():
    assert not has_failed(None)


@pytest.mark.parametrize("answer", ["Request denied.", {"result": "Request 5 denied"}, ["Both denied"]])
def test_what_a_tool_that_denies_has_denied(answer):
    assert has_failed(ToolResponse(response=answer), "approve_request")
    assert not has_failed(ToolResponse(response=answer), "deny_request")
    assert has_failed(ToolResponse(response="Error: not found"), "deny_request")


@pytest.mark.parametrize(
    ("tool", "args", "answer", "wanted"),
    [
        ("book_flight", {}, "This ticket cannot be refunded", False),
        ("buy_ticket", {}, {"id": 1, "status": "confirmed", "message": "It cannot be changed"}, False),
        ("refund_ticket", {}, "This ticket cannot be refunded", True),
        ("set_state", {"id": 1, "state": "failed"}, {"id": 1, "state": "failed"}, False),
        ("pay_claim", {}, {"status": "rejected"}, True),
    ],
)
def test_what_the_call_was_about(tool, args, answer, wanted):
    assert has_failed(ToolResponse(response=answer), tool, args) is wanted


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("The alarm was already enabled", True),
        ("Both are already up to date. Nothing to do.", True),
        ("The order that was already paid for in May has been sent", False),
        ({"message": "x"}, False),
        (None, False),
    ],
)
def test_answers_that_say_that_nothing_changed(answer, wanted):
    assert changed_nothing(ToolResponse(response=answer)) is wanted
    assert not changed_nothing(None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_every_answer_can_be_read(answer):
    assert has_failed(ToolResponse(response=answer)) in (True, False)
