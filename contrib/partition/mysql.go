package partition

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mysql is the engine of MySQL 8 and later and MariaDB 10.6 and later. Each statement that changes partitions commits
// by itself.
type mysql struct{}

func (mysql) maxName() int { return 64 }

func (e mysql) connect(ctx context.Context, db *sql.DB, s *Set, change bool, f func(*Set, querier) error) error {
	lock := ""
	if change {
		lock = changeLock
	}
	return e.session(ctx, db, s, lock, func(conn *sql.Conn) error { return f(s, conn) })
}

// mysqlSettings are variables of a session: the longest waits for metadata locks and for InnoDB's row locks (statements
// that change partitions wait for both); autocommit, without which MariaDB can't exchange a partition, since the
// statement waits for a lock of its transaction; and the seconds after which the server ends an idle connection.
type mysqlSettings [4]int64

func (v mysqlSettings) set(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx,
		fmt.Sprintf("SET SESSION lock_wait_timeout = %d, SESSION innodb_lock_wait_timeout = %d, "+
			"SESSION autocommit = %d, SESSION wait_timeout = %d", v[0], v[1], v[2], v[3]))
	return err
}

// maxIdle is the greatest wait_timeout of all platforms, in seconds.
const maxIdle = 2147483

// session calls f on a connection whose waits for locks are limited, and that holds a lock of GET_LOCK until f returns,
// if lock is not empty. If the process ends, the server finishes its statement before it releases the lock. If the
// process stops while it holds changeLock, and perhaps LOCK TABLES, the server ends the connection.
func (e mysql) session(ctx context.Context, db *sql.DB, s *Set, lock string, f func(*sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	var before mysqlSettings
	var schema string
	row := conn.QueryRowContext(ctx, `SELECT @@SESSION.lock_wait_timeout, @@SESSION.innodb_lock_wait_timeout,
	@@SESSION.autocommit, @@SESSION.wait_timeout, COALESCE(NULLIF(?, ''), DATABASE(), '')`, s.table.schema)
	if err := row.Scan(&before[0], &before[1], &before[2], &before[3], &schema); err != nil {
		return err
	}

	seconds := int64(e.limit(s.lockTimeout) / time.Second)
	settings := mysqlSettings{seconds, seconds, 1, before[3]}
	switch lock {
	case changeLock:
		settings[3] = int64(e.limit(s.abandoned) / time.Second)
	case archiveLock: // the callback of WithArchive may take hours
		settings[3] = max(before[3], maxIdle)
	}

	if lock != "" {
		// The name has at most 64 bytes. Servers may ignore the case of names.
		sum := sha256.Sum256([]byte(strings.ToLower(schema + "\x00" + s.table.table)))
		lock = fmt.Sprintf("sqlflake/partition %s %x", lock, sum[:12])
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", lock).Scan(&got); err != nil {
			return err
		}
		if !got.Valid {
			return fmt.Errorf("GET_LOCK('%s', 0) returned NULL: the server could not lock", lock)
		}
		if got.Int64 != 1 {
			return errBusy
		}
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()

		resetErr := before.set(ctx, conn)
		if resetErr == nil && lock != "" {
			_, resetErr = conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", lock)
		}

		if resetErr != nil { // the end of the connection does both
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}()

	if err := settings.set(ctx, conn); err != nil {
		return err
	}

	return f(conn)
}

// limit rounds up: 0 would be no wait on MariaDB.
func (mysql) limit(timeout time.Duration) time.Duration {
	return (timeout + time.Second - 1) / time.Second * time.Second
}

// refusal is the text of ER_LOCK_WAIT_TIMEOUT and ER_LOCK_DEADLOCK in the errors of drivers. Their types are not
// imported: a driver would register itself in programs that use PostgreSQL too.
var refusal = regexp.MustCompile(`\b(Error|ERROR) (1205|1213)\b`)

func (mysql) refused(err error) bool { return err != nil && refusal.MatchString(err.Error()) }

// selectKey reads keys above the greatest int64, which an unsigned column may have, as that number.
func (mysql) selectKey(s *Set, p part) (query, key string) {
	from, key := tableMySQL(p.name), quoteMySQL(s.key)
	if p.parent.table != "" {
		from = fmt.Sprintf("%s PARTITION (%s)", tableMySQL(p.parent), quoteMySQL(p.table))
	}
	return fmt.Sprintf("SELECT CAST(LEAST(%s, %d) AS SIGNED) FROM %s", key, int64(noHigh), from), key
}

// taken is false: partitions do not share the names of tables.
func (mysql) taken(context.Context, querier, *state, string) (bool, error) { return false, nil }

func quoteMySQL(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func tableMySQL(n name) string { return quoteMySQL(n.schema) + "." + quoteMySQL(n.table) }

// textMySQL returns a literal; plain is the server's mode NO_BACKSLASH_ESCAPES.
func textMySQL(text string, plain bool) string {
	if !plain {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// mysqlTable is what information_schema says about the table.
type mysqlTable struct {
	name
	kind, engine, options, comment string
	key                            string // its type
	rows, bytes                    int64
	now                            time.Time
	plain                          bool // see state
}

// readTable reads the table. checkKey tests the key.
func (mysql) readTable(ctx context.Context, q querier, s *Set) (t mysqlTable, err error) {
	const query = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), COALESCE(CREATE_OPTIONS, ''),
	COALESCE(TABLE_COMMENT, ''), CAST(COALESCE(TABLE_ROWS, -1) AS SIGNED),
	CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, -1) AS SIGNED), @@sql_mode LIKE '%NO_BACKSLASH_ESCAPES%',
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
	COALESCE((SELECT COLUMN_TYPE FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND COLUMN_NAME = ?), '')
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`
	var now int64
	schema, table := s.table.schema, s.table.table
	found, err := one(q.QueryRowContext(ctx, query, schema, table, s.key, schema, table), &t.schema, &t.table, &t.kind,
		&t.engine, &t.options, &t.comment, &t.rows, &t.bytes, &t.plain, &now, &t.key)
	if err == nil && !found {
		err = s.noTable()
	}

	t.now = time.UnixMicro(now).UTC()
	return t, err
}

func (t mysqlTable) checkKey(s *Set) error {
	return s.checkKey(t.name, t.key, strings.HasPrefix(t.key, "bigint"))
}

func (e mysql) inspect(ctx context.Context, q querier, s *Set) (*state, error) {
	t, err := e.readTable(ctx, q, s)
	switch {
	case err != nil:
		return nil, err
	case t.kind != "BASE TABLE":
		return nil, fmt.Errorf("%w: %v is a %s", ErrTable, t.name, strings.ToLower(t.kind))
	}

	if err := t.checkKey(s); err != nil {
		return nil, err
	}

	st := &state{table: t.name, now: t.now, plain: t.plain}
	if err := e.readParts(ctx, q, s, st, t); err != nil {
		return nil, err
	}
	if err := st.readDetached(ctx, q, detachedQueryMySQL, st.table.schema, markWords); err != nil {
		return nil, err
	}

	if s.rename != nil || s.archive != nil {
		if st.trigger, err = e.readTrigger(ctx, q, st.table); err != nil {
			return nil, err
		}
	}

	return st, e.matchExchangeTables(ctx, q, s, st)
}

const partitionsQuery = `SELECT COALESCE(PARTITION_NAME, ''), SUBPARTITION_NAME IS NOT NULL, COALESCE(PARTITION_METHOD, ''),
	COALESCE(PARTITION_EXPRESSION, ''), COALESCE(PARTITION_DESCRIPTION, ''),
	CAST(COALESCE(TABLE_ROWS, -1) AS SIGNED), CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, -1) AS SIGNED)
FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY PARTITION_ORDINAL_POSITION`

func (mysql) readParts(ctx context.Context, q querier, s *Set, st *state, t mysqlTable) error {
	var last string // the bound of the last one
	args := []any{st.table.schema, st.table.table}
	err := each(ctx, q, partitionsQuery, args, func(scan func(...any) error) error {
		p := part{name: name{schema: st.table.schema}, parent: st.table, lo: noLow, comment: t.comment, due: s.archive != nil}
		var divided bool
		var method, expression string
		err := scan(&p.table, &divided, &method, &expression, &last, &p.rows, &p.bytes)
		switch {
		case err != nil:
			return err
		case p.table == "":
			return fmt.Errorf("%w: %v is not partitioned: see Adopt", ErrTable, st.table)
		case method != "RANGE" && method != "RANGE COLUMNS", !isKeyMySQL(expression, s.key):
			return fmt.Errorf("%w: %v is partitioned by %s (%s), want RANGE (%s)", ErrTable, st.table, method, expression, s.key)
		case divided:
			return fmt.Errorf("%w: %v has subpartitions", ErrTable, st.table)
		}

		if p.hi, err = parseLimit(last, strings.Contains(t.key, "unsigned")); err != nil {
			return fmt.Errorf("the bound of the partition %s: %w", p.table, err)
		}

		if n := len(st.parts); n > 0 {
			p.lo = st.parts[n-1].hi
		}

		st.parts = append(st.parts, p)
		return nil
	})
	n := len(st.parts)
	if n > 0 && last == maxValue && (s.wantDefault || strings.EqualFold(st.parts[n-1].table, s.defaultName())) {
		st.defaultPart, st.parts = &st.parts[n-1], st.parts[:n-1]
	}
	if i := slices.IndexFunc(st.parts, func(p part) bool { return p.hi == noHigh }); i >= 0 {
		st.parts = st.parts[:i+1] // no ID belongs to those after it
	}

	return err
}

// isKeyMySQL reports whether an expression is the key. MariaDB shows it with other quotes in the mode ANSI_QUOTES.
func isKeyMySQL(expression, key string) bool {
	ansi := `"` + strings.ReplaceAll(key, `"`, `""`) + `"`
	return strings.EqualFold(expression, quoteMySQL(key)) || strings.EqualFold(expression, ansi)
}

