"""Recognises addresses of this machine."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Returns whether a host name or address can only be this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
