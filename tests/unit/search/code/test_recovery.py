"""Files that their grammar reads in part keep what can be read."""

from __future__ import annotations

import pytest

from commonplace.search.code.macros import mask_macros
from commonplace.search.code.reading import read_structure
from commonplace.search.code.sql_statements import split_statements
from commonplace.search.code.structure import Structure


def names(structure: Structure, *kinds: str) -> list[str]:
    return [entry.qualified for entry in structure.definitions if entry.kind in kinds]


def statements(source: bytes) -> list[str]:
    found = [source[start:end] for start, end in split_statements(source)]
    return [" ".join(text.decode().split()) for text in found]


MACROS = b"""
#define HID_API_EXPORT
BEGIN_DECLS
int HID_API_EXPORT hid_init(void)
{
    return 0;
}

HID_API_EXPORT const struct hid_device *HID_API_CALL hid_open(unsigned short id,
    const wchar_t *serial)
{
    return NULL;
}
EXPORT_SYMBOL(hid_open)

FORCE_INLINE static void push(int value) {
    if (value) { total += value; }
}
"""


def test_functions_behind_macros_are_found_where_they_are() -> None:
    structure = read_structure("c", MACROS)
    assert names(structure, "function") == ["hid_init", "hid_open", "push"]
    hid_open = next(entry for entry in structure.definitions if entry.name == "hid_open")
    assert hid_open.line == MACROS[: MACROS.find(b"hid_open(")].count(b"\n") + 1
    assert b"serial)" in MACROS[hid_open.start : hid_open.end]


def test_masking_keeps_every_offset_and_every_line() -> None:
    masked = mask_macros(MACROS)
    assert len(masked) == len(MACROS)
    assert [len(line) for line in masked.split(b"\n")] == [
        len(line) for line in MACROS.split(b"\n")
    ]
    assert b"EXPORT_SYMBOL" not in masked
    assert mask_macros(b"static int next(struct node *n)\n{\n}\n") == (
        b"static int next(struct node *n)\n{\n}\n"
    )


def test_xhtml_is_read_as_html() -> None:
    prolog = b'<?xml version="1.0"?>\n<!DOCTYPE html>\n'
    page = b"<html><body><h1>Shapes</h1><p>text</p><h2>Squares</h2></body></html>\n"
    assert names(read_structure("html", prolog + page), "section") == ["Shapes", "Squares"]


def test_a_broken_region_costs_nothing_else() -> None:
    rule = b".shape%d { color: red; }\n"
    sound = b"".join(rule % number for number in range(200))
    broken = b"}}} @@@ ((( {{{ \n" * 3
    structure = read_structure("css", sound + broken + sound)
    assert structure.spans
    assert len(names(structure, "rule")) >= 390


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"SELECT 1; SELECT ';'; -- a;b\nSELECT 3", ["SELECT 1;", "SELECT ';';", "SELECT 3"]),
        (
            b"CREATE FUNCTION f() AS $b$ BEGIN; RETURN 1; END $b$;\n\\echo done\nSELECT 1;",
            [
                "CREATE FUNCTION f() AS $b$ BEGIN; RETURN 1; END $b$;",
                "\\echo done",
                "SELECT 1;",
            ],
        ),
        (
            b"DELIMITER $$\nCREATE PROCEDURE p() BEGIN X; END$$\nSET 2$$\nDELIMITER ;\nSELECT 3;",
            [
                "DELIMITER $$",
                "CREATE PROCEDURE p() BEGIN X; END$$",
                "SET 2$$",
                "DELIMITER ;",
                "SELECT 3;",
            ],
        ),
        (
            b"CREATE TRIGGER t BEGIN IF x THEN y = CASE c END; END IF;\nEND;\nBEGIN;\nCOMMIT;",
            [
                "CREATE TRIGGER t BEGIN IF x THEN y = CASE c END; END IF; END;",
                "BEGIN;",
                "COMMIT;",
            ],
        ),
        (
            b"CREATE PROC dbo.p AS SELECT 1\nGO\nCREATE TABLE [dbo].[t] (a int)\nGO\n",
            ["CREATE PROC dbo.p AS SELECT 1 GO", "CREATE TABLE [dbo].[t] (a int) GO"],
        ),
        (
            b"COPY t (a) FROM stdin;\n1;2\n3;4\n\\.\nSELECT 1;",
            ["COPY t (a) FROM stdin; 1;2 3;4 \\.", "SELECT 1;"],
        ),
        (b"CREATE TYPE t (delimiter = ';');\nSELECT 1;", ["CREATE TYPE t (delimiter = ';');"]),
        (b"INSERT INTO t VALUES ('it\\'s; here');\nSELECT 'open", ["SELECT 'open"]),
    ],
)
def test_statements_end_where_their_dialect_ends_them(source: bytes, expected: list[str]) -> None:
    found = statements(source)
    assert [text for text in found if text in expected] == expected
    assert len(found) - len(expected) in (0, 1)


def test_statements_that_the_grammar_cannot_read_are_named_by_their_first_words() -> None:
    source = (
        b"CREATE TABLE plain (id integer, label text);\n\n"
        b"CREATE FUNCTION cube_in(cstring) RETURNS cube AS 'MODULE_PATHNAME'\n"
        b"LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;\n\n"
        b"-- every account\nCREATE TABLE IF NOT EXISTS `accounts` (\n"
        b"  `id` int(10) unsigned NOT NULL auto_increment,\n  `name` varchar(20) default '',\n"
        b"  PRIMARY KEY (`id`)\n) TYPE=InnoDB PACK_KEYS=1 ROW_FORMAT=DYNAMIC /*!40000 x */;\n\n"
        b"DEFINE STAGE ??? {{{ NOT SQL AT ALL;\n\n"
        b"CREATE OR REPLACE PACKAGE BODY billing AS PROCEDURE pay IS BEGIN NULL; END; END;\n"
    )
    structure = read_structure("sql", source)
    assert names(structure, "table", "function", "module") == [
        "plain",
        "cube_in",
        "accounts",
        "billing",
    ]
    fields = names(structure, "field")
    assert {"plain.id", "plain.label", "accounts.id", "accounts.name"} <= set(fields)
    assert "accounts.PRIMARY" not in fields


def test_long_scripts_are_cut_between_statements() -> None:
    insert = b"INSERT INTO t (a, b) VALUES\n  (1, 'one'),\n  (2, 'two') ON DUPLICATE ?? KEY;\n"
    source = insert * 200
    structure = read_structure("sql", source)
    assert len(structure.spans) > 5
    assert all(source[span.start :].startswith(b"INSERT") for span in structure.spans)
