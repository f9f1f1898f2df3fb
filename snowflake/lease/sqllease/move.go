package sqllease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// A namespace moves to another layout in steps. Each is one statement that does nothing if another process was faster, so
// any number of processes may take them, and when one is killed the next goes on:
//
//  1. The row of the namespace names the next layout, and since when. Leases are lent and extended as before. If the server
//     can be replaced by a replica, it waits until all replicas know that.
//  2. When no lease is held, the namespace gets the layout, and has the former one as From. Nothing is lent, and statements
//     that begin later extend no lease of the former layout.
//  3. Rows that have expired get a new epoch and an empty token: a fence against statements that began before. What these
//     have extended or lent is waited for. If a failover forgets the fence, the owners have lost the rows all the same.
//  4. When all are fenced, the namespace gets its start, above all that the rows and the floor allow. Leases are lent.
//
// A row keeps its layout and its horizon until it is taken. A server that was promoted so late that the one before may
// have taken step 2 lends no leases of the former layout, and the steps are taken there.

// errAgain says that a step was taken, or that another caller was faster: look again.
var errAgain = errors.New("look again")

const (
	reserved  = 50 * 365 * 24 * time.Hour // so far away is an expiry that nobody waits for
	tellLimit = time.Minute               // after the look
	soon      = 2 * lease.MaxWindow       // is what a move may take beside periods
)

// Announce tells a namespace the layout to which it will move when the first process with [lease.WithFormerLayout] opens a
// lease. From the returned time on, an hour later on servers that can fail over, that process does not have to wait until
// replicas know. Without it the first such process announces the layout. Leases of the present layout go on as before.
// But a server that takes over more than an hour after the announcement lends no more of them, since the one before may
// have moved: announce it shortly before the deployment.
//
// The layout that the namespace has withdraws the announcement, and returns the zero Time. [lease.ErrLayout] says that the
// layout can't follow, that another one was announced, or that the namespace may have moved already; lease.ErrOption that
// nobody has used the namespace, that its share has no worker of the layout, or that the texts of the layouts are too long.
// Other errors are a [lease.VersionError], lease.ErrClockSkew if the server's clock is off by more than 20 minutes, and those
// of the database.
func (s *Store) Announce(ctx context.Context, namespace string, layout snowflake.Layout) (ready time.Time, err error) {
	r := lease.Request{Namespace: namespace, Layout: layout.String(), Token: noToken, TTL: time.Second}
	if err := r.Validate(); err != nil {
		return time.Time{}, err
	}
	if r.Layout == "" {
		return time.Time{}, fmt.Errorf("%w: Announce: zero Layout", lease.ErrOption)
	}
	r.TTL = 0 // no lease: the namespace is not added

	// The layout may begin later, but it has a time.
	if id, err := layout.Compose(snowflake.Parts{Time: time.Now()}); err == nil {
		r.Tick, _ = layout.Field(id, snowflake.FieldTime)
	}
	return await(ctx, s, "announce", func(ctx context.Context) (time.Time, error) { return s.announce(ctx, r) })
}

func (s *Store) announce(ctx context.Context, r lease.Request) (time.Time, error) {
	for range acquireAttempts {
		q, v, err := s.enter(ctx, r)
		n := v.namespace
		switch {
		case err != nil:
			return time.Time{}, s.failed("announce", err)
		case n == nil:
			return time.Time{}, fmt.Errorf("%w: nobody has used the namespace %q", lease.ErrOption, r.Namespace)
		case n.protocol > knownProtocol:
			return time.Time{}, laterVersion(r.Namespace, n.protocol)
		case n.Next == r.Layout:
			return n.ready(q), nil
		case n.Next == "" && n.layout == r.Layout:
			return time.Time{}, nil
		case n.From == "" && n.layout != r.Former: // with this, the namespace meets the server
			r.Former = n.layout
			continue
		case n.layout != r.Layout || n.forked():
			err = s.admit(ctx, q, r, v)
		default:
			told := n.settings
			told.Next, told.Since = "", 0
			err = s.tell(ctx, q, r, v, told)
		}
		if err != nil && !errors.Is(err, errAgain) {
			return time.Time{}, err
		}
	}
	return time.Time{}, s.tooFast("announce", r.Namespace)
}

