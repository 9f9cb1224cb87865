"""What files hold, and what of it could be scored."""
