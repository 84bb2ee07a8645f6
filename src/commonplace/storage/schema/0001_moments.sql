-- Programs count microseconds since the epoch; tables hold TIMESTAMPTZ. Both are exact to the microsecond.
CREATE FUNCTION moment_of(microseconds BIGINT) RETURNS TIMESTAMPTZ
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN TIMESTAMPTZ '1970-01-01 00:00:00+00' + microseconds * INTERVAL '1 microsecond';

CREATE FUNCTION microseconds_of(moment TIMESTAMPTZ) RETURNS BIGINT
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (EXTRACT(EPOCH FROM moment) * 1000000)::BIGINT;
