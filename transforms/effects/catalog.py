"""Infers the effect of a tool from its name and description, in the languages of the verb lists."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple
from unicodedata import combining, normalize

from turnwise.schemas.conversation import GUESS, UNKNOWN, InferredEffect, ToolEffect
from turnwise.transforms.effects import foreign_verbs as foreign
from turnwise.transforms.text.words import word_set, words_by_name

_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "œ": "oe", "ł": "l", "Ł": "L", "ı": "i"})
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})


def _plain(text: str) -> str:
    """Returns a text without accents on Latin letters, each character in its usual width."""
    if text.isascii():
        return text
    plain: list[str] = []
    for letter in normalize("NFKC", text):
        is_latin = "\xc0" <= letter < "\u0250" or "\u1e00" <= letter < "\u1f00"
        plain += [c for c in normalize("NFD", letter) if not combining(c)] if is_latin else letter
    return "".join(plain).translate(_LETTERS)


def _all(*sets: Iterable[str]) -> frozenset[str]:
    """Returns words without accents, and with umlauts written out (`loschen` and `loeschen`)."""
    every = {word for words in sets for word in words}
    return frozenset(
        {_plain(word) for word in every} | {_plain(word.translate(_WRITTEN_OUT)) for word in every}
    )


# Lists words of tool names by effect: reading, writing, handing over, destructive.

# Verbs that change nothing, also calculations. The list is closed: other verbs are unknown.
READING = word_set("""analyse analyze approximate ask assess audit authenticate autocomplete benchmark browse
    calc calculate cat categorize cd ceil check clarify classify collect compare compute consider convert
    correlate cos count crawl debug decode describe detect determine df diagnose diff discover display divide
    dot download du enumerate estimate evaluate examine exp explain extract factorize fetch fetches filter
    find finds floor forecast format gather geocode get gets greet grep head help identify inspect integrate
    interpolate interpret introspect investigate list lists ln load locate log10 look lookup ls match max
    measure median min modulo monitor multiply navigate noop normalise normalize observe paraphrase parse peek
    percentile ping plan poll pow predict preview probe pwd quantify query random rank read reason recall
    recognise recognize recollect recommend reflect retrieve reverse round say scan score scrape scroll search
    searches see segment show simulate sin sleep solve sort sqrt standardize stat std stddev stdev stringify
    subtract suggest sum summarise summarize tabulate tail tell test think tokenize track transcribe translate
    transliterate validate verify view visualise visualize wait watch wc""")
# Verbs that delete something irreversibly.
DESTRUCTIVE = word_set("""abolish annul cancel clear decommission delete deprovision destroy discard dispose
    dissolve drop eliminate eradicate erase evict expunge forfeit kill liquidate nuke nullify obliterate
    overwrite prune purge quash raze remove rescind revoke rm rmdir shred terminate trash truncate uninstall
    void wipe""")
# Verbs of idempotent writes.
IDEMPOTENT = DESTRUCTIVE | word_set("""abort accept acknowledge activate adjust adopt align allow amend
    annotate anonymise anonymize apply approve archive arm assign attach authorise authorize ban blacklist
    block cap censor change chmod chown clean cleanse close collapse commission complete configure confirm
    connect correct customize dash deactivate decline dedupe delist demote deny deprecate deregister detach
    disable disallow disarm disconnect dismiss downgrade edit eject enable enforce exchange exclude expel
    expire finalise finalize finish fix flag flush follow forget freeze fulfil fulfill grant halt hide ignore
    impose install kick label leave like link lock lower mark migrate mkdir modify mount move mute mv open opt
    patch pause pin postpone prioritise prioritize prohibit promote publish put quarantine reactivate reassign
    rebalance rebook reboot recategorize reclassify reconcile reconfigure redirect reinstate reject relabel
    release relocate remap rename reopen reorder replace reprice reprioritize reschedule reset resolve restart
    restore restrict resume retire reveal revert revise rewrite rotate sanction save set settle setup shut
    shutdown silence snooze spoof start stop strip submerge subscribe substitute supersede suppress suspend
    swap switch tag throttle touch tune turn unarchive unassign unban unblock uncomplete undelete undo unflag
    unfollow unfreeze unhide unlike unlink unlock unmark unmount unmute unpause unpin unpublish unregister
    unset unsubscribe unsuspend untag update upgrade upsert vacate waive whitelist withhold""")
# Verbs of writes that are not idempotent.
REPEATABLE = word_set("""accrue acquire add admit advance alert allocate announce apologise apologize appeal
    append appoint assemble auction award backup begin bid bill book borrow broadcast build buy cable capture
    charge checkin checkout claim click clone comment commit compensate complain contest contribute copy cp
    create credit debit decrease decrement dedicate deduct deliver deploy deposit dial disburse dispatch
    dispute distribute dm donate double downvote draw duplicate earn echo email emit employ enqueue enrol
    enroll enter establish expand extend file fine fire forge fork forward found fund gift hire import
    increase increment ingest initialise initialize initiate inject insert instantiate invest invite invoice
    issue launch lease lend loan log mail make manufacture merge message mint modernise modernize nominate
    note notify offer onboard order overdraft page pay penalise penalize phone pick pickup place play pledge
    populate post prepay prescribe press print procure produce provision purchase push queue raise rate
    rearrange recharge record recruit redeem redeliver refill refuel refund register reimburse reissue remind
    remit renew rent repay replenish reply report request requisition reseat resell resend reserve respond
    resubmit retry return review reward roll scale schedule seed sell send serve share ship sign signup sms
    spawn spend split sponsor spread stake stash store submit supply tap text tip toggle topup trade transact
    transfer transmit trigger tweet unload upload upvote vest volunteer vote wager warn wire withdraw
    write""")
# Verbs of writes that undo themselves when repeated.
TOGGLING = word_set("toggle")
# Verbs that give something a value: the last call counts.
SETTING = word_set("adjust change configure modify set switch turn update") | _all(foreign.SETTING)
# Verbs that destroy what a store holds (`reset_database`, `restore_factory_settings`).
RESETTING = word_set("flush reset reinitialise reinitialize restore") | _all(foreign.RESETTING)
# Nouns for what is empty or new after a reset; `restore` takes them back, but for a factory's settings.
STORES = word_set("""bucket cluster data database databases db disk drive environment everything factory
    namespace repo repository schema server storage table tables warehouse""") | _all(foreign.STORES)
# Nouns for what is done: to process one is to do it (`process_refund`, not `process_order`).
DEEDS = word_set("""appeal auction backup cancellation charge check credit debit deposit dispute exchange fix
    fund lease link loan pickup rate refund register release rent reserve return review reward sale shutdown
    trade transfer vote""")
# Verbs that are also nouns or other words: a writing one yields to another verb, a reading one must be the
# first word.
NOUNS_TOO = word_set("""alert approximate award benchmark bid bill book cable cap capture cat claim clean
    comment commission contest dash df dm dot double du email file fine finish fire flag floor forecast forge
    found gift head help invoice issue label leave like lock log mail message mint note offer open order page
    phone pick plan play post press queue random record report request reverse roll round scale schedule seed
    segment setup share sign sms split spread stake stat store sum supply switch tag tail tap test text tip
    touch view watch wc wire""") | (DEEDS - word_set("cancellation reserve sale"))
# Nouns for parts and properties: after a noun, they name no deed (`order_items`, `file_path`).
ATTRIBUTES = word_set("""attachments author category content contents entries format genre items language
    length limit limits line lines option options owner path priority rating rows score scores size subtotal
    tax thread threads title titles type types value values width""")
# Nouns for what is opened to be looked at.
OPENED = word_set("""app application browser chat document file folder image link page pdf photo site tab url
    video web webpage website""")
# Verbs that are also adjectives: before a plural the name is unclear (`open_tickets`).
ADJECTIVES = word_set("double duplicate free live open")
# Nouns for what a function returns.
RETURNED = word_set("answer data output reply response result results text value values")
# Words that begin a question: they read as the first word of a name and say nothing in a description.
QUESTIONS = word_set("are can does has have how is know should what when where which who whom whose why")
# Words of a description before its verb (`This tool is used to`).
FILLERS = word_set("""a action agent allow allows an api are be by call can does enable enables endpoint for
    function help helps it let lets method please that the this to tool use used user will you your is
    should""")
# Nouns for look-ups: a name that begins with one and ends in a writing verb writes (`search_delete`).
ASKED = word_set("filter list log plan query report scan search test view")
# Nouns for what verbs do that delete something irreversibly.
DESTRUCTIVE_ACTIONS = word_set("cancellation cancelation deletion erasure removal revocation termination")
# Nouns for what writing verbs do; one decides as the last word (`account_deletion`).
ACTIONS = word_set("activation creation deactivation") | DESTRUCTIVE_ACTIONS
# Nouns for operands: what is done to them is a calculation (`add_numbers`).
NUMBERS = word_set("decimals floats fractions integers ints matrices numbers polynomials vectors")
# Verbs of calls that may change something or not: a name that begins with one names no information.
UNCLEAR = word_set("""answer cache calibrate cleanup combine compile compose compress crop decrypt draft
    encrypt enhance enrich export feed generate harvest index inform login logoff logon logout mine optimize
    organize pack prepare process rebuild recalculate recompute redact refine refresh regenerate reindex
    render repair rescore resize resync rework rollback sanitize select signin signout spin stage stream sync
    synchronise synchronize train transform trim unpack unzip vacuum warm wash zip""")
# Nouns that end as verbs do.
NO_VERBS = word_set("""affiliate aggregate associate candidate certificate climate coordinate corporate
    delegate duplicate enterprise estate exercise expertise franchise graduate merchandise premise private
    template""")
# Verbs without an effect of their own; the next verb of the name decides.
WEAK = word_set("call do exec execute handle invoke manage perform process run try use")
# Verbs that load a tool, which changes nothing.
PREPARING = word_set("discover load select unlock")
# Nouns for tools that are loaded.
TOOLS = word_set("tool tools toolbox toolkit toolset toolsets")
# Conjunctions; a verb after one of them counts too.
JOINING = word_set("and or then")
# Verbs of two words, by the verb that they are.
_OF_TWO_WORDS = {
    **{phrase.replace("_", ""): phrase for phrase in word_set("""dry_run check_in check_out drop_off hand_off
        hand_over hang_up log_in log_out look_up pick_up sign_in sign_out sign_up top_up""")},
    **{"phone": "call_client call_customer call_patient call_taxi", "update": "convert_lead convert_trial"},
    **{"charge": "collect_payment gather_payment", "replace": "find_replace", "round": "truncate_number"},
    **{"summarize": "truncate_message truncate_string truncate_text", "wipe": "format_disk format_drive"},
    **{"delete": "get_rid", "deposit": "load_card load_money", "resolve": "solve_ticket"},
    **{"sort": "group_by order_by", "compute": "set_difference set_intersection set_union"},
}  # fmt: skip
PHRASES = {tuple(words.split("_")): verb for verb, some in _OF_TWO_WORDS.items() for words in some.split()}
# Nouns for facts about a resource: `order_status` names its result, although `order` is a verb.
FACTS = word_set("""amount analysis availability balance balances calculation calculator catalog catalogue
    checker comparison conversion converter cost costs count cutoff date deadline detail details duration
    eligibility eta fee fees finder history hours id ids info information locations number overview policies
    policy price prices pricing rate rates reason retriever rules searcher speech statistics stats status
    statuses summary terms time timetable total totals viewer""")
# Nouns for information; a name without a verb that ends in one of them is a read.
INFORMATION = FACTS | word_set("""address addresses average calendar caption context dashboard data database
    datastore db definition deviation dictionary difference directions distance documentation encyclopedia
    estimate faq faqs forecast glossary inventory kb knowledge leaderboard ledger list lists logarithm lookup
    mean median menu metrics mode name names news now options percentage percentile quote quotes ratio reader
    receipt receipts recognition report reports result results root schedule schema search settings state
    temperature today transactions transcript translation translator usage validation variance verification
    weather wiki wikipedia""")
# Those of them that can also be changed (`manage_settings`).
STORED = word_set("""address addresses calendar catalog catalogue data database datastore db inventory list
    lists menu name names options schedule settings""")
# Verbs that hand over, if a person or agent is named.
PASSING = word_set("connect delegate forward redirect refer reroute route transfer") | _all(foreign.PASSING)
# Verbs that involve a human.
ASKING = word_set("ask call contact get need page request speak summon talk")
# Verbs that involve a person or agent.
REACHING = word_set("contact page request speak summon talk") | _all(foreign.REACHING)
# Words that always mean a hand-off.
HANDING = word_set("escalate escalation handoff handover hangup takeover") | _all(foreign.HANDING)
# Verbs that end a conversation.
ENDING = word_set("close end exit finish leave quit")
# Nouns for conversations.
CONVERSATION = word_set("call caller chat conversation dialog dialogue session") | _all(foreign.CONVERSATION)
# Nouns for those who take over.
PERSONS = _all(foreign.PERSONS) | word_set("""adviser advisor agent agents assistant colleague department desk
    expert experts helpdesk human humans live manager operator operators person queue rep representative
    representatives reps somebody someone specialist specialists staff subagent supervisor supervisors support
    team""")
# Nouns for what is looked up when it is resolved; a ticket is settled.
RESOLVED = word_set("address addresses dns domain entity host hostname ip location name path place uri url")
# Tools by which frameworks plan, ask the user and give the answer; nothing else changes.
FRAMEWORK = word_set("""adk_request_confirmation adk_request_credential adk_request_input ask_user_question
    attempt_completion enter_plan_mode exit_loop exit_plan_mode final_answer manage_todo_list
    plan_mode_respond request_confirmation request_credential request_user_input sequential_thinking
    sequentialthinking set_model_response structured_output task_tracker todo_read todo_write write_todos""")
# Names of such tools that may also be those of a business; the arguments tell.
ANSWERING = word_set("""answer complete complete_task done end_turn finish finish_task respond submit
    submit_answer task_complete update_plan""")
# Nouns for what a model thinks: writing it down changes nothing.
THOUGHTS = word_set("reasoning scratchpad thinking thought thoughts")
# Nouns for what a framework or a calculation may write as well as a business, if one of `DRAFTING` does.
DRAFTS = word_set("dict dicts memories memory plan progress string strings text todos")
# Verbs that write drafts.
DRAFTING = word_set("""add append create join log make merge record remove replace report save split store
    strip update write""")
# Nouns for money; a transfer of one of them is not a hand-off.
MONEY = word_set("""account accounts amount balance bank card cash checking credit fund funds money payment
    savings wallet""") | _all(foreign.MONEY)

_UNSPACED = "\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(rf"[{_UNSPACED}]+|[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z{_UNSPACED}]+")
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_PART = re.compile(r"__+|[^\w-]+")
_VERSION = re.compile(r"v\d*")
_RUNNING_ON = re.compile(r"(?:get|fetch|find|lookup|search)[a-z]{3,}")
_INFLECTION = re.compile(
    r".{0,2}|[ail]{0,2}(?:tions?|ments?|ings?|an[ct]e?|ences?|ions?|v?ity|able|ness|ed|ers?|ors?)"
    r"|cion(?:es)?|cao|coes|m?i?entos?|zion[ei]|[a-z]?d[ao]s?|ndo"
)
_VERB_SHAPE = re.compile(r"[a-z]{4,}(?:ate|ify|i[sz]e)")
_FOREIGN_VERB_SHAPE = re.compile(r"[a-z]{3,}(?:[aei]re?|oir|eren)")
_SHORTEST_RUN_ON = 5
_LONGEST_UNSPACED = 8
_LONGEST_DESCRIPTION = 80
_CLOSING = word_set("close deactivate disable schliessen fermer cerrar fechar encerrar chiudere sluiten")
_ACCOUNTS = word_set("account accounts membership konto compte cuenta conta rekening")
_MARKETS = frozenset(("sale", "rent", "lease", "auction", "hire"))
_WEAK_LAST = _all(foreign.WEAK)
_WEAK = WEAK | _WEAK_LAST
_JOINING = JOINING | _all(foreign.JOINING)
_SEPARABLE = _all(foreign.SEPARABLE)
_ENDING_LAST = _all(foreign.ENDING)
_ENDING = ENDING | _ENDING_LAST


class Lexicon(NamedTuple):
    """Words of tool names in all languages, in lower case and without accents; see the English lists."""

    reading: frozenset[str]
    idempotent: frozenset[str]
    writing: frozenset[str]
    destructive: frozenset[str]
    nouns: frozenset[str]
    asked: frozenset[str]
    facts: frozenset[str]  # of other languages; one may stand first
    last: frozenset[str]  # verbs that may stand at the end
    unspaced: frozenset[str]


@cache
def lexicon() -> Lexicon:
    """Returns the words of all languages; a word that is English has its English effect alone."""
    verbs: dict[str, set[str]] = {
        "reading": set(),
        "idempotent": set(),
        "destructive": set(),
        "repeatable": set(),
    }
    nouns_or_facts: dict[str, set[str]] = {"nouns": set(), "facts": set()}
    last: set[str] = set()
    for language, lists in foreign.LANGUAGES.items():
        of_kind = words_by_name(lists)
        for effect, words in verbs.items():
            bases = of_kind.get(effect, ())
            forms = _all(*(foreign.forms_of(language, verb) for verb in bases)) - foreign.NO_VERBS
            words |= forms
            last |= forms if language in foreign.VERB_LAST else set()
        for kind, words in nouns_or_facts.items():
            words |= _all(of_kind.get(kind, ()))
    english = READING | QUESTIONS | IDEMPOTENT | REPEATABLE | NUMBERS
    read, idempotent, destroying, repeatable = (words - english for words in verbs.values())
    nouns, facts = (words - english for words in nouns_or_facts.values())
    writing = idempotent | destroying | repeatable
    known = frozenset().union(read, writing, facts, foreign.GRAMMAR, _WEAK_LAST, _JOINING, HANDING, PASSING,
                              PERSONS, MONEY, CONVERSATION, REACHING, _ENDING)  # fmt: skip
    return Lexicon(
        READING | QUESTIONS | (read - writing),
        IDEMPOTENT | ACTIONS | ((idempotent | destroying) - repeatable) | destroying,
        IDEMPOTENT | REPEATABLE | ACTIONS | writing,
        DESTRUCTIVE | DESTRUCTIVE_ACTIONS | destroying,
        NOUNS_TOO | QUESTIONS | ACTIONS | nouns,
        ASKED | (nouns & read),
        frozenset(facts),
        frozenset(last - english),
        frozenset(word for word in known if _UNSPACED_RUN.fullmatch(word)),
    )


READ = ToolEffect("read", True, False, GUESS)
"""Effect of a tool that is taken for a look-up."""


class InferredVerb(NamedTuple):
    """An effect and the deciding verb that it was inferred from; "": none is known."""

    effect: InferredEffect
    verb: str


@lru_cache(maxsize=4096)
def infer_effect(name: str, description: str | None = None) -> ToolEffect:
    """Infers the effect of a tool from the verb of its name.

    The name is in camelCase, snake_case, kebab-case or a script without spaces, with or without accents. A
    prefix (`server__`, `service.`) counts only if the rest holds no known verb. A name without a known verb
    is a read if it names information (`order_status`) or is a conversion (`litre_to_gallon`). Else the first
    verb of the description decides; without it the effect is unknown. Loading tools (`load_tools`) is a read.
    """
    joined = "_".join(last_words(name))
    if joined in FRAMEWORK:
        return READ
    inferred = None if joined in ANSWERING else verb_of_name(name)
    text = "" if inferred or not description else description.strip()[:_LONGEST_DESCRIPTION]
    first = next((word for word in words_of(text) if word not in FILLERS), None)
    if _UNSPACED_RUN.match(text):
        inferred = _read(_segmented(words_of(re.split("[.。\n]", text)[0])) or [""])
    elif first in ("return", "returns", "given"):
        inferred = InferredVerb("read", "")
    elif first is not None and first not in QUESTIONS:
        known, bare = lexicon(), first.removesuffix("ing")
        stems = first, *(first.removesuffix(end) for end in ("s", "es", "d")), bare, f"{bare}e", bare[:-1]
        verb = next((stem for stem in stems if stem in known.writing or stem in known.reading), None)
        if verb is not None:
            inferred = InferredVerb("write" if verb in known.writing else "read", verb)
    return effect_of_verb(inferred or InferredVerb(UNKNOWN, ""), name)


def effect_of_verb(inferred: InferredVerb, name: str) -> ToolEffect:
    """Returns the effect of a tool by its deciding verb and its name."""
    (effect, verb), known = inferred, lexicon()
    is_idempotent = effect in ("read", "handoff") or verb in known.idempotent
    destroys = verb in known.destructive or (verb in _CLOSING and not _ACCOUNTS.isdisjoint(words_of(name)))
    if verb in RESETTING:
        # What resets destroys a store of data.
        tool = _PART.split(_plain(name))[-1]
        words, unspaced = words_of(tool), (store in tool for store in STORES if not store.isascii())
        is_store = "factory" in words if verb == "restore" else not STORES.isdisjoint(words) or any(unspaced)
        destroys = destroys or is_store
    return ToolEffect(effect, is_idempotent, effect == "write" and destroys, GUESS)


@lru_cache(maxsize=4096)
def deciding_verb(name: str) -> str:
    """Returns the verb of a tool's name that says what it does; "": none is known."""
    verb = verb_of_name(name)
    return verb.verb if verb else ""


