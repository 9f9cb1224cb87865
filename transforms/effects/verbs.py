"""The words of tool names: which of them read, write, hand over or take away."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READING = _words("""
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
"""Verbs that change nothing. The list is closed: a name without any known verb is no read."""

IDEMPOTENT = _words("""
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
"""Verbs of writes that, done twice with the same arguments, leave what they left the first time."""

REPEATABLE = _words("""
    add alert append apply begin bid book build buy cd charge checkin checkout claim clone comment
    commit compensate copy cp create credit debit decrement deliver deploy deposit dial dispatch donate
    draw duplicate echo email enrol enroll extend file fork forward import increment initiate insert
    invite issue launch log make merge message notify order pay phone place play post print purchase
    push raise rate recharge record redeem refuel refund register reimburse reissue remind renew
    reply report request reseat reserve respond return review roll schedule sell send share ship
    signup sms spend submit text toggle topup trade transfer trigger tweet upload vote wire withdraw
    write
""")
"""Verbs of writes that do something once more every time."""

FLIPPING = _words("toggle")
"""Verbs of writes that, done twice, leave what was there before."""

DESTRUCTIVE = _words("""
    cancel clear delete destroy discard drop erase forfeit kill overwrite purge remove revoke rm rmdir
    terminate truncate void wipe
""")
"""Verbs that take something away for good."""

NOUNS_TOO = _words("""
    alert bid book charge check claim comment credit debit deposit email exchange forecast help issue
    like link lock message open order phone plan play post rate record refund register report request
    return review schedule share show sms sum test text trade transfer view vote watch
""")
"""Verbs that are as often nouns: one that writes gives way to another, one that reads must stand first."""

WEAK = _words("call do exec execute handle invoke manage perform process run try use")
"""Verbs that only say that something is done; the next verb of the name says what."""

PREPARING = _words("discover load select unlock")
"""Verbs that make a tool ready: that alone changes nothing."""

TOOLS = _words("tool tools toolbox toolkit toolset toolsets")
"""What is made ready."""

JOINING = _words("and or then")
"""A verb after one of them counts as well."""

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

FACTS = _words("""
    availability balance balances cost count date detail details history id ids info information
    overview policies policy price prices rate rates statistics stats status summary time total
""")
"""What is known of a thing: `order_status` names what it returns, though one can order."""

INFORMATION = FACTS | _words("""
    analysis calculation calculator calendar caption catalog catalogue checker comparison context
    conversion converter data database datastore db definition dictionary documentation encyclopedia
    estimate faq faqs finder forecast inventory kb knowledge list lists lookup menu metrics name names
    news now options pricing quote quotes reader recognition report reports result results retriever
    schedule schema search searcher state temperature today transactions translation translator usage
    validation verification viewer weather wiki wikipedia
""")
"""What is known: a name that holds no verb and ends in one of them says what it returns."""

PASSING = _words("connect delegate forward redirect refer reroute route transfer")
"""Verbs that hand over, if it is to somebody."""

HUMANS = _words("human humans")
"""Who answers where no agent does."""

ASKING = _words("ask call contact get need page request speak summon talk")
"""Verbs that bring in a human."""

SUMMONING = _words("contact page request speak summon talk")
"""Verbs that bring in somebody."""

HANDING = _words("escalate escalation handoff handover hangup takeover")
"""Words that always mean a hand-off."""

ENDING = _words("close end exit finish leave quit")
"""Verbs that end a conversation, which is out of the agent's hands then."""

CONVERSATION = _words("call caller chat conversation dialog dialogue session")
"""What is handed over, or ended."""

SOMEBODY = _words("""
    adviser advisor agent agents assistant colleague department desk expert experts helpdesk human
    humans live manager operator operators person queue rep representative representatives reps somebody
    someone specialist specialists staff subagent supervisor supervisors support team
""")
"""Who takes over."""

MONEY = _words("""
    account accounts amount balance bank card cash checking credit fund funds money payment savings
    wallet
""")
"""What a transfer moves if it is not the conversation."""
