import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolResponse
from turnwise.transforms.effects.failures import admits_failure, changed_nothing, has_failed, reports_failure

# fmt: off
FAILED = [
    {"error": "x"}, {"error": {"code": 4}}, {"Error_Message": "x"}, {"errors": ["a"]},
    {"isError": True, "content": []}, {"content": [{"type": "text", "text": "Error: x"}]},
    {"status": "error", "message": "m"}, {"status": "404 Not Found"}, {"success": False},
    {"ok": "false"}, {"result": "Error: nope"}, {"result": {"error": "x"}},
    {"response": {"status": "failed"}}, ["Error: a"], {"state": "failed"}, {"outcome": "failure"},
    {"result": {"state": "failed"}}, {"resultCode": "ERROR"}, {"code": "NOT_FOUND", "message": "x"},
    {"type": "error", "text": "x"}, {"success": "failed"}, {"status": "declined"},
    {"code": 400, "message": "x"}, {"code": 599, "detail": "x"},
    {"status": "payment_failed"}, {"status": "not ok"}, {"status": "KO"}, {"state": "échec"},
    {"status": "fallido"}, {"status": "処理に失敗しました"}, {"status": "실패"}, {"state": "失败"},
    {"exit_code": 1}, {"exitCode": 127, "output": "x"}, {"returncode": "2"}, {"metadata": {"exit_code": 1}},
    {"status": {"state": "error"}}, {"status": {"code": 7, "message": "no"}}, {"grpc_status": 14},
    {"__type": "ValidationException", "message": "x"}, {"errcode": 40013, "errmsg": "bad id"},
    {"type": "com.example.NotFoundError", "message": "x"}, {"failed": True}, {"exito": False},
    {"éxito": "false"}, {"成功": False}, {"erfolg": False}, {"succès": False}, {"성공": False},
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
    Error: no | Errors: no seats | exit code 1 | Process exited with code 127
    Command failed with exit status 2
    Status: 503 | Payment declined | Rate limit exceeded, try again later | Too many requests
    The operation was not successful | The booking could not be completed | Die Buchung war nicht erfolgreich
    The payment wasn't successful | Monthly quota reached | Please try again later | The card was declined
"""


# fmt: off
SUCCEEDED = [
    [{"error": "x"}, {"ok": True}], ["Error: a", "ok"], None, 5, {}, [], {"error": None}, {"error": ""},
    {"error": "none"}, {"errors": []}, {"error_code": 0}, {"status": "cancelled"}, {"status": 200},
    {"status": "success", "message": "not found duplicates"},
    {"success": True, "result": "Error in the name of a book"}, {"order": {"status": "failed"}},
    {"id": "404"}, ["a", "Error: b"], {"state": "CA"}, {"outcome": "APPROVED"}, {"error": "no errors"},
    {"status": "error-free"}, {"code": "OK"}, {"type": "refund"}, {"result": False}, "", False,
    {"exit_code": 0, "stderr": "warning: x"}, {"returncode": 0}, {"metadata": {"exit_code": 0}},
    {"errcode": 0, "errmsg": "ok"}, {"status": {"code": 0, "message": ""}}, {"failed_count": 0},
    {"grpc_status": 0}, {"failed": []}, {"code": 399, "message": "x"}, {"code": 600, "message": "x"},
    {"type": "user", "name": "Error"}, {"results": [], "count": 0}, {"cancelled": False},
]
# fmt: on


SUCCEEDED_TEXTS = """
    Transfer successful | Reservation cancelled; refund not allowed | Done. It cannot be undone.
    No errors found | Error-free run | Completed with 0 failed | 404 | {not json
    your request cannot be cancelled later | Die Stornierung ist später nicht möglich
    後でキャンセルできません | 나중에 취소할 수 없습니다 | This action cannot be undone
    No validation errors | Nothing failed | It did not fail | aucune erreur trouvée | エラーはありません
    오류가 없습니다 | Error report created | Timeout set to 30 seconds | Fehler behoben
    Unauthorized access blocked | Your failed payment was removed and order 7 cancelled
    The order was not found to be shipped and has been cancelled. | exited with code 0
    The refused delivery is on its way back | No longer reserved
"""


def texts(table):
    return [text.strip() for line in table.strip().splitlines() for text in line.split(" | ")]


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


FAILED_WRITES = """
    Something went wrong | An unexpected error occurred | Service temporarily unavailable | Gateway Timeout
    Server responded with status 500 | <html><head><title>502 Bad Gateway</title></head></html>
    socket hang up | ECONNREFUSED | getaddrinfo ENOTFOUND api | Unknown tool book_flight
    No tool named book_flight | book_flight is not a valid tool, try one of [search].
    book_flight() got an unexpected keyword argument 'id' | Missing required parameter: date
    'id' is a required property | 1 validation error | Tool call cancelled by user
    [Request interrupted by user for tool use] | The user doesn't want to proceed with this tool use.
    Flight HAT1 not available | No reservation found | There is no flight HAT1 | Booking not possible
    Login required | Unfortunately, the booking did not go through | nothing was booked | Not enough seats
    Interner Serverfehler | Es ist ein Fehler aufgetreten | Der Flug ist ausgebucht | Nicht gefunden
    Une erreur est survenue | Accès refusé | Introuvable | Ha ocurrido un error | Acceso denegado
    Ocorreu um erro | Non è stato possibile prenotare | Boeking niet gelukt | Er is een fout opgetreden
    満席です | 見つかりません | 未找到 | 余票不足 | 찾을 수 없습니다 | 매진되었습니다
    Ошибка: мест нет | Nie udało się zarezerwować | Rezervasyon başarısız
    {"status": "not_booked"} | {"status": "needs_approval"} | {"status": "incomplete"} | {"estado": "error"}
    {"detail": [{"loc": ["id"], "msg": "field required"}]} | {"fault": "x"} | {"failure_reason": "sold out"}
    {"failed_items": ["HAT1"]} | {"err": "sold out"} | {"confirmed": false} | {"warning": "not booked"}
    {"statusCode": 200, "body": {"success": false}} | {"results": [{"status": "error"}]}
    {"statusCode": 200, "body": "{\\"error\\": \\"x\\"}"} | {"code": 5, "message": "NOT_FOUND: flight"}
    {"bookings": [{"id": "HAT1", "error": "x"}]}
    {"data": {"bookFlight": {"userErrors": [{"message": "x"}]}}}
    429 Too Many Requests | <html><h1>502 Bad Gateway</h1></html> | {"detail": "Not authenticated"}
    {"code": 1, "msg": "no permission"} | {"code": "RATE_LIMITED", "retry_after": 30}
    {"mensaje": "No se pudo completar la reserva"} | {"nachricht": "Fehler: Konto gesperrt"}
"""
DONE_WRITES = """
    Flight HAT1 booked | Booked! | OK | Buchung HAT1 bestätigt | 予約が完了しました | HAT1
    Your booking reference is QX7. Seats not available in row 1. | {"id": "HAT1", "status": "confirmed"}
    {"status": "booked", "warnings": []} | {"errors": [], "id": 1} | Booking created, no payment required
    {"id": 7, "note": "Window seat not available, aisle given"} | {"status": "not_required", "id": 1}
    {"ok": true, "message": "Payment required at desk"} | {"booked": true, "refundable": false}
    {"refundable": false, "id": 5} | Booked, 3 seats left
    {"message": "no errors found"} | No scheduling conflicts found | {"nachricht": "Buchung bestätigt"}
"""


ANSWERS = [
    *((answer, (), True) for answer in FAILED + texts(FAILED_TEXTS)),
    *((answer, (), False) for answer in SUCCEEDED + texts(SUCCEEDED_TEXTS)),
    *((answer, ("book_flight", {"id": "HAT1"}), True) for answer in texts(FAILED_WRITES)),
    *((answer, ("book_flight", {"id": "HAT1"}), False) for answer in texts(DONE_WRITES)),
]


@pytest.mark.parametrize(("answer", "write", "wanted"), ANSWERS)
def test_answers_of_any_call_and_of_a_write(answer, write, wanted):
    assert has_failed(ToolResponse(response=answer), *write) is wanted


@pytest.mark.parametrize(
    ("tool", "args", "answer", "wanted"),
    [
        ("book_flight", {}, "This ticket cannot be refunded", False),
        ("buy_ticket", {}, {"id": 1, "status": "confirmed", "message": "It cannot be changed"}, False),
        ("refund_ticket", {}, "This ticket cannot be refunded", True),
        ("set_state", {"id": 1, "state": "failed"}, {"id": 1, "state": "failed"}, False),
        ("pay_claim", {}, {"status": "rejected"}, True),
        ("cancel_order", {}, {"id": 7, "cancelled": False}, True),
        ("cancelOrder", {}, {"canceled": False}, True),
        ("get_order", {}, {"id": 7, "cancelled": False}, False),
        ("update_order", {"cancelled": False}, {"id": 7, "cancelled": False}, False),
        ("create_task", {}, {"id": 7, "done": False, "completed": False}, False),
        ("delete_user", {}, {"isDeleted": False}, True),
        ("book_table", {}, {"booked": False, "reason": "full"}, True),
        ("send_mail", {}, {"sent": 0}, True),
        ("delete_rows", {}, {"rows_affected": 0}, True),
        ("update_user", {}, {"matchedCount": 1, "modifiedCount": 0}, False),
        ("remove_item", {}, {"deletedCount": 0}, True),
        ("count_rows", {}, {"deletedCount": 0}, False),
        ("update_rows", {}, "No rows updated", True),
        ("update_rows", {}, "UPDATE 0", True),
        ("update_rows", {}, "UPDATE 3", False),
        ("book_flight", {}, {"result": False}, True),
        ("book_flight", {}, False, True),
        ("is_booked", {}, False, False),
        ("set_alarm", {"on": False}, {"result": False}, False),
        ("create_order", {}, "503", True),
        ("create_order", {}, {"order": 503}, False),
        ("calculate_sum", {}, "503", False),
        ("charge_card", {}, {"payment_status": "declined"}, True),
        ("charge_card", {}, {"previous_status": "declined", "status": "ok"}, False),
        ("get_payment", {}, {"payment_id": 7, "status": "declined"}, False),
        ("get_payment", {}, {"payment_id": 7, "payment_status": "declined"}, False),
        ("get_payment", {}, {"status": "failed", "message": "no connection"}, True),
        ("get_payment", {}, {"payment_id": 7, "status": "error"}, True),
        ("get_payment_status", {}, "declined", False),
        ("get_payment", {}, "The payment of the order was declined by the bank", False),
        ("get_payment", {}, "Request denied", True),
        ("check_product", {}, {"product": "a", "status": "out_of_stock"}, False),
        ("check_availability", {}, "unavailable", False),
        ("transfer_money", {}, {"code": "INSUFFICIENT_FUNDS", "message": "x"}, True),
        ("book_hotel", {}, "Sorry, the hotel is fully booked", True),
        ("book_hotel", {}, "Sorry for the wait, your room is booked", False),
        ("book_hotel", {}, "No rooms available", True),
        ("reservar_mesa", {}, {"reservado": False}, True),
        ("create_user", {}, "User already exists", True),
        ("update_address", {}, {"message": "Address not updated"}, True),
        ("update_address", {}, "The address was not shared and has been updated", False),
        ("submit_form", {}, {"validationErrors": ["a"]}, True),
        ("submit_form", {}, {"validationErrors": []}, False),
        ("add_note", {"text": "customer not found at home"}, "Added: 'customer not found at home'", False),
        ("create_ticket", {"title": "Payment failed twice"}, "Ticket 12: Payment failed twice", False),
        ("create_ticket", {"title": "Cannot log in"}, {"id": 5, "message": "Cannot log in"}, False),
        ("save_note", {}, "Note saved: caller could not log in", False),
        ("delete_jobs", {}, "Deleted 3 failed jobs", False),
        ("enable_error_handling", {}, "Error handling enabled", False),
        ("send_report", {}, "エラー報告を送信しました", False),
        ("cancel_request", {}, "Request cancelled", False),
        ("book_flight", {}, "Cancelled: payment failed", True),
        ("close_ticket", {}, "Closed: customer refused", False),
        ("block_card", {}, {"status": "blocked"}, False),
        ("hold_seat", {}, {"status": "on_hold"}, False),
        ("予約する", {}, "予約が完了しました。キャンセルはできません。", False),
        ("予約する", {}, "予約に失敗しました。", True),
        ("创建订单", {}, "订单已创建，无法退款。", False),
        ("创建订单", {}, "订单无法创建", True),
        ("run_tests", {}, "2 failed, 10 passed in 0.3s", False),
        ("get_logs", {}, "ERROR 500 at 10:00\nERROR timeout", False),
        ("get_logs", {}, "Error: no such service", True),
        ("read_file", {}, "Error: file not found\nTry list_files", True),
        ("read_file", {}, "import re\nraise ValueError('not found')", False),
        ("fix_error", {}, "Fixed error E12", False),
        ("set_temperature", {}, "Set temperature failed", True),
        ("set_temperature", {}, "Set temperature failed: no connection", True),
        ("reset_router", {}, "Reset failed", True),
        ("submit_order", {}, "Submitted but failed to send", True),
        ("pay_bill", {}, "Payment processed: declined", True),
        ("report_bug", {"type": "error"}, "Error: no connection", True),
        ("order_pizza", {}, "Order placed, extra cheese not available", False),
        ("check_line", {}, "The test of this line failed: no connection", True),
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
        ("Order 7 already cancelled.", True),
        ({"status": "already_cancelled", "id": 7}, True),
        ({"result": '{"message": "It has already been cancelled"}'}, True),
        ({"message": "x"}, False),
        (None, False),
    ],
)
def test_answers_that_say_that_nothing_changed(answer, wanted):
    assert changed_nothing(ToolResponse(response=answer)) is wanted
    assert not changed_nothing(None)


ADMITTING = """
    I'm sorry, I couldn't find an order with that number. | I can't seem to locate your booking.
    I was unable to retrieve it. | There's no account associated with that email. | No flights found.
    The system is temporarily down. | Our booking system isn't responding. | Something went wrong.
    I'm having trouble accessing your account. | An error occurred. | That number appears to be invalid.
    Leider kann ich nicht auf Ihr Konto zugreifen. | Es gibt keine Bestellung mit dieser Nummer.
    Je n'ai trouvé aucune réservation. | Désolé, une erreur est survenue. | No encuentro su reserva.
    Não encontrei o pedido. | Non ho trovato nessun ordine. | Ik kan uw bestelling niet vinden.
    Could you check the number?
    該当する予約はございません。 | 주문을 찾을 수 없습니다. | 系统出现故障，请稍后再试。
"""
TELLING = """
    It ships on Monday. Anything else?
    There is no delay for order 7. | I can't see any problem; it ships Monday. | You have no open orders.
    It cannot be changed any more. | The seat 14C is not available. | The error report 12 is open.
    Sie kann nicht mehr geändert werden. | Elle ne peut pas être modifiée. | No se puede modificar.
    No se preocupe, he verificado su pedido: llega el lunes. | Non posso modificarlo. | 変更できません。
    변경할 수 없습니다. | 您的订单周一到达，无法更改。
"""


@pytest.mark.parametrize(
    ("said", "wanted"), [*((t, True) for t in texts(ADMITTING)), *((t, False) for t in texts(TELLING))]
)
def test_agents_that_say_that_a_look_up_failed(said, wanted):
    assert admits_failure(said) is wanted


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_every_answer_can_be_read(answer):
    assert has_failed(ToolResponse(response=answer)) in (True, False)


REPORTING = """
    I could not cancel it. | There was a problem cancelling order 7. | Hmm, that did not work.
    Leider konnte ich die Bestellung nicht stornieren. | Je n'ai pas pu annuler la commande.
    No pude cancelar el pedido. | Não consegui cancelar. | Non sono riuscito ad annullare l'ordine.
    Ik kon de bestelling niet annuleren. | 주문을 취소하지 못했습니다.
    申し訳ありません、キャンセルできませんでした。
"""
NOT_REPORTING = """
    Anything else? | Can you give me your order number? | Would you like me to try again? | All set!
    Your order is cancelled. | Done. | Die Bestellung ist storniert. | 您的订单已取消。
"""


@pytest.mark.parametrize("text", texts(REPORTING))
def test_an_agent_says_that_a_call_failed(text):
    assert reports_failure(text, "cancel_order")


@pytest.mark.parametrize("text", texts(NOT_REPORTING))
def test_a_question_or_a_claim_reports_no_failure(text):
    assert not reports_failure(text, "cancel_order")
