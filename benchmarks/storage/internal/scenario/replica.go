package scenario

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var replica = Scenario{
	Name:     "replica",
	Title:    "Bytes for a replica",
	Question: "How many bytes does a replica receive for each row that is added to a table after a checkpoint?",
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() == "sqlite" {
			return nil
		}
		rows := half(o.Rows)
		return []measure.Params{measure.P("rows", rows, "added", max(rows/10, 1), "batch", 1000)}
	},
	Once: true,
	Run:  runReplica,
}

// runReplica counts what PostgreSQL sends to a physical replica, and what MariaDB writes to its binary log for replicas.
// Both are of the whole server. PostgreSQL sends a page as a whole when it changes for the first time after a checkpoint,
// so random keys cost the more, the fewer rows are added between two.
func runReplica(ctx context.Context, b *Bench) (map[string]float64, error) {
	in, err := b.fill(ctx, b.Table("replica", account), b.Number("rows"), nil)
	if err != nil {
		return nil, err
	}
	if err := b.Settle(ctx, in.Table.Name); err != nil {
		return nil, err
	}
	in.Rows = b.Number("added")
	server, ok := b.Engine.(engine.Replicated)
	if !ok {
		return b.binlog(ctx, in)
	}
	start, err := b.position(ctx, "pg_current_wal_flush_lsn")
	if err != nil {
		return nil, err
	}
	conn, refused := server.Replication(ctx)
	r := &receiver{conn: conn, at: start, done: make(chan error, 1)}
	if refused == nil {
		defer func() { _ = conn.Conn().Close() }() // also while it receives
		if err := r.begin(ctx); err != nil {
			return nil, err
		}
	} else if !errors.Is(refused, errors.ErrUnsupported) {
		return nil, refused
	}
	if err := b.Do(ctx, in); err != nil {
		return nil, err
	}
	end, err := b.position(ctx, "pg_current_wal_insert_lsn")
	if err != nil {
		return nil, err
	}
	values := map[string]float64{"log": float64(end-start) / float64(in.Rows)}
	if refused != nil {
		return values, refused
	}
	r.end.Store(end)
	if err := b.Settle(ctx, in.Table.Name); err != nil { // so that the server writes and sends the log to its end
		return nil, err
	}
	select {
	case err = <-r.done:
	case <-time.After(time.Minute):
		return nil, errors.New("the server has not sent its log within a minute")
	}
	values["replica"] = float64(r.received) / float64(in.Rows)
	return values, err
}

// position returns a position of the write-ahead log, in bytes since its beginning.
func (b *Bench) position(ctx context.Context, function string) (at int64, err error) {
	err = b.get(ctx, "SELECT ("+function+"() - '0/0')::bigint", nil, &at)
	return at, err
}

// receiver receives the write-ahead log as a replica does: https://www.postgresql.org/docs/current/protocol-replication.html.
type receiver struct {
	conn     *pgconn.PgConn
	at       int64        // position of what comes next
	end      atomic.Int64 // where to stop, once it is known
	received int64        // bytes until end
	done     chan error
}

// begin receives in the background.
func (r *receiver) begin(ctx context.Context) error {
	r.end.Store(math.MaxInt64)
	start := fmt.Sprintf("START_REPLICATION PHYSICAL %X/%X", r.at>>32, uint32(r.at)) //nolint:gosec // the lower half
	r.conn.Frontend().Send(&pgproto3.Query{String: start})
	if err := r.conn.Frontend().Flush(); err != nil {
		return err
	}
	go func() { r.done <- r.receive(ctx) }()
	return nil
}

func (r *receiver) receive(ctx context.Context) error {
	for r.at < r.end.Load() {
		message, err := r.conn.ReceiveMessage(ctx)
		if err != nil {
			return fmt.Errorf("receive the log: %w", err)
		}
		switch m := message.(type) {
		case *pgproto3.ErrorResponse:
			return fmt.Errorf("receive the log: %w", pgconn.ErrorResponseToPgError(m))
		case *pgproto3.CopyData:
			const header = 1 + 3*8 // type, start of the data, end of the log, time
			if m.Data[0] == 'w' {
				r.received += int64(len(m.Data) - header)
				r.at = int64(binary.BigEndian.Uint64(m.Data[1:])) + int64(len(m.Data)-header) //nolint:gosec // below 2^63
				continue
			}
			// The server asks whether the replica lives.
			reply := append(binary.BigEndian.AppendUint64([]byte{'r'}, uint64(r.at)), make([]byte, 3*8+1)...) //nolint:gosec // positive
			r.conn.Frontend().Send(&pgproto3.CopyData{Data: reply})
			if err := r.conn.Frontend().Flush(); err != nil {
				return err
			}
		}
	}
	r.received -= r.at - r.end.Load()
	return nil
}

func (b *Bench) binlog(ctx context.Context, in Insert) (map[string]float64, error) {
	var on bool
	var before, after int64
	count := func(bytes *int64) error {
		return b.get(ctx, `SELECT @@log_bin, variable_value FROM information_schema.global_status
			WHERE variable_name = 'BINLOG_BYTES_WRITTEN'`, nil, &on, bytes)
	}
	if err := count(&before); err != nil {
		return nil, engine.Unsupported("the server does not count the bytes of its binary log: %w", err)
	}
	if !on {
		return nil, engine.Unsupported("the server writes no binary log, so it has no replicas (log_bin)")
	}
	if err := b.Do(ctx, in); err != nil {
		return nil, err
	}
	err := count(&after)
	return map[string]float64{"replica": float64(after-before) / float64(in.Rows)}, err
}
