"""Lists words of tool names by effect: reading, writing, handing over, destructive."""

from turnwise.transforms.text.function_words import word_set

READING = word_set("""
    analyse analyze approximate ask assess audit authenticate autocomplete benchmark browse calc
    calculate cat categorize cd ceil check clarify classify collect compare compute consider convert
    correlate cos count crawl debug decode describe detect determine df diagnose diff discover display
    divide dot download du enumerate estimate evaluate examine exp explain extract factorize fetch
    fetches filter find finds floor forecast format gather geocode get gets greet grep head help
    identify inspect integrate interpolate interpret introspect investigate list lists ln load locate
    log10 look lookup ls match max measure median min modulo monitor multiply navigate noop normalise
    normalize observe paraphrase parse peek percentile ping plan poll pow predict preview probe pwd
    quantify query random rank read reason recall recognise recognize recollect recommend reflect
    retrieve reverse round say scan score scrape scroll search searches see segment show simulate sin
    sleep solve sort sqrt standardize stat std stddev stdev stringify subtract suggest sum summarise
    summarize tabulate tail tell test think tokenize track transcribe translate transliterate validate
    verify view visualise visualize wait watch wc
""")
"""Verbs that change nothing, also calculations. The list is closed: other verbs are unknown."""

IDEMPOTENT = word_set("""
    abolish abort accept acknowledge activate adjust adopt align allow amend annotate annul anonymise
    anonymize apply approve archive arm assign attach authorise authorize ban blacklist block cancel
    cap censor change chmod chown clean cleanse clear close collapse commission complete configure
    confirm connect correct customize dash deactivate decline decommission dedupe delete delist demote
    deny deprecate deprovision deregister destroy detach disable disallow disarm discard disconnect
    dismiss dispose dissolve downgrade drop edit eject eliminate enable enforce eradicate erase evict
    exchange exclude expel expire expunge finalise finalize finish fix flag flush follow forfeit forget
    freeze fulfil fulfill grant halt hide ignore impose install kick kill label leave like link
    liquidate lock login logoff logon logout lower mark migrate mkdir modify mount move mute mv nuke nullify
    obliterate open opt overwrite patch pause pin postpone prioritise prioritize prohibit promote prune
    publish purge put quarantine quash raze reactivate reassign rebalance rebook reboot recategorize
    reclassify reconcile reconfigure redirect reinstate reject relabel release relocate remap remove
    rename reopen reorder replace reprice reprioritize reschedule rescind reset resolve restart restore
    restrict resume retire reveal revert revise revoke rewrite rm rmdir rotate sanction save set settle
    setup shred shut shutdown signin signout silence snooze spoof start stop strip submerge subscribe
    substitute supersede suppress suspend swap switch tag terminate throttle touch trash truncate tune
    turn unarchive unassign unban unblock uncomplete undelete undo unflag unfollow unfreeze unhide
    uninstall unlike unlink unlock unmark unmount unmute unpause unpin unpublish unregister unset
    unsubscribe unsuspend untag update upgrade upsert vacate void waive whitelist wipe withhold
""")
"""Verbs of idempotent writes."""

REPEATABLE = word_set("""
    accrue acquire add admit advance alert allocate announce apologise apologize appeal append appoint
    assemble auction award backup begin bid bill book borrow broadcast build buy cable capture charge
    checkin checkout claim click clone comment commit compensate complain compose contest contribute
    copy cp create credit debit decrease decrement dedicate deduct deliver deploy deposit dial disburse
    dispatch dispute distribute dm donate double downvote draft draw duplicate earn echo email emit
    employ enqueue enrol enroll enter establish expand extend file fine fire forge fork forward found
    fund gift hire import increase increment ingest initialise initialize initiate inject insert
    instantiate invest invite invoice issue launch lease lend loan log mail make manufacture merge
    message mint modernise modernize nominate note notify offer onboard order overdraft page pay
    penalise penalize phone pick pickup place play pledge populate post prepay prescribe press print
    procure produce provision purchase push queue raise rate rearrange recharge record recruit redeem
    redeliver refill refuel refund register reimburse reissue remind remit renew rent repay replenish
    reply report request requisition reseat resell resend reserve respond resubmit retry return review
    reward roll scale schedule seed sell send serve share ship sign signup sms spawn spend split
    sponsor spread stake stash store submit supply tap text tip toggle topup trade transact transfer
    transmit trigger tweet unload upload upvote vest volunteer vote wager warn wire withdraw write
""")
"""Verbs of writes that are not idempotent."""

