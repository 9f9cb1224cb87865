import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.effects import catalog as verbs
from turnwise.transforms.effects.catalog import infer_effect, lexicon, words_of

READ = """
    truncate_text return_results
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
    mean divide multiply subtract average median round_number add_numbers square_root standard_deviation
    cd
    convert_currency calculate_total text_to_speech celsius_to_fahrenheit max_value k8s_check_pods
    get_delete_status settings address list_orders booking_details is_open has_stock lookup can_cancel
    cancellation_policy how_to_delete run_analysis get_cancelled_orders tip_calculator store_hours
    pick_up_locations booking_search removal_status order_eta payment_status
    politica_de_cancelacion frais_annulation stornierung_gebuehr 退款政策 解約手数料
    buscar_vuelo buscarVuelo BUSCAR_VUELO consultar_saldo obtener_pedido listar_citas verificar_estado
    estado_pedido saldo_cuenta lista_productos realizar_busqueda procurar_voo obter_saldo
    situacao_pedido rechercher_client obtenir_commande lister_produits verifier_solde vérifierSolde
    prix_vol statut_commande cerca_volo trova_hotel ottieni_preventivo stato_ordine
    suche_kunde hole_bestellung zeige_termine pruefe_verfuegbarkeit prüfe_verfügbarkeit finde_flug
    KundenSuchen kundensuche preis_liste zeige_termine_an rufe_konto_ab stornierung_pruefen
    zoek_klant klantZoeken haal_bestelling_op bekijk_saldo
    検索_予約 予約検索 予約を検索する 在庫確認 注文履歴取得 キャンセル料確認 キャンセル料
    조회_주문 주문조회 예약확인 취소내역조회 취소수수료 查询订单 订单查询 查订单 获取订单状态 取消政策
    搜尋航班
    szukaj_lotu pokaz_rezerwacje sök_flyg cari_penerbangan найти_заказ проверитьСтатус siparis_sorgula
"""
WRITE = """
    cancel_order CancelOrder cancel-order deletePost update_status status_update create_list
    add_to_list send_email book_flight book_test_drive schedule_test_drive return_shoes
    exchange_shoes modify_menu toggle_light enable_alarm suspend_post resume_post refuel_car
    reboot_server grant_access make_offer pay_bill userLogin set_room_info find_and_replace
    search_and_book get_or_create_user check_out checkIn sign_up transfer_money transfer_to_account
    transfer_funds_to_savings transfer ordersDelete message_delete process_refund execute_trade
    mcp__shop__buy shareDocument call_customer forward_email move_file initiate_return
    process_refund handle_return return_items order_groceries book_flights post_comments open_account
    file_claim
    reset_password reset_filter restore_database restablecer_contraseña 重置密码 passwort_zurücksetzen
    환불하기 connect_wifi open_ticket close_window buy_tool
    unlock_door unlock_tool_shed
    update_payment_method send_certificate check_in migrate_database deleteaccount cancelorder
    search_history_delete order_pizza undo_delete email_receipt dispute_charge reserva_cancelacion
    cancelar_reserva actualiza_precio añadir_producto crear_cita reservar_hotel realizar_pago
    excluir_conta
    atualizar_endereco annuler_commande modifie_statut ajouter_article payer_facture cancella_ordine
    prenota_volo aggiorna_profilo stornieren_buchung storniere_buchung ändere_preis buche_flug flug_buchen
    füge_artikel_hinzu sage_termin_ab lege_kunde_an schalte_licht_aus annuleer_bestelling boek_vlucht
    zeg_abonnement_op 予約キャンセル 予約を取り消す 住所変更 予約する 検索履歴削除 예약취소 주문취소하기
    주소변경 항공권예매
    取消订单 取消预订 预订酒店 修改地址 更新状态 删除搜索记录 退款 anuluj_rezerwacje boka_flyg
    buat_pesanan
    создать_заказ отменитьЗаказ rezervasyon_olustur zrusit_objednavku
"""
DESTRUCTIVE = """
    delete_account deleteaccount account_deletion subscription_cancellation eliminar_cliente
    eliminarcliente reset_database database_reset reset_user_db factory_reset flush_db uninstall_app wipe_disk
    app_uninstall
    restore_factory_settings purge_queue truncate_table revoke_access terminate_instance
    setze_datenbank_zurück zurücksetzen_datenbank deinstalliere_app widerrufe_zugriff
    restablecer_base_de_datos desinstalar_app truncar_tabla revocar_acceso rescindir_contrato
    réinitialiser_base désinstaller_application désinstaller_app tronquer_table reimposta_database
    disinstalla_app redefinir_banco_de_dados desinstalar_aplicativo rescindir_contrato purgar_fila
    deinstalleer_app データベースリセット アプリをアンインストール 権限剥奪 ゴミ箱を空にする
    데이터베이스리셋 파기 권한회수 重置数据库 卸载应用 清空表
    elimina_cliente borrar supprimer supprimer_compte löschen_konto loeschen_konto loschen_konto
    KONTO_LÖSCHEN kontoLöschen lösche_konto lo\u0308schen_konto excluir_conta apagar_arquivo
    elimina_utente
    rimuovi_prodotto verwijder_klant 削除 顧客削除 削除_顧客 アカウントを削除する 삭제 고객삭제 회원탈퇴
    删除 删除客户 刪除帳戶
    usun_konto radera_kund hapus_akun удалить_клиента sil_kayit smazat_ucet
"""
UNKNOWN = """
    frobnicate frobnicate_order zorp X 顧客 고객 orders customer frobnicate_status manage_settings
    sync_calendar refresh_data generate_report export_list reindex_database select_options
    deleted_items dar_de_baja_usuario caricare_documento process_data frobnizieren_konto zorpear_estado
    blub_kunde
    open_tickets open_orders open_invoices duplicate_records open_file open_url process_order process_claim
    process_file handle_request run_order execute_order order_items file_path message_thread
    claim_type book_titles
"""
HANDOFF = """
    transfer_to_human_operator transferToAgent transfer_to_billing transfer_call escalate
    escalate_ticket handoff hand_off_to_human handover_to_operator connect_to_representative
    speak_to_human contact_support call_human request_human_expert_transfer live_agent_transfer
    end_session hang_up route_to_agent get_human_help delegate_to_research_agent
    transfer_to_bank_representative forward_to_supervisor
    transferir_a_agente derivar_a_humano escalar_ticket weiterleiten_an_mitarbeiter transférer_conseiller
    hablar_con_humano beende_gespräch 상담원연결 상담원_연결 担当者に転送 转人工
"""


