"""PostgreSQL: connections, transactions, notifications, migrations."""
