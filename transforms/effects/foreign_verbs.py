"""Lists words of tool names by effect, in other languages than English."""

from turnwise.transforms.text.words import word_set

LANGUAGES = {
    "es": """reading: buscar búsqueda consultar obtener obtén obtiene obtenga listar verificar verificación
    ver mostrar muestra muestre leer comprobar comprueba comprobación revisar revisión calcular cálculo
    comparar comparación encontrar encuentra encuentre hallar traer recuperar localizar contar sumar promediar
    dividir multiplicar restar redondear convertir convierte conversión traducir traducción validar validación
    analizar análisis evaluar evaluación estimar explorar visualizar examinar identificar detectar determinar
    clasificar resumir extraer describir recomendar recomienda sugerir sugiere preguntar filtrar medir
    rastrear seguimiento descargar cotizar cotización inspeccionar monitorear predecir pronosticar explicar
    conocer saber averiguar enumerar indagar chequear checar visualización
    idempotent: actualizar actualización modificar modificación cambiar editar corregir corrige cerrar cierra
    cierre abrir activar desactivar habilitar deshabilitar bloquear desbloquear confirmar aprobar aprueba
    rechazar aceptar asignar reasignar reprogramar archivar guardar establecer configurar ajustar reemplazar
    sustituir sustituye renombrar mover mueve suspender reanudar pausar detener detén detiene iniciar parar
    encender enciende apagar conectar desconectar vincular desvincular marcar completar finalizar terminar
    restablecer reiniciar restaurar publicar fijar congelar descongelar ocultar autorizar denegar deniega
    aplazar posponer
    destructive: cancelar cancelación anular anulación eliminar eliminación borrar borrado suprimir supresión
    quitar remover revocar destruir destruye vaciar descartar purgar desechar rescindir truncar desinstalar
    desinstalación
    repeatable: crear creación agregar añadir apartar reservar comprar pagar enviar mandar vender transferir
    transfiere transferencia depositar retirar cobrar reembolsar reembolso devolver devuelve devolución
    insertar registrar solicitar pedir pide emitir imprimir subir comentar notificar avisar llamar invitar
    programar agendar abonar recargar alquilar rentar contratar donar escribir grabar copiar duplicar redactar
    responder contestar compartir entregar despachar facturar contactar incrementar aumentar aplicar canjear
    prorrogar ampliar adquirir adquiere suscribir firmar pago cobro envío registro
    nouns: cancelación anulación eliminación supresión actualización modificación creación verificación
    reserva compra pago pague cobra cobro marca marque registro envío recarga copia programa factura renta
    transferencia reembolso devolución cierre alquile emite abona consulta seguimiento búsqueda análisis
    cotización borrado cambie firma
    facts: costo costos coste condiciones motivo plazo estado saldo detalle detalles información lista listado
    precio precios fecha fechas historial disponibilidad resumen cantidad monto importe datos clima catálogo
    horario horarios tarifa tarifas política políticas existencias inventario número""",
    "pt": """reading: buscar procurar pesquisar consultar obter obtém obtenha listar listagem verificar
    verificação ver veja mostrar exibir ler leia checar conferir calcular cálculo comparar comparação
    encontrar achar recuperar localizar contar somar dividir multiplicar subtrair arredondar converter
    conversão traduzir traduz tradução validar validação analisar avaliar avaliação estimar explorar
    visualizar examinar identificar detectar determinar classificar resumir extrair descrever recomendar
    sugerir perguntar filtrar medir rastrear rastreamento baixar cotar cotação inspecionar monitorar prever
    explicar conhecer saber enumerar
    idempotent: atualizar atualização modificar alterar alteração mudar trocar editar corrigir fechar abrir
    ativar desativar habilitar desabilitar bloquear desbloquear confirmar aprovar rejeitar recusar aceitar
    atribuir reagendar remarcar arquivar salvar guardar definir configurar ajustar substituir substitui
    renomear mover suspender retomar pausar parar desligar ligar conectar desconectar vincular desvincular
    marcar concluir conclui finalizar redefinir reiniciar restaurar publicar fixar congelar ocultar autorizar
    adiar
    destructive: cancelar cancelamento anular excluir exclui exclusão eliminar eliminação apagar deletar
    remover remoção revogar destruir destrói esvaziar descartar limpar purgar truncar rescindir desinstalar
    desinstalação
    repeatable: criar criação adicionar acrescentar incluir inclui inserir reservar comprar pagar enviar
    mandar vender transferir transferência depositar sacar cobrar reembolsar estornar estorno devolver
    registrar cadastrar solicitar pedir emitir imprimir postar comentar notificar avisar chamar convidar
    agendar agendamento alugar contratar doar escrever gravar copiar duplicar responder compartilhar entregar
    despachar faturar recarregar contatar aumentar aplicar resgatar assinar registro pagamento
    nouns: cancelamento exclusão eliminação remoção atualização alteração criação verificação reserva compra
    pague marca registro cópia fatura pagamento cobra busca consulta pesquisa listagem análise cotação
    rastreamento transferência estorno agendamento troca muda poste emite
    facts: custo custos taxa condições motivo prazo politica estado saldo detalhe detalhes informação
    informações lista preço preços histórico disponibilidade resumo situação valor tarifa tarifas clima
    catálogo horário horários estoque número""",
    "fr": """reading: chercher rechercher trouver obtenir obtiens obtient lister consulter consultation
    vérifier vérification voir afficher affichage montrer lire contrôler récupérer récupération calculer
    calcul comparer comparaison localiser compter additionner diviser multiplier soustraire arrondir convertir
    conversion traduire traduction analyser évaluer évaluation estimer explorer visualiser examiner identifier
    détecter déterminer résumer extraire décrire recommander suggérer filtrer mesurer suivi télécharger
    interroger inspecter surveiller prédire prévoir expliquer savoir connaître énumérer parcourir trier
    idempotent: modifier modification changer éditer corriger mettre mets mise actualiser actualisation fermer
    ouvrir ouvre activer désactiver bloquer débloquer confirmer approuver rejeter refuser accepter assigner
    attribuer affecter réaffecter reprogrammer archiver enregistrer sauvegarder définir configurer régler
    ajuster remplacer renommer déplacer suspendre reprendre arrêter démarrer allumer éteindre éteins connecter
    déconnecter lier associer dissocier marquer terminer clôturer réinitialiser restaurer publier geler
    dégeler masquer redémarrer reporter décaler verrouiller déverrouiller autoriser
    destructive: annuler annulation supprimer suppression effacer effacement enlever résilier résiliation
    révoquer détruire vider purger tronquer désinstaller désinstallation
    repeatable: créer création ajouter réserver acheter payer envoyer envoie expédier vendre transférer virer
    virement déposer débiter créditer rembourser remboursement insérer inscrire inscription commander émettre
    imprimer commenter notifier prévenir préviens prévient prévenez appeler appelle inviter planifier
    programmer louer écrire copier dupliquer répondre partager livrer facturer recharger contacter augmenter
    appliquer soumettre poster signaler prolonger retirer paiement échanger
    nouns: annulation suppression effacement résiliation modification création actualisation vérification
    commande marque virement paiement copie poste programme facture partage recherche suivi affichage calcul
    mise remboursement inscription montre vide lie
    facts: frais coût coûts conditions motif délai politique statut état solde détail détails information
    informations prix date dates historique disponibilité montant tarif tarifs horaire horaires météo
    catalogue données stock numéro""",
    "it": """reading: cercare ricercare trovare ottenere ottieni ottiene elencare consultare consultazione
    verificare vedere mostrare visualizzare leggere controllare recuperare calcolare calcolo comparare
    confrontare confronto localizzare contare sommare dividere moltiplicare sottrarre arrotondare convertire
    conversione tradurre traduci traduzione validare analizzare analisi valutare valutazione stimare esplorare
    esaminare identificare rilevare determinare classificare riassumere estrarre descrivere consigliare
    suggerire filtrare misurare tracciare scaricare interrogare ispezionare monitorare prevedere spiegare
    listare conoscere
    idempotent: aggiornare aggiornamento modificare cambiare correggere chiudere aprire attivare disattivare
    abilitare disabilitare bloccare sbloccare confermare approvare rifiutare respingere accettare assegnare
    riassegnare riprogrammare archiviare salvare impostare configurare regolare sostituire rinominare spostare
    sospendere riprendere fermare avviare accendere spegnere collegare connettere scollegare disconnettere
    contrassegnare completare terminare concludere ripristinare reimpostare riavviare pubblicare congelare
    nascondere autorizzare rinviare
    destructive: annullare annullamento cancellare cancellazione eliminare eliminazione rimuovere rimozione
    togliere togli revocare disdire disdici distruggere svuotare scartare troncare rescindere disinstallare
    disinstallazione
    repeatable: creare creazione aggiungere inserire prenotare comprare acquistare pagare inviare spedire
    mandare vendere trasferire trasferimento depositare versare prelevare addebitare accreditare rimborsare
    rimborso restituire registrare iscrivere ordinare richiedere emettere stampare commentare notificare
    avvisare chiamare invitare pianificare programmare noleggiare affittare donare scrivere copiare duplicare
    rispondere condividere consegnare fatturare ricaricare contattare aumentare applicare firmare pagamento
    prenotazione
    nouns: cancellazione eliminazione annullamento rimozione aggiornamento creazione pagamento stampa copia
    rimborso programma prenotazione firma ricerca analisi calcolo confronto verifica trasferimento modifica
    facts: costo costi condizioni motivo termine politica stato saldo dettaglio dettagli informazione
    informazioni lista elenco prezzo prezzi storico disponibilità riepilogo importo tariffa tariffe orario
    orari meteo catalogo giacenza numero""",
    "de": """reading: suchen finden holen zeigen anzeigen prüfen überprüfen abfragen abrufen auflisten lesen
    lies auslesen ansehen einsehen nachsehen nachschlagen ermitteln berechnen vergleichen zählen addieren
    subtrahieren dividieren multiplizieren runden summieren umrechnen konvertieren umwandeln übersetzen
    validieren verifizieren kontrollieren analysieren schätzen erkunden visualisieren untersuchen
    identifizieren erkennen bestimmen klassifizieren zusammenfassen extrahieren beschreiben empfehlen
    vorschlagen fragen filtern sortieren messen verfolgen herunterladen inspizieren überwachen vorhersagen
    erklären lokalisieren durchsuchen recherchieren darstellen laden abgleichen einlesen sichten prüfung
    überprüfung berechnung auflistung ermittlung umrechnung übersetzung validierung verfolgung recherche
    kontrolle
    idempotent: ändern abändern aktualisieren bearbeiten anpassen korrigieren schließen öffnen aktivieren
    deaktivieren einschalten ausschalten sperren entsperren freischalten freigeben bestätigen genehmigen
    ablehnen akzeptieren annehmen zuweisen zuordnen verschieben verlegen umbuchen archivieren speichern
    sichern setzen festlegen konfigurieren einstellen ersetzen tauschen austauschen umbenennen bewegen
    aussetzen fortsetzen pausieren stoppen starten beenden verbinden trennen verknüpfen markieren abschließen
    zurücksetzen wiederherstellen neustarten veröffentlichen einfrieren verbergen ausblenden abmelden anmelden
    aktualisierung änderung freigabe sperrung
    destructive: stornieren stornierung löschen löschung entfernen entfernung kündigen kündigung abbrechen
    annullieren annullierung widerrufen vernichten leeren verwerfen zerstören tilgen absagen abbestellen
    ausradieren aufheben deinstallieren deinstallation
    repeatable: erstellen erstellung anlegen erzeugen hinzufügen einfügen buchen reservieren kaufen bezahlen
    senden absenden schicken versenden verschicken verkaufen überweisen übertragen einzahlen auszahlen abheben
    abbuchen belasten gutschreiben erstatten erstattung rückerstatten zurückgeben zurückzahlen registrieren
    registrierung eintragen bestellen beantragen anfordern ausstellen drucken hochladen posten kommentieren
    benachrichtigen informieren anrufen einladen terminieren vereinbaren mieten leihen spenden schreiben
    kopieren duplizieren antworten beantworten liefern ausliefern aufgeben aufladen erhöhen anwenden einlösen
    einreichen melden verlängern kontaktieren unterschreiben umtauschen beauftragen nachbestellen
    nouns: suche anzeige abfrage abruf recherche prüfung überprüfung vergleich kündigung stornierung löschung
    freigabe sperrung registrierung erstattung änderung aktualisierung kontrolle lade frage runde sperre miete
    spende melde
    facts: kosten bedingungen frist grund status zustand stand preis preise saldo kontostand guthaben details
    einzelheiten information informationen liste übersicht datum verlauf historie verfügbarkeit betrag
    zusammenfassung daten wetter katalog tarif tarife fahrplan gebühr gebühren bestand nummer""",
    "nl": """reading: zoeken opzoeken vinden halen ophalen tonen weergeven controleren nakijken checken
    bekijken opvragen raadplegen lezen inzien berekenen berekening vergelijken tellen optellen
    vermenigvuldigen omrekenen converteren vertalen vertaling valideren verifiëren analyseren beoordelen
    schatten verkennen onderzoeken identificeren detecteren bepalen samenvatten beschrijven aanbevelen vragen
    filteren sorteren meten downloaden verkrijgen lokaliseren inspecteren voorspellen uitleggen doorzoeken
    zoekopdracht
    idempotent: wijzigen aanpassen bijwerken updaten bewerken corrigeren sluiten openen activeren deactiveren
    inschakelen uitschakelen blokkeren deblokkeren bevestigen goedkeuren afwijzen weigeren accepteren
    toewijzen verplaatsen verzetten archiveren opslaan bewaren instellen configureren vervangen ruilen
    hernoemen opschorten hervatten pauzeren stoppen starten beëindigen verbinden koppelen ontkoppelen markeren
    voltooien herstellen resetten publiceren verbergen afmelden aanmelden wijziging
    destructive: annuleren annulering verwijderen verwijdering wissen schrappen opzeggen opzegging intrekken
    vernietigen weggooien afzeggen leegmaken deïnstalleren
    repeatable: aanmaken maken toevoegen invoegen boeken reserveren kopen betalen sturen verzenden versturen
    opsturen verkopen overmaken overboeken storten afschrijven terugbetalen vergoeden retourneren terugsturen
    registreren inschrijven bestellen aanvragen afdrukken printen uploaden plaatsen reageren melden
    waarschuwen bellen uitnodigen inplannen huren doneren schrijven kopiëren dupliceren antwoorden
    beantwoorden bezorgen leveren factureren opwaarderen verhogen toepassen inwisselen indienen verlengen
    nouns: annulering verwijdering opzegging plaats huur boek vraag wijziging berekening vertaling
    facts: kosten voorwaarden termijn saldo prijs prijzen details gegevens informatie lijst overzicht datum
    geschiedenis beschikbaarheid bedrag weer tarief tarieven voorraad status nummer""",
    "pl": """reading: szukaj szukać wyszukaj wyszukać znajdź znaleźć pobierz pobrać pokaż pokazać wyświetl
    wyświetlić sprawdź sprawdzić zobacz zobaczyć odczytaj odczytać oblicz obliczyć porównaj porównać policz
    przelicz przetłumacz zweryfikuj weryfikuj przeanalizuj uzyskaj wyszukiwanie sprawdzanie
    idempotent: zaktualizuj zaktualizować aktualizuj zmień zmienić edytuj edytować zamknij zamknąć otwórz
    otworzyć aktywuj dezaktywuj włącz wyłącz zablokuj odblokuj potwierdź potwierdzić zatwierdź odrzuć
    zaakceptuj przypisz przenieś zapisz zapisać ustaw ustawić zastąp zatrzymaj uruchom zakończ przywróć
    zresetuj
    destructive: anuluj anulować usuń usunąć skasuj skasować odwołaj odwołać wycofaj wyczyść wyczyścić zniszcz
    repeatable: utwórz utworzyć stwórz dodaj dodać zarezerwuj zarezerwować kup kupić zapłać zapłacić wyślij
    wysłać sprzedaj przelej przelać wpłać wypłać zwróć zwrócić zarejestruj zamów zamówić wydrukuj opublikuj
    skomentuj powiadom zadzwoń zaproś zaplanuj wynajmij napisz skopiuj odpowiedz udostępnij dostarcz zgłoś
    facts: stan cena ceny saldo szczegóły informacje lista historia dostępność kwota pogoda numer""",
    "cs": """reading: hledat hledej vyhledat vyhledej najít najdi získat získej zobrazit zobraz ukázat ověřit
    zkontrolovat zkontroluj přečíst vypočítat spočítat porovnat přeložit zjistit načíst
    idempotent: upravit uprav změnit změň aktualizovat aktualizuj zavřít otevřít aktivovat deaktivovat
    potvrdit potvrď schválit zamítnout přiřadit přesunout uložit nastavit nahradit zastavit spustit ukončit
    obnovit
    destructive: smazat smaž odstranit odstraň zrušit zruš stornovat odvolat vymazat
    repeatable: vytvořit vytvoř přidat přidej rezervovat rezervuj koupit kup zaplatit zaplať odeslat odešli
    poslat pošli prodat převést vrátit registrovat objednat objednej vytisknout zveřejnit oznámit zavolat
    pozvat napsat kopírovat odpovědět sdílet doručit
    facts: stav cena ceny zůstatek podrobnosti informace seznam historie dostupnost částka počasí""",
    "ru": """reading: найти найди искать поиск получить получи показать покажи проверить проверь проверка
    посмотреть просмотр узнать прочитать прочти рассчитать расчет вычислить сравнить сравнение посчитать
    сосчитать перевод проанализировать анализ определить скачать nayti naiti poisk poluchit pokazat proverit
    uznat rasschitat sravnit posmotret
    idempotent: обновить обнови обновление изменить измени изменение редактировать закрыть закрой открыть
    открой активировать включить включи отключить выключить выключи заблокировать разблокировать подтвердить
    одобрить отклонить принять назначить перенести сохранить сохрани установить настроить заменить
    переименовать переместить остановить запустить завершить восстановить obnovit izmenit zakryt otkryt
    podtverdit sohranit
    destructive: отменить отмени отмена удалить удали удаление стереть очистить очисти отозвать аннулировать
    уничтожить сбросить otmenit otmena udalit udalenie ochistit
    repeatable: создать создай создание добавить добавь добавление забронировать бронировать купить купи
    оплатить оплати заплатить отправить отправь послать продать пополнить вернуть возместить зарегистрировать
    заказать закажи оформить распечатать опубликовать уведомить позвонить пригласить запланировать арендовать
    написать скопировать ответить доставить sozdat dobavit zabronirovat kupit oplatit otpravit zakazat vernut
    facts: статус состояние баланс остаток цена цены информация детали список дата история сумма погода
    номер""",
    "tr": """reading: ara arama bul getir göster listele sorgula sorgulama kontrol oku hesapla karşılaştır
    çevir görüntüle doğrula incele öğren analiz
    idempotent: güncelle güncelleme değiştir düzenle kapat etkinleştir engelle onayla reddet taşı kaydet
    ayarla durdur başlat bitir sıfırla
    destructive: iptal sil silme kaldır temizle
    repeatable: oluştur ekle rezerve rezervasyon öde ödeme gönder aktar yatır sipariş yazdır yorumla bildir
    planla kirala kopyala cevapla paylaş yükle
    nouns: rezervasyon sipariş ödeme kontrol arama
    facts: durum durumu bakiye bakiyesi fiyat fiyatı detay detaylar bilgi bilgisi liste listesi tarih
    geçmişi""",
    "nordic": """reading: sök søg söka søke hämta hent hente vis hitta finn finne kontrollera kontroller
    kontrollere sjekk sjekke tjek läs läsa lese beräkna beregn beregne jämför sammenlign räkna översätt
    oversett oversæt verifiera granska etsi hae näytä tarkista laske vertaa
    idempotent: uppdatera oppdater oppdatere opdater opdatere ändra endre endr ændr redigera rediger stäng
    lukk luk öppna åpne åbn aktivera aktiver inaktivera deaktiver bekräfta bekreft bekræft godkänn godkjenn
    godkend avvisa avvis spara lagre flytta flytt ersätt erstatt stoppa starta återställ avsluta avslutt
    afslut päivitä muuta muokkaa sulje avaa vahvista hyväksy hylkää tallenna siirrä
    destructive: radera slett slette slet fjern fjerne avboka annullera annuller kanseller kansellere
    avbestill avbestille avbestall avbryt avbryd töm poista peruuta tyhjennä
    repeatable: skapa opprett opprette opret lägg legg tilføj boka bestill bestille bestil beställ reservera
    reserver köp köpa kjøp kjøpe køb betala betal betale skicka sende sälj överför overfør återbetala
    registrera registrer skriv skrive kopiera svara svare leverera luo lisää varaa osta maksa lähetä tilaa myy
    palauta
    facts: saldo pris priser detaljer information informasjon lista liste historik datum dato tila hinta
    tiedot""",
    "id": """reading: cari mencari dapatkan tampilkan lihat periksa cek baca hitung bandingkan terjemahkan
    verifikasi temukan carian semak
    idempotent: perbarui ubah ganti tutup buka aktifkan nonaktifkan blokir konfirmasi setujui tolak tetapkan
    pindahkan simpan atur hentikan mulai selesaikan kemaskini
    destructive: batalkan batal hapus menghapus bersihkan padam
    repeatable: buat tambah tambahkan pesan beli bayar kirim jual setor tarik kembalikan daftarkan cetak
    undang jadwalkan sewa tulis salin balas bagikan unggah
    nouns: pesan sewa
    facts: saldo harga rincian informasi daftar riwayat ketersediaan jumlah cuaca""",
    "ar": """reading: بحث ابحث البحث احصل جلب اعرض عرض تحقق التحقق استعلام اقرأ حساب احسب قارن ترجم
    idempotent: تحديث حدث تعديل عدل تغيير غير أغلق إغلاق افتح تفعيل تعطيل تأكيد أكد موافقة رفض حفظ نقل
    destructive: حذف احذف الحذف إلغاء الغاء إلغ ألغ إزالة ازالة مسح
    repeatable: إنشاء انشاء أنشئ إضافة اضافة أضف حجز احجز دفع ادفع إرسال ارسال أرسل شراء اشتر تسجيل طلب تحويل
    nouns: طلب حجز غير حدث عدل
    facts: حالة رصيد تفاصيل معلومات قائمة سعر أسعار تاريخ الطقس""",
    "ja": """reading: 検索 照会 取得 確認 参照 閲覧 表示 調べる 調べ 探す 探し 見る 見せる 読む 読み取り 読込
    読み込み 計算 算出 比較 変換 換算 翻訳 検証 分析 推定 見積 見積り 見積もり 集計 抽出 要約 推薦 追跡 測定
    ダウンロード チェック サーチ リストアップ 判定 判断 識別 検出 分類 予測 合計 平均 特定 説明 問い合わせ
    問合せ 調査 点検 診断 列挙 kensaku shokai kakunin shutoku hyoji hyouji sansho keisan hikaku honyaku henkan
    idempotent: 更新 変更 修正 編集 訂正 変える 閉じる 閉鎖 開く 有効化 無効化 停止 中止 開始 再開 承認 却下
    拒否 承諾 受諾 割り当て 割当 保存 設定 置換 差し替え 交換 改名 移動 ロック ブロック ログイン ログアウト
    接続 切断 完了 終了 確定 リセット 復元 公開 凍結 延期 アップデート 解除 切替 切り替え アーカイブ koshin
    koushin henko henkou shusei settei
    destructive: 取消 取り消し 取消し 取り消す 取消す キャンセル 削除 消去 消す 抹消 解約 破棄 廃棄 退会 撤回
    初期化 クリア 除去 剥奪 失効 契約解除 空にする アンインストール sakujo torikeshi torikesu kyanseru kaiyaku
    repeatable: 予約 注文 購入 買う 支払 支払い 支払う 決済 送信 送付 送る 発送 販売 送金 振込 振り込み 振込み
    入金 出金 引き出し 引出 請求 返金 払い戻し 払戻 返品 返送 登録 作成 生成 追加 挿入 発行 発注 申請 申込
    申し込み 申込み 印刷 投稿 コメント 通知 連絡 電話 招待 貸出 レンタル 寄付 書く 書き込み 記録 複製 コピー
    返信 共有 配達 配送 配信 チャージ アップロード 提出 報告 依頼 手配 延長 yoyaku chumon konyu kounyuu
    shiharai soshin toroku tsuika
    nouns: 予約 注文 登録 支払 支払い 購入 設定 通知 電話 連絡 コメント 記録 請求 報告 申請 配送 決済 確定
    facts: 状況 状態 詳細 情報 一覧 リスト 残高 価格 値段 料金 日付 履歴 金額 天気 時間 手数料 在庫 番号 住所
    名前 可否 ポリシー 規約 有無 空き 料 費用""",
    "ko": """reading: 조회 검색 확인 찾기 찾다 찾아 보기 보여주기 표시 가져오기 읽기 계산 비교 변환 번역 검증
    분석 추정 추천 열람 추적 측정 다운로드 체크 집계 합계 평균 요약 추출 예측 판단 분류 알아보기 얻기 탐색
    환산 산출 점검 진단 문의 johoe geomsaek hwagin
    idempotent: 변경 수정 갱신 업데이트 편집 정정 닫기 열기 활성화 비활성화 켜기 끄기 차단 잠금 승인 거절 거부
    수락 배정 할당 저장 설정 교체 교환 이동 정지 중지 시작 종료 재개 연결 완료 확정 복원 리셋 공개 연기 로그인
    로그아웃 전환 바꾸기 바꾸다 해제 중단 byeongyeong sujeong
    destructive: 취소 삭제 제거 지우기 지우다 해지 탈퇴 철회 폐기 말소 초기화 소거 파기 비우기 박탈 언인스톨
    권한회수 sakje chwiso haeji
    repeatable: 예약 예매 주문 구매 구입 결제 지불 전송 보내기 발송 발신 판매 송금 이체 입금 출금 인출 청구
    환불 반품 등록 가입 생성 만들기 작성 추가 삽입 발급 발행 신청 요청 인쇄 게시 댓글 알림 통지 연락 전화 초대
    대여 렌탈 기부 쓰기 기록 복사 답장 공유 배송 충전 업로드 제출 신고 연장 접수 납부 yeyak jumun gyeolje
    chuga
    nouns: 예약 예매 주문 결제 등록 설정 알림 전화 연락 기록 배송 신청 요청 청구 댓글 가입 구매 이체 공유 공개
    facts: 상태 정보 상세 목록 리스트 잔액 가격 현황 내역 이력 날짜 요금 금액 날씨 시간 수수료 여부 재고 번호
    주소 이름 정책 규정 사유 횟수 데이터""",
    "zh": """reading: 查询 查詢 查 搜索 搜尋 搜寻 搜 查找 查看 查阅 获取 獲取 读取 讀取 列出 显示 顯示 展示
    检查 檢查 检索 檢索 核对 核實 核实 验证 驗證 计算 計算 比较 比較 对比 转换 轉換 换算 換算 翻译 翻譯 评估
    評估 估算 预测 預測 推荐 推薦 建议 統計 统计 汇总 浏览 瀏覽 下载 下載 跟踪 识别 識別 检测 檢測 判断 判斷
    分类 提取 总结 求和 定位 找出 找 chaxun sousuo huoqu chakan jisuan
    idempotent: 修改 改 更改 变更 變更 编辑 編輯 更正 更换 更換 关闭 關閉 打开 打開 开启 開啟 启用 啟用 禁用
    停用 激活 冻结 凍結 解冻 锁定 解锁 屏蔽 拉黑 确认 確認訂單 確認預訂 確認預約 確認付款 批准 审批 拒绝 拒絕
    接受 分配 指派 改签 改期 归档 储存 儲存 存储 设置 設置 配置 替换 替換 重命名 移动 移動 暂停 暫停 恢复 恢復
    启动 啟動 开始 结束 結束 绑定 綁定 解绑 解綁 标记 標記 重置 重启 发布 發佈 隐藏 登录 登入 登出 切换
    gengxin xiugai
    destructive: 删除 刪除 移除 清除 清空 删 刪 删掉 注销 註銷 撤销 撤銷 作废 销毁 退订 退訂 终止 終止 解约
    解約 卸载 卸載 吊销 吊銷 撤回权限 清零 格式化磁盘 格式化硬盘 shanchu quxiao
    repeatable: 创建 創建 新建 新增 建立 添加 增加 加入 插入 预订 預訂 预定 預定 预约 預約 订购 訂購 下单 下單
    购买 購買 支付 付款 缴费 繳費 充值 儲值 发送 發送 寄送 邮寄 发邮件 发短信 发消息 出售 转账 轉帳 转帳 汇款
    匯款 存款 取款 提现 提現 扣款 退款 退货 退貨 退票 退房 退费 换货 換貨 注册 註冊 登记 登記 申请 申請 提交
    开具 开票 打印 列印 评论 評論 提醒 呼叫 拨打 邀请 邀請 安排 捐款 写入 寫入 复制 複製 回复 回覆 分享 发货
    上传 上傳 投诉 报名 赎回 续费 续订 tianjia chuangjian yuding yuyue fasong zhifu zhuanzhang tuikuan goumai
    nouns: 预订 預訂 预定 預定 预约 預約 支付 付款 退款 注册 登记 设置 配置 评论 評論 申请 建议 汇款 转账 轉帳
    facts: 状态 狀態 详情 詳情 信息 資訊 列表 清单 余额 餘額 价格 價格 日期 历史 歷史 记录 金额 天气 天氣 库存
    数据 票价 进度 政策 手续费 规则 原因 资格 号码 地址 名称 天气预报""",
}
"""Language -> its words by kind, verbs in their base form. Where names have no spaces, they stand in them.

`reading`: verbs and nouns of what changes nothing. `idempotent`, `destructive`, `repeatable`: verbs of writes
that can be undone, that delete something irreversibly, and that are not idempotent. `nouns`: those words or
forms of them that are also names of things. `facts`: nouns for facts about a resource.
"""

