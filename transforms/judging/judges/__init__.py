"""The judges that can be named, one object each."""
