"""Lists words of tool names by effect: reading, writing, handing over, destructive."""

from turnwise.transforms.text.function_words import word_set

READING = word_set("""
    analyse analyze are ask assess audit authenticate browse calc calculate can cat categorize check
    clarify classify collect compare compute consider convert count debug describe detect determine df
    diagnose diff display does download du enumerate estimate evaluate examine explain extract fetch
    fetches filter find finds forecast format gather geocode get gets grep has have head help how
    identify inspect is know list lists load locate look lookup ls match measure monitor noop parse peek
    ping plan poll predict preview probe pwd query rank read reason recall recognize recollect recommend
    reflect retrieve scan scrape search searches see should show simulate sleep sort stat suggest sum
    summarise summarize tail tell test think track translate validate verify view wait watch wc what
    when where which who whom why
""")
"""Verbs that change nothing. The list is closed: a name without a known verb is not a read."""

IDEMPOTENT = word_set("""
    accept activate adjust amend approve archive assign attach authorise authorize ban block cancel
    change clear close complete configure confirm connect correct deactivate decline delete deny
    deregister destroy detach disable discard disconnect dismiss downgrade drop edit enable erase
    exchange expire fix flag follow forfeit freeze grant hide install kick kill like link lock login
    logoff logon logout mark mkdir modify move mute mv open overwrite patch pause pin postpone publish
    purge put reactivate reassign rebook reboot reject release remove rename reopen replace reschedule reset
    restart restore resume reveal revoke rm rmdir save set signin signout start stop subscribe suspend swap
    terminate touch truncate turn unarchive unassign unban unblock uncomplete unflag unfollow unfreeze
    unhide uninstall unlike unlink unlock unmark unmute unpause unpin unpublish unregister unsubscribe
    unsuspend update upgrade upsert void waive wipe
""")
"""Verbs of idempotent writes."""

REPEATABLE = word_set("""
    add alert append apply begin bid book build buy cd charge checkin checkout claim clone comment
    commit compensate copy cp create credit debit decrement deliver deploy deposit dial dispatch donate
    draw duplicate echo email enrol enroll extend file fork forward import increment initiate insert
    invite issue launch log make merge message notify order pay phone place play post print purchase
    push raise rate recharge record redeem refuel refund register reimburse reissue remind renew
    reply report request reseat reserve respond return review roll schedule sell send share ship
    signup sms spend submit text toggle topup trade transfer trigger tweet upload vote wire withdraw
    write
""")
"""Verbs of writes that are not idempotent."""

TOGGLING = word_set("toggle")
"""Verbs of writes that undo themselves when repeated."""

DESTRUCTIVE = word_set("""
    cancel clear delete destroy discard drop erase forfeit kill overwrite purge remove revoke rm rmdir
    terminate truncate void wipe
""")
"""Verbs that delete something irreversibly."""

NOUNS_TOO = word_set("""
    alert bid book charge check claim comment credit debit deposit email exchange forecast help issue
    like link lock message open order phone plan play post rate record refund register report request
    return review schedule share show sms sum test text trade transfer view vote watch
""")
"""Verbs that are also nouns: a writing one yields to another verb, a reading one must be the first word."""

WEAK = word_set("call do exec execute handle invoke manage perform process run try use")
"""Verbs without an effect of their own; the next verb of the name decides."""

PREPARING = word_set("discover load select unlock")
"""Verbs that load a tool, which changes nothing."""

TOOLS = word_set("tool tools toolbox toolkit toolset toolsets")
"""Nouns for tools that are loaded."""

JOINING = word_set("and or then")
"""Conjunctions; a verb after one of them counts too."""

PHRASES = {
    ("check", "in"): "checkin",
    ("check", "out"): "checkout",
    ("hand", "off"): "handoff",
    ("hand", "over"): "handover",
    ("hang", "up"): "hangup",
    ("log", "in"): "login",
    ("log", "out"): "logout",
    ("look", "up"): "lookup",
    ("sign", "in"): "signin",
    ("sign", "out"): "signout",
    ("sign", "up"): "signup",
    ("top", "up"): "topup",
}
"""Verbs of two words."""

FACTS = word_set("""
    availability balance balances cost count date detail details history id ids info information
    overview policies policy price prices rate rates statistics stats status summary time total
""")
"""Nouns for facts about a resource: `order_status` names its result, although `order` is a verb."""

INFORMATION = FACTS | word_set("""
    analysis calculation calculator calendar caption catalog catalogue checker comparison context
    conversion converter data database datastore db definition dictionary documentation encyclopedia
    estimate faq faqs finder forecast inventory kb knowledge list lists lookup menu metrics name names
    news now options pricing quote quotes reader recognition report reports result results retriever
    schedule schema search searcher state temperature today transactions translation translator usage
    validation verification viewer weather wiki wikipedia
""")
"""Nouns for information; a name without a verb that ends in one of them is a read."""

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
    humans live manager operator operators person queue rep representative representatives reps somebody
    someone specialist specialists staff subagent supervisor supervisors support team
""")
"""Nouns for those who take over."""

MONEY = word_set("""
    account accounts amount balance bank card cash checking credit fund funds money payment savings
    wallet
""")
"""Nouns for money; a transfer of one of them is not a hand-off."""