_ENDINGS: dict[str, dict[str, tuple[str, ...]]] = {
    **{language: {"er": ("e", "a"), "ir": ("e", "a")} for language in ("es", "pt")},
    "fr": {"er": ("e", "ez"), "ir": ("is", "it", "issez"), "re": ("", "s", "ez")},
    "it": {"are": ("a", "ando"), "ere": ("e", "i", "isci"), "ire": ("e", "i", "isci")},
    "tr": {"": ("mek", "mak")},
}
"""Language -> ending of a base form -> the endings that take its place in names of tools."""
_SOFTENED = {"c": "qu", "g": "gu", "z": "c", "ç": "c"}
VERB_LAST = word_set("de nl tr ja ko")


def forms_of(language: str, verb: str) -> list[str]:
    """Returns the forms of a verb that names of tools have; of languages that are not listed, the base form.

    They are the imperative and the third person, in German and Dutch also the stem (`löschen`, `lösche`,
    `löscht`, `lösch`; `annuleren`, `annuleer`, `annuleert`).
    """
    forms = [verb]
    for ending, others in _ENDINGS.get(language, {}).items():
        if verb.endswith(ending):
            forms += [verb.removesuffix(ending) + other for other in others]
    if language in ("es", "pt") and verb.endswith("ar"):  # `buscar`, `busca`, `busque`
        stem = verb[:-2]
        softened = stem[:-1] + _SOFTENED[stem[-1]] if stem[-1] in _SOFTENED else stem
        forms += [f"{stem}a", f"{softened}e"]
    elif language == "de" and verb.endswith("n"):
        stem = verb[:-2] if verb.endswith("en") else verb[:-1]
        forms += [f"{stem}e", f"{stem}t"]
        forms += [f"{verb[:-3]}le"] if verb.endswith("eln") else []
        forms += [stem] if len(stem) > 4 else []
    elif language == "nl" and verb.endswith("en"):
        stem = verb[:-2]
        stem = stem[:-1] if stem[-2:-1] == stem[-1] else stem
        stem = stem[:-1] + {"v": "f", "z": "s"}.get(stem[-1], stem[-1])
        long = f"{stem[:-1]}{stem[-2:-1]}{stem[-1]}"
        forms += [stem, f"{stem}t", long, f"{long}t"]
    return forms


