// Package measure has the records of single runs, the file that keeps them, and the figures computed from them.
package measure

import (
	"fmt"
	"slices"
	"strings"
)

// Again is the kind of the A/A row: the baseline measured once more, as if it were another kind. A difference between the
// two is chance.
const Again = "again"

// Record is one run: one kind of key in one scenario with one set of parameters on one database, once.
type Record struct {
	Engine, Scenario string // no Engine if it is about no database
	Params           Params
	Kind             string
	Beside           string // of a run of the baseline: the kind that it was run beside
	Round            int    // from 1
	Values           map[string]float64
	Note             string // why there are no values, or a remark on them
}

// Params are the settings of a run, in reading order.
type Params []Param

// Param is a setting of a run.
type Param = Setting

// P makes Params from alternating names and values.
func P(pairs ...any) Params {
	var p Params
	for i := 0; i+1 < len(pairs); i += 2 {
		p = append(p, Param{fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])})
	}
	return p
}

// String returns "rows=100000 batch=1".
func (p Params) String() string {
	parts := make([]string, len(p))
	for i, param := range p {
		parts[i] = param.Name + "=" + param.Value
	}
	return strings.Join(parts, " ")
}

// Get returns the value of a setting, "" if it is missing.
func (p Params) Get(name string) string { return Get(p, name) }

// Metric is a quantity that is measured.
type Metric struct {
	Name  string // in files: "bytes_primary"
	Title string // "index of the primary key, bytes a row"
	Unit  string
	// More is true if more is better, as with rows a second.
	More bool
	// Exact figures repeat. Others depend on the load of the machine.
	Exact bool
	// Plain is set if the value matters, not its ratio to the baseline's.
	Plain  bool
	Digits int // after the decimal point; those of a Figure are more if its value is small
}

// Find returns the metric with a name. A name may end in @ and a number of rows, the size of the table at that moment.
func Find(name string) Metric {
	if base, rows, ok := strings.Cut(name, "@"); ok {
		m := Find(base)
		m.Name, m.Title = name, m.Title+", at "+rows+" rows"
		return m
	}
	i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{Name: name, Title: name, Digits: 2}
	}
	return metrics[i]
}

// Metrics returns all metrics in the order of reports.
func Metrics() []Metric { return slices.Clone(metrics) }

