"""`turnwise judge-check`: draws conversations, asks the judge in several forms, says what changed."""
