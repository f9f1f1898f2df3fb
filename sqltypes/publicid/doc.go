// Package publicid shows IDs as tokens of 26 characters that hide when a row was created, by which worker, how many
// rows there are and which is the next. The database keeps its bigint and nothing else is stored: a token is the
// encrypted ID.
//
//	keys, err := publicid.ParseKeys(os.Getenv("PUBLICID_KEYS")) // "2026b:(32 hex digits)", see GenerateKey
//	users, err := publicid.New("user", keys)
//	token, err := users.Token(user.ID) // "2BN5D8MQNV4EBEF8WQ5QEYGZDA"
//	id, err := users.Parse(token)
//
//	type UserID = publicid.ID[userKind] // or: a column type whose JSON, text and URL parameters are tokens
//
// # Construction
//
// A block is 64 zero bits and the ID as a big-endian number of 64 bits. It is encrypted with AES-128 (FIPS 197, one
// call of the cipher, no mode and no nonce). The 128 bits of the result are written in Crockford's Base 32
// (https://www.crockford.com/base32.html; digits and upper-case letters, 26 characters), or with [WithBase62] in digits
// and letters (22 characters). The key of the cipher is derived from the secret of a [Key] and the codec's domain with
// HKDF-SHA-256 (RFC 5869; no salt, the info is "sqlflake publicid v1 " followed by the domain, 16 bytes).
//
// Each ID from 1 to 2^63-1 has exactly one token for a domain and a key, of a fixed length, and only that text is read
// as the ID. The ID 0, which means "no ID yet", and negative IDs have none.
//
// # Promises
//
// They rest on one assumption: without the key nobody can distinguish AES-128 from a random permutation, even with
// access to both directions (a strong pseudorandom permutation). Secrets must be random; [GenerateKey] creates them.
//
// Confidentiality. This is deterministic encryption of a 64-bit value. From two tokens of one domain and key, an
// observer without the key learns whether they belong to the same row, and nothing else: no time, worker, order,
// distance or number of rows. Known pairs of IDs and tokens, however many, reveal nothing about other rows. No number
// of tokens weakens this, since a permutation has no collisions.
//
// Authenticity. A token that was changed, invented, or made for another domain or with another key decrypts to a random
// block, which starts with 64 zero bits with probability 2^-64 (1 in 1.8e19). Ten million guesses a second for a year,
// 3.2e14, have a chance of 1.7e-5 for each accepted key that one of them is read as an ID, which would be a random one
// of 2^63 and hardly that of a row. That enciphering redundant text authenticates it is proved by Bellare and Rogaway,
// "Encode-then-encipher encryption", ASIACRYPT 2000, LNCS 1976, pages 317-330, for ciphers as assumed above (in
// general, encryption of such text does not).
//
// This is the goal of deterministic authenticated encryption (Rogaway and Shrimpton, "A Provable-Security Treatment of
// the Key-Wrap Problem", EUROCRYPT 2006) for one block. Their mode SIV (RFC 5297) reaches it for text of any length
// with 128 bits against forgery, and would make tokens of 39 characters.
//
// # Limits
//
//   - It does not authorize. Whoever has seen a token may use it: in logs, links, browser histories. Check that the
//     caller may access the row, as with any ID.
//   - It does not hide equality. A row has the same token for everybody as long as the first key stays, so two people
//     can find out that they see the same row. In another domain the row has another token.
//   - Tokens do not expire and cannot be revoked individually. Removing a key ends all tokens that it made.
//   - Lost keys cannot be replaced: the rows remain, but each link and bookmark with a token of that key is dead. Store
//     keys like those of a backup. Whoever obtains a key can read and make all its tokens, past and future.
//   - It hides nothing from those who read the database, nor what the program shows otherwise: a creation date, the
//     order of a list, a number in a page's title.
//   - Tokens are not ordered. Sort and page by the column, and do not store tokens.
//   - It is not for numbers that are secret themselves. An attacker who can have IDs of his choice encrypted and sees
//     the tokens can test a guess.
//
// Timing. Which texts are well-formed is public, and malformed ones are rejected at once. The zero bits are compared as
// one machine word. Time may reveal which key opened a token, so roughly its age. The cipher takes constant time where
// crypto/aes uses instructions of the processor, as on amd64 and arm64; see its comment.
//
// # Domains
//
// The domain is the kind of row, "user" or "order". It is part of the key, so the token of user 5 differs from that of
// order 5 and is not accepted in its place, and nobody can see that the numbers are equal. It is not secret. Changing
// it changes all tokens.
//
// # Rotation of keys
//
// A codec encrypts with the first of its keys and accepts tokens of all. A token does not name its key, since that
// would reveal its age, cost some of the few spare bits, and save little: a second key costs some 20 ns. The ID of a
// key is for people: [Codec.Open] returns it, so a counter can show when an old key is no longer used. To change keys
// while several processes run,
//
//  1. add the new key last everywhere ("old,new"), so that each process accepts what the others will send;
//  2. put it first everywhere ("new,old"): new tokens use it, old ones still work;
//  3. when Open shows no more use of the old key, or when old links may die, remove it ("new").
//
// From step 2 on a row has a new token, and two while both keys are accepted: compare IDs, not tokens.
package publicid
