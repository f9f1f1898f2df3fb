package conformance

import "slices"

// exception lists cells that do not pass, with the reason. An empty list of types, targets or checks means all.
type exception struct {
	types   []string
	targets []string
	checks  []check
	fails   []string // each failure of such a cell contains one of these, and each of these is in some failure
	reason  string   // for the page: why, and what to do instead
}

func (e exception) covers(subject, target string, check check) bool {
	return (e.types == nil || slices.Contains(e.types, subject)) &&
		(e.targets == nil || slices.Contains(e.targets, target)) &&
		(e.checks == nil || slices.Contains(e.checks, check))
}

var (
	arrayTypes  = []string{arrayKind.label, typedArrayKind.label}
	nullStructs = []string{nullKind.label}
	integerLike = []string{ // GORM sees integers
		idKind.label, textKind.label, binaryKind.label, uuidKind.label, typedKind.label, publicKind.label,
	}
	textual     = without(singleTypes, binaryKind.label) // their arrays have a text without escapes
	singleTypes = slices.Concat(integerLike, nullStructs)

	gormPostgres  = []string{"GORM on PostgreSQL", "GORM on PostgreSQL, simple protocol"}
	gormAll       = slices.Concat([]string{"GORM on SQLite", "GORM on MariaDB"}, gormPostgres)
	mariadbs      = []string{"MariaDB", "MariaDB, interpolateParams"}
	libpq         = []string{"lib/pq", "lib/pq, binary_parameters"}
	nativeUntyped = []string{"native pgx, exec", "native pgx, simple protocol"}
)

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == name })
}

const (
	stdlib       = "pgx stdlib"
	stdlibSimple = "pgx stdlib, simple protocol"

	noArrays = "SQLite and MariaDB have no arrays. A parameter for many IDs is `sqltypes.ArrayOf(ids).JSONNumbers()` with " +
		"`json_each` or `JSON_TABLE`, or one parameter for each ID; a column is JSON, in GORM a `[]snowflake.ID` with " +
		"`serializer:json`."
	arrayTypesHelp = "`sqltypes.Array`, which converts from and to slices without " +
		"copying. There is none for arrays of `sqltypes.Text`, `Binary` and `uuidkey.ID`: keep a bigint[], and look for them " +
		"with `IN`."
	noSlices = "`database/sql` reads no array into a slice, and lib/pq and pgx leave it at that. Read into a " +
		arrayTypesHelp
	gormSlices = "GORM has no columns for slices, and writes a slice in a condition out as a list: `IN ?` takes it. For a " +
		"column and for `= ANY(?)` take a " + arrayTypesHelp
	untyped = "Without a description of the statement pgx does not know which array a slice of a named type is. Register " +
		"it, `conn.TypeMap().RegisterDefaultPgType([]snowflake.ID{}, \"_int8\")`, or take a " + arrayTypesHelp

	gormNull = "GORM does not call `Scan` for NULL. It reads NULL into an ID as 0, without an error: a column that may be " +
		"NULL is a `sqltypes.Null` or a pointer."
	gormReuse = "`First`, `Take` and `Find` of GORM leave a field of a row that holds values as it is where the column is " +
		"NULL, if it is a struct, an array, a slice or a pointer, of this or any other package. Read into a new variable; `Scan`, " +
		"`ScanRows` and slices of rows are not affected."
)

var exceptions = []exception{
	// Databases without arrays.
	{
		singleTypes, []string{"SQLite"}, []check{checkArray, checkANY},
		[]string{"unsupported type []", `near "[]": syntax error`}, noArrays,
	},
	{singleTypes, mariadbs, []check{checkArray}, []string{"create a table: Error "}, noArrays},
	{singleTypes, mariadbs, []check{checkANY}, []string{"unsupported type []"}, noArrays},
	{singleTypes, []string{"GORM on SQLite"}, []check{checkANY}, []string{"no such function: ANY"}, noArrays},
	{singleTypes, []string{"GORM on MariaDB"}, []check{checkANY}, []string{"in your SQL syntax"}, noArrays},
	{
		arrayTypes, []string{"SQLite", "GORM on SQLite"}, []check{checkInsert, checkArray, checkANY},
		[]string{"malformed JSON", "no such function: ANY"}, noArrays,
	},
	{
		arrayTypes, mariadbs, []check{checkInsert, checkArray, checkANY},
		[]string{`the column holds "", want`, "in your SQL syntax"}, noArrays,
	},
	{
		arrayTypes, []string{"GORM on MariaDB"},
		[]check{checkInsert, checkRead, checkNull, checkArray, checkIN, checkANY},
		[]string{"in your SQL syntax"}, noArrays,
	},

	// Slices of single IDs on PostgreSQL.
	{singleTypes, []string{stdlib}, []check{checkArray}, []string{"unsupported Scan, storing driver.Value type"}, noSlices},
	{textual, libpq, []check{checkArray}, []string{"unsupported Scan, storing driver.Value type"}, noSlices},
	{
		singleTypes, []string{stdlibSimple}, []check{checkArray},
		[]string{"unsupported Scan, storing driver.Value type", "for unknown type (OID 0)"}, noSlices,
	},
	{singleTypes, []string{stdlibSimple}, []check{checkANY}, []string{"for unknown type (OID 0)"}, untyped},
	{singleTypes, nativeUntyped, []check{checkArray, checkANY}, []string{"for unknown type (OID 0)"}, untyped},
	{
		singleTypes, gormAll, []check{checkArray}, []string{"unsupported data type: ", "invalid field found for struct "},
		gormSlices,
	},
	{singleTypes, gormPostgres, []check{checkANY}, []string{"syntax error at or near"}, gormSlices},
	{
		[]string{binaryKind.label}, libpq, []check{checkArray, checkANY},
		[]string{"invalid byte sequence for encoding", "unsupported Scan, storing driver.Value type"},
		"lib/pq writes the bytes of a `[]sqltypes.Binary` as if they were text. Pass one parameter for each ID.",
	},

	{
		[]string{binaryKind.label}, nil, []check{checkWrongType}, []string{"varchar(60) '8 bytes!'"},
		"Any 8 bytes are a `sqltypes.Binary`, a text of 8 characters in a column of text too.",
	},

	// NULL in GORM.
	{
		without(integerLike, publicKind.label), gormAll, []check{checkNull},
		[]string{"is read as ", "NULL leaves the old pointer behind", "NULL leaves the old sql.Null behind"},
		gormNull + " " + gormReuse,
	},
	{
		[]string{publicKind.label}, gormAll, []check{checkNull},
		[]string{"is read as ", "NULL leaves the old value behind", "NULL leaves the old pointer behind", "NULL leaves the old sql.Null behind"},
		gormNull + " " + gormReuse,
	},
	{
		nullStructs, gormAll, []check{checkNull},
		[]string{"NULL leaves the old value behind", "NULL leaves the old pointer behind", "NULL leaves the old sql.Null behind"},
		gormReuse,
	},
	{
		arrayTypes, append(gormPostgres, "GORM on SQLite"), []check{checkNull},
		[]string{"NULL leaves the old value behind", "NULL leaves the old pointer behind", "NULL leaves the old sql.Null behind"},
		gormReuse,
	},
}
