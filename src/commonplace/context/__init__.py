"""What matters for a task, from every domain: rules, lessons, passages and API operations."""
