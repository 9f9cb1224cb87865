"""Questions of judged criteria to models, and the judges that answer them."""