def verb_of_name(name: str) -> InferredVerb | None:
    """Returns the deciding verb of a name and what it does; None: nothing is known of it."""
    parts = []
    for words in map(words_of, _PART.split(_plain(name))):
        # Single letters at the start count nothing (`k8s_check`).
        start = next((i for i, word in enumerate(words) if len(word) > 1 or not word.isascii()), 0)
        if segments := _segmented(words[start:]):
            parts.append(segments)
    verb = _read(parts[-1]) if parts else None
    if verb is None and len(parts) > 1:
        verb = _read([word for words in parts for word in words])
        verb = verb if verb and verb.verb == parts[0][0] else None
    return verb


@lru_cache(maxsize=4096)
def last_words(name: str) -> tuple[str, ...]:
    """Returns the words of the last part of a name."""
    return tuple(words_of(_PART.split(_plain(name))[-1])) or ("",)


def words_of(name: str) -> list[str]:
    """Splits a name into lower-case words without accents, without versions and numbers."""
    plain = _plain(name)
    if not plain.isascii():
        camel = (f"_{c}" if c.isupper() and before.islower() else c for before, c in pairwise(f"_{plain}"))
        plain = "".join(camel)
    joined: list[str] = []
    for word in (word for word in map(str.lower, _WORD.findall(plain)) if not _VERSION.fullmatch(word)):
        phrase = PHRASES.get((joined[-1], word)) if joined else None
        joined[-1:] = [phrase] if phrase else [*joined[-1:], word]
    return joined


