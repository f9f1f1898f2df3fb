package adopt

import (
	"context"
	_ "embed" // for the query
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/mysql"
)

// refusalsMySQLQuery returns what a partitioned table can't have. Parameters: schema and table, and where it says so
// the key.
//
//go:embed refusals_mysql.sql
var refusalsMySQLQuery string

// readMySQL returns the one step that MySQL and MariaDB need.
func readMySQL(ctx context.Context, q engine.Querier, t *Table) (*Adoption, error) {
	info, err := mysql.ReadInfo(ctx, q, t.Table)
	if err != nil {
		return nil, err
	}

	a := &Adoption{Table: info.Name, Now: info.Now}
	switch {
	case info.Kind != "BASE TABLE", strings.Contains(info.Options, "partitioned"): // unsuitable, or adopted before
		return a, nil
	case !strings.EqualFold(info.Engine, "InnoDB"):
		return nil, fmt.Errorf("%w: %v has the engine %q, want InnoDB", engine.ErrTable, info.Name, info.Engine)
	}

	a.Ordinary = true
	if err := info.CheckKey(t.Table); err != nil {
		return nil, err
	}
	if err := a.refuseMySQL(ctx, q, t); err != nil {
		return nil, err
	}

	return a, a.addRewrite(ctx, q, t, info)
}

// refuseMySQL adds what a partitioned table can't have to the problems.
func (a *Adoption) refuseMySQL(ctx context.Context, q engine.Querier, t *Table) error {
	schema, table := a.Table.Schema, a.Table.Table
	return a.refuse(ctx, q, refusalsMySQLQuery,
		schema, table, t.Key, // NULL
		schema, table, t.Key, // AUTO_INCREMENT
		schema, table, t.Key, // unique indexes
		schema, table, // other indexes
		schema, table, schema, table) // foreign keys from and to the table
}

// addRewrite adds the step that copies the table into partitions.
func (a *Adoption) addRewrite(ctx context.Context, q engine.Querier, t *Table, info mysql.Info) error {
	legacy := engine.Name{Schema: info.Schema, Table: t.LegacyName()}
	first, creates, err := t.Partitions(&engine.State{Table: info.Name, Now: info.Now}, legacy)
	if err != nil {
		return err
	}

	last := creates[len(creates)-1]
	if !t.WantDefault && last.Hi != engine.NoHigh {
		if err := a.refuseAhead(ctx, q, t, last.Hi, "the last partition without WithDefault"); err != nil {
			return err
		}
	}

	why := "copies the table, and blocks writers meanwhile"
	if text := t.legacyDrop(first.Lo); text != "" {
		why += "; the rows before " + t.Calendar.Text(first.From) + " become the partition " + legacy.Table + text
	}

	alter := fmt.Sprintf("ALTER TABLE %s %s", mysql.QuoteTable(info.Name), t.Engine.PartitionBy(t.Table, creates))
	step := Step{
		Change: engine.Change{
			Action: engine.Rewrite, Lo: engine.NoLow, Hi: last.Hi,
			Part: engine.Part{Rows: info.Rows, Bytes: info.Bytes},
		},
		Why: why, SQL: []string{alter},
		Run: func(ctx context.Context, q engine.Querier) error { return engine.ExecAll(ctx, q, alter) },
	}
	if last.Hi != engine.NoHigh {
		step.To = t.Calendar.At(last.Hi)
	}
	a.Steps = append(a.Steps, step)
	return nil
}
