-- name: InsertMessages :copyfrom
INSERT INTO messages (id, reply_to, seen_by, body) VALUES ($1, $2, $3, $4);

-- name: MessagesBetween :many
SELECT * FROM messages WHERE id >= sqlc.arg(lo) AND id < sqlc.arg(hi) ORDER BY id;

-- Without the cast sqlc takes the argument for one ID.
-- name: MessagesByID :many
SELECT * FROM messages WHERE id = ANY(sqlc.arg(ids)::bigint[]) ORDER BY id;

-- name: RepliesTo :many
SELECT r.id, r.body, a.id AS answer FROM messages r LEFT JOIN messages a ON a.reply_to = r.id
WHERE r.reply_to = sqlc.arg(id)::bigint ORDER BY r.id, a.id;
