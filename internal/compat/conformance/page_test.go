package conformance

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

const pagePath = "../CONFORMANCE.md"

var updatePage = flag.Bool("update", false, "write "+pagePath)

// TestPageIsCurrent compares the page with the table and the exceptions, which TestConformance verifies on the
// databases.
func TestPageIsCurrent(t *testing.T) {
	want := page()
	if *updatePage {
		if err := os.WriteFile(pagePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(got), "\r\n", "\n") != want {
		t.Errorf("%s is not what the table makes; run go generate ./conformance in internal/compat", pagePath)
	}
}

// explanations describe the checks in the order of the columns.
var explanations = []struct {
	check check
	text  string
}{
	{
		checkInsert,
		"Values are written one by one, by an update and many at once (one `INSERT`, `COPY` in native pgx, a batch " +
			"in GORM, which also makes the column), and the database is asked what it holds.",
	},
	{
		checkRead,
		"Values that were written as SQL are read with and without parameters, into the type, a pointer and a " +
			"`sql.Null` of it, and row by row into one variable.",
	},
	{
		checkNull,
		"NULL is written by a nil pointer, and by the type itself if it has one. It is read into variables that " +
			"hold a value: a type with NULL is NULL then, others return `snowflake.ErrNull`, and none keeps what it " +
			"held.",
	},
	{
		checkArray,
		"A slice of the type is a parameter for a column of PostgreSQL's arrays, and the target of one. For an " +
			"array type it is the type itself, which tells NULL from empty and rejects NULL elements and two " +
			"dimensions.",
	},
	{
		checkIN,
		"Rows are found with `=` and with `IN`, `IN ?` in GORM.",
	},
	{
		checkANY,
		"Rows are found with `= ANY(?)` and one parameter: a slice of the type, or the array type itself.",
	},
	{
		checkJSON,
		"Values from the database become JSON of the right text, are read back the same and stored again. Garbage " +
			"is an error that leaves no earlier value; `null` is NULL, or changes nothing as `encoding/json` has it.",
	},
	{
		checkMapKey,
		"Values from the database are keys of a Go map, which is written as a JSON object, read back and found in.",
	},
	{
		checkWrongType,
		"Columns of floats, booleans, times, decimals with a fraction, other text, bytes of a wrong length, " +
			"numbers beyond an int64, random UUIDs, JSON and other arrays are read into a variable that holds a value, " +
			"and into a pointer: an error, and nothing of the value before. (After an error a `snowflake.ID` is " +
			"unchanged, as its documentation says.)",
	},
}

func page() string {
	var b strings.Builder
	passing, cells := 0, len(subjects)*len(targets)*len(checks)
	for _, subject := range subjects {
		fmt.Fprintf(&b, "\n## %s\n\n|", subject.name())
		for _, check := range checks {
			fmt.Fprintf(&b, " | %s", check)
		}
		fmt.Fprint(&b, " |\n|---"+strings.Repeat("|:-:", len(checks))+"|\n")
		for _, target := range targets {
			fmt.Fprintf(&b, "| %s", target.name)
			for _, check := range checks {
				if listed := find(exceptions, subject.name(), target.name, check); listed != nil {
					fmt.Fprintf(&b, " | [^%d]", note(listed))
					continue
				}
				passing++
				fmt.Fprint(&b, " | ✓")
			}
			fmt.Fprint(&b, " |\n")
		}
	}
	fmt.Fprint(&b, "\n## Why not\n\n")
	for i, reason := range notes {
		fmt.Fprintf(&b, "[^%d]: %s\n", i+1, reason)
	}
	return pageHead(passing, cells) + b.String()
}

func pageHead(passing, cells int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Conformance of the ID types

<!-- Written by go generate ./conformance; edit the tests there instead. -->

Every type through every driver, in each of its modes: %d of %d cells pass (✓). The others have a note that says why they
do not and what to do instead. The test in [conformance](conformance) runs all of them against SQLite, PostgreSQL and
MariaDB; it also fails when a cell with a note passes, or fails in another way than the note says.

The samples are 0, small IDs, one that a float64 would round, one with a worker and a sequence, both ends of an int64, and a
negative one.

`, passing, cells)
	for _, e := range explanations {
		fmt.Fprintf(&b, "- **%s**: %s\n", e.check, e.text)
	}
	return b.String()
}

func TestEachCheckIsExplained(t *testing.T) {
	if len(explanations) != len(checks) {
		t.Fatalf("%d explanations of %d checks", len(explanations), len(checks))
	}
	for i, check := range checks {
		if explanations[i].check != check {
			t.Errorf("explanation %d is of %s, want %s", i, explanations[i].check, check)
		}
	}
}
