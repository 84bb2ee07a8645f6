"""Rules of the catalogue and rule files of clients: read, write, place and compare.

Everything here is pure: texts and paths go in, values come out.
"""
