"""The REST interface of the service: the methods of the CES API v1beta."""
