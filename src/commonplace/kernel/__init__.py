"""Values that all rooms share: errors, caller, clock, settings, JSON, small data structures."""