const maxValue = "MAXVALUE"

// parseLimit reads the upper bound of a partition. The servers show the greatest int64 as MAXVALUE, and some bounds
// above it as negative numbers.
func parseLimit(text string, unsigned bool) (int64, error) {
	if text == maxValue {
		return noHigh, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if unsigned && (errors.Is(err, strconv.ErrRange) || limit < 0) {
		return noHigh, nil
	}
	return limit, err
}

const detachedQueryMySQL = `SELECT 0, TABLE_SCHEMA, TABLE_NAME, CAST(COALESCE(TABLE_ROWS, -1) AS SIGNED),
	CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, -1) AS SIGNED), TABLE_COMMENT
FROM information_schema.TABLES
WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'BASE TABLE' AND LOCATE(?, TABLE_COMMENT) > 0 ORDER BY TABLE_NAME`

// readTrigger returns a trigger of the table that uses other tables, on MariaDB, which can't exchange a partition of
// such a table while it is locked: the statement waits for a lock of its transaction. It finds the words of statements,
// also in a string, but not tables that only a function uses, nor triggers that the user has no right to see: there the
// lock timeout ends the statement.
func (mysql) readTrigger(ctx context.Context, q querier, table name) (found string, err error) {
	const query = `SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? AND VERSION() LIKE '%MariaDB%' AND ACTION_STATEMENT REGEXP ?
ORDER BY TRIGGER_NAME LIMIT 1`
	const usesTables = `(?i)\b(INSERT|REPLACE|UPDATE|DELETE|SELECT|TABLE|CALL)\b`
	_, err = one(q.QueryRowContext(ctx, query, table.schema, table.table, usesTables), &found)
	return found, err
}

// matchExchangeTables finds marked tables whose partition exists: an earlier call was interrupted before it dropped the
// partition, or before it exchanged the two. The lower bound of the partition may have changed since.
func (mysql) matchExchangeTables(ctx context.Context, q querier, s *Set, st *state) error {
	var detached []part
	for _, l := range st.detached {
		i := slices.IndexFunc(st.parts, func(p part) bool { return p.hi == l.hi && exchangeName(st.table, p.table) == l.table })
		if i < 0 {
			detached = append(detached, l)
			continue
		}

		p := &st.parts[i]
		_, moved, err := s.keyOf(ctx, q, l, noLow, noHigh, 0)
		if err != nil {
			return err
		}

		_, rest, err := s.keyOf(ctx, q, *p, noLow, noHigh, 0)
		if err != nil {
			return err
		}

		p.exchangeTable, p.moved, p.split, p.due = l.table, moved, moved && rest, p.due || l.due
	}

	st.detached = detached
	return nil
}

// exchangeName returns the name of the table that gets the rows of a partition. Names of partitions are unique in their
// table.
func exchangeName(table name, partition string) string {
	if strings.HasPrefix(partition, table.table+"_") {
		return partition
	}
	return table.table + "_" + partition
}
