"""Tables of what is said about a thing: names that do the same work, and sides of matters."""
