// Package natslease keeps leases of worker numbers in a key-value bucket of NATS JetStream:
//
//	conn, err := nats.Connect("nats://nats-0,nats://nats-1,nats://nats-2",
//		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), // by default it gives up for good after 2 minutes
//		nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(2)) // notices a server that vanished
//	js, err := jetstream.New(conn)
//	_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "leases", Replicas: 3}) // once
//	store, err := natslease.New(js, "leases")
//	l, err := lease.Open(ctx, store) // takes a worker
//	defer l.Close(ctx)               // gives it back
//	id, err := l.Generator().Next()
//
// Package kvlease describes keys, values and clocks; the servers' clocks are not used. A change is one message that
// names the sequence number of the last one of its subject. With several replicas it is confirmed when a majority has
// it. Without a majority each call fails when its context ends, and nothing is lent. A row is read from the leader of
// the stream, never directly; a namespace from any replica, until the newest row that the leader knows has come.
//
// Acquire and List return lease.ErrOption for a bucket that could lose rows or refuse extensions, and for an old server
// at the connection; they do not see the other servers. Needed are nats-server 2.10.23, as 2.10.20 to 2.10.22 may lose
// a stream when they are killed (https://github.com/nats-io/nats-server/issues/6888), and 2.11 for several replicas:
// older ones may accept two messages for one sequence number (https://github.com/nats-io/nats-server/pull/6194).
//
// IDs may repeat, and a client can't see it, after:
//
//   - a crash with a sync_interval other than always. The default is 2 minutes. With several replicas one crashed
//     machine is enough if others are slow (https://jepsen.io/analyses/nats-2.12.1).
//   - damaged or restored files on one server, which can become the leader
//   - the removal of servers while others fail (https://github.com/nats-io/nats-server/issues/7545)
//   - a server of the cluster that is older than the one of the connection
//   - a bucket that is restored from a backup or deleted, and messages that are removed while processes use them.
//     Stores notice it if all messages of a namespace are deleted and they have used it before, or the first message of
//     the bucket was removed as well. Owners then start above a floor (package kvlease).
//
// A key that was deleted or purged (nats kv del, nats kv purge) is lease.ErrDamaged for its namespace until its last
// value is written again. If that is unknown, stop every process of the namespace, check the clocks, wait for a window
// and 10 s, and purge the subjects of the namespace from the stream.
//
// README.md is about operation: load, elections, closed connections, rights.
package natslease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/version"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sqlflake/sqlflake/contrib/kvlease"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Codes of replies after which the message was not stored.
const (
	// notReady is "expected last sequence per subject temporarily unavailable": the leader has not applied its log yet.
	// nats-server 2.12 no longer returns it.
	notReady jetstream.ErrorCode = 10163
	// anotherSequence is "wrong last sequence" without the number. Clients before 1.53 have no name for it.
	anotherSequence jetstream.ErrorCode = 10164
)

// New returns a store in the key-value bucket, whose connection the caller closes. It does not talk to NATS. It returns
// lease.ErrOption for a nil JetStream, for what is no name of a bucket, and for a JetStream of another domain or
// account.
func New(js jetstream.JetStream, bucket string) (*kvlease.Store, error) {
	v := reflect.ValueOf(js)
	if isNilPointer := v.Kind() == reflect.Pointer && v.IsNil(); isNilPointer || !v.IsValid() {
		return nil, fmt.Errorf("%w: the JetStream is nil", lease.ErrOption)
	}
	if bucket == "" || strings.ContainsAny(bucket, ".*> /\\\t\r\n") {
		return nil, fmt.Errorf("%w: %q is not the name of a bucket", lease.ErrOption, bucket)
	}

	options := js.Options()
	prefix := cmp.Or(options.APIPrefix, jetstream.DefaultAPIPrefix)
	if options.Domain != "" || prefix != jetstream.DefaultAPIPrefix {
		return nil, fmt.Errorf(
			"%w: the JetStream has the domain %q and the prefix %q: connect to a server of the bucket",
			lease.ErrOption, options.Domain, prefix)
	}

	e := &engine{js: js, bucket: bucket, stream: "KV_" + bucket, root: "$KV." + bucket + "."}

	// This older interface reads from the leader of the stream. That of js reads from any replica if the bucket allows
	// it, as buckets do by default.
	var err error
	if e.leader, err = js.Conn().JetStream(); err != nil {
		return nil, fmt.Errorf("%w: %w", lease.ErrOption, err)
	}

	return kvlease.New(e)
}

