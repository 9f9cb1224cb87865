"""Conversations as a stream: assembly of events, windows, revisions, alerts."""
