"""What waits: documents fetched by URL, results written to disk, and the threads for both."""
