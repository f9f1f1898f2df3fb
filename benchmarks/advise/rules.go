package advise

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// rule is a piece of advice and its condition.
type rule struct {
	name      string
	databases []string // empty: all
	warning   bool
	when      func(q *Question, a *Answer) bool
	text      func(q *Question, a *Answer) string
	source    string
}

var (
	innodb = []string{"mariadb", "mysql"}
	local  = []string{"postgres", "mariadb", "mysql", "sqlite"}
)

const (
	firstLayout = "worker/time/sequence"
	measured    = "measured: scenario arrival, 200,000 keys, "
	onPostgres  = measured + "PostgreSQL 15.20"
	fullPages   = onPostgres + ": 1.51x at 10,000 rows/s, 1.75x with a skew of 2 ms, 1.77x with a lag of 1 ms; 0.90x in order"
	modelled    = "limits from the model of the index, checked on PostgreSQL 15.20 at fillfactor 80 and 90"
	onMariaDB   = measured + "MariaDB 10.11.19, rows of 34 bytes"
	onSQLite    = "measured: scenario arrival, 100,000 keys, SQLite"
)

// carries returns how many rows of skew, of mean lag and of overlapping batches (batch x workers) a fill factor
// tolerates on PostgreSQL: up to these the density stays at or above the fill factor. The factors are the lowest of the
// model for fill factors of 70, 80 and 90 and 2 to 64 workers: 1,200 to 1,600 times the slack for two workers, 1,800 to
// 2,300 for three, 2,000 to 3,200 for more; lags 900 to 1,600; batches 2,000 to 4,000. A test checks them on PostgreSQL
// at 80 and 90. For UUIDs, of which fewer fit in a page, the model gives about two thirds; no test checks this.
func carries(workers, size, fill int) (skew, lag, batch float64) {
	slack := 1 - float64(fill)/100
	if size == 16 {
		slack *= 0.65
	}
	switch {
	case workers <= 2:
		skew = 1200
	case workers == 3:
		skew = 1800
	default:
		skew = 2000
	}
	return math.Round(skew * slack), math.Round(900 * slack), math.Round(2000 * slack)
}

func always(*Question, *Answer) bool { return true }

func say(text string) func(*Question, *Answer) string {
	return func(*Question, *Answer) string { return text }
}

