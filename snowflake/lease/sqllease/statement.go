package sqllease

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/sqlflake/sqlflake/internal/operator"
	"github.com/sqlflake/sqlflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// texts are the statements of a dialect, as its file has them. Each is atomic by itself, and except in a move no
// lock outlives its statement. They need no transaction, session or isolation level, so they may go through a pooler,
// and the database may be one that restarts transactions.
type texts struct {
	createNamespaces, createLeases, usable                    string
	read, gap                                                 string
	addNamespace, markLeases, recordServer                    string
	addLease, takeOver                                        string
	extend, extendUnexpired, whyRefused                       string
	release, revoke, setShare, list                           string
	beginMove, endOwners, readMove, moveLeases, moveNamespace string
}

var textsOf = map[dialect]texts{
	postgres: {
		createNamespaces: postgresCreateNamespaces, createLeases: postgresCreateLeases, usable: postgresUsable,
		read: postgresRead, gap: postgresGap,
		addNamespace: postgresAddNamespace, markLeases: postgresMarkLeases,
		recordServer: postgresRecordServer, addLease: postgresAddLease, takeOver: postgresTakeOver,
		extend: postgresExtend, extendUnexpired: postgresExtendUnexpired, whyRefused: postgresWhyRefused,
		release: postgresRelease, revoke: postgresRevoke, setShare: postgresSetShare, list: postgresList,
		beginMove: postgresBeginMove, endOwners: postgresEndOwners, readMove: postgresReadMove,
		moveLeases: postgresMoveLeases, moveNamespace: postgresMoveNamespace,
	},
	mysql: {
		createNamespaces: mysqlCreateNamespaces, createLeases: mysqlCreateLeases, usable: mysqlUsable,
		read: mysqlRead, gap: mysqlGap,
		addNamespace: mysqlAddNamespace, markLeases: mysqlMarkLeases,
		recordServer: mysqlRecordServer, addLease: mysqlAddLease, takeOver: mysqlTakeOver,
		extend: mysqlExtend, extendUnexpired: mysqlExtendUnexpired, whyRefused: mysqlWhyRefused,
		release: mysqlRelease, revoke: mysqlRevoke, setShare: mysqlSetShare, list: mysqlList,
		beginMove: mysqlBeginMove, endOwners: mysqlEndOwners, readMove: mysqlReadMove,
		moveLeases: mysqlMoveLeases, moveNamespace: mysqlMoveNamespace,
	},
	sqlite: {
		createNamespaces: sqliteCreateNamespaces, createLeases: sqliteCreateLeases, usable: sqliteUsable,
		read: sqliteRead, gap: sqliteGap,
		addNamespace: sqliteAddNamespace, markLeases: sqliteMarkLeases,
		recordServer: sqliteRecordServer, addLease: sqliteAddLease, takeOver: sqliteTakeOver,
		extend: sqliteExtend, extendUnexpired: sqliteExtendUnexpired, whyRefused: sqliteWhyRefused,
		release: sqliteRelease, revoke: sqliteRevoke, setShare: sqliteSetShare, list: sqliteList,
		beginMove: sqliteBeginMove, endOwners: sqliteEndOwners, readMove: sqliteReadMove,
		moveLeases: sqliteMoveLeases, moveNamespace: sqliteMoveNamespace,
	},
}

// server is what a store knows of the database that it talks to.
type server struct {
	texts
	dialect  dialect
	tables   tables
	identity string           // the expression of the server's identity
	forgets  bool             // the server can lack the commits of the one before
	places   []sqltable.Place // of the leases and the namespaces, if the catalogue has them
	shown    string           // where the leases are, for people
	warning  error            // for Grant.Warning

	prepared sync.Map // by their texts, the statements
}

// named are the parameters of a statement.
type named map[string]any

// statement is a statement as the driver takes it, and the names of its parameters in their order.
type statement struct {
	text  string
	names []string
}

// marks match what hides a parameter's name, and then the names.
var marks = regexp.MustCompile("'[^']*'" + `|"[^"]*"` + "|`[^`]*`" + `|--[^\n]*|:[a-z_]+`)

func (s *server) statement(text string) statement {
	if known, ok := s.prepared.Load(text); ok {
		return known.(statement)
	}
	st := s.prepare(text)
	s.prepared.Store(text, st)
	return st
}