var metrics = []Metric{
	{Name: "rate", Title: "rows a second", Unit: "1/s", More: true},
	{Name: "bytes_primary", Title: "index of the primary key, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "bytes_rows", Title: "rows and primary key, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "bytes_secondary", Title: "secondary indexes, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "bytes_table", Title: "table with all indexes, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "density", Title: "density of the key's leaves", Unit: "%", More: true, Exact: true, Digits: 1, Plain: true},
	{Name: "fragmentation", Title: "leaves out of order on disk", Unit: "%", Exact: true, Digits: 1, Plain: true},
	{Name: "log", Title: "write-ahead log, bytes a row", Unit: "B", Digits: 0},
	{Name: "page_images", Title: "full pages in the log, for 1,000 rows", Digits: 1},
	{Name: "written", Title: "bytes written a row", Unit: "B", Digits: 0},
	{Name: "reads", Title: "pages read from outside the cache, for 1,000 rows", Digits: 1},
	{Name: "hits", Title: "pages accessed a row", Digits: 2},
	{Name: "cpu", Title: "CPU a row, server and client", Unit: "µs", Digits: 2},
	{Name: "cpu_server", Title: "CPU a row, server", Unit: "µs", Digits: 2},
	{Name: "generator", Title: "making keys, share of the time", Unit: "%", Digits: 1, Plain: true},
	{Name: "p50", Title: "median time", Unit: "µs", Digits: 0},
	{Name: "p99", Title: "99th percentile", Unit: "µs", Digits: 0},
	{Name: "round_trips", Title: "round trips", Exact: true},
	{Name: "time", Title: "time", Unit: "ms", Digits: 2},
	{Name: "freed", Title: "pages freed", More: true, Exact: true, Plain: true},
	{Name: "freed_share", Title: "pages freed, share of all", Unit: "%", More: true, Exact: true, Digits: 1, Plain: true},
	{Name: "ping", Title: "one round trip", Unit: "ms", Digits: 2, Plain: true},
	{Name: "vacuum", Title: "vacuum or purge", Unit: "ms", Digits: 1},
	{Name: "lookup", Title: "a row by its key, median", Unit: "µs", Digits: 1},
	{Name: "lookup_p99", Title: "a row by its key, 99th percentile", Unit: "µs", Digits: 0},
	{Name: "join", Title: "join of all children with their parents", Unit: "ms", Digits: 1},
	{Name: "newest_key", Title: "the 50 newest rows by the key", Unit: "µs", Digits: 0},
	{Name: "newest_time", Title: "the 50 newest rows by an index on created_at", Unit: "µs", Digits: 0},
	{Name: "range_key", Title: "1 % of the rows by a range of keys", Unit: "ms", Digits: 2},
	{Name: "range_time", Title: "1 % of the rows by an index on created_at", Unit: "ms", Digits: 2},
	{Name: "range_scan", Title: "1 % of the rows by created_at, no index", Unit: "ms", Digits: 1},
	{Name: "pages_key", Title: "pages accessed for 1,000 rows with neighbouring keys", Digits: 0},
	{Name: "pages_time", Title: "pages accessed for 1,000 rows that arrived together", Digits: 0},

	{Name: "operations", Title: "operations a second", Unit: "1/s", More: true},
	{Name: "hot", Title: "HOT updates, share of all", Unit: "%", More: true, Digits: 1},
	{Name: "bytes_added", Title: "bytes that a new row adds to the table", Unit: "B", Exact: true, Digits: 1},
	{Name: "correlation", Title: "correlation of key order and rows on disk", More: true, Digits: 2},
	{Name: "rebuild", Title: "rebuilding", Unit: "ms", Digits: 0},
	{Name: "rebuilt_primary", Title: "index of the primary key after a rebuild, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "rebuilt_table", Title: "table after a rebuild, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "rebuilt_later", Title: "table after a rebuild and a quarter more rows, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "dump", Title: "dump, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "dump_gzip", Title: "dump, compressed, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "pages", Title: "pages accessed for 1,000 rows", Digits: 0},
	{Name: "index_used", Title: "index that finds them, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "remove", Title: "removing the oldest tenth", Unit: "ms", Digits: 1},
	{Name: "remove_log", Title: "write-ahead log of it, bytes a removed row", Unit: "B", Digits: 0},
	{Name: "rate_factor", Title: "rows a second, one table = 1", More: true, Plain: true, Digits: 2},
	{Name: "lookup_factor", Title: "a row by its key, one table = 1", Plain: true, Digits: 2},
	{Name: "fresh", Title: "a row by its key, always a new plan", Unit: "µs", Digits: 1},
	{Name: "fresh_factor", Title: "a row by its key, always a new plan, one table = 1", Plain: true, Digits: 2},
	{Name: "generic", Title: "a row by its key, a generic plan", Unit: "µs", Digits: 1},
	{Name: "generic_factor", Title: "a row by its key, a generic plan, one table = 1", Plain: true, Digits: 2},
	{Name: "touched", Title: "partitions that a row by its key reads", Exact: true, Plain: true},
	{Name: "replanned", Title: "prepared lookups that are planned anew", Unit: "%", Digits: 0, Plain: true},
	{Name: "replanned_one", Title: "prepared lookups that are planned anew, one table", Unit: "%", Digits: 0, Plain: true},
	{Name: "planning", Title: "planning a row by its key", Unit: "µs", Digits: 0},
	{Name: "planning_one", Title: "planning a row by its key, one table", Unit: "µs", Digits: 0},
	{Name: "drop", Title: "dropping the oldest partitions", Unit: "ms", Digits: 1},
	{Name: "drop_log", Title: "write-ahead log of dropping, bytes a removed row", Unit: "B", Digits: 0},
	{Name: "drop_left", Title: "space of removed rows that stays, partitions", Unit: "%", Digits: 1, Plain: true},
	{Name: "delete", Title: "removing the same rows from one table", Unit: "ms", Digits: 1},
	{Name: "delete_log", Title: "write-ahead log of removing from one table, bytes a removed row", Unit: "B", Digits: 0},
	{Name: "delete_left", Title: "space of removed rows that stays, one table", Unit: "%", Digits: 1, Plain: true},
	{Name: "drop_factor", Title: "removing from one table, dropping partitions = 1", More: true, Plain: true, Digits: 0},
	{Name: "drop_referred", Title: "dropping one partition to which a foreign key refers", Unit: "ms", Digits: 1},
	{Name: "foreign_width", Title: "columns of a foreign key", Unit: "B", Exact: true},
	{Name: "foreign_index", Title: "index on a foreign key, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "foreign_index_one", Title: "index on a foreign key to one table, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "foreign_factor", Title: "rows with a foreign key a second, one table = 1", More: true, Plain: true, Digits: 2},
	{Name: "replica", Title: "sent to a replica, bytes a row", Unit: "B", Digits: 0},

	{Name: "ns", Title: "time", Unit: "ns", Digits: 1},
	{Name: "us", Title: "time", Unit: "µs", Digits: 0},
	{Name: "allocs", Title: "allocations", Exact: true},
	{Name: "share", Title: "share", Unit: "%", More: true, Digits: 1, Plain: true},
	{Name: "cores", Title: "processor time a second", Unit: "cores", Digits: 2},
	{Name: "p999", Title: "99.9th percentile", Unit: "µs", Digits: 1},
	{Name: "p9999", Title: "99.99th percentile", Unit: "µs", Digits: 0},
	{Name: "longest", Title: "longest", Unit: "ms", Digits: 1},
	{Name: "open", Title: "opening", Unit: "ms", Digits: 0},
	{Name: "disturbed", Title: "turns left out", Unit: "%", Digits: 0, Plain: true},
}
