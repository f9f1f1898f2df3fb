//go:build !race

package libraries

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// library is a row of the table. Without write it reads texts, without read it only writes.
type library struct {
	name     string
	write    func(box any) ([]byte, error)
	read     func(out []byte, box any) error
	quoted   bool     // the output tells strings from numbers by quotes
	textOnly bool     // it rejects values without a text
	line     *library // the same with the line that the row's function in lines_test.go shows
	function string   // the name of that function
}

// The forms of an ID on the wire.
const (
	asString = "string"
	asNumber = "number"
	asStruct = "struct"
	asBytes  = "int64"
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
			failf("%d: %v", id, err)
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

// result is a cell of the page.
type result struct {
	text     string
	form     string
	failures []string // without the line
	line     bool     // it works with the line only
}

func (l *library) result(k kind) result {
	if isArray(k) && l.write == nil {
		return result{text: "·"} // not a single value
	}
	form, failures := l.cell(k)
	word := func(form string) string {
		if w, ok := k.words[form]; ok {
			return w
		}
		return form
	}
	if len(failures) == 0 {
		r := result{text: word(form), form: form}
		if form != asString && l.line != nil {
			if lined, more := l.line.cell(k); len(more) == 0 && lined == asString {
				r = result{text: word(form) + ", " + word(lined), form: form, line: true}
			}
		}
		return r
	}
	r := result{text: "✗", failures: failures}
	if l.line != nil {
		if form, more := l.line.cell(k); len(more) == 0 {
			r.text, r.form, r.line = word(form), form, true
		} else {
			r.failures = append(r.failures, more...)
		}
	}
	return r
}

func TestLibraries(t *testing.T) {
	for _, lib := range all() {
		t.Run(strings.ReplaceAll(lib.name, "/", " "), func(t *testing.T) {
			cells := map[string]result{}
			for _, k := range kinds {
				r := lib.result(k)
				t.Logf("%s: %s %t %.300q", k.label, r.text, r.line, r.failures)
				for _, failure := range r.failures {
					if strings.HasPrefix(failure, "LEAK") {
						t.Errorf("%s: %s", k.label, failure)
					}
				}
				cells[k.label] = r
				if k.as != "" && r.text != "·" && (r.form != cells[k.as].form || r.line != cells[k.as].line) {
					t.Errorf("%s: %s %t, but %s: %s %t", k.label, r.text, r.line, k.as, cells[k.as].text, cells[k.as].line)
				}
			}
		})
	}
}
