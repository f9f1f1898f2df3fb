package publicid_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// benchmarkIDs are IDs of 18 and 19 digits, as they come some years after an epoch.
func benchmarkIDs() (ids [1024]snowflake.ID) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range ids {
		ids[i] = snowflake.ID(1e17 + random.Int64N(9e18))
	}
	return ids
}

func benchmarkTokens(b *testing.B, codec *publicid.Codec) (tokens [1024]string) {
	for i, id := range benchmarkIDs() {
		tokens[i] = mustToken(b, codec, id)
	}
	return tokens
}

// keepID, keepBytes and keepErr hold results, so that the compiler does not drop the calls that are measured.
var (
	keepID    snowflake.ID
	keepBytes []byte
	keepErr   error
)

func BenchmarkAppend(b *testing.B) {
	ids := benchmarkIDs()
	for _, f := range forms {
		b.Run(f.name, func(b *testing.B) {
			codec, buf := f.codec(newKey+","+oldKey), make([]byte, 0, 32)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				keepBytes, keepErr = codec.Append(buf, ids[i%len(ids)])
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, f := range forms {
		codec := f.codec(newKey + "," + oldKey)
		for _, maker := range []struct{ name, key string }{{"first-key", newKey}, {"second-key", oldKey}, {"foreign", otherKey}} {
			tokens := benchmarkTokens(b, f.codec(maker.key))
			b.Run(f.name+"/"+maker.name, func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					keepID, keepErr = codec.Parse(tokens[i%len(tokens)])
				}
			})
		}
	}
}

// A page of 100 rows with two IDs each, against the same with plain IDs.
func BenchmarkJSON(b *testing.B) {
	type row[T any] struct {
		ID, Parent T
	}
	var public [100]row[UserID]
	var plain [100]row[snowflake.ID]
	for i, id := range benchmarkIDs() {
		if i < 100 {
			public[i], plain[i] = row[UserID]{UserID(id), UserID(id)}, row[snowflake.ID]{id, id}
		}
	}
	for _, subject := range []struct {
		name string
		page any
	}{{"tokens", &public}, {"decimal", &plain}} {
		page := subject.page
		text, err := json.Marshal(page)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("marshal/"+subject.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				keepBytes, keepErr = json.Marshal(page)
			}
		})
		b.Run("unmarshal/"+subject.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				keepErr = json.Unmarshal(text, page)
			}
		})
	}
}
