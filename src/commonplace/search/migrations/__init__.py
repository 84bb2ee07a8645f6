"""Numbered schema files of the search tables; a released file is never edited."""
