import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.effects import verbs
from turnwise.transforms.effects.inferred import infer_effect, words_of

READ = """
    litre_to_gallon timestampToDate sentiment_analysis identity_verification wikipedia
    trading_get_login_status
    get_parcel_details getCurrentTime ListInvoices FAQ_search customer_lookup order_status orderStatus
    exchange_rate find-shop-id search.web mcp__shop__list_items shop.get_price
    default_api:get_weather check_stock calculateBMI think weather website_datastore price_list
    run_query run_blood_test perform_search helm_list_releases retrieve_intent_matches
    compare_prices getweather is_available hasAccess can_send_fax order_search view_cart
    get_return_policy get_escalation_policy return_policy track_package verify_identity
    estimate_cost get_order_v2 order_get_details message_list_unread claim_status describe_table
    count_words translate_text load_tools unlock_hidden_tool select_toolset
"""
WRITE = """
    cancel_order CancelOrder cancel-order deletePost update_status status_update create_list
    add_to_list send_email book_flight book_test_drive schedule_test_drive return_shoes
    exchange_shoes modify_menu toggle_light enable_alarm suspend_post resume_post refuel_car
    reboot_server grant_access make_offer pay_bill userLogin set_room_info find_and_replace
    search_and_book get_or_create_user check_out checkIn sign_up transfer_money transfer_to_account
    transfer_funds_to_savings transfer ordersDelete message_delete process_refund execute_trade
    frobnicate mcp__shop__buy shareDocument call_customer forward_email move_file initiate_return
    환불하기 X connect_wifi open_ticket close_window buy_tool
    unlock_door unlock_tool_shed
"""
HANDOFF = """
    transfer_to_human_operator transferToAgent transfer_to_billing transfer_call escalate
    escalate_ticket handoff hand_off_to_human handover_to_operator connect_to_representative
    speak_to_human contact_support call_human request_human_expert_transfer live_agent_transfer
    end_session hang_up route_to_agent get_human_help delegate_to_research_agent
    transfer_to_bank_representative forward_to_supervisor
"""


@pytest.mark.parametrize("name", READ.split())
def test_tools_that_read(name):
    assert infer_effect(name) == ("read", True, False, "guess")


@pytest.mark.parametrize("name", WRITE.split())
def test_tools_that_write(name):
    assert infer_effect(name).effect == "write"


@pytest.mark.parametrize("name", HANDOFF.split())
def test_tools_that_hand_over(name):
    assert infer_effect(name) == ("handoff", True, False, "guess")


@pytest.mark.parametrize(
    ("name", "idempotent", "destructive"),
    [
        ("cancel_order", True, True),
        ("removeItem", True, True),
        ("update_profile", True, False),
        ("enable_feature", True, False),
        ("create_order", False, False),
        ("toggle_light", False, False),
        ("send_email", False, False),
        ("search_and_delete", True, True),
        ("frobnicate", False, False),
    ],
)
def test_how_they_write(name, idempotent, destructive):
    assert infer_effect(name)[1:3] == (idempotent, destructive)


@pytest.mark.parametrize(
    ("description", "wanted"),
    [
        ("Returns the weather.", "read"),
        ("Fetches all rows", "read"),
        ("Get a thing", "read"),
        ("Sends it.", "write"),
        ("Deletes it.", "write"),
        ("Blah blah", "write"),
        ("", "write"),
        (None, "write"),
    ],
)
def test_a_description_decides_where_the_name_says_nothing(description, wanted):
    assert infer_effect("frobnicate", description).effect == wanted
    assert infer_effect("cancel_order", description).effect == "write"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("get_HTTP_status", ["get", "http", "status"]),
        ("HTTPGet", ["http", "get"]),
        ("logIn", ["login"]),
        ("create-order_v2", ["create", "order"]),
        ("look_up_5_things", ["lookup", "things"]),
        ("환불_조회", ["환불", "조회"]),
        ("", []),
        ("__", []),
        ("123", []),
    ],
)
def test_words_of_names(name, wanted):
    assert words_of(name) == wanted


def test_no_verb_both_reads_and_writes():
    assert verbs.READING.isdisjoint(verbs.IDEMPOTENT | verbs.REPEATABLE)
    assert verbs.IDEMPOTENT.isdisjoint(verbs.REPEATABLE)
    assert verbs.DESTRUCTIVE <= verbs.IDEMPOTENT
    assert verbs.NOUNS_TOO <= verbs.READING | verbs.IDEMPOTENT | verbs.REPEATABLE


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


SPELLINGS = [camel, lambda n: camel(n)[:1].upper() + camel(n)[1:], lambda n: n.replace("_", "-"), str.upper]
SPELLINGS += [lambda n: f"mcp__any_server__{n}", lambda n: f"default_api.{n}", lambda n: f"{n}_v2"]
SNAKES = [n for n in (READ + WRITE + HANDOFF).split() if re.fullmatch("[a-z]+(_[a-z]+)+", n)]


@pytest.mark.parametrize("spell", SPELLINGS)
def test_the_spelling_does_not_matter(spell):
    differing = [n for n in SNAKES if infer_effect(spell(n)) != infer_effect(n)]
    assert differing == []


@given(st.text(max_size=40), st.none() | st.text(max_size=40))
def test_any_text_is_a_name(name, description):
    assert infer_effect(name, description).effect in ("read", "write", "handoff")
