"""Discovery Engine's Answer and its sessions (v1beta)."""
