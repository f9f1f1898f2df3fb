package conformance

import (
	"slices"
	"strings"
	"testing"
)

func TestTheChecksCatchBrokenTypes(t *testing.T) {
	sessions := map[dialect]*session{}
	for _, target := range targets {
		if target.name == "SQLite" || target.name == stdlib {
			sessions[target.dialect] = connect(t, target)
		}
	}
	for name, test := range map[string]struct {
		dialect dialect
		broken  subject
		check   check
		failure string
	}{
		"keeps its value on a failed Scan":    {sqlite, staleKind, checkWrongType, "is read as 7777777777777777777, error"},
		"keeps its value on NULL with error":  {sqlite, staleKind, checkNull, "NULL leaves 7777777777777777777 behind"},
		"keeps its value on NULL":             {sqlite, staleNullKind, checkNull, "NULL leaves the old value behind"},
		"keeps the value of the row before":   {sqlite, staleNullKind, checkNull, "the rows are read as"},
		"stays valid on NULL":                 {sqlite, halfNullKind, checkNull, "NULL is read as"},
		"is valid after a failed Scan":        {sqlite, validOnErrorKind, checkWrongType, "is read as"},
		"reads NULL as 0":                     {sqlite, zeroForNullKind, checkNull, "NULL is read as 0, without an error"},
		"hides that it was NULL":              {sqlite, otherNullErrorKind, checkNull, "not ErrNull"},
		"rounds what it writes":               {postgres, viaFloatKind, checkInsert, "want \"9007199254740993\""},
		"rounds what it reads":                {sqlite, viaFloatKind, checkRead, "9007199254740993 is read as 9007199254740992"},
		"reads floats":                        {sqlite, viaFloatKind, checkWrongType, "double precision 42 is read as 42, error"},
		"writes text into numbers":            {sqlite, asTextKind, checkInsert, "the column holds \"text\""},
		"is not found by =":                   {sqlite, asTextKind, checkIN, "v = 1 finds the rows [], <nil>"},
		"is not found by IN":                  {sqlite, asTextKind, checkIN, "IN finds the rows [], <nil>"},
		"is not found by ANY":                 {postgres, asTextKind, checkANY, "= ANY finds the rows []"},
		"has no slice to write":               {postgres, asTextKind, checkArray, "insert a slice"},
		"is a number in JSON":                 {sqlite, asNumberKind, checkJSON, "is {\"value\":0,"},
		"ignores null in JSON":                {sqlite, ignoredNullKind, checkJSON, "JSON null is read as"},
		"keeps its value on bad JSON":         {sqlite, staleJSONKind, checkJSON, `JSON "garbage" is read as 7777777777777777777`},
		"has a text that cannot be read back": {sqlite, otherKeyKind, checkMapKey, "the map is {\"key "},
		"is no key of a map":                  {sqlite, emptyArrayKind, checkMapKey, "not comparable"},
		"reads a NULL element":                {postgres, lenientArrayKind, checkArray, "NULL]::bigint[] is read as [1 0], <nil>"},
		"reads an empty array as NULL":        {postgres, emptyArrayKind, checkArray, "emptyArray{} is read as []"},
		"loses elements of a parameter":       {postgres, shortArrayKind, checkANY, "finds the rows [0 1], <nil>, want [0 1 3]"},
		"loses elements of a column":          {postgres, shortArrayKind, checkInsert, `the column holds "2:{1,42}", want "3:`},
	} {
		t.Run(name, func(t *testing.T) {
			failures := test.broken.run(test.check, sessions[test.dialect])
			if !slices.ContainsFunc(failures, func(f string) bool { return strings.Contains(f, test.failure) }) {
				t.Errorf("%s: failures %q, want one with %q", test.check, failures, test.failure)
			}
		})
	}
}
