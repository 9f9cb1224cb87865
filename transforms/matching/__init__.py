"""A conversation and its eval case: alignment of turns, pairing of calls, expectations."""
