"""Find entries again, by their words and by their meaning."""