TOGGLING = word_set("toggle")
"""Verbs of writes that undo themselves when repeated."""

DESTRUCTIVE = word_set("""
    abolish annul cancel clear decommission delete deprovision destroy discard dispose dissolve drop
    eliminate eradicate erase evict expunge forfeit kill liquidate nuke nullify obliterate overwrite prune
    purge quash raze remove rescind revoke rm rmdir shred terminate trash truncate uninstall void wipe
""")
"""Verbs that delete something irreversibly."""

RESETTING = word_set("flush reset reinitialise reinitialize restore")
"""Verbs that destroy what a store holds (`reset_database`, `restore_factory_settings`)."""

STORES = word_set("""
    bucket cluster data database databases db disk drive environment everything factory namespace repo
    repository schema server storage table tables warehouse
""")
"""Nouns for what is empty or new after a reset; `restore` takes them back, but for a factory's settings."""

NOUNS_TOO = word_set("""
    alert appeal approximate auction award backup benchmark bid bill book cable cap capture cat charge
    check claim clean comment commission contest credit dash debit deposit df dispute dm dot double
    draft du email exchange file fine finish fire fix flag floor forecast forge found fund gift head
    help invoice issue label lease leave like link loan lock log mail message mint note offer open
    order page phone pick pickup plan play post press queue random rate record refund register release
    rent report request return reverse review reward roll round scale schedule seed segment setup share
    shutdown sign sms split spread stake stat store sum supply switch tag tail tap test text tip touch
    trade transfer view vote watch wc wire
""")
"""Verbs that are also nouns or other words: a writing one yields to another verb, a reading one must be the
first word."""

DEEDS = word_set("""
    appeal auction backup cancellation charge check credit debit deposit dispute exchange fix fund lease link
    loan pickup rate refund register release rent reserve return review reward sale shutdown trade transfer
    vote
""")
"""Nouns for what is done: to process one is to do it (`process_refund`, not `process_order`)."""

ATTRIBUTES = word_set("""
    attachments author category content contents entries format genre items language length limit limits line
    lines option options owner path priority rating rows score scores size subtotal tax thread threads title
    titles type types value values width
""")
"""Nouns for parts and properties: after a noun, they name no deed (`order_items`, `file_path`)."""

OPENED = word_set("""
    app application browser chat document file folder image link page pdf photo site tab url video web
    webpage website
""")
"""Nouns for what is opened to be looked at."""

ADJECTIVES = word_set("double duplicate free live open")
"""Verbs that are also adjectives: before a plural the name is unclear (`open_tickets`)."""

RETURNED = word_set("answer data output reply response result results text value values")
"""Nouns for what a function returns."""

QUESTIONS = word_set("""
    are can does has have how is know should what when where which who whom whose why
""")
"""Words that begin a question: they read as the first word of a name and say nothing in a description."""

FILLERS = word_set("""
    a action agent allow allows an api are be by call can does enable enables endpoint for function
    help helps it let lets method please that the this to tool use used user will you your is should
""")
"""Words of a description before its verb (`This tool is used to`)."""

ASKED = word_set("filter list log plan query report scan search test view")
"""Nouns for look-ups: a name that begins with one and ends in a writing verb writes (`search_delete`)."""

ACTIONS = word_set("""
    activation cancellation cancelation creation deactivation deletion erasure removal revocation
    termination
""")
"""Nouns for what writing verbs do; one decides as the last word (`account_deletion`)."""

DESTRUCTIVE_ACTIONS = word_set("cancellation cancelation deletion erasure removal revocation termination")
"""Those of them that delete something irreversibly."""

NUMBERS = word_set("decimals floats fractions integers ints matrices numbers polynomials vectors")
"""Nouns for operands: what is done to them is a calculation (`add_numbers`)."""

UNCLEAR = word_set("""
    answer cache calibrate cleanup combine compile compress crop decrypt encrypt enhance enrich export
    feed generate harvest index inform mine optimize organize pack prepare process rebuild recalculate
    recompute redact refine refresh regenerate reindex render repair rescore resize resync rework
    rollback sanitize select spin stage stream sync synchronise synchronize train transform trim unpack
    unzip vacuum warm wash zip
""")
"""Verbs of calls that may change something or not: a name that begins with one names no information."""

NO_VERBS = word_set("""
    affiliate aggregate associate candidate certificate climate coordinate corporate delegate duplicate
    enterprise estate exercise expertise franchise graduate merchandise premise private template
""")
"""Nouns that end as verbs do."""