// engine is a bucket as a [kvlease.KV].
type engine struct {
	js     jetstream.JetStream
	leader nats.JetStreamContext
	bucket string
	stream string // of the bucket
	root   string // of the subjects
}

func (e *engine) Get(ctx context.Context, key string) (kvlease.Pair, error) {
	message, err := e.last(ctx, key)
	if message == nil {
		return kvlease.Pair{}, err
	}
	return pair(key, message.Data, message.Sequence)
}

// last returns the last message of the keys, which may be a pattern, or nil if there is none.
func (e *engine) last(ctx context.Context, keys string) (*nats.RawStreamMsg, error) {
	message, err := e.leader.GetLastMsg(e.stream, e.subject(keys), nats.Context(ctx))
	if errors.Is(err, nats.ErrMsgNotFound) {
		return nil, nil
	}
	return message, e.explain(ctx, err)
}

// pair returns lease.ErrDamaged for the marker that NATS keeps in the place of a key that was deleted.
func pair(key string, value []byte, sequence uint64) (kvlease.Pair, error) {
	if len(value) == 0 {
		return kvlease.Pair{}, fmt.Errorf("%w: the key %q was deleted or purged: write its last value again",
			lease.ErrDamaged, key)
	}
	return kvlease.Pair{Key: key, Value: value, Revision: strconv.FormatUint(sequence, 10)}, nil
}

// Existed reports whether the first message of the bucket was removed, as by a purge. It is the layout of a namespace,
// which is replaced only after a repair.
func (e *engine) Existed(ctx context.Context, _ string) (bool, error) {
	_, state, err := e.open(ctx)
	return err == nil && state.FirstSeq > 1, err
}

// open returns the bucket if it is a sound one.
func (e *engine) open(ctx context.Context) (jetstream.KeyValue, jetstream.StreamState, error) {
	var state jetstream.StreamState
	bucket, err := e.js.KeyValue(ctx, e.bucket)
	if err != nil {
		return nil, state, e.explain(ctx, err)
	}

	status, err := bucket.Status(ctx)
	if err != nil {
		return nil, state, e.explain(ctx, err)
	}
	if status, ok := status.(*jetstream.KeyValueBucketStatus); ok {
		state = status.StreamInfo().State
		err = e.check(status.StreamInfo().Config, e.js.Conn().ConnectedServerVersion())
	}

	return bucket, state, err
}

// List watches the keys. The watched replica may be behind, so it reads on until the newest row of the leader has come.
func (e *engine) List(ctx context.Context, prefix string) ([]kvlease.Pair, error) {
	bucket, _, err := e.open(ctx)
	if err != nil {
		return nil, err
	}

	newest, err := e.last(ctx, prefix+">")
	if newest == nil {
		return nil, err
	}

	watcher, err := bucket.Watch(ctx, strings.TrimPrefix(e.subject(prefix), e.root)+">")
	if err != nil {
		return nil, e.explain(ctx, err)
	}

	defer func() {
		go func() { // Stop may take 5 s, whatever the context
			_ = watcher.Stop() // the server removes the consumer of a vanished watcher
			for range watcher.Updates() {
				// The client's goroutine waits until what it has received is read, and then closes the channel.
			}
		}()
	}()
	found := map[string]kvlease.Pair{}
	for seen, complete := uint64(0), false; !complete || seen < newest.Sequence; {
		select {
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return nil, e.explain(ctx, errors.New("the watcher has ended"))
			case entry == nil: // after the rows that there were when it began
				complete = true
			default:
				key := e.key(e.root + entry.Key())
				if found[key], err = pair(key, entry.Value(), entry.Revision()); err != nil {
					return nil, err
				}
				seen = max(seen, entry.Revision())
			}
		case <-ctx.Done():
			return nil, e.explain(ctx, ctx.Err())
		}
	}

	return slices.Collect(maps.Values(found)), nil
}

