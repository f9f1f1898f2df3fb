//go:build unix && !race

package enginetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// engine is a cluster and what differs between etcd and NATS.
type engine struct {
	cluster
	kind string
	// newPlace returns a place of the test's own.
	newPlace func(t *testing.T) place
	// leader returns the member that confirms the writes of the place.
	leader func(ctx context.Context, p place) (*member, error)
}

func newEtcd(t *testing.T, size int) engine {
	t.Helper()
	e := engine{kind: "etcd", cluster: startCluster(t, "etcd", size)}
	client := e.place("").etcdClient(t)
	eventually(t, "the first write", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), callPatience)
		defer cancel()
		_, err := client.Put(ctx, "ready", "")
		return err
	})
	// status returns what a member knows of itself and of the leader. A member that was killed never answers, one on a
	// busy machine late.
	patience := 300 * time.Millisecond
	status := func(ctx context.Context, m *member) (*clientv3.StatusResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return client.Status(ctx, m.Client[m.Number])
	}
	e.newPlace = func(t *testing.T) place {
		t.Helper()
		return e.place(leasetest.NewToken() + "/")
	}
	e.leader = func(ctx context.Context, _ place) (*member, error) {
		for _, m := range e.cluster {
			if s, err := status(ctx, m); err == nil && s.Leader == s.Header.MemberId {
				return m, nil
			}
		}
		patience = min(2*patience, callPatience)
		return nil, errors.New("no leader")
	}
	return e
}

// newNATS starts servers. Buckets have as many replicas.
func newNATS(t *testing.T, size int) engine {
	t.Helper()
	e := engine{kind: "nats", cluster: startCluster(t, "nats", size)}
	js := e.place("").jetStream(t)
	e.newPlace = func(t *testing.T) place {
		t.Helper()
		p := e.place("b" + leasetest.NewToken())
		createBucket(t, js, p, size)
		return p
	}
	e.leader = func(ctx context.Context, p place) (*member, error) {
		stream, err := js.Stream(ctx, "KV_"+p.Name)
		if err != nil {
			return nil, err
		}
		for _, m := range e.cluster {
			if cluster := stream.CachedInfo().Cluster; cluster != nil && cluster.Leader == m.name() {
				return m, nil
			}
		}
		return nil, errors.New("no leader")
	}
	return e
}

// createBucket waits until the cluster is ready for it.
func createBucket(t *testing.T, js jetstream.JetStream, p place, replicas int) {
	t.Helper()
	eventually(t, "the bucket", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), callPatience)
		defer cancel()
		_, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: p.Name, Replicas: replicas})
		return err
	})
}
