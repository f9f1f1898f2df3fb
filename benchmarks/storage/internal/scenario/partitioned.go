package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

// column returns the column that the partitions are by.
func (p *parted) column() string {
	if p.byTime {
		return "created_at"
	}
	return "id"
}

// keyColumns returns the primary key of the table with partitions. It must contain the partitions' column.
func (p *parted) keyColumns() string {
	if p.byTime {
		return "id, created_at"
	}
	return "id"
}

// create creates both tables. The partitions have the same number of rows.
func (p *parted) create(ctx context.Context) error {
	p.tables = [2]engine.Table{p.b.Table("parts_whole", account), p.b.Table("parts_split", account)}
	if err := p.b.Create(ctx, p.tables[whole]); err != nil {
		return err
	}
	bounds := make([]string, p.n-1)
	for i := range bounds {
		rows := p.before(i + 1)
		if bounds[i] = p.b.literal(p.ids[rows]); p.byTime {
			bounds[i] = fmt.Sprint(moment(rows))
		}
	}
	bounds = append(bounds, "MAXVALUE")
	name, like := p.tables[split].Name, p.tables[whole].Name
	p.b.tables = append([]string{name}, p.b.tables...)
	var list []string
	if p.b.Dialect() == "postgres" {
		list = append(list, fmt.Sprintf("CREATE TABLE %s (LIKE %s, PRIMARY KEY (%s)) PARTITION BY RANGE (%s)",
			name, like, p.keyColumns(), p.column()))
		from := "MINVALUE"
		for i, to := range bounds {
			list = append(list, fmt.Sprintf("CREATE TABLE %s_%d PARTITION OF %s FOR VALUES FROM (%s) TO (%s) "+
				"WITH (autovacuum_enabled=false)", name, i, name, from, to))
			from = to
		}
	} else {
		parts := make([]string, p.n)
		for i, bound := range bounds {
			parts[i] = fmt.Sprintf("PARTITION p%d VALUES LESS THAN (%s)", i, bound)
		}
		list = append(list, fmt.Sprintf("CREATE TABLE %s LIKE %s", name, like),
			fmt.Sprintf("ALTER TABLE %s DROP PRIMARY KEY, ADD PRIMARY KEY (%s) PARTITION BY RANGE COLUMNS (%s) (%s)",
				name, p.keyColumns(), p.column(), strings.Join(parts, ", ")))
	}
	return uncancelled(ctx, func(ctx context.Context) error { return p.b.run(ctx, list...) })
}

// byID returns a query for the row with a key.
func (p *parted) byID(table int, id string) string {
	return fmt.Sprintf("SELECT name, amount, created_at FROM %s WHERE id = %s", p.tables[table].Name, id)
}

// scanned matches a partition in a plan.
var scanned = map[string]*regexp.Regexp{
	"postgres": regexp.MustCompile(` on \w+_\d+\b`), "mariadb": regexp.MustCompile(`\bp\d+\b`),
}

var planned = regexp.MustCompile(`Planning Time: ([\d.]+) ms`)

// plans adds how many partitions a lookup reads, and on PostgreSQL how long its planning takes.
func (p *parted) plans(ctx context.Context) error {
	explain := "(SUMMARY) "
	if p.b.Dialect() == "mariadb" {
		version, err := p.version(ctx)
		if err != nil {
			return err
		}
		explain = map[bool]string{true: "PARTITIONS ", false: "FORMAT=TRADITIONAL "}[strings.Contains(version, "MariaDB")]
	}
	plan, err := p.b.explain(ctx, explain+p.byID(split, p.b.literal(p.ids[len(p.ids)/2])))
	if err != nil {
		return err
	}
	p.values["touched"] = float64(len(scanned[p.b.Dialect()].FindAllString(plan, -1)))
	if p.b.Dialect() != "postgres" {
		return nil
	}
	medians, err := p.medians(plannings, func(i int, id any) (time.Duration, error) {
		plan, err := p.b.explain(ctx, explain+p.byID(i, p.b.literal(id)))
		if err != nil {
			return 0, err
		}
		found := planned.FindStringSubmatch(plan)
		if found == nil {
			return 0, fmt.Errorf("the plan has no time: %s", plan)
		}
		ms, err := strconv.ParseFloat(found[1], 64)
		return time.Duration(ms * float64(time.Millisecond)), err
	})
	p.values["planning"], p.values["planning_one"] = microseconds(medians[split]), microseconds(medians[whole])
	return err
}

