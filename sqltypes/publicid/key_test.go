package publicid_test

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

const secretHex = "0123456789abcdeffedcba9876543210"

func TestKeysAreReadFromLists(t *testing.T) {
	a, b, c := "2026.b_1-x:"+secretHex, "b:1"+strings.ToUpper(secretHex[1:]), "c:2"+secretHex[1:]
	for _, text := range []string{a + "," + b + " " + c + "\n", ", " + a + " ,\t" + b + "\n" + c + ","} {
		keys, err := publicid.ParseKeys(text)
		if err != nil || len(keys) != 3 || keys[0].ID() != "2026.b_1-x" || keys[1].ID() != "b" || keys[2].ID() != "c" {
			t.Errorf("ParseKeys(%q) = %v, %v", text, keys, err)
		}
	}
	if mustToken(t, mustCodec("user", b), 5) != mustToken(t, mustCodec("user", strings.ToLower(b)), 5) {
		t.Error("capitals make another secret")
	}
}

func TestBadKeysAreRejected(t *testing.T) {
	good := "a:" + secretHex
	for text, want := range map[string]string{
		"":                                     "there is none",
		",":                                    "there is none",
		good + ",b":                            "no colon",
		good + "," + good:                      `the ID "a" occurs twice`,
		good + ",b:" + secretHex:               `"a" and "b" have the same secret`,
		"a: " + secretHex:                      "the secret of an ID of 1 characters has 0",
		secretHex:                              "a text of 32 bytes has no colon",
		":" + secretHex:                        "its ID has 0 bytes, want 1 to 32",
		secretHex + "1:4":                      "its ID has 33 bytes, want 1 to 32",
		"a/b:" + secretHex:                     `byte 1 of its ID is "/"`,
		"k\xff:" + secretHex:                   `byte 1 of its ID is "\xff"`,
		"k:" + secretHex[1:]:                   "has 31, want 32 hexadecimal digits",
		"k:" + secretHex + "01":                "has 34, want 32 hexadecimal digits",
		"k:" + secretHex[:31] + "g":            `the secret of "k" has characters that are not hexadecimal digits`,
		"k:" + strings.Repeat("5a", 16):        `the secret of "k" is 8 bytes twice`,
		"k:" + secretHex[:16] + secretHex[:16]: `the secret of "k" is 8 bytes twice`,
		secretHex + ":k":                       "the secret of an ID of 32 characters has 1,", // in the wrong order
	} {
		keys, err := publicid.ParseKeys(text)
		if keys != nil || !errors.Is(err, publicid.ErrKey) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseKeys(%q) = %v, %v, want %q", text, keys, err, want)
		}
		for _, part := range []string{secretHex[:8], secretHex[1:9], "5a5a"} {
			if err != nil && strings.Contains(err.Error(), part) {
				t.Errorf("ParseKeys(%q): the error shows the secret: %v", text, err)
			}
		}
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	type settings struct {
		Key    publicid.Key
		Keys   []publicid.Key
		hidden publicid.Key // fmt calls no methods in fields that are not exported
		Codec  *publicid.Codec
		codec  *publicid.Codec
		copied publicid.Codec
	}
	key, codec := mustKeys("k1:" + secretHex)[0], mustCodec("user", "k1:"+secretHex)
	all := settings{key, []publicid.Key{key}, key, codec, codec, *codec}
	var out strings.Builder
	for _, value := range []any{key, &key, []publicid.Key{key}, map[string]publicid.Key{"a": key}, all, &all, codec, *codec} {
		for _, verb := range append(strings.Fields("v +v #v s q x X d c o b U t T"), " x") {
			fmt.Fprintf(&out, "%"+verb+"\n", value)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("settings", "value", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("settings", "value", value)
		if text, err := json.Marshal(value); err == nil {
			out.Write(append(text, '\n'))
		}
	}
	secret, err := hex.DecodeString(secretHex)
	derived, err2 := hkdf.Key(sha256.New, secret, nil, "sqlflake publicid v1 user", 16)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for name, form := range map[string]string{
		"derived, little-endian": strconv.FormatUint(uint64(binary.LittleEndian.Uint32(derived)), 10),
		"derived, big-endian":    strconv.FormatUint(uint64(binary.BigEndian.Uint32(derived)), 10),
		"derived in hex":         hex.EncodeToString(derived[:4]),
		"hex":                    secretHex[:6], "upper hex": strings.ToUpper(secretHex)[:6], "bytes": string(secret[:4]),
		"base64": base64.StdEncoding.EncodeToString(secret)[:6], "%d": "1 35 69 103", "%#v": "0x1, 0x23",
		"% x": "01 23 45", "%c": "# E g", "%o": "1 43 105", "a panic": "PANIC",
	} {
		if at := strings.Index(out.String(), form); at >= 0 {
			t.Errorf("the secret was printed as %s: %.200s", name, out.String()[max(0, at-100):])
		}
	}
	for _, want := range []string{`publicid.Key("k1")`, `publicid.Key(\"k1\")`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q was not printed in\n%s", want, out.String())
		}
	}
}
