//go:build !race && goexperiment.jsonv2

package libraries

import (
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"testing"
)

// Version 1 of encoding/json is in the tables, and in this build is made of version 2.
func TestVersion2OfJSONReadsWhatVersion1Does(t *testing.T) {
	f := foreign{read: marshaled(json.Marshal, func(text []byte, box any) error { return jsonv2.Unmarshal(text, box) })}
	for _, in := range hostile {
		got := f.cell(f.read, foreignTargets, in.values)
		if want := f.cell(foreigners[0].read, foreignTargets, in.values); got != want {
			t.Errorf("%s: %s, want %s", in.name, got, want)
		}
	}
}
