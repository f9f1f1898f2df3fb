package natslease

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestNewRefusesWhatCannotBe(t *testing.T) {
	if store, err := New(nil, "leases"); !errors.Is(err, lease.ErrOption) || store != nil {
		t.Errorf("New(nil): %v, %v; want ErrOption", store, err)
	}
	js := struct{ jetstream.JetStream }{}
	for _, bucket := range []string{"", "a.b", "*", ">", "a b", "a/b", "a\n"} {
		if store, err := New(js, bucket); !errors.Is(err, lease.ErrOption) || store != nil {
			t.Errorf("New with the bucket %q: %v, %v; want ErrOption", bucket, store, err)
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
		{"2.12.15", 3, false},
		{"3.0.0", 3, false},
		{"1.99.99", 1, true},
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