# Forms that are other words more often.
NO_VERBS = word_set("""beel bel belt compte conta doe done druck grave hal halle hur huren hurt kob kop la las
    le les lest lever li livre mak meet meett messe met ode para pare posta poste quite rente resta reste
    schat soma some stang stoop teel tel tom ton va ve versa wist zahle zahlen zahlt""")
# Nouns after which even a word for a deletion is a noun (`취소수수료`, a fee).
RECORDS = word_set("""履歴 料金 手数料 料 費用 ポリシー 規約 可否 有無 一覧 리스트 목록 이력 내역 수수료 요금
    정책 규정 사유 횟수 여부 현황 状況 政策 手续费 规则 原因 资格 进度""")
# Verbs without an effect of their own.
WEAK = word_set("""hacer haz realizar realiza ejecutar ejecuta procesar procesa gestionar gestiona efectuar
    fazer faz executar executa processar processa faire fais effectuer effectue exécuter exécute traiter
    traite gérer gère fare fai eseguire esegui effettuare gestire machen mache ausführen durchführen
    durchführung verarbeiten verwalten tun doen doe uitvoeren verwerken beheren zrób wykonaj yap yapmak et
    etmek 実行 処理 실행 처리 执行 处理 處理 进行 管理 관리""")
# Particles and endings that stand beside the verb of an unspaced name.
GRAMMAR = word_set("""する します して しろ した させる される ください です ます を に の は が で から 用
    하기 하다 합니다 하는 하세요 해줘 해요 하고 을 를 이 가 의 에""")