var rules = []rule{
	{
		name: "fill-100", databases: []string{"postgres"}, warning: true, source: fullPages,
		when: func(q *Question, _ *Answer) bool { return q.Fill == 100 && !q.ordered() },
		text: say("fillfactor = 100 leaves no room for late keys: each splits a full page into halves, and the index becomes 1.5 to 1.8 times as large as with the default. For one writer that inserts keys strictly in order it saves a tenth."),
	},
	{
		name: "fill-100", databases: []string{"postgres"}, source: fullPages,
		when: func(q *Question, _ *Answer) bool { return q.Fill != 100 && !q.ordered() },
		text: say("Do not set fillfactor = 100 here: each late key splits a full page into halves, and the index becomes 1.5 to 1.8 times as large. It saves a tenth if one writer inserts keys strictly in order."),
	},
	{
		name: "in-order", databases: []string{"postgres"}, source: onPostgres + ": 0.90x of fillfactor 90",
		when: func(q *Question, _ *Answer) bool { return q.ordered() },
		text: say("Keys arrive in order, so fillfactor = 100 saves a tenth of the index, as long as there is one writer that inserts each key before it draws the next. With a second process or a pool of connections the index becomes half as large again: then keep 90."),
	},
	{
		name: "skew", databases: []string{"postgres"}, warning: true, source: modelled,
		when: func(q *Question, a *Answer) bool {
			skew, _, _ := carries(q.Workers, q.size(), a.Expected.Fill)
			return a.SkewRows > skew
		},
		text: func(q *Question, a *Answer) string {
			skew, _, _ := carries(q.Workers, q.size(), a.Expected.Fill)
			return fmt.Sprintf("Clocks that are %v apart mean %.0f rows at this rate; fillfactor = %d has room for about %.0f, or %v. Synchronize the clocks, or draw keys in one process.%s",
				q.Skew, a.SkewRows, a.Expected.Fill, skew, q.during(skew), orFill(a))
		},
	},
	{
		name: "lag", databases: []string{"postgres"}, warning: true, source: modelled,
		when: func(q *Question, a *Answer) bool {
			_, lag, _ := carries(q.Workers, q.size(), a.Expected.Fill)
			return a.LagRows > lag
		},
		text: func(q *Question, a *Answer) string {
			_, lag, _ := carries(q.Workers, q.size(), a.Expected.Fill)
			return fmt.Sprintf("Rows arrive on average %v after their keys were drawn, which means %.0f rows at this rate; fillfactor = %d has room for about %.0f, or %v. Draw the key right before the INSERT, not when the request begins.",
				q.Lag, a.LagRows, a.Expected.Fill, lag, q.during(lag))
		},
	},
	{
		name: "batches", databases: []string{"postgres"}, warning: true,
		source: onPostgres + ": 4 workers with batches of 1,000: 1.53x to 1.60x at any fill factor from 70 to 100; " +
			"with batches of 10 none",
		when: func(q *Question, a *Answer) bool {
			_, _, batch := carries(q.Workers, q.size(), a.Expected.Fill)
			return q.Workers > 1 && (q.Batch >= 100 || q.Batch > 1 && float64(q.Batch*q.Workers) > batch)
		},
		text: say("Batches that several workers write at the same time leave pages half full, and from about 100 rows on no fill factor helps. Use batches of up to 10 rows, one loader or one COPY, or run REINDEX INDEX CONCURRENTLY after the load."),
	},
	{
		name: "worker-first", databases: []string{"postgres"}, warning: true,
		source: onPostgres + ", 16 workers: 1.74x, density 52 %; rule _bt_afternewitemoff of nbtsplitloc.c",
		when:   func(q *Question, _ *Answer) bool { return q.Key == firstLayout && q.Workers > 1 },
		text:   say("With the worker bits above the time each worker appends in its own part of the index, and PostgreSQL splits all pages but the last into halves: permanently 1.75 times the size, with any fill factor. Put the time first."),
	},
	{
		name: "worker-first", databases: innodb, warning: true, source: onMariaDB + ", 16 workers: 1.03x",
		when: func(q *Question, _ *Answer) bool { return q.Key == firstLayout },
		text: say("With the worker bits above the time InnoDB's pages stay dense, because each worker appends in its own part of the index, but keys are not in the order of time: queries by key for the newest rows, ranges of time and pages are not possible."),
	},
	{
		name: "innodb-workers", databases: innodb, warning: true,
		source: "https://bugs.mysql.com/bug.php?id=67718; " + onMariaDB + ", 16 workers: 1.02x at 1,000 rows/s, " +
			"1.33x at 10,000, 1.85x at 100,000; skew of 2 ms at 10,000 1.69x, of " +
			"6 ms 1.90x",
		when: func(q *Question, _ *Answer) bool { return q.Workers > 1 && q.Batch == 1 && q.Key != firstLayout },
		text: say("Several workers insert single rows: when two neighbouring keys arrive in a row InnoDB expects a sequence and splits the page there, even if one side is nearly empty. Keys that arrive a little later find full pages. Use one generator per process, few processes per table, statements of 1,000 rows where possible, and OPTIMIZE TABLE from time to time."),
	},
	{
		name: "innodb-lag", databases: innodb, warning: true,
		source: onMariaDB + ", 10,000 rows/s: mean lag of 1 ms 1.48x, 5 ms 1.96x, 20 ms 1.64x, 500 ms 1.30x",
		when:   func(q *Question, a *Answer) bool { return a.LagRows >= 1 && q.Batch == 1 },
		text:   say("Rows of one process that overtake each other have the same effect: draw the key right before the INSERT."),
	},
	{
		name: "innodb-batches", databases: innodb, warning: true,
		source: onMariaDB + ", rows that interleave one by one, 4 workers: batches of 10 1.87x, of 100 1.92x, of 1,000 1.45x; " +
			"an earlier study, real clients with 1,000 rows a statement: 1.04x to 1.16x",
		when: func(q *Question, _ *Answer) bool { return q.Workers > 1 && q.Batch > 1 && q.Key != firstLayout },
		text: say("The figure is for batches whose rows interleave one by one. Statements of 1,000 rows are mostly executed one after the other and then cost 4 to 16 percent; batches of 10 to 100 rows from several workers are the worst case."),
	},
	{
		name: "mysql", databases: []string{"mysql"},
		source: "https://github.com/mysql/mysql-server/blob/8.0/storage/innobase/btr/btr0btr.cc",
		when:   always,
		text:   say("The figures are those of MariaDB 10.11. MySQL was not measured; its source has the same heuristics."),
	},
	{
		name: "sequence-first", databases: []string{"postgres"},
		source: onPostgres + ": 16 workers at 300,000 rows/s 1.41x against 0.99x; " +
			"64 workers at 1,000,000 rows/s 1.25x against 1.47x",
		when: func(q *Question, _ *Answer) bool {
			return q.Rate >= 150_000 && q.Rate <= 600_000 && q.Workers > 1 && q.Key == "time/worker/sequence"
		},
		text: say("At hundreds of rows a millisecond the order within the millisecond matters. The layout time/sequence/worker keeps keys of workers that take turns in order; above about 1,000 rows a millisecond it is worse."),
	},
	{
		name: "uuidv7", databases: local,
		source: onPostgres + ": 31.7 B against 22.6 B in order; the tolerated skew, two thirds, is from the model",
		when:   func(q *Question, _ *Answer) bool { return q.Key == "uuidv7" },
		text:   say("A UUIDv7 takes 16 bytes instead of 8 in each index and foreign key, 1.4 times as much in an index of PostgreSQL. As fewer keys share a page, it tolerates less disorder."),
	},
	{
		name: "sqlite-type", databases: []string{"sqlite"}, warning: true,
		source: "https://www.sqlite.org/lang_createtable.html#rowid; scenario load, kinds snowflake and snowflake-bigint",
		when:   func(q *Question, _ *Answer) bool { return q.Key != "uuidv7" },
		text:   say("Declare the key as INTEGER PRIMARY KEY, in exactly these words. With BIGINT PRIMARY KEY the table has a rowid and a separate index: the key is stored twice."),
	},
	{
		name: "sqlite-varint", databases: []string{"sqlite"},
		source: "https://www.sqlite.org/fileformat2.html#varint; " + onSQLite +
			": 16.2 B a row against 9.9 B, with the key and one number",
		when: func(q *Question, _ *Answer) bool { return q.Key != "uuidv7" },
		text: say("SQLite stores a rowid in as few bytes as possible: 9 for a snowflake (from 2^56 on, 198 days after the epoch), 1 to 3 for auto-increment up to two million rows. A foreign key takes 8 bytes instead of 1 to 3. Layouts with fewer bits take fewer bytes: 8 below 2^56, and 6 in foreign keys below 2^47."),
	},
	{
		name: "sqlite-order", databases: []string{"sqlite"},
		source: onSQLite + ": density 99.6 % in order, 93 % with 16 workers, 90 % with a skew of 20 ms, 87 % with overlapping " +
			"batches",
		when: func(q *Question, _ *Answer) bool { return !q.ordered() && q.Key != "uuidv7" },
		text: say("Disorder costs little: a full page shares its rows with its neighbours. Keys in order, from one process, " +
			"fill pages to 99 percent."),
	},
	{
		name: "range-cockroachdb", databases: []string{"cockroachdb"}, warning: true,
		source: "https://www.cockroachlabs.com/docs/stable/hash-sharded-indexes",
		when:   always,
		text: func(q *Question, _ *Answer) string {
			return "Keys that begin with the time are all inserted into the last range, so one node receives all writes. Shard the index by a hash: CREATE TABLE " + q.Table + " (id INT8 PRIMARY KEY USING HASH, ...); " +
				"ranges of keys are then read from all shards."
		},
	},
	{
		name: "range-tidb", databases: []string{"tidb"}, warning: true,
		source: "https://docs.pingcap.com/tidb/stable/auto-random; https://docs.pingcap.com/tidb/stable/shard-row-id-bits",
		when:   always,
		text: func(q *Question, _ *Answer) string {
			return "Keys that begin with the time are all inserted into the last region. Put a shard field of 4 or 5 bits above the time (snowflake.NewLayout), as AUTO_RANDOM does with its numbers, or spread the rows: " +
				"CREATE TABLE " +
				q.Table + " (id BIGINT PRIMARY KEY NONCLUSTERED, ...) SHARD_ROW_ID_BITS = 4; the index of the key stays in one " +
				"region."
		},
	},
	{
		name: "range-spanner", databases: []string{"spanner"}, warning: true,
		source: "https://cloud.google.com/spanner/docs/schema-design",
		when:   always,
		text: say("Keys that begin with the time are all inserted into the last split. Reverse the bits of the key before it is stored " +
			"(bits.Reverse64, shifted right by one to stay positive), or put a shard column before it in the primary " +
			"key."),
	},
	{
		name: "range-yugabytedb", databases: []string{"yugabytedb"}, warning: true,
		source: "https://docs.yugabyte.com/stable/explore/going-beyond-sql/data-sharding",
		when:   always,
		text: func(q *Question, _ *Answer) string {
			return "Leave the primary key to hash sharding, the default: CREATE TABLE " + q.Table +
				" (id bigint, ..., PRIMARY KEY (id HASH)). With id ASC, and in each secondary index that begins with the " +
				"key in ascending order, all rows are inserted into the last tablet."
		},
	},
	{
		name: "auto-increment", databases: local, source: "scenarios load, children, clients",
		when: func(q *Question, _ *Answer) bool { return q.Key != "uuidv7" },
		text: func(q *Question, _ *Answer) string {
			text := "Auto-increment is the better key if one database makes all keys, no key is needed before its INSERT, and the number of rows may be public: "
			if q.Database == "sqlite" {
				return text + "it is 6 bytes shorter here in each row and 5 or more in each foreign key."
			}
			return text + "it has the same 8 bytes, and the server draws it at the insert, so that it is never late."
		},
	},
}

// orFill mentions the fill factor if a better one than the current one exists.
func orFill(a *Answer) string {
	if a.Best == nil || a.Best.Fill == a.Expected.Fill {
		return ""
	}
	return " Or set the fill factor above."
}

// during returns the time in which the given number of rows arrives.
func (q *Question) during(rows float64) time.Duration {
	d := time.Duration(rows / q.Rate * float64(time.Second))
	if d > 10*time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

func itoa(n int) string { return strconv.Itoa(n) }

// quoted returns the name of a table with a suffix.
func quoted(table, behind string) string {
	parts := strings.Split(table+behind, ".")
	for i, part := range parts {
		if part != strings.ToLower(part) { // PostgreSQL folds unquoted names to lower case
			parts[i] = `"` + part + `"`
		}
	}
	return strings.Join(parts, ".")
}
