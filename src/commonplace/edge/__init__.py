"""Protocol in, protocol out; knows no domain."""