# Conjunctions.
JOINING = word_set("y e und et en och i ve dan oraz und と および 及び 후 및 并 並 和 و и")
# Verbs that destroy what a store holds.
RESETTING = word_set("""zurücksetzen zurücksetze zurücksetzt restablecer restablece reiniciar reinicia
    resetear resetea réinitialiser réinitialise reimpostare reimposta redefinir redefine resetar reseta
    resetten リセット 리셋 重置""")
# Verbs that give something a value.
SETTING = word_set("""setzen setze einstellen stelle ändern ändere establecer establece ajustar ajusta cambiar
    cambia modificar modifica régler règle changer change modifier modifie impostare imposta cambiare definir
    define alterar altera instellen wijzigen wijzig 設定 変更 설정 변경 设置 修改""")
# Nouns for what is empty after a reset.
STORES = word_set("""datenbank daten festplatte speicher server base datos dados dati disco disque données
    donnees gegevens schijf データベース データ ディスク 데이터베이스 디스크 数据库 數據庫 资料库 資料庫 磁盘
    硬盘 系统数据""")
# Prefixes that stand at the end (`zeige_termine_an`, `voeg_product_toe`).
SEPARABLE = word_set("""ab an auf aus bei durch ein fest frei hinzu nach um vor weg zu zurück zusammen in op
    toe uit""")
