package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// forms are the values of -from.
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
	case "groups":
		return snowflake.Parse(strings.ReplaceAll(text, "_", ""))
	case "hex":
		u, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"), 16, 64)
		if err != nil {
			return 0, fmt.Errorf("%.40q is not 1 to 16 hexadecimal digits", text)
		}
		return snowflake.ID(u), nil
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

// notNegative parses a text in which no ID begins as those of negative numbers do: letters are often a word.
func notNegative(text string, parse func(string) (snowflake.ID, error)) (snowflake.ID, error) {
	id, err := parse(text)
	if id < 0 {
		return 0, fmt.Errorf("%.40q is not an ID: it is above the greatest one, %v", text, snowflake.ID(math.MaxInt64))
	}
	return id, err
}

func formOf(text string) string {
	digits := strings.Trim(text, "0123456789") == ""
	_, err := snowflake.Parse(text)
	switch {
	case err == nil, errors.Is(err, snowflake.ErrRange):
		return "decimal"
	case strings.HasPrefix(text, "0x"), strings.HasPrefix(text, "0X"):
		return "hex"
	case grouped.MatchString(text):
		return "groups"
	case strings.Contains(text, "_"):
		return "typed"
	case len(text) == 36:
		return "uuid"
	case len(text) == 13:
		return "base32"
	case digits:
		return "decimal"
	case isFloat(text):
		return "float"
	case len(text) == 11 && strings.ContainsAny(text, "0123456789"):
		return "base62"
	}
	return "decimal" // whose error names the first character that is not a digit
}

// isFloat is for 1.2345e+18, as spreadsheets print IDs.
func isFloat(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && strings.ContainsAny(text, ".eE") && strings.Trim(text, "0123456789.eE+-") == ""
}

// parseTyped reads a prefix, an underscore and 13 characters of base 32, as sqltypes.Typed prints them, and a 14th that
// checks these.
func parseTyped(text string) (snowflake.ID, error) {
	at := strings.LastIndexByte(text, '_')
	if at < 1 || strings.Trim(text[:at], "abcdefghijklmnopqrstuvwxyz_") != "" {
		return 0, fmt.Errorf("%.40q is not a typed ID, such as user_04W86BB0G4007: want a prefix of the letters a to z", text)
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
