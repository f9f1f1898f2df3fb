-- +goose Up
-- The lease table, as sqlflake sql leases -dialect postgres prints it. The role of the service then needs no right to
-- create tables: gormplugin.Open and sqllease use the table if it exists.
CREATE TABLE IF NOT EXISTS "snowflake_leases" (
	namespace pg_catalog.text NOT NULL,
	worker bigint NOT NULL,
	epoch bigint NOT NULL,
	token pg_catalog.text NOT NULL,
	horizon bigint NOT NULL,
	expires_ms bigint NOT NULL,
	revision bigint NOT NULL,
	layout pg_catalog.text NOT NULL,
	host pg_catalog.text NOT NULL,
	pid bigint NOT NULL,
	version pg_catalog.text NOT NULL,
	protocol bigint NOT NULL DEFAULT 1,
	PRIMARY KEY (namespace, worker)
);
GRANT SELECT, INSERT, UPDATE ON snowflake_leases TO service;

-- +goose Down
-- Never drop the table: it holds up to which time IDs were issued.