# Verbs that hand over, if a person or agent is named.
PASSING = word_set("""transferir transfiere transfere derivar deriva desviar redirigir conectar conecta
    encaminhar encaminha pasar pasa passar transférer transfère rediriger redirige trasferire trasferisci
    inoltrare inoltra passare weiterleiten weitergeben übergeben übergib verbinden verbinde weiterverbinden
    doorverbinden overdragen doorsturen 転送 つなぐ 引き継ぎ 引継ぎ 引き継ぐ 取次 接続 연결 전달 이관 转接
    轉接 转 przekaż przełącz переключить переведи перевести соединить aktar bağla""")
# Nouns for those who take over.
PERSONS = word_set("""agente agentes humano humana persona operador operadora asesor asesora supervisor
    soporte representante especialista atendente atendimento pessoa gerente suporte humain humaine conseiller
    conseillère personne opérateur responsable operatore umano consulente supporto mensch menschen mitarbeiter
    mitarbeiterin berater kollege kollegin kundendienst vorgesetzter medewerker mens klantenservice 担当者
    担当 オペレーター オペレータ 人間 エージェント スタッフ 有人 상담원 상담사 직원 담당자 사람 에이전트 人工
    客服 坐席 专员 专人 真人 经理 konsultant konsultanta człowiek оператор оператору оператора сотрудник
    temsilci temsilciye""")
