"""The stdio transport: one client on one duplex byte stream."""
