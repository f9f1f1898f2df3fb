package natslease

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestNewRefusesWhatCannotBe(t *testing.T) {
	if store, err := New(nil, "leases"); !errors.Is(err, lease.ErrOption) || store != nil {
		t.Errorf("New(nil): %v, %v; want ErrOption", store, err)
	}

	for _, options := range []jetstream.JetStreamOptions{{Domain: "hub"}, {APIPrefix: "$JS.hub.API."}} {
		if store, err := New(elsewhere{options: options}, "leases"); !errors.Is(err, lease.ErrOption) || store != nil {
			t.Errorf("New with %+v: %v, %v; want ErrOption", options, store, err)
		}
	}

	js := struct{ jetstream.JetStream }{}
	for _, bucket := range []string{"", "a.b", "*", ">", "a b", "a/b", "a\n"} {
		if store, err := New(js, bucket); !errors.Is(err, lease.ErrOption) || store != nil {
			t.Errorf("New with the bucket %q: %v, %v; want ErrOption", bucket, store, err)
		}
	}
}

// elsewhere is a JetStream of another domain or account.
type elsewhere struct {
	jetstream.JetStream
	options jetstream.JetStreamOptions
}

func (e elsewhere) Options() jetstream.JetStreamOptions { return e.options }

func TestBucketsThatWouldLoseRowsAreRefused(t *testing.T) {
	const size = 1 << 20
	for _, test := range []struct {
		name   string
		config jetstream.StreamConfig
		why    string // "" means that it is accepted
	}{
		{"as made by CreateKeyValue", jetstream.StreamConfig{MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, Replicas: 1}, ""},
		{"a history", jetstream.StreamConfig{MaxMsgsPerSubject: 64, Discard: jetstream.DiscardNew}, ""},
		{"a limit that refuses new rows", jetstream.StreamConfig{
			MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, MaxBytes: size,
		}, ""},
		{"old rows discarded without a limit", jetstream.StreamConfig{MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld}, ""},
		{"a TTL", jetstream.StreamConfig{MaxAge: 1}, "has a TTL of 1ns"},
		{"in memory", jetstream.StreamConfig{Storage: jetstream.MemoryStorage}, "in memory only"},
		{"old rows discarded at a size", jetstream.StreamConfig{
			MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld, MaxBytes: size,
		}, "discards old horizons"},
		{"a number and a history", jetstream.StreamConfig{
			MaxMsgsPerSubject: 64, Discard: jetstream.DiscardNew, MaxMsgs: 100,
		}, "keeps old values and has a limit"},
		{"no new values", jetstream.StreamConfig{DiscardNewPerSubject: true}, "DiscardNewPerSubject"},
		{"no acknowledgements", jetstream.StreamConfig{NoAck: true}, "does not confirm"},
		{"writes later", jetstream.StreamConfig{PersistMode: jetstream.AsyncPersistMode}, "has not written"},
		{"a queue", jetstream.StreamConfig{Retention: jetstream.WorkQueuePolicy}, "has the retention"},
		{"interest", jetstream.StreamConfig{Retention: jetstream.InterestPolicy}, "has the retention"},
		{"a mirror", jetstream.StreamConfig{Mirror: &jetstream.StreamSource{}}, "is a mirror"},
		{"sources", jetstream.StreamConfig{Sources: make([]*jetstream.StreamSource, 1)}, "has sources"},
		{"transformed subjects", jetstream.StreamConfig{
			SubjectTransform: &jetstream.SubjectTransformConfig{},
		}, "transforms subjects"},
		{"sealed", jetstream.StreamConfig{Sealed: true}, "is sealed"},
	} {
		err := (&engine{stream: "KV_leases"}).check(test.config, "2.12.1")
		refused := errors.Is(err, lease.ErrOption) && strings.Contains(err.Error(), test.why)
		if (err != nil || test.why != "") && (!refused || test.why == "") {
			t.Errorf("%s: error %v, want ErrOption with %q", test.name, err, test.why)
		}
	}
}

func TestServersThatMayLoseOrForkRowsAreRefused(t *testing.T) {
	for _, test := range []struct {
		version  string
		replicas int
		refused  bool
	}{
		{"2.9.10", 1, true},
		{"2.10.22", 1, true},
		{"2.10.23-RC.1", 1, false},
		{"2.10.23", 1, false},
		{"2.10.29", 3, true},
		{"2.11.0", 3, false},
		{"3.0.0", 3, false},
		{"2.8", 1, true},
		{"", 3, false}, // unknown
		{"dev", 3, false},
	} {
		c := jetstream.StreamConfig{Replicas: test.replicas, Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1}
		err := (&engine{stream: "KV_leases"}).check(c, test.version)
		if errors.Is(err, lease.ErrOption) != test.refused || (err != nil) != test.refused {
			t.Errorf("%d replicas on %q: error %v, want ErrOption: %t", test.replicas, test.version, err, test.refused)
		}
	}
}

func TestSubjectsOfOtherProgramsAreNoKeys(t *testing.T) {
	e := &engine{root: "$KV.leases."}
	for subject, want := range map[string]string{
		"$KV.leases.orders.layout": "orders/layout",
		"$KV.leases.orders/layout": "?orders/layout",
	} {
		if got := e.key(subject); got != want {
			t.Errorf("the key of %q is %q, want %q", subject, got, want)
		}
	}
	if got := e.subject("orders/layout"); got != "$KV.leases.orders.layout" {
		t.Errorf("the subject of orders/layout is %q", got)
	}
}
