"""Find in all toolsets at once, and read whatever a reference names."""
