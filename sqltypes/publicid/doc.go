// Package publicid shows IDs as tokens of 26 characters that hide when a row was created, by which worker, how many
// rows there are and which is the next. The database keeps its bigint and nothing else is stored: a token is the
// encrypted ID.
//
//	keys, err := publicid.ParseKeys(os.Getenv("PUBLICID_KEYS")) // "2026b:(32 hex digits)", see ParseKeys
//	users, err := publicid.New("user", keys)
//	token, err := users.Token(user.ID) // "2BN5D8MQNV4EBEF8WQ5QEYGZDA"
//	id, err := users.Parse(token)
//
//	type UserID = publicid.ID[userKind] // or: a column type whose JSON, text and URL parameters are tokens
//
// Without the key, two tokens of one domain tell whether they belong to the same row, and nothing else. A token that
// was changed or invented is read as an ID with probability 2^-64. A token does not authorize, does not expire, and has
// no order: check access to the row, and sort by the column. Lost keys cannot be replaced: all links with their tokens
// are dead. The README of the package has the construction (AES-128 over 64 zero bits and the ID), the exact promises
// and the limits. [New] says how to change keys.
//
// # Domains
//
// The domain is the kind of row, "user" or "order". It is part of the key, so user 5 and order 5 have different
// tokens, neither is accepted in place of the other, and clients can't see that the numbers are equal. It is not
// secret. Changing it changes all tokens.
package publicid
