// Package audit finds faults of generators in the IDs that they issued. It takes rows and returns a report. It opens no
// database, and prints nothing.
package audit

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Options say what is known of the IDs.
type Options struct {
	Now    func() time.Time
	Layout snowflake.Layout // the zero value: the audit guesses it
	Since  time.Time        // older IDs are left out

	By     string // the name of a column with the order of issue, if there is one
	Issued bool   // the rows come in the order of issue
	Two    bool   // a second database is compared with the first one

	Slack      time.Duration // the longest descent that is normal
	SlackGiven bool          // a person has chosen it
}

// Source is the rows of one database, or of another input.
type Source struct {
	Rows   iter.Seq2[Row, error]
	Sorted bool // the IDs ascend

	Local bool // with Options.By: that column can have local times
}

// Row is a value of the column with the IDs.
type Row struct {
	ID    snowflake.ID
	Null  bool
	Fault error // why the value is not an ID

	Unordered bool // with Options.By: the row has no value in that column
}

// Audit takes the rows of one database or two.
type Audit struct {
	opts Options
	tally

	guess  Guess
	other  string // the layout that fits one of two databases better
	shared Finding
	noZone bool // the times of the rows may be local, so the slack is greater

	sources             int
	read, nulls, notIDs int64
	fault               error             // of the first value that is not an ID
	lists               [2][]snowflake.ID // by database; in the order of issue, if it is known
	unordered           []snowflake.ID    // IDs of rows without a value in the column By
}

// New returns an audit without rows.
func New(o Options) *Audit {
	return &Audit{
		opts: o,
		tally: tally{
			masks: masksOf(o.Layout), generators: map[snowflake.ID]*generator{},
			now: o.Now(), since: o.Since, slack: o.Slack,
		},
		guess: Guess{Layout: o.Layout.String(), Fits: true},
	}
}

// Read takes the rows of the first database. The second call takes the rows of the second one.
func (a *Audit) Read(s Source) error {
	database := a.sources
	a.sources++

	add := func(id snowflake.ID) { a.lists[database] = append(a.lists[database], id) }
	if a.countsAtOnce(s) {
		a.now = a.opts.Now() // the source has no ID that is issued later
		add = func(id snowflake.ID) { a.add(id, database) }
	}
	a.trustTimes(s)

	for row, err := range s.Rows {
		if err != nil {
			return err
		}
		a.take(row, add)
	}
	return nil
}

// countsAtOnce reports whether the IDs come in the order in which they are counted. Otherwise, and without a layout,
// they are kept. So are the IDs of two databases: a server would not wait until the other one has been read.
func (a *Audit) countsAtOnce(s Source) bool {
	if a.opts.Two || !a.isGiven() {
		return false
	}
	return s.Sorted && a.ascend()
}

// isGiven reports whether the layout is known, not guessed.
func (a *Audit) isGiven() bool { return a.opts.Layout != snowflake.Layout{} }

// trustTimes allows for local times, whose order is wrong by one hour when clocks are set back in autumn.
func (a *Audit) trustTimes(s Source) {
	a.noZone = s.Local && !a.opts.SlackGiven
	if a.noZone {
		a.slack = max(a.slack, time.Hour+snowflake.MaxLead)
	}
}

// take counts a row, and passes on its ID.
func (a *Audit) take(row Row, add func(snowflake.ID)) {
	a.read++

	switch {
	case row.Null:
		a.nulls++
	case row.Fault != nil:
		a.notIDs++
		if a.fault == nil {
			a.fault = row.Fault
		}
	case row.Unordered:
		a.unordered = append(a.unordered, row.ID)
	default:
		add(row.ID)
	}
}

// chooseLayout guesses the layout, which has to fit both databases.
func (a *Audit) chooseLayout() {
	samples := [2][]snowflake.ID{append(sample(a.lists[0]), sample(a.unordered)...), sample(a.lists[1])}
	a.guess = guess(slices.Concat(samples[:]...), a.now)
	a.masks = masksOf(a.guess.layout)

	for _, sample := range samples {
		if own := guess(sample, a.now); !own.couldBe(a.guess.Name) {
			a.other = own.Layout
		}
	}
}

// followAll takes the IDs in the order of issue.
func (a *Audit) followAll() {
	for _, id := range a.lists[0] {
		a.follow(id)
	}
}

// addAll counts the IDs of both databases by time. Of equal ones the first database comes first.
func (a *Audit) addAll(ctx context.Context) error {
	x, y := a.lists[0], a.lists[1]
	slices.SortFunc(x, a.compare)
	slices.SortFunc(y, a.compare)

	for len(x)+len(y) > 0 && ctx.Err() == nil {
		isFirst := len(y) == 0
		if !isFirst && len(x) > 0 {
			isFirst = a.compare(x[0], y[0]) <= 0
		}

		if isFirst {
			a.add(x[0], 0)
			x = x[1:]
		} else {
			a.add(y[0], 1)
			y = y[1:]
		}
	}
	return ctx.Err()
}

// sample returns about 65,536 IDs at most, in runs of 1,024 that were added one after the other.
func sample(ids []snowflake.ID) (some []snowflake.ID) {
	const run, most = 1024, 65_536
	every := len(ids)/most + 1

	i := 0
	for chunk := range slices.Chunk(ids, run) {
		if i%every == 0 {
			some = append(some, chunk...)
		}
		i++
	}
	return some
}
