-- +goose Up
-- The lease tables, as sqlflake sql leases --dialect postgres prints them. The role of the service then needs no right
-- to create tables: gormplugin.Open and sqllease use the tables if they exist.
CREATE TABLE IF NOT EXISTS "snowflake_namespaces" (
	namespace pg_catalog.text NOT NULL,
	protocol bigint NOT NULL,
	layout pg_catalog.text NOT NULL,
	generation bigint NOT NULL,
	start_tick bigint NOT NULL,
	first_worker bigint NOT NULL,
	last_worker bigint NOT NULL,
	has_leases bigint NOT NULL,
	server pg_catalog.text NOT NULL,
	server_since_ms bigint NOT NULL,
	reach_ms bigint NOT NULL,
	reach_before_ms bigint NOT NULL,
	reach_since_ms bigint NOT NULL,
	revision bigint NOT NULL,
	PRIMARY KEY (namespace)
);
CREATE TABLE IF NOT EXISTS "snowflake_leases" (
	namespace pg_catalog.text NOT NULL,
	worker bigint NOT NULL,
	epoch bigint NOT NULL,
	token pg_catalog.text NOT NULL,
	horizon bigint NOT NULL,
	expires_ms bigint NOT NULL,
	generation bigint NOT NULL,
	reserved_for pg_catalog.text NOT NULL,
	host pg_catalog.text NOT NULL,
	pid bigint NOT NULL,
	version pg_catalog.text NOT NULL,
	revision bigint NOT NULL,
	PRIMARY KEY (namespace, worker)
);
GRANT SELECT, INSERT, UPDATE ON snowflake_namespaces, snowflake_leases TO service;

-- +goose Down
-- Never drop the tables: they hold up to which time IDs were issued.
