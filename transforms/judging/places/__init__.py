"""Where the replies of a judge and the accounts of its limits are kept, between processes."""
