"""Choose, cut and count the items of a pack. Pure."""