def _segmented(words: Sequence[str]) -> Sequence[str]:
    """Splits words of scripts without spaces into known words and what is between, without particles."""
    if all(map(str.isascii, words)):
        return words
    known, segments = lexicon().unspaced, list[str]()
    for word in words:
        parts, start = list[str](), 0
        end = 0 if _UNSPACED_RUN.fullmatch(word) else len(word)
        # At the longest known word of each place; one of a single character counts only at the edges.
        while end < len(word):
            sizes = range(min(_LONGEST_UNSPACED, len(word) - end), 0, -1)
            is_edge = end in (0, len(word) - 1)
            size = next((n for n in sizes if word[end : end + n] in known and (n > 1 or is_edge)), 0)
            if size:
                parts += [word[start:end], word[end : end + size]]
                start = end + size
            end += size or 1
        parts.append(word[start:])
        parts = [part for part in parts if part and not (len(parts) > 1 and _HIRAGANA.fullmatch(part))]
        segments += [part for part in parts if part not in foreign.GRAMMAR] or parts
    return segments


def _read(words: Sequence[str]) -> InferredVerb | None:
    """Returns the effect of the words of a name; None: they hold no known verb."""
    head, last, known = words[0], words[-1], lexicon()
    if _hands_over(words):
        return InferredVerb("handoff", head)
    if "dryrun" in words or last in THOUGHTS:
        return InferredVerb("read", "")
    if head in DRAFTING and last in DRAFTS and len(words) == 2:
        return None
    if last == "plan" and len(words) > 1:  # a thing that is changed, as in `switch_plan`
        words, last = [*words[:-1], "plans"], "plans"
    if head == "list" and words[-2:-1] == ["for"] and last in _MARKETS and not words[1].endswith("s"):
        return None  # `list_car_for_sale` offers it
    if head in PREPARING and last in TOOLS:
        return InferredVerb("read", "")
    if len(words) > 1 and (head in _WEAK or last in _WEAK_LAST):
        rest = words[1:] if head in _WEAK else words[:-1]
        if len(rest) == 1 and rest[0] in NOUNS_TOO - DEEDS - known.reading:
            return None  # it is not known what is done to an order or a file
        inferred = _read(rest)
        return None if inferred == ("read", "") and last in STORED else inferred
    verb = _verb(words)
    if verb is None:
        # A name without a verb may name information; one that begins with what looks like a verb does not.
        is_fact = last in INFORMATION or last in known.reading or last in foreign.RECORDS or last in NUMBERS
        is_fact = is_fact or "to" in words[1:-1] or _RUNNING_ON.fullmatch(head) is not None
        if last in known.facts:
            is_fact = is_fact or len(words) == 1 or not _FOREIGN_VERB_SHAPE.fullmatch(head)
        elif head in known.facts:
            is_fact = True
        return InferredVerb("read", "") if is_fact and not (len(words) > 1 and _is_unclear(head)) else None
    if verb in known.reading:
        clear = known.writing - known.nouns
        for first, second in pairwise(words):
            # One of two words joins the other, a writing verb, to the name.
            is_joined = (first in _JOINING and second in clear) or (second in _JOINING and first in clear)
            if second in known.writing if first in JOINING else is_joined:
                verb = second if first in _JOINING else first
                break
    return InferredVerb("write" if verb in known.writing else "read", verb)


