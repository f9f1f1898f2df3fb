package advise

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// rule is a piece of advice and its condition. Its text has placeholders, which replaced sets.
type rule struct {
	name      string
	databases []string
	warning   bool
	when      func(q *Question, a *Answer) bool // nil: always
	source    string
	text      string
}

var (
	postgres = []string{"postgres"}
	innodb   = []string{"mariadb", "mysql"}
	sqlite   = []string{"sqlite"}
	local    = []string{"postgres", "mariadb", "mysql", "sqlite"}
)

const (
	firstLayout = "worker/time/sequence"
	measured    = "measured: scenario arrival, 200,000 keys, "
	onPostgres  = measured + "PostgreSQL 15.20"
	fullPages   = onPostgres + ", 16 workers: 1.48x with a skew of 20 ms; 0.90x in order; the model has 1.76x with 2 ms"
	modelled    = "limits from the model of the index, checked on PostgreSQL 15.20 at fillfactor 80 and 90"
	onMariaDB   = measured + "MariaDB 10.11.19, rows of 34 bytes"
	onSQLite    = "measured: scenario arrival, 200,000 keys, SQLite"
	fullSpeed   = "measured: scenario clients, 200,000 rows, 4 and 8 clients at full speed on 2 cores, "
	betterAuto  = "Auto-increment is the better key if one database makes all keys, no key is needed before its INSERT, and the number of rows may be public: "
)

// carries returns how many rows of skew and of mean lag a fill factor tolerates on PostgreSQL: up to these the density
// stays at or above the fill factor. The factors are the lowest of the model for fill factors of 70, 80 and 90 and 2 to
// 64 workers: 1,200 to 1,600 times the slack for two workers, 1,800 to 2,300 for three, 2,000 to 3,200 for more; lags
// 900 to 1,600. A test checks them on PostgreSQL at 80 and 90. For UUIDs, of which fewer fit in a page, the model gives
// about two thirds; no test checks this.
func carries(q *Question, a *Answer) (skew, lag float64) {
	slack := 1 - float64(a.Expected.Fill)/100
	if q.size() == 16 {
		slack *= 0.65
	}
	skew = map[int]float64{1: 1200, 2: 1200, 3: 1800}[q.Workers]
	if skew == 0 {
		skew = 2000
	}
	return math.Round(skew * slack), math.Round(900 * slack)
}

// crowded is the ratio from which concurrent statements are worth a warning.
const crowded = 1.05

func overlap(q *Question, a *Answer) bool {
	return q.Workers > 1 && q.Batch > 1 && q.Key != firstLayout && a.Expected.Ratio >= crowded
}

func numbers(q *Question, _ *Answer) bool { return q.Key != "uuidv7" }