// replanned adds the share of the executions of a prepared lookup that PostgreSQL has planned anew; it counts from version
// 14 on.
func (p *parted) replanned(ctx context.Context, conn *sql.Conn, table int, name string) error {
	var share sql.NullFloat64
	err := conn.QueryRowContext(ctx, `WITH counts AS (
			SELECT CAST(to_jsonb(s) ->> 'custom_plans' AS float8) AS new, CAST(to_jsonb(s) ->> 'generic_plans' AS float8) AS kept
			FROM pg_prepared_statements s WHERE statement = $1)
		SELECT 100 * new / (new + kept) FROM counts`, p.byID(table, "$1")).Scan(&share)
	if share.Valid {
		p.values[name] = share.Float64
	}
	return err
}

// bytes returns the size of a table's files and on PostgreSQL the part that its indexes have.
func (p *parted) bytes(ctx context.Context, table string) (all, indexes int64, err error) {
	if p.b.Dialect() == "postgres" {
		err = p.b.get(ctx, `WITH tables AS (SELECT relid FROM pg_partition_tree($1) UNION SELECT CAST($1 AS regclass)),
			indexes AS (SELECT sum(pg_relation_size(indexrelid)) AS size FROM pg_index WHERE indrelid IN (SELECT relid FROM tables))
			SELECT (SELECT sum(pg_relation_size(relid)) FROM tables) + size, size FROM indexes`, []any{table}, &all, &indexes)
		return all, indexes, err
	}
	version, err := p.version(ctx)
	if err != nil {
		return 0, 0, err
	}
	from := "INNODB_TABLESPACES" // of MySQL
	if strings.Contains(version, "MariaDB") {
		from = "INNODB_SYS_TABLESPACES"
	}
	err = p.b.get(ctx, "SELECT COALESCE(SUM(FILE_SIZE), 0) FROM information_schema."+from+
		" WHERE NAME = CONCAT(DATABASE(), '/', ?) OR NAME LIKE CONCAT(DATABASE(), '/', ?, '#%')", []any{table, table}, &all)
	if err != nil {
		err = engine.Unsupported("the user may not read the sizes of files (GRANT PROCESS): %w", err)
	}
	return all, 0, err
}

// version returns that of MariaDB, which contains its name, or of MySQL.
func (p *parted) version(ctx context.Context) (version string, err error) {
	err = p.b.get(ctx, "SELECT VERSION()", nil, &version)
	return version, err
}

// drop removes partitions in one transaction, from the given number on. PostgreSQL drops a partition to which a foreign
// key refers only after it is detached, and verifies then that no row refers to it.
func (p *parted) drop(ctx context.Context, first, parts int) error {
	table, postgres := p.tables[split].Name, p.b.Dialect() == "postgres"
	var names []string
	var text strings.Builder
	for i := first; i < first+parts; i++ {
		if postgres {
			names = append(names, fmt.Sprintf("%s_%d", table, i))
			fmt.Fprintf(&text, "ALTER TABLE %s DETACH PARTITION %s_%d; ", table, table, i)
		} else {
			names = append(names, fmt.Sprintf("p%d", i))
		}
	}
	if postgres {
		return p.b.run(ctx, text.String()+"DROP TABLE "+strings.Join(names, ", "))
	}
	return p.b.run(ctx, "ALTER TABLE "+table+" DROP PARTITION "+strings.Join(names, ", "))
}

// refer makes the first columns of a table a foreign key. The error is errors.ErrUnsupported where partitions cannot have
// one.
func (p *parted) refer(ctx context.Context, child engine.Table, table int) error {
	columns, to := strings.Join(child.Indexes[0], ", "), "id"
	if table == split {
		to = p.keyColumns()
	}
	text := fmt.Sprintf("ALTER TABLE %s ADD FOREIGN KEY (%s) REFERENCES %s (%s)", child.Name, columns, p.tables[table].Name, to)
	err := p.b.run(ctx, text)
	if err != nil && table == split && p.b.Dialect() == "mariadb" && ctx.Err() == nil {
		return engine.Unsupported("a foreign key cannot refer to a table with partitions: %w", errors.Unwrap(err))
	}
	return err
}
