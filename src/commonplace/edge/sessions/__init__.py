"""Sessions of handshake clients that every server of a team can serve."""
