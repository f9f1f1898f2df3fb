package engine

import (
	"fmt"
	"strings"
)

// words are the parts of CREATE TABLE that differ between dialects.
type words struct {
	quote   func(name string) string
	key     func(t Table) string // the key column's type and constraint
	columns map[Type]string
	like    func(t Table) string // the type of a column that refers to the key
	after   string               // after the closing parenthesis
}

// statements returns CREATE TABLE and CREATE INDEX for a table.
func (w words) statements(t Table) []string {
	parts := []string{w.quote("id") + " " + w.key(t)}
	for _, c := range t.Columns {
		columnType := w.columns[c.Type]
		if c.Type == Key {
			columnType = w.like(t)
		}
		parts = append(parts, w.quote(c.Name)+" "+columnType+" NOT NULL")
	}
	for _, c := range t.Columns {
		if c.References != "" {
			parts = append(parts, fmt.Sprintf("FOREIGN KEY (%s) REFERENCES %s (%s)",
				w.quote(c.Name), w.quote(c.References), w.quote("id")))
		}
	}
	list := []string{fmt.Sprintf("CREATE TABLE %s (%s)%s", w.quote(t.Name), strings.Join(parts, ", "), w.after)}
	for _, index := range t.Indexes {
		quoted := make([]string, len(index))
		for i, column := range index {
			quoted[i] = w.quote(column)
		}
		list = append(list, fmt.Sprintf("CREATE INDEX %s ON %s (%s)",
			w.quote(t.Name+"_"+strings.Join(index, "_")), w.quote(t.Name), strings.Join(quoted, ", ")))
	}
	return list
}

func doubleQuoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func backQuoted(name string) string   { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
