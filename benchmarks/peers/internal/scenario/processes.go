package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "github.com/mattn/go-sqlite3"    // the driver "sqlite3"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/internal/tempdir"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// databases are those that lend workers to processes.
func databases() []Library {
	return []Library{{Name: "sqlite", open: openSQL}, {Name: "postgres", open: openSQL}}
}

// Processes returns the cases in which several processes of this module lease their workers from one database and draw
// IDs at once. PostgreSQL is at the DSN, and is left out if that is empty.
func Processes(dsn string, count int) []bench.Case {
	kinds := []string{"sqlite"}
	if dsn != "" {
		kinds = append(kinds, "postgres")
	}
	var all []bench.Case
	for n := 1; n <= 16; n *= 2 {
		c := bench.Case{
			Scenario: "processes-curve", Title: fmt.Sprintf("%d processes on a database", n), Params: measure.P("processes", n),
			Kinds: kinds, Rounds: 3, Takes: time.Duration(len(kinds)) * time.Second,
		}
		c.Run = func(ctx context.Context, _ int, done func(time.Duration)) (map[string]bench.Result, error) {
			found := map[string]bench.Result{}
			for _, kind := range kinds {
				values, err := share(ctx, spec{Library: kind, Workers: []int{0}, Count: count, Forget: true, DSN: dsn}, n)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", kind, err)
				}
				found[kind] = bench.Result{Values: values}
				done(time.Second)
			}
			return found, nil
		}
		all = append(all, c)
	}
	return all
}

// share lets n processes lease and draw. Its values are the "rate" of all, in million IDs a second, and the longest time
// to "open" a lease while all open theirs, in ms.
func share(ctx context.Context, s spec, n int) (values map[string]float64, failed error) {
	folder, err := tempdir.New("", tempdir.Files)
	if err != nil {
		return nil, err
	}
	defer func() { failed = errors.Join(failed, folder.Remove()) }()
	s.Folder, s.Table = folder.Path, fmt.Sprintf("sqlflake_peers_%d_%d", os.Getpid(), rand.Uint32())
	db, store, err := s.store()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	defer func() {
		_, err := db.ExecContext(context.WithoutCancel(ctx), "DROP TABLE "+s.Table)
		failed = errors.Join(failed, err)
	}()
	all, err := drawTogether(ctx, slices.Repeat([]spec{s}, n))
	if err != nil {
		return nil, err
	}
	values = map[string]float64{"open": 0}
	began, ended := all[0].Began, all[0].Ended // the first begin and the last end
	for _, one := range all {
		if one.Error != "" {
			return nil, errors.New(one.Error)
		}
		values["open"] = max(values["open"], float64(one.Opened)/1e6)
		if one.Began.Before(began) {
			began = one.Began
		}
		if one.Ended.After(ended) {
			ended = one.Ended
		}
	}
	values["rate"] = float64(n*s.Count) / ended.Sub(began).Seconds() / 1e6
	return values, nil
}

// store opens the database. The caller closes it.
func (s spec) store() (*sql.DB, *sqllease.Store, error) {
	driver, dsn, dialect := "sqlite3", filepath.Join(s.Folder, "leases.db"), sqldb.SQLite
	if s.Library == "postgres" {
		driver, dsn, dialect = "pgx", s.DSN, sqldb.Postgres
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, nil, err
	}
	store, err := sqllease.New(db, dialect, sqllease.WithTable(s.Table))
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, store, nil
}

func openSQL(ctx context.Context, s spec, _ int) (source, error) {
	db, store, err := s.store()
	if err != nil {
		return source{}, err
	}
	held, err := lease.Open(ctx, store, quiet)
	if err != nil {
		return source{}, errors.Join(err, db.Close())
	}
	return source{next(held.Generator()), func() error {
		return errors.Join(held.Close(context.Background()), db.Close())
	}}, nil
}
