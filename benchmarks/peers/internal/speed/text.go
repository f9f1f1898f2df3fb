package speed

import (
	"context"
	"database/sql"
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	gofrs "github.com/gofrs/uuid/v5"
	"github.com/google/uuid"
	"github.com/muyo/sno"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	typeid "go.jetify.com/typeid/v2"

	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/turns"
	"github.com/sqlflake/sqlflake/snowflake"
)

// codecs are the subjects of the cases about text.
type codecs struct{ texts, parsed, scanned, scannedBytes, marshalled, unmarshalled []turns.Subject }

// many is the number of IDs that a loop goes through, so that branches are not predicted by heart.
const many = 512

// record is a row as an API returns it.
type record[T any] struct {
	ID, Parent, Owner T
	Name              string
}

// quoted has integers as strings, because browsers round larger numbers.
type quoted struct {
	ID     int64 `json:",string"`
	Parent int64 `json:",string"`
	Owner  int64 `json:",string"`
	Name   string
}

// add adds the subjects of one type. The loops are those of the callers, so
// that calls are as in a program.
func add[T any](
	c *codecs, name string, make func() T, text func(T) string, format func(ids []T, n int), parse func(texts []string, n int),
) {
	ids, texts, sources, bytes := [many]T{}, [many]string{}, [many]any{}, [many]any{}
	for i := range ids {
		ids[i] = make()
		texts[i] = text(ids[i])
		sources[i], bytes[i] = texts[i], []byte(texts[i]) // as drivers hand it over
	}
	c.texts = append(c.texts, turns.Subject{Name: name, Run: func(n int) { format(ids[:], n) }})
	c.parsed = append(c.parsed, turns.Subject{Name: name, Run: func(n int) { parse(texts[:], n) }})
	c.scanned = append(c.scanned, scan[T](name, &sources)...)
	c.scannedBytes = append(c.scannedBytes, scan[T](name, &bytes)...)
	addJSON(c, name, &record[T]{ids[0], ids[1], ids[2], "alice"}, &record[T]{})
}

// scan returns a subject if the type can be scanned from the sources.
func scan[T any](name string, sources *[many]any) []turns.Subject {
	scanner, ok := any(new(T)).(sql.Scanner)
	if !ok || scanner.Scan(sources[0]) != nil {
		return nil
	}
	return []turns.Subject{{Name: name, Run: func(n int) {
		for i := range n {
			_ = scanner.Scan(sources[i%many])
		}
	}}}
}

func addJSON(c *codecs, name string, from, to any) {
	text, _ := json.Marshal(from)
	c.marshalled = append(c.marshalled, turns.Subject{Name: name, Run: func(n int) {
		for range n {
			_, _ = json.Marshal(from)
		}
	}})
	c.unmarshalled = append(c.unmarshalled, turns.Subject{Name: name, Run: func(n int) {
		for range n {
			_ = json.Unmarshal(text, to)
		}
	}})
}

