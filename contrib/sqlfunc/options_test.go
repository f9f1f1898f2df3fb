package sqlfunc_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestNewRefusesInvalidArguments(t *testing.T) {
	layout := func(name string) snowflake.Layout {
		return snowflake.MustLayout(time.Unix(0, 0), time.Millisecond, snowflake.Field{Name: "time", Bits: 41},
			snowflake.Field{Name: "sequence", Bits: 8}, snowflake.Field{Name: name, Bits: 3})
	}
	long := layout(strings.Repeat("f", 64))
	if _, err := sqlfunc.New(layout(strings.Repeat("f", 63))); err != nil {
		t.Errorf("a field name of 63 bytes: %v", err)
	}
	with := func(options ...sqlfunc.Option) []sqlfunc.Option { return options }
	worker, field := sqlfunc.WithWorker, sqlfunc.WithField
	twitter := preset("twitter")
	for name, test := range map[string]struct {
		layout  snowflake.Layout
		options []sqlfunc.Option
		want    error
	}{
		"the zero layout":           {snowflake.Layout{}, nil, snowflake.ErrLayout},
		"a long field name":         {long, nil, snowflake.ErrLayout},
		"a nil option":              {twitter, with(nil), sqlfunc.ErrOption},
		"a worker above":            {twitter, with(worker(32)), snowflake.ErrFieldRange},
		"a worker below 0":          {twitter, with(worker(-1)), snowflake.ErrFieldRange},
		"a worker, and no field":    {preset("mastodon"), with(worker(1)), snowflake.ErrFieldRange},
		"a value above":             {twitter, with(worker(1), field("datacenter", 32)), snowflake.ErrFieldRange},
		"a value below 0":           {twitter, with(field("datacenter", -1)), snowflake.ErrFieldRange},
		"an unknown field":          {twitter, with(field("region", 1)), snowflake.ErrUnknownField},
		"the field without a name":  {twitter, with(field("", 1)), snowflake.ErrUnknownField},
		"the worker as a field":     {twitter, with(field("worker", 1)), snowflake.ErrOption},
		"the time as a field":       {twitter, with(field("time", 1)), snowflake.ErrOption},
		"a field twice":             {twitter, with(field("datacenter", 1), field("datacenter", 1)), sqlfunc.ErrOption},
		"no name":                   {twitter, with(sqlfunc.WithName("")), sqlfunc.ErrOption},
		"a name with a quote":       {twitter, with(sqlfunc.WithName(`a"b`)), sqlfunc.ErrOption},
		"a name with a capital":     {twitter, with(sqlfunc.WithName("Orders")), sqlfunc.ErrOption},
		"a name with a line":        {twitter, with(sqlfunc.WithName("orders\n")), sqlfunc.ErrOption},
		"a name of 49 bytes":        {twitter, with(sqlfunc.WithName(strings.Repeat("n", 49))), sqlfunc.ErrOption},
		"no schema":                 {twitter, with(sqlfunc.WithSchema("")), sqlfunc.ErrOption},
		"a schema with a zero byte": {twitter, with(sqlfunc.WithSchema("a\x00")), sqlfunc.ErrOption},
		"a schema not in UTF-8":     {twitter, with(sqlfunc.WithSchema("a\xff")), sqlfunc.ErrOption},
		"a schema of 64 bytes":      {twitter, with(sqlfunc.WithSchema(strings.Repeat("n", 64))), sqlfunc.ErrOption},
		"a lead below 0":            {twitter, with(sqlfunc.WithLead(-1)), sqlfunc.ErrOption},
		"a lead above a day":        {twitter, with(sqlfunc.WithLead(sqlfunc.MaxLead + 1)), sqlfunc.ErrOption},
		"a lease table injected":    {twitter, with(worker(1), sqlfunc.WithLeaseTables(`x"; --`, "n")), sqlfunc.ErrOption},
		"no namespace":              {twitter, with(worker(1), sqlfunc.WithLeaseTables("", "")), lease.ErrOption},
		"a lease without a worker":  {twitter, with(sqlfunc.WithLeaseTables("", "n")), sqlfunc.ErrOption},
	} {
		if f, err := sqlfunc.New(test.layout, test.options...); f != nil || !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, f, err, test.want)
		}
	}
	_, err := sqlfunc.New(twitter, worker(math.MaxInt64))
	if err == nil || !strings.Contains(err.Error(), "worker") {
		t.Errorf("error %v, want one that names the field", err)
	}
}

func TestOtherDialectsAreRefused(t *testing.T) {
	f, err := sqlfunc.New(snowflake.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, dialect := range []sqldb.Dialect{"", sqldb.SQLite, "oracle"} {
		_, one := f.Statements(dialect)
		_, two := f.Script(dialect)
		_, three := f.Drop(dialect)
		four := f.Install(t.Context(), nil, dialect)
		for _, err := range []error{one, two, three, four} {
			if !errors.Is(err, sqlfunc.ErrOption) || dialect == sqldb.SQLite && !strings.Contains(err.Error(), "RegisterSQLite") {
				t.Errorf("%v: %v, want ErrOption", dialect, err)
			}
		}
	}
}
