package conformance

import (
	"database/sql"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

type user struct{}

func (user) Prefix() string { return "user" }

func (user) Codec() *publicid.Codec { return users }

var users = func() *publicid.Codec {
	keys, _ := publicid.ParseKeys("k1:000102030405060708090a0b0c0d0e0f") // without keys New fails
	codec, _ := publicid.New("user", keys)                               // without a codec no test passes
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

// columns has the SQL of a column for each database.
type columns map[dialect]string

// kind describes one of the types to the checks.
type kind[T any] struct {
	label   string
	column  columns // its declared type
	array   string  // the type of an array of them on PostgreSQL
	text    columns // an expression for what the column v holds, as text
	samples []sample[T]
	old     T    // what a variable holds before something is read into it
	absent  T    // a value that no column contains
	null    bool // the zero value is NULL
	integer bool // the column contains the number of the ID
	keeps   bool // a variable keeps its value on an error, where other types become zero
	isArray bool
}

// sample is a value and its other forms.
type sample[T any] struct {
	value   T
	stored  string  // result of the expression kind.text
	literal columns // in SQL
}

// subject is a kind of any type: a row of the tables.
type subject interface {
	name() string
	// run runs a check on the type and returns the failures.
	run(check check, s *session) []string
}

func (k kind[T]) name() string { return k.label }

func (k kind[T]) run(which check, s *session) []string {
	c := &cell[T]{kind: k, session: s}
	map[check]func(){
		checkInsert: c.insert, checkRead: c.read, checkNull: c.null, checkArray: c.array, checkIN: c.in,
		checkANY:       c.any,
		checkWrongType: c.wrongType,
	}[which]()
	return c.failures
}

// check is a column of the tables.
type check string

const (
	checkInsert    check = "insert"
	checkRead      check = "read"
	checkNull      check = "NULL"
	checkArray     check = "array"
	checkIN        check = "IN"
	checkANY       check = "ANY"
	checkWrongType check = "wrong type"
)

var checks = []check{checkInsert, checkRead, checkNull, checkIN, checkWrongType}

// arrayChecks are for databases with arrays.
var arrayChecks = []check{checkArray, checkANY}

// cell is a check of a type on a target while it runs.
type cell[T any] struct {
	kind     kind[T]
	session  *session
	failures []string
}

func (c *cell[T]) failf(format string, args ...any) {
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
}

// ok records an error and reports whether there was none.
func (c *cell[T]) ok(err error, format string, args ...any) bool {
	if err != nil {
		c.failf("%s: %v", fmt.Sprintf(format, args...), err)
	}
	return err == nil
}

// same distinguishes nil slices from empty ones, like NULL and {}.
func same[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

// fresh reports whether v has a permitted value after an error: not the previous one. If the type does not change it,
// GORM may have set it to zero.
func (c *cell[T]) fresh(v T) bool {
	var zero T
	return same(v, zero) || c.kind.keeps && same(v, c.kind.old)
}

// filled returns a table with the samples, written as literals, in rows 0, 1, and so on.
func (c *cell[T]) filled() (table string, ok bool) {
	table, err := create[T](c.session, c.kind.column)
	if !c.ok(err, "create a table") {
		return "", false
	}

	rows := make([]string, len(c.kind.samples))
	for n, sample := range c.kind.samples {
		rows[n] = "(" + decimal(n) + ", " + sample.literal[c.session.dialect] + ")"
	}

	err = c.session.exec("INSERT INTO " + table + " (n, v) VALUES " + strings.Join(rows, ", "))
	return table, c.ok(err, "write literals")
}

// exception lists cells that do not pass, for a reason that the README has. No types, targets or checks means all.
type exception struct {
	types   []string
	targets []string
	checks  []check
	fails   []string // each failure of such a cell contains one of these
}

func (e exception) covers(subject, target string, check check) bool {
	return (e.types == nil || slices.Contains(e.types, subject)) &&
		(e.targets == nil || slices.Contains(e.targets, target)) &&
		(e.checks == nil || slices.Contains(e.checks, check))
}

var (
	arrayTypes  = []string{arrayKind.label, typedArrayKind.label}
	integerLike = []string{ // GORM sees integers
		idKind.label, textKind.label, uuidKind.label, typedKind.label, strictKind.label,
	}
	singleTypes = append(slices.Clone(integerLike), publicKind.label, nullKind.label)

	gormPostgres  = []string{"GORM on PostgreSQL", "GORM on PostgreSQL, simple protocol"}
	gormAll       = slices.Concat([]string{"GORM on SQLite", "GORM on MariaDB"}, gormPostgres)
	libpq         = []string{"lib/pq", "lib/pq, binary_parameters"}
	nativeUntyped = []string{"native pgx, exec", "native pgx, simple protocol"}

	pointers = []string{"NULL leaves the old pointer behind", "NULL leaves the old sql.Null behind"}
)

var exceptions = []exception{
	// Slices of single IDs on PostgreSQL.
	{singleTypes, []string{"pgx stdlib"}, []check{checkArray}, []string{"unsupported Scan, storing driver.Value type"}},
	{singleTypes, libpq, []check{checkArray}, []string{"unsupported Scan, storing driver.Value type"}},
	{
		singleTypes,
		[]string{"pgx stdlib, simple protocol"},
		[]check{checkArray},
		[]string{"unsupported Scan, storing driver.Value type", "for unknown type (OID 0)"},
	},
	{singleTypes, []string{"pgx stdlib, simple protocol"}, []check{checkANY}, []string{"for unknown type (OID 0)"}},
	{singleTypes, nativeUntyped, []check{checkArray, checkANY}, []string{"for unknown type (OID 0)"}},
	{
		singleTypes, gormPostgres,
		[]check{checkArray},
		[]string{"unsupported data type: ", "invalid field found for struct "},
	},
	{singleTypes, gormPostgres, []check{checkANY}, []string{"syntax error at or near"}},

	// NULL in GORM.
	{integerLike, gormAll, []check{checkNull}, append(pointers, "is read as ")},
	{
		[]string{publicKind.label},
		gormAll,
		[]check{checkNull},
		append(pointers, "is read as ", "NULL leaves the old value behind"),
	},
	{
		append(arrayTypes, nullKind.label), gormAll,
		[]check{checkNull},
		append(pointers, "NULL leaves the old value behind"),
	},
}

// The remedies of the README that no cell of the table tests.

// onTargets runs f on the targets that are chosen.
func onTargets(t *testing.T, chosen func(target) bool, f func(t *testing.T, s *session)) {
	t.Helper()
	for _, target := range targets {
		if chosen(target) {
			t.Run(target.name, func(t *testing.T) { f(t, connect(t, target)) })
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestARegisteredSliceIsUnderstoodInEveryModeOfPgx(t *testing.T) {
	onTargets(t, func(to target) bool { return to.via == viaPgx }, func(t *testing.T, s *session) {
		s.conn.TypeMap().RegisterDefaultPgType([]snowflake.ID{}, "_int8")
		if failures := append(idKind.run(checkArray, s), idKind.run(checkANY, s)...); len(failures) > 0 {
			t.Errorf("%q", failures)
		}
	})
}

func TestJSONNumbersAreOneParameterForManyIDs(t *testing.T) {
	conditions := map[dialect]string{
		sqlite:  "v IN (SELECT value FROM json_each(?))",
		mariadb: "v IN (SELECT id FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS ids)",
	}

	onTargets(t, func(to target) bool { return to.dialect != postgres }, func(t *testing.T, s *session) {
		table, err := create[snowflake.ID](s, idKind.column)
		must(t, err)
		must(t, insertAll(s, table, ids))
		found, err := s.numbers(table, conditions[s.dialect],
			sqltypes.Array[snowflake.ID]{1 << 53, 1<<53 + 1, -5}.JSONNumbers())
		if err != nil || !same(found, []int{3, 6}) {
			t.Errorf("found the rows %v, %v, want 3 and 6", found, err)
		}
	})
}

func TestGORMReadsNULLIntoANewRow(t *testing.T) {
	onTargets(t, func(to target) bool { return to.via == viaGORM }, func(t *testing.T, s *session) {
		table, err := create[sqltypes.Null](s, nullKind.column)
		must(t, err)
		must(t, insert(s, table, 0, sqltypes.Null{}))
		var rows []model[sqltypes.Null]
		if err := s.gorm.Table(table).Find(&rows).Error; err != nil || len(rows) != 1 || rows[0].V.Valid {
			t.Errorf("read %v, %v, want NULL", rows, err)
		}

		var pointer *snowflake.ID
		if err := read(s, &pointer, table, 0); err != nil || pointer != nil {
			t.Errorf("read %v, %v, want a nil pointer", pointer, err)
		}

		// The README describes other packages: if GORM changes this, change it.
		other := sql.NullInt64{Int64: oldID, Valid: true}
		if err := read(s, &other, table, 0); err != nil || !other.Valid {
			t.Errorf("a used sql.NullInt64 is %v, %v: GORM does not leave it alone any more", other, err)
		}
	})
}
