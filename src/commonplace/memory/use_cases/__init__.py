"""The use cases behind `MemoryService`, grouped by what they work on."""
