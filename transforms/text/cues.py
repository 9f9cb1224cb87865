"""What stands beside a value: words that say what it is, signs and tables of Markdown, HTML and CSV."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from turnwise.transforms.text.words import word_set

PHONE = (
    r"phone|\btel\b|\btel[.:]|t[ée]l[ée]f|mobil|\bcell|\bfax\b|whatsapp|handy|rufnummer|portable|celular|"
    r"m[óo]vil|num[ée]ro|n[úu]mero|nummer|anruf|appel|llam|тел|номер|моб|звон|電話|电话|携帯|番号|手机|手機|号码|號碼|打|"
    r"拨|撥|联系|聯絡|전화|번호|휴대폰|"
    r"핸드폰|연락|هاتف|फ़ोन|फोन|โทร|\bcall\b|\btext me|\bring me|recapito|cellulare|chiam|"
    r"\blig[aoue]|telem[óo]vel|\bbel\b|bellen|dzwo[nń]|kom[óo]rk|ara(?:yın|y[ıi]n)|puhelin"
)
"""What says that digits beside it are a phone number."""
THING = (
    r"(?i)(?:\b(?:purchase )?order|\bpo|contract|invoice|ticket|\bcase|tracking|parcel|package|shipment"
    r"|waybill|\bsku|article|\bitem|product|\bpart|\bmodel|serial|\bbatch|\blot|\bbuild|commit|release"
    r"|version|is[bs]n|\bean|gtin|\bupc|asin|barcode|\bref(?:erence)?|booking|reservation|confirmation|flight"
    r"|transaction|\btx|request|trace|span|error|timestamp|epoch|created(?:[ _]at)?|updated(?:[ _]at)?"
    r"|expires|quantity|amount|total|price|bestell\w*|rechnung\w*|auftrag\w*|sendung\w*|paket\w*|artikel\w*"
    r"|vorgang\w*|beleg\w*|buchung\w*|referenz\w*|serien\w*|zeitstempel|zähler\w*|vertrags?\w*|charge\w*"
    r"|kunden\w*|klantn\w*|quittung\w*|receipt|bag(?:gage)? tag|(?:customer|client|member(?:ship)?|policy) "
    r"(?:number|no|id)|(?:nr|numer|num[eé]ro|n[úu]mero|n[º°o])\.? (?:d[ei] )?(?:client[ei]?|socio|klienta)"
    r"|pedido|contrato|expediente|factura|seguimiento|gu[ií]a|env[ií]o|art[ií]culo|reserva|referencia"
    r"|commande|contrat|devis|facture|suivi|colis|dossier|r[ée]servation|r[ée]f[ée]rence|ordine|fattura"
    r"|spedizione|tracciamento|articolo|prenotazione|pratica|riferimento|encomenda|fatura|rastreio"
    r"|rastreamento|nota fiscal|protocolo|artigo|bestelling|bestel\w*|factuur\w*|zending\w*|zam[óo]wieni\w*"
    r"|faktur\w*|przesyłk\w*|зака\w*|订单|訂單|单号|注文|주문|송장|운송장|郵便番号|〒|邮编|邮政编码|우편번호"
    r"|\bzip|post(?:al[ _-]?)?code|\bcep|code postal|c[óo]digo postal)[\s:#.=_\"'\\-]{0,5}(?:(?:numbers?"
    r"|numm?ers?|num[eé]ro|n[úu]mero|numer|num|code|codes|c[óo]digo|codice|id|no|nr|n[º°o]|is|ist|lautet|es"
    r"|est|è|é|jest|of|de|do|da|von|from|to|old|new|loja|destino|origem|番号|号|號|번호|号码|是"
    r"|は)[\s:#.=_\"'\\-]{0,5}){0,4}$"
)
"""What says that digits after it are the number of a thing: an order, a parcel, a time, a postal code."""
IDENTITY = (
    r"(?:(?-i:\b(?:SIN|TFN|PPS|PPSN|NHS|NIE|RUT|RFC|RG|PIS|CNP|NIR|SVNR|PAN)\b)|social[ -]?(?:security"
    r"|insurance)|\bssn\b|\bitin\b|\bnational (?:id\b|identi\w+|insurance)|identity (?:card|number)|\bid card"
    r"|passport|tax(?:payer)?[ -]?(?:id\b|identification|file)|\bpps[ -]?n|\bnino\b|\baadhaar|\bpan (?:card"
    r"|number)|driver'?s? licen[cs]e|steuer-?(?:id\b|identifikation\w*|nummer)|sozialversicherung\w*"
    r"|personalausweis\w*|ausweis(?:nummer|-?nr)|reisepass\w*|\bsvnr\b|\bahv\b|\bdni\b|\bnif\b|c[ée]dula"
    r"|pasaporte|\bcurp\b|\bcui[lt]\b|s[ée]curit[ée] sociale|carte d['’]identit[ée]|passeport|num[ée]ro "
    r"fiscal|codice fiscale|carta d['’]identit[àa]|passaport[oe]|\bcpf\b|contribuinte|cart[ãa]o de cidad[ãa]o"
    r"|bilhete de identidade|burgerservice\w*|\bbsn\b|rijksregister\w*|paspoort\w*|rodn[ée] [čc][íi]slo"
    r"|\bpesel\b|dow[óo]d(?:u)? osobist\w*|paszport\w*|\boib\b|\bjmbg\b|\bemšo\b|\bamka\b|αμκα|\bегн\b"
    r"|\bинн\b|снилс|паспорт|личн\w+ номер|kimlik|henkilötunnus|personnummer|fødselsnummer|cpr-?n|kennitala"
    r"|isikukood|asmens kodas|personas kods|teudat zehut|תעודת זהות|マイナンバー|個人番号|身份证|身分證|護照"
    r"|护照|パスポート|주민|여권)"
)
"""What says that a code beside it is that of a person."""
PASSWORD = (
    r"pass(?:w[oö]r[dt]|wd|phrase|code)s?|pwd|kennw[oö]rt|geheimzahl|mots?[ _]de[ _]passe|\bmdp\b"
    r"|contrase[ñn]a|\b(?:mi|tu|su|la|una|nueva) clave\b|palavra[- ]passe|parola|parol\b|şifre\w*|senha"
    r"|wachtwoord|has[łl]o\b|l[öo]senord|пароль|\bcv[vc]2?\b|\bpins?\b|\botps?\b|\bm?tan\b(?:-?code)?"
    r"|one[ _-]?time[ _-]?(?:code|pin)"
    r"|(?:verification|security|sms|login|access|auth(?:entication)?|\b[2m]fa|two[ _-]?factor)[ _-]?code"
    r"|(?:sicherheits|best[äa]tigungs)code"
    r"|c[óo]digo de (?:verificaci[óo]n|seguridad|verifica[çc][ãa]o|seguran[çc]a)|code de (?:v[ée]rification"
    r"|s[ée]curit[ée])|codice di (?:verifica|sicurezza)|verificatiecode|beveiligingscode|kod (?:weryfikacyjny"
    r"|bezpieczeństwa)|cryptogramme(?: visuel)?|kartenpr[üu]f(?:nummer|ziffer)"
)
EASTERN = (
    "密码|密碼|口令|验证码|驗證碼|パスワード|パスコード|暗証番号|"
    "認証コード|確認コード|비밀번호|암호|인증번호|확인코드"
)
EASTERN_IS = "是|为|為|は|이|가|는|은"
SECRET = (
    rf"{PASSWORD}|secret|(?:api|access|private|auth|account|signing|encryption|master|hmac)[_ -]?key|"
    r"(?:access|auth|api|bearer|refresh|session|id|csrf|xsrf|bot|user|device|push|security|sas|oauth|"
    r"client|login|personal|deploy|zugangs|sicherheits)[_ -]?token|\bjeton(?: d['’]acc[èe]s)?\b|"
    r"\btoken\b|authorization|credentials?|(?:api|zugangs|geheim)[ -]?schl[üu]ssel|"
    r"private[rn]? schl[üu]ssel|cl[ée] (?:api|priv[ée]e|secr[èe]te|d['’]api)|(?:clave|chave|"
    r"chiave)(?: (?:da|de|di))? (?:api|privad?t?a|secreta|segreta|acceso|acesso)|klucz (?:api|prywatny)|"
    r"(?:api|geheime|priv[ée])[- ]sleutel|connection[_ -]?string"
)
PHRASE = (
    r"(?:seed|recovery|backup|secret|wallet|mnemonic)[ _-]?(?:phrase|words)|\bmnemonic\b|"
    r"(?:wiederherstellungs|seed-?)(?:phrase|wörter)|frase (?:semilla|de recuperaci[óo]n|di recupero|"
    r"de recupera[çc][ãa]o|seed|segreta|secreta)|phrase (?:de r[ée]cup[ée]ration|secr[èe]te|"
    r"mn[ée]monique)|herstelzin|fraza odzyskiwania"
)
"""What says that the words after it are those of a wallet."""
KIND_KEY = (
    "iban|ssn|sin|nino|dni|nie|nif|cpf|curp|pesel|bsn|aadhaar|(?:credit_?)?card_?(?:number|no)|"
    "(?:national|tax|personal|identity|steuer|nhs)_?(?:id|nu(?:mb|mm)er)(?:_?(?:number|no))?|codice_?fiscale|"
    "(?:passport|id_?card|driv(?:er|ing)s?_?licen[cs]e|social_?security)(?:_?(?:number|no|id))?"
)
IN_QUERY = (
    r"(?:access_?|id_?|refresh_?|auth_?|csrf_?|sas_?)?token|sig|signature|x-(?:amz|goog)-(?:signature|"
    r"credential|security-token)|awsaccesskeyid|api_?key|key|secret|client_secret|pass(?:word)?|pwd|auth|"
    r"jwt|session(?:_?id)?|sid|code|otp|assertion|ticket"
)
"""Parameters of addresses that let their bearer in."""
RARE_AT_WORDS = "arroba|arobase|arobas|chiocciola|klammeraffe|apenstaartje|małpa"
AT_WORDS = f"at|ät|{RARE_AT_WORDS}"
DOT_WORDS = "dot|punkt|punto|point|ponto|punt|kropka"
AT = rf"(?i)[\[({{<] ?(?:{AT_WORDS}) ?[\])}}>]|\b(?:{AT_WORDS})\b"
MAIL = r"(?i)mail|courriel|correo|\bwrite to|\bcontact"
CLIENT = "mysql|mariadb|sshpass"
"""Commands whose option `-p` is a password."""
IS = "c['’]est|is|are|were|ist|sind|waren|lautet|est|sont|es|son|war|was|é|são|è|sono|zijn|jest|są|это"
AND = "and|or|und|oder|y|o|et|ou|e|en|of|i|lub"
AGAIN = (
    "(?:then|later|before|previously|earlier|now|also|old|new|dann|danach|davor|vorher|jetzt|auch|alt|neu|"
    "luego|después|antes|ahora|puis|avant|maintenant|poi|prima|adesso|depois|agora|daarna|eerst|potem|"
    "wcześniej|teraz)(?: (?:with|mit|con|avec|com|met|that|it was))?"
)
"""Words between a secret and the next one: `hunter2, before that hunter1`."""
STATUS = word_set("""abgelaufen abgelehnt accepted active approved ausstehend available benötigt bloccata
    blocked bloqueada bloqueado bloquée błędna błędne błędny caducada changed confirmed declined denied
    desconhecida disabled enabled erforderlich errada errado errata errato erronea erronée expirada expirado
    expired expiré expirée failed forbidden forgotten found geblokkeerd gebloqueerd geweigerd geändert
    granted inactive inativa incorrect incorreta incorreto invalid invalida invalido inválida inválido
    missing modificata modifiée nieaktywne niepoprawne nieprawidłowa nieprawidłowe nieprawidłowy nieważne no
    obbligatoria obbligatorio obligatoire obligatoria obrigatória obrigatório ok okay onbekend ongeldig
    onjuist optional pending perdida perdue provided redefinida refused rejected requerida requerido required
    reset richiesta richiesto sbagliata sbagliato scaduta scaduto sent set stored unavailable ungültig
    unknown unset unsupported valid vencida vencido vereist verified verlopen verplicht wygasł wygasła
    wygasło wymagane wymagany yes zablokowane zmienione""")
"""Words that say of a secret how it is, also after a colon: `password: required`."""
ORDINARY = STATUS | word_set("""present puste pusty segura sicura sûre trop troppo vacía vacío vazia
    versehentlich vide vuota wachtend weg a aber again also an and are as at auch bad be because been but by
    can case correct correcta correcto das de dein dem den der des did die different do does du ein eine el
    empty est et falsch fausse faux fine for from gesperrt good gültig had has have he her here his how i if
    ihr in incorrecta incorrecte incorrecto instead invalide is ist it its jetzt just kein keine la las le
    leer les long longer los lost ma mais may me mein mes mi mon must my never new nicht noch non not now nur
    o oder of old on only or ou oublié our out para pas pero please plus pour que requis richtig right safe
    same secret secure sensitive she short should sicher since sind so sont still strong su temporary that
    the their them then there they this to too try tu un una unbekannt und une us vergessen very válida
    válido war was we weak were what when which while who why will wird with working would wrong y you your
    zu zum zur""")
"""Words that follow a word for a secret and say something about it."""
NO_PHRASE = word_set("""the and not for are was but has been from your und der die das nicht ist los las que
    para pero les des est pas pour che non per sono uma não com het een van nie jest""")
"""Words that end the words of a wallet; they are in none of its lists."""


# Signs and tables of Markdown, HTML and CSV.


def without_markup(text: str, filler: str) -> str:
    """Returns a text of the same length with a filler in place of the signs of Markdown around words."""
    is_marked = "*" in text or "`" in text
    return _MARKUP.sub(lambda match: filler * len(match[0]), text) if is_marked else text


_MARKUP = re.compile(
    r"(?m)(?<![\w*`])(?:\*{1,3}|`{1,3})(?=[^\s*`])|(?<=[^\s*`])(?:\*{1,3}|`{1,3})(?![\w*`])|^```\w*$"
)
_TAG = re.compile(r"(?i)<(/?)(?:t[dhr]|tbody|thead)\b[^<>\n]{0,200}>")
_FIRST_LINE = re.compile(r"\"?[^\W\d][\w .-]{0,40}\"?(?:([,;\t])\"?[^\W\d][\w.-][\w .-]{0,40}\"?)+")
"""Names of columns; words of a sentence have a space after a comma."""
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_FIELD = {sign: re.compile(rf'"[^"\n]*"|[^{sign}\n]+|(?<=[{sign}])(?=[{sign}])') for sign in "|,;\t"}


def cells_of(text: str, says_value: Callable[[str], bool]) -> Iterator[tuple[int, str, str]]:
    """Yields start, name and text of cells of tables (Markdown, HTML, CSV) whose name says what they are.

    The name is that of the column, or in a row of two cells the first one.
    """
    if not any(sign in text for sign in "\n|<"):
        return
    if "<t" in text.lower():
        text = _TAG.sub(lambda tag: ("|" if tag[0][1:2] == "/" else " ") + " " * (len(tag[0]) - 1), text)
        text = re.sub(r"(?<=\|) {4}\|", "    \n", text)
    names, sign, start = list[str](), "", 0
    for line, below in pairwise([*text.splitlines(keepends=True), ""]):
        cells = _fields(line, sign) if sign else []
        is_row = 1 < len(cells) == len(names)
        if not is_row:
            first = _FIRST_LINE.fullmatch(line.strip())
            sign = "|" if line.count("|") else first[1] if first else ""
            cells = _fields(line, sign) if sign else []
            names = [cell for _, cell in cells]
        is_pair = len(cells) == 2 and cells[1][1] and not _RULE.fullmatch(below)
        if is_pair and says_value(cells[0][1]):
            yield start + cells[1][0], cells[0][1], cells[1][1]
        for name, (at, cell) in zip(names, cells, strict=True) if is_row else ():
            if cell.strip("-: ") and says_value(name):
                yield start + at, name, cell
        start += len(line)


def _fields(line: str, sign: str) -> list[tuple[int, str]]:
    """Returns the cells of a line with their places."""
    body = line.strip(" \r\n")
    first = line.index(body)
    cells = ((first + match.start(), match[0]) for match in _FIELD[sign].finditer(body))
    return [(at + len(cell) - len(cell.lstrip(' "')), cell.strip(' "')) for at, cell in cells]
