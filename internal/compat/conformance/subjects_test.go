package conformance

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

type user struct{}

func (user) Prefix() string { return "user" }

func (user) Codec() *publicid.Codec { return users }

var users = func() *publicid.Codec {
	keys, err := publicid.ParseKeys("k1:000102030405060708090a0b0c0d0e0f")
	if err != nil {
		panic(err)
	}

	codec, err := publicid.New("user", keys)
	if err != nil {
		panic(err)
	}

	return codec
}()

var subjects = []subject{
	idKind, nullKind, textKind, uuidKind, typedKind, strictKind, publicKind,
}

// arraySubjects have a column that only PostgreSQL has.
var arraySubjects = []subject{arrayKind, typedArrayKind}

// ids are the samples: 0, small ones, one that a float64 and JavaScript would round, one with a worker and a sequence,
// and the limits of the range.
var ids = []snowflake.ID{0, 1, 42, 1<<53 + 1, 1234567890123456789, math.MaxInt64, -5, math.MinInt64}

const (
	oldID    = 7777777777777777777
	absentID = 4444444444444444444
)

func decimal[T ~int | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// everywhere is the same SQL for each database.
func everywhere(sql string) columns { return columns{sqlite: sql, postgres: sql, mariadb: sql} }

func quoted(text string) columns { return everywhere("'" + text + "'") }

var (
	idKind = integers(kind[snowflake.ID]{label: "snowflake.ID", keeps: true},
		func(id snowflake.ID) snowflake.ID { return id })
	nullKind   = integers(kind[sqltypes.Null]{label: "sqltypes.Null", null: true}, sqltypes.NullFrom)
	typedKind  = integers(kind[sqltypes.Typed[user]]{label: "sqltypes.Typed"}, as[sqltypes.Typed[user]])
	strictKind = integers(kind[sqltypes.Strict]{label: "sqltypes.Strict"}, as[sqltypes.Strict])
	publicKind = integers(kind[publicid.ID[user]]{label: "publicid.ID"}, publicid.IDFrom[user])

	// SQLite's columns accept values of any type.
	textKind = single(kind[sqltypes.Text]{
		label: "sqltypes.Text", column: everywhere("varchar(13)"), array: "varchar(13)[]",
		text: columns{sqlite: "CASE typeof(v) WHEN 'text' THEN v ELSE typeof(v) END", postgres: "v", mariadb: "v"},
	}, as[sqltypes.Text], snowflake.ID.Base32, quoted)
	uuidKind = single(kind[uuidkey.ID]{
		label: "uuidkey.ID", column: columns{sqlite: "text", postgres: "uuid", mariadb: "uuid"}, array: "uuid[]",
		text: columns{
			sqlite: "CASE typeof(v) WHEN 'text' THEN v ELSE typeof(v) END", postgres: "CAST(v AS text)",
			mariadb: "CAST(v AS char)",
		},
	}, as[uuidkey.ID], uuidText, quoted)
)

func as[T ~int64](id snowflake.ID) T { return T(id) }

// integers completes a type whose column is a bigint.
func integers[T any](k kind[T], from func(snowflake.ID) T) kind[T] {
	k.column, k.array, k.integer = everywhere("bigint"), "bigint[]", true
	k.text = columns{
		sqlite:   "CASE typeof(v) WHEN 'integer' THEN CAST(v AS TEXT) ELSE typeof(v) END",
		postgres: "CAST(v AS text)",
		mariadb:  "CAST(v AS char)",
	}
	return single(k, from, decimal[snowflake.ID], everywhere)
}

// single completes a type of one ID by what the column holds of each, and how it is written in SQL.
func single[T any](
	k kind[T], from func(snowflake.ID) T, stored func(snowflake.ID) string, literal func(string) columns,
) kind[T] {
	k.old, k.absent = from(oldID), from(absentID)
	for _, id := range ids {
		if id < 0 && k.label == "uuidkey.ID" {
			continue // has no UUID
		}
		k.samples = append(k.samples, sample[T]{from(id), stored(id), literal(stored(id))})
	}
	return k
}

// uuidText returns the UUID of an ID as the comment of uuidkey.ID describes it.
func uuidText(id snowflake.ID) string {
	const variant, spare = 0b10 << 6, 0b10
	h := fmt.Sprintf("%016x", uint64(id))
	return fmt.Sprintf("%s-%s-8%s-%02x00-000000000000", h[:8], h[8:12], h[12:15], variant|int(id&0xF)<<2|spare)
}

var (
	arrayKind      = arrays("sqltypes.Array", sqltypes.ArrayOf[snowflake.ID])
	typedArrayKind = arrays("sqltypes.Array[Typed]", sqltypes.ArrayOf[sqltypes.Typed[user]])
)

// arrays describes a type with a column of type bigint[].
func arrays[E ~int64, T any](label string, from func([]E) T) kind[T] {
	k := kind[T]{
		label:  label,
		column: everywhere("bigint[]"),
		array:  "bigint[]",
		text:   everywhere("CAST(v AS text)"),
		old:    from([]E{7, 7}), absent: from([]E{absentID}), null: true, isArray: true,
	}

	for _, list := range [][]E{
		{},
		{1},
		{1, 42, 1<<53 + 1},
		{0, 1234567890123456789, math.MaxInt64, -5, math.MinInt64},
	} {
		numbers := make([]string, len(list))
		for i, id := range list {
			numbers[i] = decimal(id)
		}
		text := "{" + strings.Join(numbers, ",") + "}"
		k.samples = append(k.samples, sample[T]{from(list), text, quoted(text)})
	}

	return k
}
