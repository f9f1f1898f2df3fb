//go:build !race

package scenario

import (
	"errors"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

func TestPartitionsByTheKeyAreReadAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		for _, params := range partitions.Cases(Options{Rows: 8000}, e) {
			values, err := runCase(t, e, partitions, params, "snowflake")
			switch e.Dialect() {
			case "sqlite":
				if !errors.Is(err, errors.ErrUnsupported) {
					t.Error(values, err)
				}
				continue
			case "mariadb":
				if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "a foreign key cannot refer") {
					t.Error(params, err)
				}
			default:
				must(t, err)
			}
			checkPartitions(t, e, params.Get("by") == "time", number(params, "partitions"), values)
		}
		for _, kind := range []string{"auto", "uuidv4"} { // whose bounds in time are not known
			params := partitions.Cases(Options{Rows: 8000}, e)[0]
			if values, err := runCase(t, e, partitions, params, kind); !errors.Is(err, errors.ErrUnsupported) || values != nil {
				t.Errorf("%s: %v, %v", kind, values, err)
			}
		}
	})
}

func checkPartitions(t *testing.T, e engine.Engine, byTime bool, n int, values map[string]float64) {
	t.Helper()
	all := []string{"rate", "rate_factor", "lookup", "lookup_factor", "drop", "drop_log", "delete", "delete_log", "delete_left"}
	if e.Dialect() == "postgres" {
		all = append(all, "fresh_factor", "generic_factor", "planning", "planning_one", "bytes_primary", "foreign_factor",
			"drop_referred")
	}
	wantPositive(t, e.Dialect(), values, all...)
	read, width := 1, 8
	if byTime {
		read, width = n, 16
	}
	if values["touched"] != float64(read) || values["foreign_width"] != float64(width) {
		t.Errorf("by time %t: a lookup reads %v of %d partitions, want %d; a foreign key has %v bytes, want %d",
			byTime, values["touched"], n, read, values["foreign_width"], width)
	}
	if wider := values["foreign_index"] > values["foreign_index_one"]; wider != byTime {
		t.Errorf("by time %t: the index on the foreign key has %v bytes a row, to one table %v",
			byTime, values["foreign_index"], values["foreign_index_one"])
	}
	if values["drop_left"] > 20 || values["delete_left"] < 80 {
		t.Errorf("%v %% of the space stays after dropping partitions, and %v %% after DELETE", values["drop_left"],
			values["delete_left"])
	}
}

func TestForeignKeysToPartitionsAreReal(t *testing.T) {
	e := openEngine(t, "postgres")
	for _, by := range []string{"key", "time"} {
		b := benchOf(t, e, "snowflake", "rows", 8000, "by", by, "partitions", 12)
		_, err := runPartitions(t.Context(), b)
		must(t, err)
		child := b.Table("parts_split_child", nil).Name
		result, err := e.DB().ExecContext(t.Context(), "UPDATE "+child+" SET amount = amount + 1")
		must(t, err)
		if n, err := result.RowsAffected(); err != nil || n != 1600 {
			t.Errorf("%d rows refer to partitions, want 1600; %v", n, err)
		}
		_, err = e.DB().ExecContext(t.Context(), "UPDATE "+child+" SET parent_id = 1")
		if err == nil || !strings.Contains(err.Error(), "23503") { // foreign_key_violation
			t.Errorf("by %s: a row refers to no row: %v", by, err)
		}
		must(t, b.Clean(t.Context()))
	}
}
