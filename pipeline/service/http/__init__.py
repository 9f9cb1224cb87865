"""The REST interface and the HTTP server."""