var rules = []rule{
	{
		"fill-100", postgres, true, func(q *Question, _ *Answer) bool { return q.Fill == 100 && !q.ordered() }, fullPages,
		"fillfactor = 100 leaves no room for late keys. Each splits a full page into halves, and the index grows to 1.5 to 1.8 times the default's size. It saves a tenth for one writer that inserts keys strictly in order.",
	}, {
		"fill-100", postgres, false, func(q *Question, _ *Answer) bool { return q.Fill != 100 && !q.ordered() }, fullPages,
		"Do not set fillfactor = 100 here. Each late key would split a full page into halves, and the index would grow to 1.5 to 1.8 times its size.",
	}, {
		"in-order", postgres, false, func(q *Question, _ *Answer) bool { return q.ordered() },
		onPostgres + ": 0.90x of fillfactor 90",
		"Keys arrive in order, so fillfactor = 100 saves a tenth of the index. Keep 90 if a second process or a pool of connections may insert: with 100 the index would then grow by half.",
	}, {
		"skew", postgres, true, func(q *Question, a *Answer) bool {
			skew, _ := carries(q, a)
			return a.SkewRows > skew
		}, modelled,
		"Clocks that are {skew} apart mean {skew rows} rows at this rate. fillfactor = {fill} has room for about {skew room}. Synchronize the clocks, or draw keys in one process.{or fill}",
	}, {
		"lag", postgres, true, func(q *Question, a *Answer) bool {
			_, lag := carries(q, a)
			return a.LagRows > lag
		}, modelled,
		"Rows arrive on average {lag} after their keys were drawn, which means {lag rows} rows at this rate. fillfactor = {fill} has room for about {lag room}. Draw the key right before the INSERT, not when the request begins.",
	}, {
		"batches", postgres, true, overlap,
		fullSpeed + "PostgreSQL 15.20: 10 rows a statement 0.99x to 1.09x, 100 rows 1.17x to 1.36x, 1,000 rows 1.30x to 1.48x",
		"Statements of several workers run at the same time, and their rows split pages in the middle. From 100 rows a statement on no fill factor helps. Load with one process, or run REINDEX INDEX CONCURRENTLY after the load. The size depends on timing: expect 10 percent more or less.",
	}, {
		"worker-first", postgres, true, func(q *Question, _ *Answer) bool { return q.Key == firstLayout && q.Workers > 1 },
		onPostgres + ", 16 workers: 1.74x, density 52 %; rule _bt_afternewitemoff of nbtsplitloc.c",
		"With the worker bits above the time each worker appends in its own part of the index. PostgreSQL splits all pages but the last into halves, so the index stays at 1.75 times the size with any fill factor. Put the time first.",
	}, {
		"worker-first", innodb, true, func(q *Question, _ *Answer) bool { return q.Key == firstLayout },
		onMariaDB + ", 16 workers: 1.03x",
		"With the worker bits above the time InnoDB's pages stay dense, because each worker appends in its own part of the index. But keys are not in the order of time: ranges of time and the newest rows cannot be read by key.",
	}, {
		"innodb-workers", innodb, true,
		func(q *Question, _ *Answer) bool { return q.Workers > 1 && q.Batch == 1 && q.Key != firstLayout },
		"https://bugs.mysql.com/bug.php?id=67718; " + onMariaDB + ", 16 workers at 10,000 rows/s: 1.33x, with a skew of 20 ms 1.74x, of 200 ms 1.94x; " +
			"the model has 1.02x at 1,000 rows/s and 1.87x at 100,000",
		"When two neighbouring keys arrive one after the other, InnoDB expects a sequence and splits the page there, even if one side is nearly empty. Keys of other workers that arrive a little later find full pages. Use one generator per process, few processes per table, and statements of 1,000 rows where possible. OPTIMIZE TABLE fills the pages again.",
	}, {
		"innodb-lag", innodb, true, func(q *Question, a *Answer) bool { return a.LagRows >= 1 && q.Batch == 1 },
		onMariaDB + ", 16 workers at 10,000 rows/s: mean lag of 20 ms 1.64x; the model has 1.53x for 1 ms, 1.94x for 5 ms",
		"Rows of one process that overtake each other have the same effect. Draw the key right before the INSERT.",
	}, {
		"innodb-batches", innodb, true, overlap,
		fullSpeed + "MariaDB 10.11.19, against auto-increment of one client: 10 rows a statement 1.81x to 2.21x, 100 rows 1.43x to 1.72x, 1,000 rows 1.11x to 1.17x",
		"Statements of several workers run at the same time, and late keys find full pages. 10 to 100 rows a statement are the worst case. Use statements of 1,000 rows with their rows in the order of the keys, or one process; OPTIMIZE TABLE fills the pages again. The size depends on timing: expect 10 percent more or less.",
	}, {
		"mysql",
		[]string{"mysql"},
		false, nil,
		"measured: go test -C benchmarks -run TestWhatHelpsInnoDB -v ./advise, MySQL 9.7.4 and MariaDB 10.11.19",
		"The figures are those of MariaDB 10.11. MySQL 9.7 has the same page splits.",
	}, {
		"sequence-first", postgres, false, func(q *Question, _ *Answer) bool {
			return q.Rate >= 150_000 && q.Rate <= 600_000 && q.Workers > 1 && q.Batch == 1 && q.Key == "time/worker/sequence"
		}, "the model of the index: 16 workers at 300,000 rows/s 1.41x against 0.99x; 64 workers at 1,000,000 rows/s 1.25x against 1.47x",
		"At hundreds of rows a millisecond the order within the millisecond matters. The layout time/sequence/worker keeps keys of workers that take turns in order. Above about 1,000 rows a millisecond it is worse.",
	}, {
		"uuidv7", local, false, func(q *Question, _ *Answer) bool { return q.Key == "uuidv7" },
		onPostgres + ": 31.7 B against 22.6 B in order; the tolerated skew, two thirds, is from the model",
		"A UUIDv7 takes 16 bytes instead of 8 in each index and foreign key, 1.4 times as much in an index of PostgreSQL. Fewer keys share a page, so it tolerates less disorder.",
	}, {
		"sqlite-type", sqlite, true, numbers,
		"https://www.sqlite.org/lang_createtable.html#rowid; scenario load, kinds snowflake and snowflake-bigint",
		"Declare the key as INTEGER PRIMARY KEY, in exactly these words. With BIGINT PRIMARY KEY the key is stored twice, in the table and in an index.",
	}, {
		"sqlite-varint", sqlite, false, numbers,
		"https://www.sqlite.org/fileformat2.html#varint; " + onSQLite + ": 16.2 B a row against 10.0 B, with the key and one number",
		"A rowid takes as few bytes as it needs: 9 for a snowflake, 1 to 3 for auto-increment up to two million rows. A foreign key takes 8 bytes instead of 1 to 3. Layouts with fewer bits take fewer bytes: 8 below 2^56, and 6 in foreign keys below 2^47.",
	}, {
		"sqlite-order", sqlite, false, func(q *Question, _ *Answer) bool { return !q.ordered() && q.Key != "uuidv7" },
		onSQLite + ": density 99.7 % in order, 92 % with 16 workers, 89 % with a skew of 20 ms",
		"Disorder costs little: a full page shares its rows with its neighbours. Keys in order, from one process, fill pages to 99 percent.",
	}, {
		"range-cockroachdb",
		[]string{"cockroachdb"},
		true, nil, "https://www.cockroachlabs.com/docs/stable/hash-sharded-indexes",
		"Keys that begin with the time are all inserted into the last range, so one node receives all writes. Shard the index by a hash: CREATE TABLE {table} (id INT8 PRIMARY KEY USING HASH, ...). Ranges of keys are then read from all shards.",
	}, {
		"range-tidb",
		[]string{"tidb"},
		true, nil,
		"https://docs.pingcap.com/tidb/stable/auto-random; https://docs.pingcap.com/tidb/stable/shard-row-id-bits",
		"Keys that begin with the time are all inserted into the last region. Put a shard field of 4 or 5 bits above the time (snowflake.NewLayout), as AUTO_RANDOM does. Or spread the rows: CREATE TABLE {table} (id BIGINT PRIMARY KEY NONCLUSTERED, ...) SHARD_ROW_ID_BITS = 4; the index of the key stays in one region.",
	}, {
		"range-spanner",
		[]string{"spanner"},
		true, nil, "https://cloud.google.com/spanner/docs/schema-design",
		"Keys that begin with the time are all inserted into the last split. Reverse the bits of the key before it is stored (bits.Reverse64, shifted right by one to stay positive), or put a shard column before it in the primary key.",
	}, {
		"range-yugabytedb",
		[]string{"yugabytedb"},
		true, nil,
		"https://docs.yugabyte.com/stable/explore/going-beyond-sql/data-sharding",
		"Leave the primary key to hash sharding, the default: CREATE TABLE {table} (id bigint, ..., PRIMARY KEY (id HASH)). With id ASC, and in a secondary index that begins with the key in ascending order, all rows are inserted into the last tablet.",
	}, {
		"auto-increment", sqlite, false, numbers, "scenarios load, children",
		betterAuto + "it is 6 bytes shorter in each row and 5 or more in each foreign key.",
	}, {
		"auto-increment", local[:3], false, numbers, "scenarios load, children, clients",
		betterAuto + "it has the same 8 bytes, and the server draws it at the insert, so that a single row is never late.",
	},
}

// replaced returns the text of a rule with the values of the answer.
func (q *Question) replaced(text string, a *Answer) string {
	values := []string{"{table}", q.Table}
	if a.Best != nil {
		skew, lag := carries(q, a)
		or := ""
		if a.Best.Fill != a.Expected.Fill {
			or = " Or set the fill factor above."
		}
		values = append(values, "{or fill}", or, "{fill}", strconv.Itoa(a.Expected.Fill),
			"{skew}", q.Skew.String(), "{skew rows}", fmt.Sprintf("%.0f", a.SkewRows), "{skew room}", q.room(skew),
			"{lag}", q.Lag.String(), "{lag rows}", fmt.Sprintf("%.0f", a.LagRows), "{lag room}", q.room(lag))
	}
	return strings.NewReplacer(values...).Replace(text)
}

// room returns a number of rows and the time in which they arrive.
func (q *Question) room(rows float64) string {
	d := time.Duration(rows / q.Rate * float64(time.Second))
	unit := 10 * time.Microsecond
	if d > 10*time.Millisecond {
		unit = time.Millisecond
	}
	return fmt.Sprintf("%.0f, or %v", rows, d.Round(unit))
}
