package conformance

import (
	"encoding/json"
	"reflect"
	"strings"
)

// document is a JSON object of an application.
type document[T any] struct {
	Value   T   `json:"value"`
	Pointer *T  `json:"pointer"`
	List    []T `json:"list"`
	Zero    T   `json:"zero,omitzero"`
}

// json reads values from the database, sends them as JSON, reads them back and stores them again.
func (c *cell[T]) json() {
	table, ok := c.filled()
	if !ok {
		return
	}
	for n, sample := range c.kind.samples {
		read1 := c.kind.old
		if !c.ok(read(c.session, &read1, table, n), "read %s", sample.stored) {
			return
		}
		text, err := json.Marshal(document[T]{Value: read1, Pointer: &read1, List: []T{read1}})
		if sample.json == "" {
			if err == nil {
				c.failf("%s has no text but is %s in JSON", sample.stored, text)
			}
			continue
		}
		want := strings.ReplaceAll(`{"value":V,"pointer":V,"list":[V]}`, "V", sample.json)
		if err != nil || string(text) != want {
			c.failf("%s is %s in JSON, %v, want %s", sample.stored, text, err, want)
			continue
		}
		back := document[T]{Value: c.kind.old, List: []T{c.kind.old, c.kind.old}}
		if err := json.Unmarshal(text, &back); err != nil || back.Pointer == nil || len(back.List) != 1 ||
			!same(back.Value, sample.value) || !same(*back.Pointer, sample.value) || !same(back.List[0], sample.value) {
			c.failf("%s is read back as %v, %v", text, back, err)
			continue
		}
		if c.ok(update(c.session, table, n, back.Value), "store %s again", sample.stored) {
			c.rereads(table, n, sample)
		}
	}
	c.badJSON()
}

// rereads reads a sample that was written by the type.
func (c *cell[T]) rereads(table string, n int, sample sample[T]) {
	got := c.kind.old
	if err := read(c.session, &got, table, n); err != nil || !same(got, sample.value) {
		c.failf("%s is read from the database after JSON as %v, %v", sample.stored, got, err)
	}
}

// badJSON reads JSON without an ID, and null.
func (c *cell[T]) badJSON() {
	for _, text := range []string{
		`"garbage"`, `""`, `" 5"`, `1.5`, `1e3`, `true`, `{}`, `[null]`, `"9223372036854775808"`, `"order_0000000000005"`,
	} {
		got := document[T]{Value: c.kind.old}
		if err := json.Unmarshal([]byte(`{"value":`+text+`}`), &got); err == nil || !c.fresh(got.Value) {
			c.failf("JSON %s is read as %v, %v", text, got.Value, err)
		}
	}
	got, want := document[T]{Value: c.kind.old, Pointer: &c.kind.old}, c.kind.old // a no-op, as encoding/json documents
	if c.kind.null {
		want = *new(T)
	}
	err := json.Unmarshal([]byte(`{"value":null,"pointer":null}`), &got)
	if err != nil || !same(got.Value, want) || got.Pointer != nil {
		c.failf("JSON null is read as %v, %v, want %v", got, err, want)
	}
}

// mapKey uses values from the database as keys of a Go map, and the map as a JSON object.
func (c *cell[T]) mapKey() {
	key := reflect.TypeFor[T]()
	if !key.Comparable() {
		c.failf("%v is not comparable", key)
		return
	}
	table, ok := c.filled()
	if !ok {
		return
	}
	// By reflection, because T may be any type.
	names := reflect.MakeMap(reflect.MapOf(key, reflect.TypeFor[string]()))
	texts := map[string]string{} // the JSON object
	for n, sample := range c.kind.samples {
		got := c.kind.old
		if !c.ok(read(c.session, &got, table, n), "read %s", sample.stored) {
			return
		}
		if sample.json != "" {
			names.SetMapIndex(reflect.ValueOf(got), reflect.ValueOf(sample.stored))
			texts[strings.Trim(sample.json, `"`)] = sample.stored
		}
	}
	want, _ := json.Marshal(texts) // never fails for strings
	text, err := json.Marshal(names.Interface())
	if err != nil || string(text) != string(want) {
		c.failf("the map is %s in JSON, %v, want %s", text, err, want)
		return
	}
	back := reflect.New(names.Type())
	if !c.ok(json.Unmarshal(text, back.Interface()), "read the map") {
		return
	}
	for n, sample := range c.kind.samples {
		again := c.kind.old
		if err := read(c.session, &again, table, n); err != nil || sample.json == "" {
			continue
		}
		name := back.Elem().MapIndex(reflect.ValueOf(again))
		if !name.IsValid() || name.String() != sample.stored {
			c.failf("the map read from JSON has %v for %s", name, sample.stored)
		}
	}
	if err := json.Unmarshal([]byte(`{"garbage":""}`), back.Interface()); err == nil {
		c.failf("JSON with the key garbage is read")
	}
}