// admit returns nil if workers are lent to the request. Otherwise the namespace has another layout, or moves, and admit
// returns errAgain after a step, what to wait for, or why the request is refused.
func (s *Store) admit(ctx context.Context, q *queries, r lease.Request, v view) error {
	n := v.namespace
	wait := func(d time.Duration, why string, values ...any) error {
		return &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last, Wait: d, Why: fmt.Sprintf(why, values...)}
	}
	switch {
	case n.layout == r.Layout && n.From == "" && !n.forked():
		if begins := n.begins(v.now); begins > 0 {
			return wait(begins, "has moved to %q, whose IDs are not above the ones before yet", n.layout)
		}
		return nil
	case n.From != "" && (n.layout == r.Layout || n.layout == r.Former): // those on the way back end the move, too
	case n.From != "" || n.layout != r.Former || n.Next != "" && n.Next != r.Layout:
		return n.otherLayout(r)
	}
	if err := checkClock(r, v.now); err != nil {
		return err
	}
	entries, err := s.workers(ctx, r.Namespace, n)
	if err != nil {
		return err
	}
	found, err := n.survey(r.Namespace, r.Layout, entries, v.now)
	told, settles := n.settings, n.ready(q).Sub(v.now)
	switch {
	case err != nil && found.never && n.Next != "": // nobody has moved, since the reservation is older than the announcement
		told.Next, told.Since = "", 0
		return errors.Join(err, s.tell(ctx, q, r, v, told))
	case err != nil:
		return err
	case n.From == "" && n.Next == "":
		told.Next, told.Since = r.Layout, v.now.UnixMilli()
		err = s.tell(ctx, q, r, v, told)
	case n.From == "" && settles > 0:
		return wait(settles, "moves to %q when all replicas know it", r.Layout)
	case n.From == "" && n.begins(v.now) > 0: // or a way back before the start would put it off once more
		return wait(n.begins(v.now), "moves to %q after the move to %q, whose IDs are not above the ones before yet", r.Layout, n.layout)
	case found.held != nil:
		return wait(found.held.Expires.Sub(v.now), "moves to %q when no lease is held: worker %d is, by %q, pid %d", r.Layout,
			found.held.Worker, found.held.Holder.Host, found.held.Holder.PID)
	case found.stale:
		_, err = s.change(ctx, "acquire", q.fence, r.Namespace, n.layout)
	case n.From == "":
		told.Since, told.Next, told.From = 0, "", n.layout
		err = s.tell(ctx, q, r, v, told)
	default:
		told.Start, told.From = found.start, ""
		err = s.tell(ctx, q, r, v, told)
	}
	if err != nil {
		return err
	}
	return errAgain
}

// checkClock refuses to move while the server's clock is far from the caller's. With one that is ahead the start would be
// there, and nobody would get a worker before it, although the clock has been set long since. With one that is behind an
// announcement would be as old as if all replicas knew it.
func checkClock(r lease.Request, now time.Time) error {
	layout, err := snowflake.ParseLayout(r.Layout)
	if err != nil || r.Tick <= 0 {
		return nil // survey says what is wrong with the layout
	}
	begin := layout.Start(r.Tick)
	if skew := max(now.Sub(begin.Add(layout.Tick())), begin.Sub(now)); skew > soon {
		return fmt.Errorf("%w by %v, so namespace %q can't move now", lease.ErrClockSkew, skew.Round(time.Second), r.Namespace)
	}
	return nil
}

// ready returns when a move that was announced may begin.
func (n *namespace) ready(q *queries) time.Time {
	ready := time.UnixMilli(n.Since)
	if q.forgets {
		ready = ready.Add(settles)
	}
	return ready
}

// begins returns how long it is until leases of the layout begin.
func (n *namespace) begins(now time.Time) time.Duration {
	layout, err := snowflake.ParseLayout(n.layout)
	if err != nil || n.Start == 0 { // one that nobody can move from has no start
		return 0
	}
	return layout.Start(n.Start).Sub(now)
}

// forked reports whether the server took over when the one before may have moved to the next layout.
func (n *namespace) forked() bool {
	return n.Next != "" && n.changed > n.Since+(settles-lease.DefaultMaxSkew).Milliseconds()
}

// otherLayout is the error for a request whose layout the namespace does not have.
func (n *namespace) otherLayout(r lease.Request) error {
	about := ""
	switch {
	case n.layout == r.Layout:
		return fmt.Errorf("%w: namespace %q moves from %q to %q, and may have done so before the failover", lease.ErrLayout,
			r.Namespace, n.layout, n.Next)
	case n.From != "":
		about = fmt.Sprintf(": it moves there from %q", n.From)
	case n.Next != "":
		about = fmt.Sprintf(": it moves to %q", n.Next)
	}
	return fmt.Errorf("%w: namespace %q has %q, not %q%s", lease.ErrLayout, r.Namespace, n.layout, r.Layout, about)
}

