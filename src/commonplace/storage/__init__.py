"""Connections, transactions, migrations, locks, outbox; no domain words."""
