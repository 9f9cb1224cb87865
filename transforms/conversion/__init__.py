"""Conversations and eval cases written in other formats, with what those cannot hold."""