// prepare fills in the tables and the identity, qualifies operators, and gives parameters the dialect's form.
func (s *server) prepare(text string) statement {
	text = strings.NewReplacer("{namespaces}", s.tables.namespaces, "{leases}", s.tables.leases,
		"{server}", s.identity).Replace(text)
	if s.dialect == postgres {
		text = operator.Qualify(text)
	}

	var names []string
	numbers := map[string]int{}
	text = marks.ReplaceAllStringFunc(text, func(mark string) string {
		name, isName := strings.CutPrefix(mark, ":")
		switch {
		case !isName:
			return mark
		case numbers[name] == 0 || s.dialect == mysql:
			names = append(names, name)
			numbers[name] = len(names)
		}
		return s.dialect.parameter(numbers[name])
	})
	return statement{text, names}
}

// parameter returns the n-th parameter. MySQL has no numbers.
func (d dialect) parameter(n int) string {
	if d == mysql {
		return "?"
	}
	return map[dialect]string{postgres: "$", sqlite: "?"}[d] + strconv.Itoa(n)
}

// arguments returns the values in the order of the parameters.
func (st statement) arguments(values named) (args []any) {
	for _, name := range st.names {
		args = append(args, values[name])
	}
	return args
}

// scan copies a row into variables, as [sql.Rows.Scan] does.
type scan = func(into ...any) error

// query calls row for each row of the answer; nil if there can be none.
func (s *server) query(ctx context.Context, db sqldb.DB, text string, values named, row func(scan) error) error {
	st := s.statement(text)
	return sqltable.Query(ctx, db, st.text, st.arguments(values), row)
}

// change runs a statement and returns how many rows it has changed.
func (s *server) change(ctx context.Context, db sqldb.DB, text string, values named) (rows int64, err error) {
	st := s.statement(text)
	result, err := db.ExecContext(ctx, st.text, st.arguments(values)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// update runs an UPDATE of one lease that answers with a number, and reports whether the lease was found. It is one
// statement, so nothing can happen in between.
func (s *server) update(
	ctx context.Context, db sqldb.DB, text string, values named,
) (answer int64, found bool, err error) {
	if s.dialect != mysql {
		err = s.query(ctx, db, text, values, func(scan scan) error {
			found = true
			return scan(&answer)
		})
		return answer, found && err == nil, err
	}

	st := s.statement(text)
	result, err := db.ExecContext(ctx, st.text, st.arguments(values)...)
	if err != nil {
		return 0, false, err
	}
	changed, err := result.RowsAffected()
	if err != nil || changed == 0 {
		return 0, false, err
	}
	answer, err = result.LastInsertId()
	return answer, err == nil, err
}

// dialect writes the SQL of a [sqldb.Dialect].
type dialect sqldb.Dialect

const (
	postgres = dialect(sqldb.Postgres)
	mysql    = dialect(sqldb.MySQL)
	sqlite   = dialect(sqldb.SQLite)
)

// tables are the names of the two tables as SQL.
type tables struct{ namespaces, leases string }

const defaultPrefix = "snowflake_"

// 63 bytes are PostgreSQL's limit, MySQL's is 64: the longer name adds ten.
var prefixForm = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,52}$`)

// tables returns the tables whose names begin with the prefix, with or without a schema, in quotes.
func (d dialect) tables(prefix string) (tables, error) {
	prefix = cmp.Or(prefix, defaultPrefix)
	if !prefixForm.MatchString(prefix) {
		return tables{}, fmt.Errorf("%w: the prefix %q of the tables is not a name or schema.name, of 1 to 53 letters "+
			"(a to z), digits and underscores, the schema of 1 to 63, the first of each no digit",
			lease.ErrOption, prefix)
	}

	quote := `"`
	if d == mysql {
		quote = "`"
	}
	quoted := func(name string) string { return quote + strings.ReplaceAll(name, ".", quote+"."+quote) + quote }
	return tables{quoted(prefix + "namespaces"), quoted(prefix + "leases")}, nil
}

// shown returns a name without its quotes.
func shown(table string) string { return strings.NewReplacer("`", "", `"`, "").Replace(table) }