def _verb(words: Sequence[str]) -> str | None:
    """Returns the deciding verb: the first word, else the last, else any; None: there is none."""
    head, last, known = words[0], words[-1], lexicon()
    if len(words) == 1:
        return head if head in known.reading or head in known.writing else _run_on(head)
    # The first word may be a noun or adjective.
    if last in {"open": OPENED, "return": RETURNED, "resolve": RESOLVED}.get(head, ()):
        return None
    if len(words) == 2:
        is_plural = last.endswith("s") and not last.endswith(("ss", "us"))
        is_part = last in ATTRIBUTES and not (last == "items" and head in DEEDS)
        if (head in ADJECTIVES and is_plural) or (is_part and head in NOUNS_TOO - known.reading):
            return None
    separated = last + head
    if last in _SEPARABLE and (separated in known.reading or separated in known.writing):
        return separated
    clear = [w for w in words if (w in known.reading or w in known.writing) and w not in known.nouns]
    # The last word goes first where verbs stand at the end, and after a noun for a look-up.
    if last in clear and (last in known.last or (head in known.asked and last in known.writing)):
        return last
    if last in foreign.RECORDS or (last in NUMBERS and head in known.writing):
        return None
    if head in known.reading or head in clear:
        return head
    if _is_unclear(head):  # what is read is a noun then: `export_list`
        clear = [word for word in clear if word in known.writing]
    if clear:
        return last if last in clear else clear[0]
    if last in known.last:
        return last
    names_fact = last in FACTS or last in known.reading or last in known.facts
    if head in known.writing and not names_fact:
        return head
    return last if last in ACTIONS else None if names_fact else _run_on(head) or _run_on(last)


