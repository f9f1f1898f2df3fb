package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// forms are the values of --from.
var forms = []string{"auto", "decimal", "base32", "base62", "hex", "typed", "uuid"}

// parsers read an ID of a form.
var parsers = map[string]func(text string) (snowflake.ID, error){
	"decimal": snowflake.Parse,
	"base32":  notNegative(snowflake.ParseBase32),
	"base62":  notNegative(snowflake.ParseBase62),
	"hex":     parseHex,
	"typed":   parseTyped,
	"uuid": func(text string) (snowflake.ID, error) {
		var id uuidkey.ID
		err := id.Scan(text)
		return snowflake.ID(id), err
	},
	"float": func(text string) (snowflake.ID, error) {
		return 0, fmt.Errorf("%.40q is a floating-point number: the last digits of the ID are lost", text)
	},
}

// parseID reads an ID of the form. Of two forms that a text could have, auto takes decimal digits first.
func parseID(text, form string) (snowflake.ID, error) {
	if form == "auto" {
		form = formOf(text)
	}
	return parsers[form](text)
}

func parseHex(text string) (snowflake.ID, error) {
	u, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not 1 to 16 hexadecimal digits", text)
	}
	return snowflake.ID(u), nil
}

// notNegative parses a text of letters, which is often a word. A negative number is an error: no ID has such a text.
func notNegative(parse func(string) (snowflake.ID, error)) func(string) (snowflake.ID, error) {
	return func(text string) (snowflake.ID, error) {
		id, err := parse(text)
		if id < 0 {
			err = fmt.Errorf("%.40q is not an ID: it is above the greatest one, %v", text, snowflake.ID(math.MaxInt64))
		}
		return max(id, 0), err
	}
}

func formOf(text string) string {
	_, err := snowflake.Parse(text)
	if err == nil || errors.Is(err, snowflake.ErrRange) {
		return "decimal"
	}

	for _, f := range []struct {
		fits bool
		form string
	}{
		{strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X"), "hex"},
		{strings.Contains(text, "_"), "typed"},
		{len(text) == 36, "uuid"},
		{len(text) == 13, "base32"},
		{strings.Trim(text, "0123456789") == "", "decimal"},
		{isFloat(text), "float"},
		{len(text) == 11 && strings.ContainsAny(text, "0123456789"), "base62"},
	} {
		if f.fits {
			return f.form
		}
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

// parseTyped reads a prefix, an underscore and 13 characters of base 32, as sqltypes.Typed prints them.
func parseTyped(text string) (snowflake.ID, error) {
	at := strings.LastIndexByte(text, '_')
	if at < 1 || strings.Trim(text[:at], "abcdefghijklmnopqrstuvwxyz_") != "" {
		return 0, fmt.Errorf("%.40q is not a typed ID, such as user_04W86BB0G4007: want a prefix of the letters a to z",
			text)
	}

	return notNegative(snowflake.ParseBase32)(text[at+1:])
}

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
