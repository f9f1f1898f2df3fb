package adopt

import (
	"context"
	_ "embed" // for the query
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
)

// refusalsQuery returns what the swap can't carry over. Parameters: the table's OID, its new name, the key,
// checkName.
//
//go:embed refusals_postgres.sql
var refusalsQuery string

// checkName is the constraint that makes ATTACH PARTITION skip its scan.
const checkName = "sqlflake_adopt"

// ordinary is a PostgreSQL table without partitions.
type ordinary struct {
	engine.Name
	legacy     string // its name as a partition
	oid        int64
	kind       string // of pg_class
	keyType    string
	bytes      int64
	now        time.Time
	checkDef   string // of the constraint checkName; empty: there is none
	checkValid bool
}

// isTable reports whether it is no partitioned table, and no other relation.
func (o *ordinary) isTable() bool { return o.kind == "r" }

// step returns a step that changes the table.
func (o *ordinary) step(why string, sql []string) Step {
	return Step{
		Change: engine.Change{
			Action: engine.Alter, Lo: engine.NoLow, Hi: engine.NoHigh,
		},
		Why: why, SQL: sql,
	}
}

// readOrdinary reads the table.
func readOrdinary(ctx context.Context, q engine.Querier, t *Table) (*ordinary, error) {
	o := &ordinary{legacy: engine.FitName(postgres.Engine{}, t.Table.Table, "_legacy")}
	var now int64
	row := q.QueryRowContext(ctx, `SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text,
			coalesce(format_type(a.atttypid, a.atttypmod), ''), pg_total_relation_size(c.oid),
			(extract(epoch FROM clock_timestamp()) * 1000000)::int8, coalesce(pg_get_constraintdef(k.oid), ''),
			coalesce(k.convalidated, false)
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		LEFT JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.conname = $2
		LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = $4 AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relname = $1 AND n.nspname = $3`,
		t.Table.Table, checkName, t.Schema, t.Key)
	found, err := engine.One(row, &o.oid, &o.Schema, &o.Table, &o.kind, &o.keyType, &o.bytes, &now,
		&o.checkDef, &o.checkValid)
	if !found && err == nil {
		err = t.NotFound()
	}

	o.now = time.UnixMicro(now).UTC()
	return o, err
}

// refusePostgres adds what the swap can't carry over to the problems.
func (a *Adoption) refusePostgres(ctx context.Context, q engine.Querier, t *Table, o *ordinary) error {
	err := a.refuse(ctx, q, refusalsQuery, o.oid, o.legacy, t.Key, checkName)
	if postgres.SQLState(err) == "42704" { // a publication was dropped meanwhile
		return engine.ErrChanging
	}
	return err
}

// alter returns a step that changes the table under an exclusive lock, for an instant.
func (o *ordinary) alter(t *Table, why, change string) Step {
	step := o.step(why, []string{"ALTER TABLE " + postgres.Quote(o.Name) + " " + change})
	step.Run = func(ctx context.Context, q engine.Querier) error {
		lock := postgres.TableLock{Table: postgres.Quote(o.Name), Mode: postgres.Exclusive}
		if err := postgres.LockAll(ctx, q, t.Table, lock); err != nil {
			return err
		}
		return engine.ExecAll(ctx, q, step.SQL...)
	}
	return step
}
