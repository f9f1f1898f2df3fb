package conformance

import "slices"

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
		publicKind.label,
	}
	singleTypes = append(slices.Clone(integerLike), nullKind.label)

	gormPostgres  = []string{"GORM on PostgreSQL", "GORM on PostgreSQL, simple protocol"}
	gormAll       = slices.Concat([]string{"GORM on SQLite", "GORM on MariaDB"}, gormPostgres)
	libpq         = []string{"lib/pq", "lib/pq, binary_parameters"}
	nativeUntyped = []string{"native pgx, exec", "native pgx, simple protocol"}

	pointers = []string{"NULL leaves the old pointer behind", "NULL leaves the old sql.Null behind"}
)

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == name })
}

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
	{without(integerLike, publicKind.label), gormAll, []check{checkNull}, append(pointers, "is read as ")},
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
