"""Where the replies of a judge and the budgets of its runs are kept, between processes."""
