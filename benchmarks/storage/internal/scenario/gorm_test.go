//go:build !race

package scenario

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

func TestGormWritesRowsWithEachModel(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine.Engine) {
		eachKind(t, e, gorms, func(t *testing.T, _ measure.Params, kind string, values map[string]float64) {
			wantPositive(t, kind, values, "rate", "bytes_table", "bytes_secondary")
		})
		_, err := runCase(t, e, gorms, gorms.Cases(testOptions, e)[0], "explicit")
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a kind without a model: %v, want ErrUnsupported", err)
		}
	})
}

// TestGormModelsHaveTheSameColumns: GORM silently skips fields that it does not understand.
func TestGormModelsHaveTheSameColumns(t *testing.T) {
	want := []string{"amount", "created_at", "deleted_at", "id", "name", "updated_at"}
	for name, model := range gormModels {
		s, err := schema.Parse(model.new(), &sync.Map{}, schema.NamingStrategy{})
		must(t, err)
		if got := slices.Sorted(slices.Values(s.DBNames)); !slices.Equal(got, want) {
			t.Errorf("%s: columns %v, want %v", name, got, want)
		}
		if indexes := s.ParseIndexes(); len(indexes) != 1 {
			t.Errorf("%s: %d indexes, want 1", name, len(indexes))
		}
	}
}
