package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// forms are the values of --from.
var forms = []string{"auto", "decimal", "base32", "base62", "hex", "typed", "uuid"}

// parseID reads an ID of the form. Of two forms that a text could have, auto takes decimal digits first.
func parseID(text, form string) (snowflake.ID, error) {
	if form == "auto" {
		form = formOf(text)
	}

	switch form {
	case "base32":
		return notNegative(text, snowflake.ParseBase32)
	case "base62":
		return notNegative(text, snowflake.ParseBase62)
	case "hex":
		return parseHex(text)
	case "typed":
		return parseTyped(text)
	case "uuid":
		var id uuidkey.ID
		err := id.Scan(text)
		return snowflake.ID(id), err
	case "float":
		return 0, fmt.Errorf("%.40q is a floating-point number: the last digits of the ID are lost", text)
	}
	return snowflake.Parse(text)
}

func parseHex(text string) (snowflake.ID, error) {
	u, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not 1 to 16 hexadecimal digits", text)
	}
	return snowflake.ID(u), nil
}

// notNegative parses a text of letters, which is often a word. A negative number is an error: no ID has such a text.
func notNegative(text string, parse func(string) (snowflake.ID, error)) (snowflake.ID, error) {
	id, err := parse(text)
	if id < 0 {
		return 0, fmt.Errorf("%.40q is not an ID: it is above the greatest one, %v", text, snowflake.ID(math.MaxInt64))
	}
	return id, err
}

func formOf(text string) string {
	_, err := snowflake.Parse(text)
	isDecimal := err == nil || errors.Is(err, snowflake.ErrRange)
	isHex := strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
	hasDigit := strings.ContainsAny(text, "0123456789")
	areDigits := strings.Trim(text, "0123456789") == ""

	switch {
	case isDecimal:
		return "decimal"
	case isHex:
		return "hex"
	case strings.Contains(text, "_"):
		return "typed"
	case len(text) == 36:
		return "uuid"
	case len(text) == 13:
		return "base32"
	case areDigits:
		return "decimal"
	case isFloat(text):
		return "float"
	case len(text) == 11 && hasDigit:
		return "base62"
	}
	return "decimal" // its error names the first character that is not a digit
}

// isFloat reports whether a text is a number as spreadsheets print IDs, such as 1.2345e+18.
func isFloat(text string) bool {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return false
	}
	isWord := strings.Trim(text, "0123456789.eE+-") != "" // NaN, Inf, 0x1p-2
	return strings.ContainsAny(text, ".eE") && !isWord
}

// parseTyped reads a prefix, an underscore and 13 characters of base 32, as sqltypes.Typed prints them. A 14th one
// checks the others.
func parseTyped(text string) (snowflake.ID, error) {
	at := strings.LastIndexByte(text, '_')
	if at < 1 || strings.Trim(text[:at], "abcdefghijklmnopqrstuvwxyz_") != "" {
		return 0, fmt.Errorf("%.40q is not a typed ID, such as user_04W86BB0G4007: want a prefix of the letters a to z",
			text)
	}

	if suffix := text[at+1:]; len(suffix) != 14 {
		return notNegative(suffix, snowflake.ParseBase32)
	}
	id, err := sqltypes.ParseTyped[anyKind]("any" + text[at:])
	return snowflake.ID(id), err
}

// anyKind stands for each kind whose texts have a check character.
type anyKind struct{}

func (anyKind) Prefix() string { return "any" }
func (anyKind) Checked()       {}

// around matches what programs and chats write around an ID: id=1, <@1>, :1, 1n, 1L, 1::bigint.
var around = regexp.MustCompile(`(?s)^(?:[A-Za-z$_.-]*[:=<>@#&!]+)*(.*?)(?:[nL]|::\w+)?[>:=.]*$`)

// readID reads a word of an input.
func readID(word, form string) (snowflake.ID, error) {
	id, err := parseID(word, form)

	const longest = 200 // of an ID and what is around it
	if err != nil && len(word) <= longest {
		if bare, bareErr := parseID(around.FindStringSubmatch(word)[1], form); bareErr == nil {
			return bare, nil
		}
	}
	return id, err
}

// reasonOf returns why a text is not an ID.
func reasonOf(text string, err error) string {
	var wrong *snowflake.ParseError
	switch {
	case looksSecret(text):
		return "it looks like a DSN, and is not an ID"
	case webLink.MatchString(text):
		return "it is a URL without an ID"
	case errors.As(err, &wrong):
		return fmt.Sprintf("%.40q is not an ID: %s", text, wrong.Reason)
	}
	return err.Error()
}
