import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.effects.catalog import infer_effect, words_of

READ = """
    truncate_text litre_to_gallon identity_verification trading_get_login_status get_parcel_details
    ListInvoices FAQ_search order_status find-shop-id mcp__shop__list_items shop.get_price check_stock
    calculateBMI weather run_query perform_search helm_list_releases compare_prices getweather hasAccess
    view_cart get_escalation_policy return_policy verify_identity estimate_cost order_get_details
    describe_table translate_text load_tools select_toolset mean multiply median add_numbers square_root
    cd convert_currency text_to_speech k8s_check_pods settings address booking_details is_open lookup
    how_to_delete get_cancelled_orders tip_calculator pick_up_locations booking_search order_eta
    frais_annulation 解約手数料 buscarVuelo BUSCAR_VUELO obtener_pedido estado_pedido realizar_busqueda
    obter_saldo situacao_pedido obtenir_commande vérifierSolde cerca_volo ottieni_preventivo stato_ordine
    hole_bestellung prüfe_verfügbarkeit kundensuche zeige_termine_an rufe_konto_ab zoek_klant bekijk_saldo
    予約を検索する 注文履歴取得 キャンセル料確認 조회_주문 취소내역조회 订单查询 获取订单状态 取消政策
    szukaj_lotu cari_penerbangan siparis_sorgula dry_run_delete deleteDryRun list_homes_for_sale plan_trip
    set_model_response TodoWrite write_todos adk_request_confirmation request_confirmation set_union order_by
    resolve_address exit_plan_mode record_thought start_thinking
"""
WRITE = """
    cancel_order cancel-order status_update add_to_list send_email book_test_drive schedule_test_drive
    exchange_shoes enable_alarm resume_post refuel_car grant_access make_offer resolve_ticket search_and_book
    check_out checkIn transfer_money transfer_to_account transfer process_refund mcp__shop__buy
    shareDocument forward_email move_file process_refund order_groceries post_comments open_account
    reset_password reset_filter restablecer_contraseña 환불하기 open_ticket close_window unlock_door
    unlock_tool_shed send_certificate deleteaccount order_pizza email_receipt dispute_charge
    cancelar_reserva crear_cita excluir_conta annuler_commande modifie_statut payer_facture
    aggiorna_profilo ändere_preis flug_buchen füge_artikel_hinzu lege_kunde_an boek_vlucht 予約を取り消す
    予約する 検索履歴削除 주문취소하기 항공권예매 取消订单 修改地址 删除搜索记录 退款 boka_flyg
    отменитьЗаказ switch_plan choose_a_plan_and_buy suspend_user unsubscribe_all définit_seuil prévenez_client
"""
DESTRUCTIVE = """
    delete_account account_deletion eliminarcliente database_reset reset_user_db flush_db uninstall_app
    app_uninstall truncate_table terminate_instance setze_datenbank_zurück deinstalliere_app
    widerrufe_zugriff desinstalar_app rescindir_contrato désinstaller_application désinstaller_app
    reimposta_database disinstalla_app desinstalar_aplicativo deinstalleer_app アプリをアンインストール
    権限剥奪 데이터베이스리셋 파기 重置数据库 elimina_cliente supprimer_compte loeschen_konto
    loschen_konto kontoLöschen excluir_conta rimuovi_prodotto 削除 顧客削除 アカウントを削除する 회원탈퇴
    刪除帳戶 radera_kund hapus_akun sil_kayit close_account deactivateAccount konto_schliessen cerrar_cuenta
"""
UNKNOWN = """
    frobnicate zorp 고객 customer frobnicate_status sync_calendar refresh_data export_list deleted_items
    caricare_documento process_data zorpear_estado blub_kunde open_orders open_file process_claim
    handle_request run_order order_items claim_type list_car_for_sale userLogin draft_email update_plan
    respond finish save_memory create_plan replace_text complete_task
"""
HANDOFF = """
    transfer_to_human_operator transfer_to_billing escalate_ticket hand_off_to_human handover_to_operator
    speak_to_human contact_support request_human_expert_transfer hang_up get_human_help
    delegate_to_research_agent forward_to_supervisor transferir_a_agente escalar_ticket hablar_con_humano
    상담원_연결 转人工
"""


EFFECTS = [
    (READ, ("read", True, False, "guess")),
    (WRITE, ("write",)),
    (DESTRUCTIVE, ("write", True, True)),
    (UNKNOWN, ("unknown", False, False, "guess")),
    (HANDOFF, ("handoff", True, False, "guess")),
]


@pytest.mark.parametrize(("name", "wanted"), [(n, wanted) for some, wanted in EFFECTS for n in some.split()])
def test_what_tools_do_by_their_names(name, wanted):
    assert infer_effect(name)[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("name", "idempotent", "destructive"),
    [
        ("cancel_order", True, True),
        ("update_profile", True, False),
        ("toggle_light", False, False),
        ("restore_database", True, False),
        ("重置密码", True, False),
    ],
)
def test_how_they_write(name, idempotent, destructive):
    assert infer_effect(name)[1:3] == (idempotent, destructive)


@pytest.mark.parametrize(
    ("description", "wanted"),
    [
        ("Returns the weather.", "read"),
        ("Fetches all rows", "read"),
        ("Löscht ein Konto.", "write"),
        ("予約を取り消します。", "write"),
        ("Blah blah", "unknown"),
    ],
)
def test_a_description_decides_where_the_name_says_nothing(description, wanted):
    assert infer_effect("frobnicate", description).effect == wanted
    assert infer_effect("cancel_order", description).effect == "write"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("get_HTTP_status", ["get", "http", "status"]),
        ("환불_조회", ["환불", "조회"]),
        ("УдалитьКлиента", ["удалить", "клиента"]),
        ("__", []),
    ],
)
def test_words_of_names(name, wanted):
    assert words_of(name) == wanted


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


SPELLINGS = [camel, lambda n: camel(n)[:1].upper() + camel(n)[1:], lambda n: n.replace("_", "-"), str.upper]


SPELLINGS += [lambda n: f"mcp__any_server__{n}", lambda n: f"default_api.{n}", lambda n: f"{n}_v2"]


SNAKES = [
    n for n in (READ + WRITE + HANDOFF + DESTRUCTIVE + UNKNOWN).split() if re.fullmatch("[a-z]+(_[a-z]+)+", n)
]


@pytest.mark.parametrize("spell", SPELLINGS)
def test_the_spelling_does_not_matter(spell):
    differing = [n for n in SNAKES if infer_effect(spell(n)) != infer_effect(n)]
    assert differing == []


@given(st.text(max_size=40), st.none() | st.text(max_size=40))
def test_any_text_is_a_name(name, description):
    assert infer_effect(name, description).effect in ("read", "write", "handoff", "unknown")
