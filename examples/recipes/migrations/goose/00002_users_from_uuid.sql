-- +goose Up
-- Moves the table users from UUIDs to IDs, with orders, which refer to it. The old version of the service must not run.
-- Old rows get small keys in the order of their creation, new rows IDs, so ORDER BY id stays the order of creation. Open
-- the plugin with gormplugin.WithMinID(1_000_000_000_000): a small key has no time. Without goose: psql -1 -f.
LOCK TABLE users, orders IN ACCESS EXCLUSIVE MODE;

ALTER TABLE users RENAME COLUMN id TO uuid; -- for old links; new rows have none
ALTER TABLE users ADD COLUMN id bigint;
UPDATE users SET id = numbered.id
FROM (SELECT uuid, row_number() OVER (ORDER BY created_at, uuid) AS id FROM users) numbered
WHERE numbered.uuid = users.uuid;

ALTER TABLE orders RENAME COLUMN user_id TO user_uuid;
ALTER TABLE orders ADD COLUMN user_id bigint;
UPDATE orders SET user_id = users.id FROM users WHERE users.uuid = orders.user_uuid;
ALTER TABLE orders DROP COLUMN user_uuid; -- and its index and foreign key

ALTER TABLE users DROP CONSTRAINT users_pkey, ADD PRIMARY KEY (id), ADD UNIQUE (uuid),
	ALTER COLUMN uuid DROP NOT NULL, ALTER COLUMN uuid DROP DEFAULT;
ALTER TABLE orders ALTER COLUMN user_id SET NOT NULL,
	ADD CONSTRAINT orders_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id);
CREATE INDEX orders_user_id ON orders (user_id);
