package scenario

import (
	"errors"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

// noReturning is a server without INSERT ... RETURNING, such as MySQL.
type noReturning struct{ engine.Engine }

func (noReturning) Returning() bool { return false }

func TestWithoutReturningThereIsANote(t *testing.T) {
	e := noReturning{openEngine(t, "sqlite")}
	for _, test := range []struct {
		s      Scenario
		kind   string
		denied bool
	}{
		{read, "auto", true},
		{graph, "auto", true},
		{children, "auto", true},
		{load, "auto-readback", true},
		{load, "auto", false},
		{read, "snowflake", false},
		{graph, "uuidv4", false},
		{retention, "auto", false},
	} {
		_, err := runCase(t, e, test.s, test.s.Cases(testOptions, e)[0], test.kind)
		noted := errors.Is(err, errors.ErrUnsupported) && !strings.HasPrefix(err.Error(), "unsupported")
		if noted != test.denied || !noted && err != nil {
			t.Errorf("%s, %s: %v, want a note: %t", test.s.Name, test.kind, err, test.denied)
		}
	}
}

func TestCommitLeavesConnectionsAsTheyWere(t *testing.T) {
	e := openEngine(t, "sqlite")
	e.DB().SetMaxOpenConns(1)
	synchronous := func() (got int) {
		must(t, e.DB().QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&got))
		return got
	}
	before := synchronous()
	_, err := runCase(t, e, commit, measure.P("rows", 3, "clients", 1), "snowflake")
	must(t, err)
	if after := synchronous(); after != before {
		t.Errorf("synchronous = %d, was %d", after, before)
	}
}

func TestAGeneratorThatWaitsIsNoted(t *testing.T) {
	e := openEngine(t, "sqlite")
	for _, kind := range []string{"snowflake", "snowflake-53"} {
		values, err := load.Run(t.Context(), benchOf(t, e, kind, "rows", 30_000, "batch", 2000))
		if err != nil && (kind == "snowflake" || !errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf("%s: %v", kind, err)
		}
		wantPositive(t, kind, values, "rate", "generator")
		t.Logf("%s: %v, %.0f rows/s, generator %.1f %%", kind, err, values["rate"], values["generator"])
	}
}

func TestAFullDiskIsAnErrorThatLeavesNothing(t *testing.T) {
	e := openEngine(t, "sqlite")
	e.DB().SetMaxOpenConns(1)
	if _, err := e.DB().ExecContext(t.Context(), "PRAGMA max_page_count = 30"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Scenario{load, children, retention} {
		values, err := runCase(t, e, s, s.Cases(Options{Rows: 20_000, Batch: []int{100}}, e)[0], "snowflake")
		if err == nil || !strings.Contains(err.Error(), "full") || values != nil {
			t.Errorf("%s: %v, %v", s.Name, values, err)
		}
	}
}
