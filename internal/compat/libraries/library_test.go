//go:build !race

package libraries

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// library writes and reads a box. Without write it reads texts, without read it only writes.
type library struct {
	name   string
	write  func(box any) ([]byte, error)
	read   func(out []byte, box any) error
	quoted bool   // the output tells strings from numbers by quotes
	forms  string // of the first kinds, if not all are strings
}

// The forms of an ID on the wire.
const (
	asString = "string"
	asNumber = "number"
	asStruct = "struct"
	asBytes  = "int64"
	asError  = "error" // of a token, which is never written as a number
)

// form returns what the output shows of an ID, "" for nothing.
func (l *library) form(k kind, id snowflake.ID, out []byte) string {
	text := k.text(id)
	has := func(s string) bool { return strings.Contains(string(out), s) }
	switch {
	case k.null != nil && strings.Contains(strings.ToLower(string(out)), "valid"):
		return asStruct
	case !has(text):
		if len(shown(id, out)) > 0 {
			return asBytes
		}
		return ""
	case l.quoted && !has(`"`+text+`"`) && !has("'"+text+"'") && text[0] <= '9' && k.label != "publicid.ID":
		return asNumber
	}

	return asString
}

func all() []library { return append(slices.Clone(encoders), others...) }

// cell writes and reads all samples as one type. The form is that of the large samples.
func (l *library) cell(k kind) (form string, failures []string) {
	failf := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	hidden := k.label == "publicid.ID"
	for _, id := range samples {
		in := k.box(id)
		var out []byte
		var err error
		if l.write != nil {
			out, err = l.write(in)
		} else {
			out = []byte(k.text(id))
		}

		if hidden {
			for _, name := range append(shown(id, out), shown(id, []byte(fmt.Sprint(err)))...) {
				failf("LEAK: %s of %d in %q, %v", name, id, out, err)
			}

			if id == 0 { // has no token
				if err == nil && l.read != nil && l.write != nil {
					back := empty(in)
					if err := l.read(out, back); err == nil && !reflect.DeepEqual(back, in) {
						failf("LEAK: 0 is read back as %v", back)
					}
				}
				continue
			}
		}

		if err != nil {
			if form = asError; !hidden {
				failf("%d: %v", id, err)
			}
			continue
		}

		if id >= 1<<53 && l.write != nil {
			now := l.form(k, id, out)
			if form != "" && now != form {
				failf("one sample is a %q and another a %q", form, now)
			}
			form = now
			if form == "" {
				failf("%d: nothing in %q", id, out)
			}
		}

		if l.read == nil {
			continue
		}

		back := empty(in)
		if err := l.read(out, back); err != nil {
			failf("%d: read %q: %v", id, out, err)
		} else if !reflect.DeepEqual(back, in) {
			failf("%d: %q is read back as %v", id, out, back)
		}

		if l.write == nil {
			form = asString
		}
	}

	if k.null != nil {
		failures = append(failures, l.nullCell(k)...)
	}

	return form, failures
}

// nullCell writes and reads NULL.
func (l *library) nullCell(k kind) (failures []string) {
	if l.write == nil || l.read == nil {
		return nil
	}

	in := k.null()
	out, err := l.write(in)
	back := empty(in)
	if err == nil {
		err = l.read(out, back)
	}
	if err != nil || !reflect.DeepEqual(back, in) {
		failures = append(failures, fmt.Sprintf("NULL is read back as %v of %q, %v", back, out, err))
	}

	return failures
}

func TestEachTypeTravelsThroughEachLibrary(t *testing.T) {
	for _, lib := range all() {
		t.Run(strings.ReplaceAll(lib.name, "/", " "), func(t *testing.T) {
			wanted := map[string]string{}
			for i, form := range strings.Fields(lib.forms) {
				wanted[kinds[i].label] = form
			}

			for _, k := range kinds {
				if isArray(k) && lib.write == nil {
					continue // not a single value
				}
				want := cmp.Or(wanted[k.label], wanted[k.as], asString)
				form, failures := lib.cell(k)
				if form != want || len(failures) > 0 {
					t.Errorf("%s: %s, want %s; failures %.500q", k.label, form, want, failures)
				}
			}
		})
	}
}
