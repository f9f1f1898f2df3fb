package spec

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

var errNegative = errors.New("negative")

// someIDs are the limits and some of all sizes.
func someIDs() []snowflake.ID {
	ids := []snowflake.ID{
		0, 1, 31, 32, 61, 62, 255, 1<<53 - 1, 1 << 53, 1<<53 + 1, 175928847299117063,
		math.MaxInt64 - 1, math.MaxInt64,
	}
	random := rand.New(rand.NewPCG(26, 1))
	for shift := 0; shift < 63; shift += 5 {
		ids = append(ids, snowflake.ID(random.Int64()>>shift))
	}
	return ids
}

func makeTexts(t *testing.T, v *vectors) {
	notNegative := func(parse func(string) (snowflake.ID, error)) func(string) error {
		return func(s string) error {
			id, err := parse(s)
			if err == nil && id < 0 {
				return errNegative
			}
			return err
		}
	}
	forms := map[string]struct {
		write func(snowflake.ID) string
		read  func(string) error
	}{
		"decimal": {snowflake.ID.String, notNegative(snowflake.Parse)},
		"base32":  {snowflake.ID.Base32, notNegative(snowflake.ParseBase32)},
		"base62":  {snowflake.ID.Base62, notNegative(snowflake.ParseBase62)},
		"uuid": {func(id snowflake.ID) string { return uuidkey.UUID(id).String() }, func(s string) error {
			var id uuidkey.ID
			return id.Scan(s)
		}},
	}
	invalid := map[string][]string{
		"decimal": {
			"", "-1", "+1", "01", "-0", " 1", "1 ", "1.0", "1e3", "9223372036854775808",
			"18446744073709551616", "0x1", "١", "1_000",
		},
		"base32": {
			"", "0", "000000000000", "00000000000000", "04w86bb0g4007", "04W86BB0G400O", "04W86BB0G400I",
			"04W86BB0G400U", "8000000000000",
			"G000000000000", "04W86-BB0G400", "04W86BB0G400é", " 04W86BB0G4007", "04W86BB0G4007 ", "84W86BB0G4007",
		},
		"base62": {
			"", "0", "0000000000", "000000000000", "AzL8n0Y58m8", "zzzzzzzzzzz", "0000000000-", "000000000 0",
			" 00000000001", "00000000001 ",
		},
		"uuid": {
			"", "00000000-0000-0000-0000-000000000000", "2e8c1b52-7d0a-4c3f-9b64-10c2f5a7d3e8",
			strings.Replace(uuidkey.UUID(7).String(), "-8", "-7", 1),
			strings.ReplaceAll(uuidkey.UUID(7).String(), "-", ""),
			"{" + uuidkey.UUID(7).String() + "}", "urn:uuid:" + uuidkey.UUID(7).String(),
			uuidkey.UUID(math.MinInt64).String(),
			uuidkey.UUID(7 + math.MinInt64).String(), uuidkey.UUID(7).String()[:35] + "g",
			" " + uuidkey.UUID(7).String(),
		},
	}

	for name, form := range forms {
		var of ofText
		for _, id := range someIDs() {
			of.Valid = append(of.Valid, text{id.String(), form.write(id)})
			if capitals := strings.ToUpper(form.write(id)); name == "uuid" && form.read(capitals) == nil {
				of.Read = append(of.Read, text{id.String(), capitals})
			}
		}

		for _, text := range invalid[name] {
			if form.read(text) == nil {
				t.Fatalf("the %s %q is valid", name, text)
			}
			of.Invalid = append(of.Invalid, text)
		}

		v.Texts[name] = of
	}
}

// Kinds of typed IDs. Those from empty on have invalid prefixes.
type (
	user     struct{}
	account  struct{}
	letter   struct{}
	long     struct{}
	empty    struct{}
	trailing struct{}
	capital  struct{}
	number   struct{}
	tooLong  struct{}
)

func (user) Prefix() string     { return "user" }
func (account) Prefix() string  { return "big_account" }
func (letter) Prefix() string   { return "x" }
func (long) Prefix() string     { return strings.Repeat("ab_", 20) + "xyz" }
func (empty) Prefix() string    { return "" }
func (trailing) Prefix() string { return "a_" }
func (capital) Prefix() string  { return "User" }
func (number) Prefix() string   { return "user2" }
func (tooLong) Prefix() string  { return strings.Repeat("ab_", 20) + "wxyz" }

func addTyped[K sqltypes.Kind](t *testing.T, v *vectors, valid []snowflake.ID, invalid ...string) {
	vector := typed{Prefix: K{}.Prefix()}
	for _, id := range valid {
		vector.ID, vector.Text = id.String(), sqltypes.Typed[K](id).String()
		v.Typed.Valid = append(v.Typed.Valid, vector)
	}

	vector.ID = ""
	for _, vector.Text = range invalid {
		if id, err := sqltypes.ParseTyped[K](vector.Text); err == nil && id >= 0 {
			t.Fatalf("the typed ID %q is valid", vector.Text)
		}
		v.Typed.Invalid = append(v.Typed.Invalid, vector)
	}
}