// survey is what the rows say about a move.
type survey struct {
	held  *lease.Entry // the one that expires last; nil if none is held
	stale bool         // there are rows of another layout to fence
	never bool         // there is a worker that is reserved for functions
	start int64        // of the new layout, in its ticks
}

// survey returns an error that matches lease.ErrLayout if the namespace can't move to the layout. A move that has begun is
// looked at instead.
func (n *namespace) survey(name, to string, entries []lease.Entry, now time.Time) (found survey, err error) {
	from := n.layout
	if n.From != "" {
		from, to = n.From, n.layout
	}
	fail := func(format string, values ...any) (survey, error) {
		return survey{}, fmt.Errorf("%w: namespace %q can't move from %q to %q: %w", lease.ErrLayout, name, from, to, fmt.Errorf(format, values...))
	}
	former, err := snowflake.ParseLayout(from)
	layout, err2 := snowflake.ParseLayout(to)
	if err != nil || err2 != nil {
		return fail("%w", errors.Join(err, err2))
	}
	horizon := n.Start + 1 // also above all layouts before
	for i, e := range entries {
		if e.Layout == from {
			horizon = max(horizon, e.Horizon)
		}
		if e.Reserved() { // its own IDs are of the past, below now: see Lease.Reserve
			continue
		}
		if e.Expires.Sub(now) > reserved {
			_, err := fail("worker %d is reserved by %q, pid %d", e.Worker, e.Holder.Host, e.Holder.PID)
			return survey{never: len(e.Token) != len(noToken)}, err
		}
		if e.Held && (found.held == nil || e.Expires.After(found.held.Expires)) {
			found.held = &entries[i]
		}
		found.stale = found.stale || e.Token != "" && e.Layout != n.layout
	}
	floor := time.UnixMilli(n.floor()).Add(former.Tick())
	begins, err := layout.Follows(former, slices.MaxFunc([]time.Time{now, former.Start(horizon), floor}, time.Time.Compare))
	if err != nil {
		return fail("%w", err)
	}
	if ahead := begins.Sub(now) - soon; ahead/2 > max(layout.Period(), former.Period()) {
		return fail("its IDs are above all before from %s on, which is too far ahead", begins.Format(time.RFC3339))
	}
	id, err := layout.Compose(snowflake.Parts{Time: begins})
	if err != nil {
		return fail("%w", err)
	}
	found.start, err = layout.Field(id, snowflake.FieldTime)
	return found, err
}

// tell stores the settings, with the layout of the request if From says that it moves. At first it keeps programs out that
// know protocol 1. The time that settings may have was read before, so the statement does nothing if it comes late.
func (s *Store) tell(ctx context.Context, q *queries, r lease.Request, v view, told settings) error {
	n, layout, query, text := v.namespace, v.namespace.layout, q.tell, told.String()
	size := len(text)
	if told.Next != "" { // in its place comes the present layout, as From
		size += max(0, len(layout)-len(told.Next))
	}
	if size > maxSettings {
		return fmt.Errorf("%w: the settings of namespace %q would have %d characters, more than %d, when it moves from %q: %s",
			lease.ErrOption, r.Namespace, size, maxSettings, layout, text)
	}
	first, last := told.share()
	if next, err := snowflake.ParseLayout(told.Next); err == nil && next.MaxWorker() < first { // nobody could get a worker
		return fmt.Errorf("%w: namespace %q has no worker for %q, which has 0 to %d, in the share %d to %d", lease.ErrOption,
			r.Namespace, next, next.MaxWorker(), first, last)
	}
	if told.From != "" {
		layout = r.Layout
	}
	if n.protocol < knownProtocol { // not later, when it would raise rows that SetShare could not find
		query = q.tellFirst
	}
	_, err := s.change(ctx, "tell", query, text, layout, r.Namespace, v.now.Add(tellLimit).UnixMilli(), n.changed, n.reach, n.text, n.layout)
	return err
}

func (s *Store) tooFast(what, namespace string) error {
	return fmt.Errorf("lease: %s in table %s: others were faster %d times in namespace %q", what, s.table, acquireAttempts, namespace)
}