func (e *engine) Swap(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	sequence, err := strconv.ParseUint(cmp.Or(revision, "0"), 10, 64) // 0: there is no such key
	if err != nil {
		return false, err
	}

	_, err = e.js.Publish(ctx, e.subject(key), value,
		jetstream.WithExpectStream(e.stream), jetstream.WithExpectLastSequencePerSubject(sequence))
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		switch refused.ErrorCode {
		case jetstream.JSErrCodeStreamWrongLastSequence, anotherSequence, notReady:
			return false, nil
		}
	}

	return err == nil, e.explain(ctx, err)
}

// subject returns the subject of a key. The parts of a key become parts of the subject.
func (e *engine) subject(key string) string { return e.root + strings.ReplaceAll(key, "/", ".") }

// key is the inverse of subject. Subjects of other programs become keys that the store rejects.
func (e *engine) key(subject string) string {
	key := strings.TrimPrefix(subject, e.root)
	if strings.Contains(key, "/") {
		return "?" + key
	}
	return strings.ReplaceAll(key, ".", "/")
}

// explain adds the state of the connection and its last error, such as a right that is missing, because the client
// returns the end of the context only. A connection that was closed is final.
func (e *engine) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) { // the older interface returns another error for it
		err = fmt.Errorf("%w: %w", err, ctx.Err())
	}

	conn := e.js.Conn()
	if conn.IsClosed() {
		err = fmt.Errorf("%w%.0w", err, os.ErrClosed) // without the text of the latter, which is about a file
	}
	if last := conn.LastError(); last != nil && !errors.Is(err, last) {
		err = fmt.Errorf("%w (last error of the connection: %s)", err, last.Error())
	}

	return fmt.Errorf("NATS stream %q, connection %s: %w", e.stream, strings.ToLower(conn.Status().String()), err)
}

// check returns lease.ErrOption if the bucket would lose rows, or could accept two messages for one revision. The
// server is the version of the connection's server.
func (e *engine) check(c jetstream.StreamConfig, server string) error {
	limited := c.MaxMsgs > 0 || c.MaxBytes > 0
	for _, rule := range []struct {
		broken bool
		why    string
	}{
		{c.MaxAge > 0, fmt.Sprintf("has a TTL of %v, after which it drops the horizons", c.MaxAge)},
		{c.Storage != jetstream.FileStorage, "keeps the horizons in memory only"},
		{c.PersistMode != jetstream.DefaultPersistMode, "confirms what it has not written to a file"},
		{limited && c.Discard != jetstream.DiscardNew, "discards old horizons when it is full"},
		{
			limited && c.MaxMsgsPerSubject != 1,
			"keeps old values and has a limit, so when it is full it refuses extensions for good",
		},
		{c.DiscardNewPerSubject, "refuses new values of a key (DiscardNewPerSubject)"},
		{
			c.Retention != jetstream.LimitsPolicy,
			fmt.Sprintf("has the retention %v and drops the horizons", c.Retention),
		},
		{c.NoAck, "does not confirm what it has stored"},
		{c.Mirror != nil, "is a mirror, whose rows are out of date"},
		{len(c.Sources) > 0, "has sources, which change rows without a comparison"},
		{c.SubjectTransform != nil, "transforms subjects"},
		{c.Sealed, "is sealed"},
		{
			older(server, "2.10.23"),
			fmt.Sprintf("is on nats-server %s, which may lose it when it is killed; 2.10.23 does not", server),
		},
		{
			c.Replicas > 1 && older(server, "2.11.0"),
			fmt.Sprintf(
				"has %d replicas on nats-server %s, which may accept two messages for one revision; 2.11 does not",
				c.Replicas, server),
		},
	} {
		if rule.broken {
			return fmt.Errorf("%w: the NATS stream %q %s", lease.ErrOption, e.stream, rule.why)
		}
	}

	return nil
}

// older reports whether a version such as "2.9.10" or "2.12.0-RC.1" is below the other one. An unknown one is not. Go
// versions have the same form. A suffix of the build does not count.
func older(v, than string) bool {
	v = numbers.FindString(v)
	return v != "" && version.Compare("go"+v, "go"+than) < 0
}

var numbers = regexp.MustCompile(`^\d+\.\d+(\.\d+)?`)
