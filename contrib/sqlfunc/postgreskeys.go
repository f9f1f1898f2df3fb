package sqlfunc

// crockford is the alphabet of snowflake.ID.Base32.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// postgresKeys are functions for keys in other columns than bigint: uuidkey.ID and sqltypes.Text. The types are those
// that pg_partman needs: its encoder takes a timestamptz, and its decoder takes text, even for a uuid
// (https://github.com/pgpartman/pg_partman/blob/v5.5.0/doc/pg_partman.md#create_partition).
var postgresKeys = [...]string{postgresUUIDMin, postgresUUIDTime, postgresTextMin, postgresTextTime}

// postgresUUIDMin has the layout of uuidkey.ID: 12 hexadecimal digits of the ID, the version, 3 digits, a byte with
// the variant, the last 4 bits and a 1, and zeros.
const postgresUUIDMin = `CREATE OR REPLACE FUNCTION {uuid_min}(instant timestamp with time zone) RETURNS pg_catalog.uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS {quote}
	SELECT (left(digits, 12) || '8' || substr(digits, 13, 3) || to_hex(130 + ((id & 15) << 2)) || repeat('0', 14))::uuid
	FROM {min}($1) AS id, encode(int8send(id), 'hex') AS digits
{quote}`

// postgresUUIDTime rejects other UUIDs, whose time would be wrong. The collation is for columns with one that is not
// deterministic, with which PostgreSQL does not match patterns.
const postgresUUIDTime = `CREATE OR REPLACE FUNCTION {uuid_time}(key pg_catalog.text) RETURNS timestamp with time zone
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS {quote}
DECLARE
	digits text COLLATE "C" := key::uuid;
	bits bit(128) := 'x' || replace(digits, '-', '');
BEGIN
	IF digits !~ '^[0-7].{7}-.{4}-8.{3}-[89ab][26ae]00-0{12}$' THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_text_representation',
			MESSAGE = format('{name}_uuid_time: %s is not the UUID of an ID', digits);
	END IF;
	RETURN {time}((substring(bits FOR 48) || substring(bits FROM 53 FOR 12) || substring(bits FROM 67 FOR 4))::bit(64)::bigint);
END {quote}`

// postgresTextMin is ID.Base32. The IDs are not negative, so their signs need no mask.
const postgresTextMin = `CREATE OR REPLACE FUNCTION {text_min}(instant timestamp with time zone) RETURNS pg_catalog.text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS {quote}
	SELECT string_agg(substr('{crockford}', ((id >> shift) & 31)::int + 1, 1), '' ORDER BY shift DESC)
	FROM {min}($1) AS id, generate_series(0, 60, 5) AS shift
{quote}`

// postgresTextTime rejects what ParseBase32 rejects.
const postgresTextTime = `CREATE OR REPLACE FUNCTION {text_time}(key pg_catalog.text) RETURNS timestamp with time zone
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS {quote}
BEGIN
	IF key COLLATE "C" !~ '^[0-9A-F][{crockford}]{12}$' THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_text_representation',
			MESSAGE = format('{name}_text_time: %s is not the text of an ID', quote_literal(left(key, 64)));
	END IF;
	RETURN {time}((
		SELECT bit_or((strpos('{crockford}', substr(key COLLATE "C", 13 - shift / 5, 1)) - 1)::bigint << shift)
		FROM generate_series(0, 60, 5) AS shift));
END {quote}`