func newCodecs() *codecs {
	c := &codecs{}
	id := int64(1234567890123456789) // 19 digits, as numbers of today have in most layouts
	number := func() int64 { id += 4_321_987_654_321; return id }
	addJSON(c, "quoted", &quoted{number(), number(), number(), "alice"}, &quoted{})
	add(c, "int64", number, func(v int64) string { return strconv.FormatInt(v, 10) }, func(ids []int64, n int) {
		var last string
		for i := range n {
			last = strconv.FormatInt(ids[i%many], 10)
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = strconv.ParseInt(texts[i%many], 10, 64)
		}
	})
	add(c, Ours, func() snowflake.ID { return snowflake.ID(number()) }, snowflake.ID.String, func(ids []snowflake.ID, n int) {
		var last string
		for i := range n {
			last = ids[i%many].String()
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = snowflake.Parse(texts[i%many])
		}
	})
	add(c, "bwmarrin", func() bwmarrin.ID { return bwmarrin.ID(number()) }, bwmarrin.ID.String, func(ids []bwmarrin.ID, n int) {
		var last string
		for i := range n {
			last = ids[i%many].String()
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = bwmarrin.ParseString(texts[i%many])
		}
	})
	add(c, "sno", func() sno.ID { return sno.New(0) }, sno.ID.String, func(ids []sno.ID, n int) {
		var last string
		for i := range n {
			last = ids[i%many].String()
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = sno.FromEncodedString(texts[i%many])
		}
	})
	add(c, "xid", xid.New, xid.ID.String, func(ids []xid.ID, n int) {
		var last string
		for i := range n {
			last = ids[i%many].String()
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = xid.FromString(texts[i%many])
		}
	})
	add(c, "ulid", ulid.Make, ulid.ULID.String, func(ids []ulid.ULID, n int) {
		var last string
		for i := range n {
			last = ids[i%many].String()
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = ulid.ParseStrict(texts[i%many])
		}
	})
	add(c, "ksuid", ksuid.New, ksuid.KSUID.String, func(ids []ksuid.KSUID, n int) {
		var last string
		for i := range n {
			last = ids[i%many].String()
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = ksuid.Parse(texts[i%many])
		}
	})
	add(c, "google4", uuid.New, uuid.UUID.String, func(ids []uuid.UUID, n int) {
		var last string
		for i := range n {
			last = ids[i%many].String()
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = uuid.Parse(texts[i%many])
		}
	})
	add(c, "gofrs4", func() gofrs.UUID { return gofrs.Must(gofrs.NewV4()) }, gofrs.UUID.String, func(ids []gofrs.UUID, n int) {
		var last string
		for i := range n {
			last = ids[i%many].String()
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = gofrs.FromString(texts[i%many])
		}
	})
	add(c, "typeid", func() typeid.TypeID { return typeid.MustGenerate("user") }, typeid.TypeID.String, func(ids []typeid.TypeID, n int) {
		var last string
		for i := range n {
			last = ids[i%many].String()
		}
		runtime.KeepAlive(last)
	}, func(texts []string, n int) {
		for i := range n {
			_, _ = typeid.Parse(texts[i%many])
		}
	})
	c.texts = append(c.texts, appended(number)...)
	return c
}

// appended are texts that are appended to a buffer.
func appended(number func() int64) []turns.Subject {
	ids := [many]snowflake.ID{}
	for i := range ids {
		ids[i] = snowflake.ID(number())
	}
	return []turns.Subject{
		{Name: "append", Run: func(n int) {
			buf := make([]byte, 0, 32)
			for i := range n {
				buf, _ = ids[i%many].AppendText(buf[:0])
			}
			runtime.KeepAlive(buf)
		}},
		{Name: "append64", Run: func(n int) {
			buf := make([]byte, 0, 32)
			for i := range n {
				buf = strconv.AppendInt(buf[:0], int64(ids[i%many]), 10)
			}
			runtime.KeepAlive(buf)
		}},
	}
}

var (
	textKinds   = []string{"int64", Ours, "bwmarrin", "sno", "xid", "ulid", "ksuid", "google4", "gofrs4", "typeid"}
	stringKinds = slices.Concat(textKinds, []string{"append", "append64"})
	scanKinds   = []string{Ours, "sno", "xid", "ulid", "ksuid", "google4", "gofrs4", "typeid"}
	bytesKinds  = []string{Ours, "xid", "ulid", "ksuid", "google4", "gofrs4"} // the others read no text from bytes
	jsonKinds   = slices.Concat(textKinds, []string{"quoted"})
)

// textCases are String, Parse, Scan of a text, and JSON with three IDs.
func textCases(e Effort) []bench.Case {
	one := func(scenario, title string, kinds []string, subjects func(*codecs) []turns.Subject) bench.Case {
		return timed(e, scenario, title, 1, kinds, func(context.Context, int) ([]turns.Subject, func() error, error) {
			return subjects(newCodecs()), nil, nil
		})
	}
	e.Length = min(e.Length, time.Millisecond) // they are many, and steady
	return []bench.Case{
		one("string", "String", stringKinds, func(c *codecs) []turns.Subject { return c.texts }),
		one("parse", "Parse", textKinds, func(c *codecs) []turns.Subject { return c.parsed }),
		one("scan", "Scan of a string", scanKinds, func(c *codecs) []turns.Subject { return c.scanned }),
		one("scanbytes", "Scan of bytes", bytesKinds, func(c *codecs) []turns.Subject { return c.scannedBytes }),
		one("marshal", "json.Marshal", jsonKinds, func(c *codecs) []turns.Subject { return c.marshalled }),
		one("unmarshal", "json.Unmarshal", jsonKinds, func(c *codecs) []turns.Subject { return c.unmarshalled }),
	}
}
