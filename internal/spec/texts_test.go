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

	"github.com/google/uuid"

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
func (account) Checked()        {}
func (letter) Prefix() string   { return "x" }
func (long) Prefix() string     { return strings.Repeat("ab_", 20) + "xyz" }
func (empty) Prefix() string    { return "" }
func (trailing) Prefix() string { return "a_" }
func (capital) Prefix() string  { return "User" }
func (number) Prefix() string   { return "user2" }
func (tooLong) Prefix() string  { return strings.Repeat("ab_", 20) + "wxyz" }

func addTyped[K sqltypes.Kind](t *testing.T, v *vectors, valid []snowflake.ID, invalid ...string) {
	_, checked := any(K{}).(interface{ Checked() })
	vector := typed{Prefix: K{}.Prefix(), Checked: checked}
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
	swapped := []byte(good)
	swapped[len(good)-5], swapped[len(good)-6] = swapped[len(good)-6], swapped[len(good)-5]
	addTyped[account](t, v, someIDs(),
		good[:len(good)-1], good[:len(good)-1]+"0", string(swapped), good+"0", "account"+good[11:], good[:len(good)-1]+"x")
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
type sealer struct {
	cipher.Block
	form string
}

func newSealer(t *testing.T, secret, domain, form string) sealer {
	info := map[bool]string{false: "sqlflake publicid v1 ", true: "sqlflake publicid uuid v1 "}[form == "uuid"]
	raw, err := hex.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}

	key, err := hkdf.Key(sha256.New, raw, nil, info+domain, 16)
	if err != nil {
		t.Fatal(err)
	}

	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}

	return sealer{block, form}
}

func (s sealer) seal(counter, id uint64) (block [16]byte) {
	binary.BigEndian.PutUint64(block[:8], counter)
	binary.BigEndian.PutUint64(block[8:], id)
	s.Encrypt(block[:], block[:])
	return block
}

// least returns the first counter from the given one on whose block fits.
func (s sealer) least(counter, id uint64) uint64 {
	for s.form == "uuid" {
		if block := s.seal(counter, id); block[6]>>4 == 4 && block[8]>>6 == 2 {
			break
		}
		counter++
	}
	return counter
}

// text writes a block, and more if the number is above 128 bits.
func (s sealer) text(n *big.Int) string {
	alphabet, length := "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26
	if s.form == "uuid" {
		var u uuid.UUID
		n.FillBytes(u[:])
		return u.String()
	}

	text, base, digit := make([]byte, length), big.NewInt(int64(len(alphabet))), new(big.Int)
	for i := length - 1; i >= 0; i-- {
		n, digit = new(big.Int).DivMod(n, base, digit)
		text[i] = alphabet[digit.Int64()]
	}

	return string(text)
}

func (s sealer) token(counter, id uint64) string {
	block := s.seal(s.least(counter, id), id)
	return s.text(new(big.Int).SetBytes(block[:]))
}

const (
	secret1 = "000102030405060708090a0b0c0d0e0f"
	secret2 = "f0e1d2c3b4a5968778695a4b3c2d1e0f"
)

func makeTokens(t *testing.T, v *vectors) {
	options := map[string][]publicid.Option{"base32": nil, "uuid": {publicid.WithUUID()}}
	codec := func(v token) *publicid.Codec {
		keys, err := publicid.ParseKeys("k:" + v.Secret)
		if err != nil {
			t.Fatal(err)
		}

		c, err := publicid.New(v.Domain, keys, options[v.Form]...)
		if err != nil {
			t.Fatal(err)
		}

		return c
	}
	valid := func(v token, id snowflake.ID) token {
		var err error
		if v.Token, err = codec(v).Token(id); err != nil {
			t.Fatal(err)
		}
		v.ID = id.String()
		return v
	}

	for _, form := range []string{"base32", "uuid"} {
		for _, domain := range []string{"user", "order", "User", "größe"} {
			v.Tokens.Valid = append(v.Tokens.Valid, valid(token{Secret: secret1, Domain: domain, Form: form}, 1),
				valid(token{Secret: secret2, Domain: domain, Form: form}, 175928847299117063),
				valid(token{Secret: secret1, Domain: domain, Form: form}, math.MaxInt64))
		}

		s, good := newSealer(t, secret1, "user", form), v.Tokens.Valid[len(v.Tokens.Valid)-12]
		if s.token(0, 1) != good.Token {
			t.Fatalf("%s is sealed as %s", good.Token, s.token(0, 1))
		}

		bad := []token{
			{Secret: secret2, Domain: "user", Token: good.Token},
			{Secret: secret1, Domain: "order", Token: good.Token},
		}
		texts := []string{
			"", good.Token[:len(good.Token)-1], good.Token + "0", "0" + good.Token[1:], good.Token + " ",
			" " + good.Token[1:],
			s.token(0, 0), s.token(0, 1<<63), s.token(1<<14, 1), s.token(1<<63, 1),
		}

		if form == "uuid" {
			texts = append(texts, s.token(s.least(0, 1)+1, 1), strings.ReplaceAll(good.Token, "-", ""),
				"{"+good.Token+"}")
		} else {
			block := s.seal(0, 1)
			n := new(big.Int).SetBytes(block[:])
			texts = append(texts, s.text(n.Add(n, new(big.Int).Lsh(big.NewInt(1), 128))), s.token(1, 1),
				swapCase(good.Token))
		}

		for _, text := range texts {
			bad = append(bad, token{Secret: secret1, Domain: "user", Token: text})
		}

		for _, bad := range bad {
			bad.Form = form
			if _, err := codec(bad).Parse(bad.Token); err == nil {
				t.Fatalf("the token %+v is valid", bad)
			}
			v.Tokens.Invalid = append(v.Tokens.Invalid, bad)
		}
	}

	// UUIDs whose least counter is 0, and one above 500.
	s, first, late := newSealer(t, secret1, "user", "uuid"), uint64(1), uint64(1)
	for s.least(0, first) > 0 {
		first++
	}

	for s.least(0, late) < 500 {
		late++
	}

	for _, id := range []uint64{first, late} {
		made := valid(token{Secret: secret1, Domain: "user", Form: "uuid"}, snowflake.ID(id))
		v.Tokens.Valid = append(v.Tokens.Valid, made)
		made.Token = strings.ToUpper(made.Token)
		if got, err := codec(made).Parse(made.Token); got != snowflake.ID(id) || err != nil {
			t.Fatalf("%+v is read as %d, %v", made, got, err)
		}
		v.Tokens.Read = append(v.Tokens.Read, made)
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
