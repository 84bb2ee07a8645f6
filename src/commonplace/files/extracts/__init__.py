"""What another domain finds inside files and has indexed with them, such as API operations."""
