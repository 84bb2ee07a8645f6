"""Numbered schema files of the files tables; a released file is never edited."""
