package filelease

import (
	"fmt"

	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// place is where a Store keeps its rows: a folder for many workers, or a stateFile for one.
type place interface {
	// row returns the row of a worker, which may have no state yet.
	row(namespace string, worker int64) fileRow

	// used returns the rows of a namespace that have a state, in the order of their last write.
	used(namespace string) ([]fileRow, error)

	// namespaces returns all that may have a state, for used.
	namespaces() ([]string, error)

	// begin prepares the place for the first row of a namespace.
	begin(r leasestore.Request) error

	// check compares a request with a state that used has found for its namespace.
	check(r leasestore.Request, s fileState) error

	// candidates returns the workers to choose from. rows has those that have a state.
	candidates(r order.Request, rows []order.Row) *order.Candidates
}

// stateFile is a place for one worker, whichever that is: the path of its state.
type stateFile string

func (p stateFile) row(string, int64) fileRow { return fileRow{path: string(p)} }

func (p stateFile) used(string) ([]fileRow, error) {
	row := fileRow{path: string(p)}
	s, ok, err := row.read(nil)
	if err != nil || !ok {
		return nil, err
	}
	row.worker = s.Worker
	return []fileRow{row}, nil
}

func (stateFile) namespaces() ([]string, error) { return []string{""}, nil } // used has the row for any

// begin accepts one worker only, which the file is for from now on.
func (p stateFile) begin(r leasestore.Request) error {
	if r.First != r.Last {
		return fmt.Errorf("%w: the state file %s is for one worker, not for %d to %d",
			lease.ErrOption, p, r.First, r.Last)
	}
	return nil
}

func (p stateFile) check(r leasestore.Request, s fileState) error {
	switch {
	case s.Namespace != r.Namespace:
		return fmt.Errorf("%w: the state file %s is for namespace %q, not %q",
			lease.ErrOption, p, s.Namespace, r.Namespace)
	case s.Worker < r.First || s.Worker > r.Last:
		return fmt.Errorf("%w: the state file %s is for worker %d, which is not in %d to %d",
			lease.ErrOption, p, s.Worker, r.First, r.Last)
	}
	return nil
}

// candidates has one worker only, once the file exists.
func (stateFile) candidates(r order.Request, rows []order.Row) *order.Candidates {
	if len(rows) > 0 {
		return order.Some(r, rows)
	}
	return order.All(r, rows)
}
