//go:build unix && !race

package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sqlflake/sqlflake/internal/checksummed"
)

// require2InEtcd does what a later version would do that needs to keep this one out.
func (p place) require2InEtcd(t *testing.T, namespace string) {
	t.Helper()
	client := p.etcdClient(t)
	reply, err := client.Get(t.Context(), p.Name+"snowflake/lease/"+namespace+"/", clientv3.WithPrefix())
	if err != nil || len(reply.Kvs) != 3 { // the layout, and two workers
		t.Fatalf("%v, %v; want three keys", reply, err)
	}
	for _, kv := range reply.Kvs {
		if _, err := client.Put(t.Context(), string(kv.Key), string(later(t, kv.Value))); err != nil {
			t.Fatal(err)
		}
	}
}

// require2InNATS is the same for a bucket, whose replicas may be behind.
func (p place) require2InNATS(t *testing.T, namespace string) {
	t.Helper()
	bucket, err := p.jetStream(t).KeyValue(t.Context(), p.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"layout", fmt.Sprintf("%019d", 0), fmt.Sprintf("%019d", 1)} {
		eventually(t, "the row "+key, func() error {
			entry, err := bucket.Get(t.Context(), namespace+"."+key)
			if err == nil {
				_, err = bucket.Update(t.Context(), namespace+"."+key, later(t, entry.Value()), entry.Revision())
			}
			return err
		})
	}
}

// later returns the value in the format of the next version.
func later(t *testing.T, value []byte) []byte {
	t.Helper()
	content := append(bytes.Clone(value[:bytes.LastIndex(value, []byte(`,"checksum"`))]), '}')
	text, err := checksummed.Marshal(json.RawMessage(bytes.Replace(content, []byte("lease 1"), []byte("lease 2"), 1)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
