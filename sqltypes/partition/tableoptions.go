package partition

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// TableOptions returns what follows the columns in the CREATE TABLE of a table that [Set.Maintain] accepts. In GORM:
//
//	err := db.Set("gorm:table_options", options).Migrator().CreateTable(&Event{})
//
// On PostgreSQL it is PARTITION BY RANGE, and the table has no partitions, so it takes no rows before the first Maintain.
// On MySQL and MariaDB it has the partitions that Maintain would create now, by the clock of this process; the first one
// also takes all smaller keys.
//
// It returns [ErrName] if a partition has no usable name, snowflake.ErrBeforeEpoch if the clock is before the layout's
// epoch, and snowflake.ErrTimeExhausted if the layout ends before the last partition.
func (s *Set) TableOptions() (string, error) {
	if s.dialect == sqldb.Postgres {
		return "PARTITION BY RANGE (" + quoteName(s.key) + ")", nil
	}
	steps, err := s.firstPartitions(&state{table: s.table, now: s.now()})
	if err != nil {
		return "", fmt.Errorf("partition: options of %v: %w", s.table, err)
	}
	return s.partitionBy(steps), nil
}

// firstPartitions returns the steps that create the partitions of a table that has those of the state only.
func (s *Set) firstPartitions(st *state) ([]Step, error) {
	plan, err := s.newPlanner(st, s.now(), probe{
		within: func(part, int64, int64) (bool, error) { return false, nil },
		taken:  func(string) (bool, error) { return false, nil },
	}).missing()
	if err != nil {
		return nil, err
	}
	return plan.Steps, errors.Join(plan.Problems...)
}

// partitionBy returns the clause of MySQL for partitions that adjoin each other.
func (s *Set) partitionBy(steps []Step) string {
	var list []string
	for _, step := range steps {
		end := fmt.Sprintf("(%d)", step.Hi.Int64())
		if step.Hi == noHigh || step.Lo == 0 && step.Hi == 0 { // the default partition
			end = maxValue
		}
		list = append(list, fmt.Sprintf("PARTITION %s VALUES LESS THAN %s", quoteMySQL(step.Partition), end))
	}
	return fmt.Sprintf("PARTITION BY RANGE (%s) (%s)", quoteMySQL(s.key), strings.Join(list, ", "))
}
