package partition_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// adopter is a database with a table that is to be adopted.
type adopter struct{ *events }

func newAdopter(t *testing.T, statements string) adopter {
	t.Helper()
	return adoptIn(t, testdb.Postgres(t), statements)
}

func adoptIn(t *testing.T, target testdb.Target, statements string) adopter {
	t.Helper()
	a := adopter{&events{T: t, DB: target.Open(t), target: target, today: noon}}
	a.run(statements)
	return a
}

// adopt adopts the table.
func (a adopter) adopt(s *partition.Set) []partition.Step {
	a.Helper()
	steps, err := s.Adopt(a.limit(), a.DB)
	a.must(err)
	return steps
}

// run executes statements that end with a semicolon and the end of the line.
func (a adopter) run(statements string) {
	a.Helper()
	for statement := range strings.SplitAfterSeq(statements, ";\n") {
		if strings.TrimSpace(statement) != "" {
			a.exec(statement)
		}
	}
}

// describeQueries return what \d+ shows of a table, without its kind and partitions.
var describeQueries = map[string]string{
	"table":      `SELECT relowner::regrole || ' ' || relreplident::text || ' ' || coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class WHERE oid = $1::regclass`,
	"privileges": `SELECT grantor::regrole || ' ' || grantee::text || ' ' || privilege_type || is_grantable FROM pg_class, aclexplode(relacl) WHERE oid = $1::regclass`,
	"columns": `SELECT concat_ws('|', attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attgenerated, attstorage, attcompression,
		attstattarget, (SELECT string_agg(o, ' ') FROM unnest(attoptions) AS o WHERE o LIKE 'n_%'), attacl, attcollation::regcollation, col_description(attrelid, attnum), pg_get_serial_sequence($1, attname))
		FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
	"constraints": `SELECT concat_ws('|', conname, contype, pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint'))
		FROM pg_constraint WHERE conrelid = $1::regclass`,
	"indexes": `SELECT concat_ws('|', replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON '), reloptions, indisreplident, indisvalid, obj_description(indexrelid, 'pg_class'))
		FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid = $1::regclass`,
	"statistics": `SELECT concat_ws('|', pg_get_statisticsobjdef(oid), stxstattarget, obj_description(oid, 'pg_statistic_ext')) FROM pg_statistic_ext WHERE stxrelid = $1::regclass`,
	"triggers":   `SELECT concat_ws('|', pg_get_triggerdef(oid), tgenabled, obj_description(oid, 'pg_trigger')) FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal`,
	"references": `SELECT concat_ws('|', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint'))
		FROM pg_constraint WHERE confrelid = $1::regclass AND conparentid = 0`,
	"sequences": `SELECT concat_ws('|', objid::regclass, deptype) FROM pg_depend WHERE refobjid = $1::regclass AND refclassid = 'pg_class'::regclass
		AND (SELECT relkind FROM pg_class WHERE oid = objid) = 'S'`,
}

func (a adopter) describe() map[string][]string {
	a.Helper()
	found := make(map[string][]string)
	for name, query := range describeQueries {
		found[name] = a.texts(query, "events")
		slices.Sort(found[name])
	}
	return found
}
