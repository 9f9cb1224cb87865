"""The HTTP server and its REST interface."""