@pytest.mark.parametrize("name", READ.split())
def test_tools_that_read(name):
    assert infer_effect(name) == ("read", True, False, "guess")


@pytest.mark.parametrize("name", WRITE.split())
def test_tools_that_write(name):
    assert infer_effect(name).effect == "write"


@pytest.mark.parametrize("name", DESTRUCTIVE.split())
def test_tools_that_destroy(name):
    assert infer_effect(name)[:3] == ("write", True, True)


@pytest.mark.parametrize("name", UNKNOWN.split())
def test_tools_that_nothing_is_known_of(name):
    assert infer_effect(name) == ("unknown", False, False, "guess")


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
        ("reset_password", True, False),
        ("restore_database", True, False),
        ("重置密码", True, False),
        ("send_email", False, False),
        ("search_and_delete", True, True),
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
        ("This tool is used to cancel an order.", "write"),
        ("Tool for searching orders", "read"),
        ("Is used when the user wants to cancel.", "unknown"),
        ("Löscht ein Konto.", "write"),
        ("Busca vuelos", "read"),
        ("予約を取り消します。", "write"),
        ("查询订单状态", "read"),
        ("예약을 조회합니다.", "read"),
        ("Blah blah", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
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
        ("Prüfe_Verfügbarkeit", ["prufe", "verfugbarkeit"]),
        ("get订单", ["get", "订单"]),
        ("УдалитьКлиента", ["удалить", "клиента"]),
        ("ＧＥＴ＿Ａ", ["get", "a"]),
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
    words = lexicon()
    assert words.reading.isdisjoint(words.writing)
    assert words.destructive <= words.idempotent <= words.writing


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