WEAK = word_set("call do exec execute handle invoke manage perform process run try use")
"""Verbs without an effect of their own; the next verb of the name decides."""

PREPARING = word_set("discover load select unlock")
"""Verbs that load a tool, which changes nothing."""

TOOLS = word_set("tool tools toolbox toolkit toolset toolsets")
"""Nouns for tools that are loaded."""

JOINING = word_set("and or then")
"""Conjunctions; a verb after one of them counts too."""

PHRASES = {
    ("call", "client"): "phone",
    ("call", "customer"): "phone",
    ("call", "patient"): "phone",
    ("call", "taxi"): "phone",
    ("collect", "payment"): "charge",
    ("convert", "lead"): "update",
    ("convert", "trial"): "update",
    ("find", "replace"): "replace",
    ("truncate", "message"): "summarize",
    ("truncate", "number"): "round",
    ("truncate", "string"): "summarize",
    ("truncate", "text"): "summarize",
    ("format", "disk"): "wipe",
    ("format", "drive"): "wipe",
    ("gather", "payment"): "charge",
    ("get", "rid"): "delete",
    ("load", "card"): "deposit",
    ("load", "money"): "deposit",
    ("solve", "ticket"): "resolve",
    ("check", "in"): "checkin",
    ("check", "out"): "checkout",
    ("drop", "off"): "dropoff",
    ("hand", "off"): "handoff",
    ("hand", "over"): "handover",
    ("hang", "up"): "hangup",
    ("log", "in"): "login",
    ("log", "out"): "logout",
    ("look", "up"): "lookup",
    ("pick", "up"): "pickup",
    ("sign", "in"): "signin",
    ("sign", "out"): "signout",
    ("sign", "up"): "signup",
    ("top", "up"): "topup",
}
"""Verbs of two words."""

FACTS = word_set("""
    amount analysis availability balance balances calculation calculator catalog catalogue checker
    comparison conversion converter cost costs count cutoff date deadline detail details duration
    eligibility eta fee fees finder history hours id ids info information locations number overview
    policies policy price prices pricing rate rates reason retriever rules searcher speech statistics
    stats status statuses summary terms time timetable total totals viewer
""")
"""Nouns for facts about a resource: `order_status` names its result, although `order` is a verb."""

INFORMATION = FACTS | word_set("""
    address addresses analysis average calculation calculator calendar caption catalog catalogue
    checker comparison context conversion converter dashboard data database datastore db definition
    deviation dictionary difference directions distance documentation encyclopedia estimate faq faqs
    finder forecast glossary hours inventory kb knowledge leaderboard ledger list lists locations
    logarithm lookup mean median menu metrics mode name names news now options percentage percentile
    pricing quote quotes ratio reader receipt receipts recognition report reports result results
    retriever root schedule schema search searcher settings state temperature timetable today
    transactions transcript translation translator usage validation variance verification viewer
    weather wiki wikipedia
""")
"""Nouns for information; a name without a verb that ends in one of them is a read."""

STORED = word_set("""
    address addresses calendar catalog catalogue data database datastore db inventory list lists menu
    name names options schedule settings
""")
"""Those of them that can also be changed (`manage_settings`)."""

PASSING = word_set("connect delegate forward redirect refer reroute route transfer")
"""Verbs that hand over, if a person or agent is named."""

HUMANS = word_set("human humans")
"""Nouns for humans."""

ASKING = word_set("ask call contact get need page request speak summon talk")
"""Verbs that involve a human."""

REACHING = word_set("contact page request speak summon talk")
"""Verbs that involve a person or agent."""

HANDING = word_set("escalate escalation handoff handover hangup takeover")
"""Words that always mean a hand-off."""

ENDING = word_set("close end exit finish leave quit")
"""Verbs that end a conversation."""

CONVERSATION = word_set("call caller chat conversation dialog dialogue session")
"""Nouns for conversations."""

PERSONS = word_set("""
    adviser advisor agent agents assistant colleague department desk expert experts helpdesk human
    humans live manager operator operators person queue rep representative representatives reps
    somebody someone specialist specialists staff subagent supervisor supervisors support team
""")
"""Nouns for those who take over."""

MONEY = word_set("""
    account accounts amount balance bank card cash checking credit fund funds money payment savings
    wallet
""")
"""Nouns for money; a transfer of one of them is not a hand-off."""
