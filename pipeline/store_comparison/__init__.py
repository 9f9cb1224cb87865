"""What is compared of a store: its conversations, losses and scores, and summaries of its runs."""
