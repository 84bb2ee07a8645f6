-- Shapes and their areas.
CREATE TABLE shapes (
    id INTEGER PRIMARY KEY,
    sides INTEGER NOT NULL
);

CREATE INDEX idx_shapes_sides ON shapes (sides);

CREATE VIEW large_shapes AS SELECT id, square(sides) FROM shapes WHERE sides > 4;

CREATE FUNCTION square(value INTEGER) RETURNS INTEGER AS $$
    SELECT value * value;
$$ LANGUAGE sql;

INSERT INTO shapes (id, sides) VALUES (1, 4);
