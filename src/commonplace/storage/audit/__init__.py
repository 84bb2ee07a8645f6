"""The audit trail of a team: chains of all servers in PostgreSQL, fed from their folders."""