def _run_on(word: str) -> str | None:
    """Returns the verb that a word begins or ends with (`deleteaccount`, `kundensuche`)."""
    known = lexicon()
    if word in known.writing or word in known.reading:
        return None
    for size in range(len(word) - 3, _SHORTEST_RUN_ON - 1, -1):
        start, end = word[:size], word[-size:]
        is_verb = (start in known.writing or start in known.reading) and start not in known.nouns
        is_stem = start in known.last and not start.endswith("e")  # of a compound, such as `Lieferzeit`
        if is_verb and not is_stem and not _INFLECTION.fullmatch(word[size:]):
            return start
        if end in known.last:
            return end
    return None


def _is_unclear(head: str) -> bool:
    """Returns whether the first word of a name looks like a verb that may change something."""
    return head in UNCLEAR or (_VERB_SHAPE.fullmatch(head) is not None and head not in NO_VERBS)


def _hands_over(words: Sequence[str]) -> bool:
    head, rest, last = words[0], set(words[1:]), words[-1]
    if head in ASKING and rest & {"human", "humans"}:
        return True
    if head in READING or head in QUESTIONS:
        return False
    if head in PASSING and rest and words[1] not in MONEY and last not in MONEY:
        return bool(rest & PERSONS or rest & CONVERSATION) or words[:2] == ["transfer", "to"]
    if head in REACHING or last in PASSING:
        return not PERSONS.isdisjoint(words)
    if (head in _ENDING and rest & CONVERSATION) or (last in _ENDING_LAST and head in CONVERSATION):
        return True
    return not HANDING.isdisjoint(words)
