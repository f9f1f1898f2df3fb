CREATE TABLE IF NOT EXISTS messages (
    id       bigint PRIMARY KEY,
    reply_to bigint REFERENCES messages,
    seen_by  bigint[] NOT NULL DEFAULT '{}', -- users
    likes    bigint NOT NULL DEFAULT 0,      -- a number, no ID
    body     text NOT NULL
);
