"""Sentences of an English customer service, with interchangeable words.

`a|b|c` in braces are words that say about the same in other forms; `$word` is a fact of the conversation.
"""

QUESTIONS = (
    "Hi, I {ordered|bought|purchased} something {weeks|days} ago and order $order still has not "
    "{arrived|come}.",
    "Could you {tell|explain to} me why I was {charged|billed} $amount twice for order $order?",
    "I am {returning|sending back} the items from $order, how does the {refund|refunding} work?",
    "My {package|parcel} is {delayed|missing} and the tracking page {stopped|has not been} updating since"
    " $date.",
    "Please {change|update} the delivery address of $order before it {ships|gets shipped}.",
    "The replacement {works|worked} for a day, then it {stopped|failed} again, what are my "
    "{options|choices}?",
    "Thanks, and can you also {cancel|stop} the subscription that {renewed|renews} on $date?",
    "Which of the {stores|warehouses} near me still {offer|keep} this one in stock, and at what "
    "{price|cost}?",
    "A technician was {scheduled|booked} for $date but nobody {came|called|showed up}.",
    "I {applied|used} the discount code while {ordering|paying} and it was not {accepted|applied}.",
)

ANSWERS = (
    "Thank you for {waiting|contacting us|reaching out}, $name, I have {checked|reviewed|verified} order "
    "$order and {see|found} it in our system.",
    "Your {package|parcel|shipment} {left|was leaving} our warehouse on $date and is "
    "{expected|estimated|scheduled} to {arrive|be delivered} within $days business days.",
    "I am {sorry|very sorry|truly sorry} for the {delay|delays|inconvenience} this has {caused|been "
    "causing} you.",
    "I have {issued|processed|requested} a refund of $amount to the {card|payment method|account} that "
    "was {used|charged} for this {order|purchase}.",
    "Refunds are {usually|normally|typically} {posted|credited|completed} within $days {working|business}"
    " days, {depending|which depends} on your bank.",
    "The {carrier|courier} {reported|reports|is reporting} that the {delivery|driver} was "
    "{delayed|rerouted|stopped} by {weather|road} conditions near the {sorting|distribution} centre.",
    "You will {receive|be receiving|get} a confirmation email with the {updated|new|revised} tracking "
    "{number|details|information} {shortly|soon|in a few minutes}.",
    "{Unfortunately|Regrettably}, the item you {selected|chose|ordered} is {currently|temporarily} out of"
    " stock, and our {suppliers expect|supplier expects} new {deliveries|stock} around $date.",
    "I have {updated|changed|corrected} the shipping address, so the {remaining|other} {items|products} "
    "will be {sent|shipped|dispatched} there {instead|directly}.",
    "To {return|exchange} the {damaged|faulty|broken} item, please {print|use} the {prepaid|attached} "
    "label and {drop|leave} the box at any {collection|pickup} point.",
    "Our {return|returns} policy {allows|covers} {exchanges|exchanging} and {refunds|refunding} within "
    "thirty days of {delivery|receiving the order|purchase}, {provided|as long as} the packaging is "
    "{kept|intact}.",
    "I also {noticed|see|found} that the discount code had {expired|already been applied}, {so|therefore}"
    " I {added|applied} a credit of $amount to your {account|balance}.",
    "Your subscription is {cancelled|being cancelled|set to be cancelled} and no {further|additional} "
    "{charges|payments} will be {made|taken|collected} after $date.",
    "A technician is {scheduled|booked|assigned} to {visit|inspect} your {home|installation} on $date "
    "{between|some time between} nine and noon.",
    "I have {escalated|forwarded|passed} the {case|ticket} to our {billing|shipping|technical} "
    "specialists, who will {contact|call|be contacting} you {directly|personally}.",
    "They are {investigating|reviewing|checking} what {happened|went wrong} and will {share|be sharing} "
    "their {findings|answer} {before|no later than} $date.",
    "For {security|verification} reasons I {sent|have sent|am sending} a {code|link} to the {phone|email}"
    " that is {registered|stored} with your {account|profile}.",
    "The {duplicate|second} charge you {noticed|mentioned|saw} was a {temporary|pending} authorisation "
    "and is {disappearing|going to disappear|released} {automatically|by itself}.",
    "If the replacement {fails|is failing|does not work} as well, we will {gladly|happily} "
    "{offer|arrange} a full refund {including|and cover} the shipping {costs|fees}.",
    "You can {follow|track} every {step|stage} of the {repair|process} in the app, where "
    "{notifications|messages} are {shown|listed} {immediately|at once}.",
    "Meanwhile, {keeping|holding on to} the original {packaging|receipt|invoice} {helps|would help} us "
    "{process|handle} your {claim|request} {faster|more quickly}.",
    "We {value|appreciate} your {patience|understanding}, and we are {working|trying} hard on "
    "{improving|speeding up} our {deliveries|delivery times}.",
    "Is there {anything|something} else I can {help|assist} you with {today|right now}?",
    "Please {reply|answer} to this {message|conversation} {whenever|if} you {need|have} "
    "{further|more|other} {questions|help|assistance}.",
)
