package conformance

import (
	"encoding/hex"
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
	idKind, nullKind, textKind, binaryKind, uuidKind, typedKind, publicKind,
	arrayKind, typedArrayKind,
}

var (
	idKind = func() kind[snowflake.ID] {
		k := integers("snowflake.ID", ids, func(id snowflake.ID) snowflake.ID { return id })
		k.keeps = true
		return k
	}()
	nullKind  = nullable(integers("sqltypes.Null", ids, sqltypes.NullFrom))
	typedKind = integers("sqltypes.Typed", ids,
		func(id snowflake.ID) sqltypes.Typed[user] { return sqltypes.Typed[user](id) })
	publicKind = integers("publicid.ID", ids,
		func(id snowflake.ID) publicid.ID[user] { return publicid.IDFrom[user](id) })
)

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

// integers describes a type whose column is a bigint.
func integers[T any](label string, ids []snowflake.ID, from func(snowflake.ID) T) kind[T] {
	k := kind[T]{
		label:  label,
		column: everywhere("bigint"),
		array:  "bigint[]",
		// SQLite's columns accept values of any type.
		text: columns{
			sqlite:   "CASE typeof(v) WHEN 'integer' THEN CAST(v AS TEXT) ELSE typeof(v) END",
			postgres: "CAST(v AS text)",
			mariadb:  "CAST(v AS char)",
		},
		old: from(oldID), absent: from(absentID), integer: true,
	}
	for _, id := range ids {
		k.samples = append(k.samples, sample[T]{from(id), decimal(id), everywhere(decimal(id))})
	}
	return k
}

func nullable[T any](k kind[T]) kind[T] {
	k.null = true
	return k
}

var textKind = func() kind[sqltypes.Text] {
	k := kind[sqltypes.Text]{
		label:  "sqltypes.Text",
		column: everywhere("varchar(13)"),
		array:  "varchar(13)[]",
		text:   columns{sqlite: "CASE typeof(v) WHEN 'text' THEN v ELSE typeof(v) END", postgres: "v", mariadb: "v"},
		old:    oldID, absent: absentID,
	}
	for _, id := range ids {
		k.samples = append(k.samples, sample[sqltypes.Text]{sqltypes.Text(id), id.Base32(), quoted(id.Base32())})
	}
	return k
}()

var binaryKind = func() kind[sqltypes.Binary] {
	k := kind[sqltypes.Binary]{
		label:  "sqltypes.Binary",
		column: columns{sqlite: "blob", postgres: "bytea", mariadb: "binary(8)"},
		array:  "bytea[]",
		text: columns{
			sqlite:   "CASE typeof(v) WHEN 'blob' THEN lower(hex(v)) ELSE typeof(v) END",
			postgres: "encode(v, 'hex')",
			mariadb:  "lower(hex(v))",
		},
		old: oldID, absent: absentID,
	}
	for _, id := range ids {
		digits16 := hex.EncodeToString([]byte{
			byte(id >> 56), byte(id >> 48), byte(id >> 40), byte(id >> 32), byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id),
		})
		literal := columns{sqlite: "x'" + digits16 + "'", postgres: `'\x` + digits16 + `'`, mariadb: "x'" + digits16 + "'"}
		k.samples = append(k.samples, sample[sqltypes.Binary]{sqltypes.Binary(id), digits16, literal})
	}
	return k
}()

var uuidKind = func() kind[uuidkey.ID] {
	k := kind[uuidkey.ID]{
		label:  "uuidkey.ID",
		column: columns{sqlite: "text", postgres: "uuid", mariadb: "uuid"},
		array:  "uuid[]",
		text: columns{
			sqlite: "CASE typeof(v) WHEN 'text' THEN v ELSE typeof(v) END", postgres: "CAST(v AS text)", mariadb: "CAST(v AS char)",
		},
		old: oldID, absent: absentID,
	}
	for _, id := range ids {
		text := uuidText(id)
		k.samples = append(k.samples, sample[uuidkey.ID]{uuidkey.ID(id), text, quoted(text)})
	}
	return k
}()

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

// arrays describes a type with a column of type bigint[]. SQLite and MariaDB have no arrays; text is the closest type.
func arrays[E ~int64, T any](label string, from func([]E) T) kind[T] {
	k := kind[T]{
		label:  label,
		column: columns{sqlite: "text", postgres: "bigint[]", mariadb: "text"},
		array:  "bigint[]",
		// The number of elements proves that the database reads it as an array.
		text: columns{
			sqlite:   "json_array_length(v) || ':' || v",
			postgres: "cardinality(v) || ':' || CAST(v AS text)",
			mariadb:  "concat(json_length(v), ':', v)",
		},
		old: from([]E{7, 7}), absent: from([]E{absentID}), null: true, isArray: true,
	}
	for _, list := range [][]E{{}, {1}, {1, 42, 1<<53 + 1}, {0, 1234567890123456789, math.MaxInt64, -5, math.MinInt64}} {
		numbers := make([]string, len(list))
		for i, id := range list {
			numbers[i] = decimal(id)
		}
		text := "{" + strings.Join(numbers, ",") + "}"
		k.samples = append(k.samples, sample[T]{from(list), strconv.Itoa(len(list)) + ":" + text, quoted(text)})
	}
	return k
}
