"""What a person reads of a run: transcripts of conversations, and which of them to read first."""
