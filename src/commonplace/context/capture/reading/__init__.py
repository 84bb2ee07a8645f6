"""Read transcripts of clients, whatever is in them, within limits."""