func makeTyped(t *testing.T, v *vectors) {
	addTyped[user](t, v, someIDs(),
		"", "user", "user_", "04W86BB0G4007", "_04W86BB0G4007", "User_04W86BB0G4007", "order_04W86BB0G4007",
		"user__04W86BB0G4007",
		"user_04w86bb0g4007", "user_04W86BB0G400", "user_04W86BB0G40070", "user_84W86BB0G4007", "user_04W86BB0G4007 ",
		"user-04W86BB0G4007", "user04W86BB0G4007", "us_er_04W86BB0G4007", sqltypes.Typed[account](7).String())

	good := sqltypes.Typed[account](175928847299117063).String()
	addTyped[account](t, v, someIDs(), good[:len(good)-1], good+"0", "account"+good[11:], good[:len(good)-1]+"x")
	const suffix = "_04W86BB0G4007"
	addTyped[letter](t, v, []snowflake.ID{7}, "xx"+suffix)
	addTyped[long](t, v, []snowflake.ID{7})
	addTyped[empty](t, v, nil, suffix, suffix[1:])
	addTyped[trailing](t, v, nil, "a_"+suffix)
	addTyped[capital](t, v, nil, "User"+suffix)
	addTyped[number](t, v, nil, "user2"+suffix)
	addTyped[tooLong](t, v, nil, tooLong{}.Prefix()+suffix)
}

// sealer makes blocks that publicid never makes, as section 6 has it.
type sealer struct{ cipher.Block }

func newSealer(t *testing.T, secret, domain string) sealer {
	raw, err := hex.DecodeString(secret)
	must(t, err)

	key, err := hkdf.Key(sha256.New, raw, nil, "sqlflake publicid v1 "+domain, 16)
	must(t, err)

	block, err := aes.NewCipher(key)
	must(t, err)

	return sealer{block}
}

func (s sealer) seal(high, id uint64) *big.Int {
	block := make([]byte, 16)
	binary.BigEndian.PutUint64(block[:8], high)
	binary.BigEndian.PutUint64(block[8:], id)
	s.Encrypt(block, block)
	return new(big.Int).SetBytes(block)
}

// textOf writes a block, or a number above 128 bits.
func textOf(n *big.Int) string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	text, base, digit := make([]byte, 26), big.NewInt(int64(len(alphabet))), new(big.Int)
	for i := len(text) - 1; i >= 0; i-- {
		n, digit = new(big.Int).DivMod(n, base, digit)
		text[i] = alphabet[digit.Int64()]
	}
	return string(text)
}

const (
	secret1 = "000102030405060708090a0b0c0d0e0f"
	secret2 = "f0e1d2c3b4a5968778695a4b3c2d1e0f"
)

func makeTokens(t *testing.T, v *vectors) {
	codec := func(v token) *publicid.Codec {
		keys, err := publicid.ParseKeys("k:" + v.Secret)
		must(t, err)

		c, err := publicid.New(v.Domain, keys)
		must(t, err)

		return c
	}
	add := func(secret, domain string, id snowflake.ID) {
		made := token{Secret: secret, Domain: domain, ID: id.String()}
		var err error
		if made.Token, err = codec(made).Token(id); err != nil {
			t.Fatal(err)
		}
		v.Tokens.Valid = append(v.Tokens.Valid, made)
	}

	for _, domain := range []string{"user", "order", "User", "größe"} {
		add(secret1, domain, 1)
		add(secret2, domain, 175928847299117063)
		add(secret1, domain, math.MaxInt64)
	}

	s, good := newSealer(t, secret1, "user"), v.Tokens.Valid[0].Token
	if made := textOf(s.seal(0, 1)); made != good {
		t.Fatalf("%s is sealed as %s", good, made)
	}

	bad := []token{{Secret: secret2, Domain: "user", Token: good}, {Secret: secret1, Domain: "order", Token: good}}
	beyond := new(big.Int).Add(s.seal(0, 1), new(big.Int).Lsh(big.NewInt(1), 128))
	for _, text := range []string{
		"", good[:len(good)-1], good + "0", "0" + good[1:], good + " ", " " + good[1:], swapCase(good), textOf(beyond),
		textOf(s.seal(0, 0)), textOf(s.seal(0, 1<<63)), textOf(s.seal(1, 1)), textOf(s.seal(1<<63, 1)),
	} {
		bad = append(bad, token{Secret: secret1, Domain: "user", Token: text})
	}

	for _, bad := range bad {
		if _, err := codec(bad).Parse(bad.Token); err == nil {
			t.Fatalf("the token %+v is valid", bad)
		}
		v.Tokens.Invalid = append(v.Tokens.Invalid, bad)
	}
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}
