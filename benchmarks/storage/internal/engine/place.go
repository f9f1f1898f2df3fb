package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// placePrefix is the prefix of the schemas and databases of the tool; eight random hexadecimal digits follow.
const placePrefix = "sqlflake_storage_"

const (
	connectTimeout = 15 * time.Second // for the first answer of a server
	closeTimeout   = time.Minute      // for removing a place
	idleConns      = 64               // kept by a pool, so that a run with many clients does not reconnect
)

// served is an engine on a server, with its own place there.
type served struct {
	base
	where   string                  // names the server and the user, without the password
	connect func() (*sql.DB, error) // to no place
	what    string                  // "SCHEMA" or "DATABASE"
	create  string                  // follows the name of a place in CREATE
	drop    string                  // follows the name of a place in DROP
	kills   string                  // query for the statements that end the sessions of a place

	place string
	made  bool // the place exists, or may exist
}

// make creates the place.
func (s *served) make(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	admin, err := s.connect()
	if err != nil {
		return fmt.Errorf("%s: %w", s.where, err)
	}
	defer admin.Close()
	if err := admin.PingContext(ctx); err != nil {
		return fmt.Errorf("%s cannot be reached; start it or correct the DSN: %w", s.where, err)
	}
	others, err := texts(ctx, admin, "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE '"+
		placePrefix+"________' ORDER BY 1")
	if err != nil {
		return fmt.Errorf("%s: %w", s.where, err)
	}
	if len(others) > 0 {
		s.left = fmt.Sprintf("other runs, which are running or were killed, have %s; to remove one: %s",
			strings.Join(others, ", "), s.dropText(others[0]))
	}
	s.place = fmt.Sprintf("%s%08x", placePrefix, rand.Uint32())
	_, err = admin.ExecContext(ctx, "CREATE "+s.what+" "+s.place+s.create)
	s.made = err == nil || ctx.Err() != nil // if the server refuses, a place of this name is another's
	if err != nil {
		return fmt.Errorf("%s: create %s %s: %w", s.where, strings.ToLower(s.what), s.place, err)
	}
	return nil
}

func (s *served) dropText(place string) string {
	return "DROP " + s.what + " IF EXISTS " + place + s.drop
}

// Close drops the place. It ends the sessions that still use it, because they may hold locks.
func (s *served) Close() (err error) {
	if s.db != nil {
		err = s.db.Close()
	}
	if !s.made {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	admin, failed := s.connect()
	if failed == nil {
		defer admin.Close()
		var statements []string
		statements, failed = texts(ctx, admin, s.kills, s.place)
		for _, statement := range append(statements, s.dropText(s.place)) {
			if failed == nil || isNumber(failed, 1094) { // the session has ended by itself
				_, failed = admin.ExecContext(ctx, statement)
			}
		}
	}
	if failed != nil {
		failed = fmt.Errorf("%s: %s is not removed; remove it with %s: %w", s.where, s.place, s.dropText(s.place), failed)
	}
	return errors.Join(err, failed)
}

func isNumber(err error, numbers ...uint16) bool {
	var my *mysql.MySQLError
	return errors.As(err, &my) && slices.Contains(numbers, my.Number)
}

// denied reports whether a statement failed because of missing rights.
func denied(err error) bool {
	var pg *pgconn.PgError
	return isNumber(err, 1044, 1045, 1142, 1143, 1227) || errors.As(err, &pg) && pg.Code == "42501" // insufficient_privilege
}