# Verbs that involve a person or agent.
REACHING = word_set("""hablar habla contactar contacta llamar llama falar fala contatar contata chamar chama
    contacter contacte parler appeler appelle contattare contatta parlare parla kontaktieren kontaktiere
    sprechen spreche anrufen contacteren contacteer 連絡 連絡する 연락 联系 聯繫 呼叫""")
# Words that always mean a hand-off.
HANDING = word_set("""escalar escalamiento escalada eskalieren eskaliere eskalation escalader escalade
    escalamento escaleren escaleer エスカレーション エスカレート 에스컬레이션 转人工 轉人工 转接人工 人工客服
    升级工单""")
# Nouns for money.
MONEY = word_set("""dinero fondos saldo cuenta pago dinheiro conta fundos pagamento argent fonds compte
    paiement denaro soldi fondi conto geld konto betrag guthaben rekening お金 金 口座 資金 돈 계좌 금액 자금
    钱 账户 帐户 资金 余额 деньги""")
# Nouns for conversations.
CONVERSATION = word_set("""llamada conversación chamada conversa ligação appel conversation chiamata
    conversazione anruf gespräch gesprek 通話 会話 チャット 통화 대화 상담 채팅 通话 对话 對話 会话""")
# Verbs that end a conversation.
ENDING = word_set("""terminar termina finalizar finaliza cerrar cierra colgar cuelga encerrar encerra terminer
    termine raccrocher terminare chiudere chiudi beenden beende auflegen beëindigen beëindig 終了 종료 结束
    結束 挂断 掛斷""")
