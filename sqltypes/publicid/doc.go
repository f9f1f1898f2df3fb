// Package publicid shows IDs to the outside as tokens that say nothing: 26 characters that hide when a row was made, by
// which worker, how many there are and which is the next. The database keeps its bigint, nothing else is stored, and
// there is no table to look tokens up in: a token is the ID, encrypted.
//
// A [Codec] turns IDs into tokens and back. [ID] is a column type that does so by itself: its JSON, its text and its URL
// parameters are tokens and nothing else, its column is a bigint.
//
//	keys, err := publicid.ParseKeys(os.Getenv("PUBLICID_KEYS")) // "2026b:(32 hex digits)"
//	users, err := publicid.New("user", keys)
//	token, err := users.Token(user.ID)
//	id, err := users.Parse(token)
//
// # The construction
//
// A block is 64 zero bits and then the ID as a big-endian number of 64 bits. It is encrypted with AES-128 as it stands
// (FIPS 197, one call of the cipher, no mode and no nonce), and the 128 bits that come out are written in Crockford's
// Base 32 (https://www.crockford.com/base32.html; digits and upper-case letters, 26 characters), or with [WithBase62] in
// digits and letters (22 characters). The key of the cipher is derived from the secret of a [Key] and the codec's domain
// with HKDF-SHA-256 (RFC 5869; no salt, the info is "sqlflake publicid v1 " followed by the domain, 16 bytes).
//
// So each ID from 1 to 2^63-1 has exactly one token for a domain and a key, of a fixed length, and that token is the only
// text that is read as the ID. The ID 0, which means "no ID yet", and negative IDs have none.
//
// # What it promises
//
// All of this rests on one assumption: that nobody without the key can tell AES-128 from a random permutation, even if he
// may ask for both directions (a strong pseudorandom permutation). Secrets have to be random; [GenerateKey] makes them.
//
// Confidentiality. This is deterministic encryption of a 64-bit value. Who has tokens and no key learns from two of the
// same domain and key whether they are of the same row. He learns nothing else: no time, worker, order, distance or
// number of rows. Pairs of IDs and tokens that he knows, however many, tell him nothing of others, and there is no number
// of tokens after which that wears off: a permutation has no collisions.
//
// Authenticity. What is no token of the domain is refused: a token that was changed, made up, or made for another domain
// or with another key decrypts to a random block, and such a block starts with 64 zero bits once in 2^64 (1.8e19). Ten
// million guesses a second for a year, 3.2e14, have a chance of 1.7e-5 for each key that is accepted that one of them
// is read as an ID at all; it would be a random one of 2^63, hardly that of a row. That enciphering text with redundancy
// authenticates it is proved by Bellare and Rogaway, "Encode-then-encipher encryption", ASIACRYPT 2000, LNCS 1976,
// pages 317-330, for ciphers as assumed above (in general, encryption of such text does not).
//
// This is the goal of deterministic authenticated encryption (Rogaway and Shrimpton, "A Provable-Security Treatment of the
// Key-Wrap Problem", EUROCRYPT 2006), for one block. Their mode SIV (RFC 5297) reaches it for texts of any length, with 128
// bits against forgery, and would make tokens of 39 characters.
//
// # What it does not do
//
//   - It does not authorize. A token is a name, and whoever has seen it may use it: in logs, links, browser histories. Check
//     that the caller may have the row, as with any ID.
//   - It does not hide equality. The same row has the same token for everybody and as long as its key is the first one; two
//     people can find out that they see the same row. In another domain the row has another token.
//   - Tokens don't expire and can't be revoked one by one. Taking a key away ends all tokens that it made.
//   - Lost keys can't be replaced: the rows are there, but each link and bookmark with a token of that key is dead. Keep
//     them as the keys of a backup are kept. Whoever gets hold of a key can read and make all tokens of it, past and future.
//   - It does not hide anything from those who read the database, or what the program shows besides: a creation date, the
//     order of a list, a number in a page's title.
//   - Tokens are in no order. Sort and page by the column, never by tokens, and don't store them.
//   - It is not meant for numbers that are secret by themselves. Who can have an ID of his choice encrypted, and sees the
//     token, can test a guess.
//
// Timing. Which texts are well-formed is public, and malformed ones are refused at once. The zero bits are compared as one
// machine word. Time may tell which of the keys has opened a token, so roughly how old it is. The cipher itself takes
// constant time where crypto/aes uses instructions of the processor, as on amd64 and arm64, and not elsewhere; see
// the comment of crypto/aes.
//
// # Domains
//
// The domain is the kind of row, "user" or "order". It is part of the key, so that the token of user 5 is neither that of
// order 5 nor accepted in its place, and nobody can see that the two have the same number. It is not secret. Changing it
// changes all tokens.
//
// # Rotation of keys
//
// A codec encrypts with the first of its keys and accepts tokens of all. A token does not say which key made it: that
// would tell its age, take from the few spare bits, and save little, as the second key costs some 20 ns more. The ID of
// a key is for people: [Codec.Open] returns it, so that a counter can show when an old key is no longer needed. To change
// keys while several processes run,
//
//  1. add the new key as the last one everywhere ("old,new"), so that each process accepts what the others will send;
//  2. put it first everywhere ("new,old"): new tokens are made with it, old ones go on working;
//  3. when Open shows no more use of the old key, or when old links may die, take it away ("new").
//
// The order of steps 1 and 2 matters only if several processes run. From step 2 on a row has a new token, and two for as
// long as both keys are accepted: compare IDs, not tokens.
package publicid
