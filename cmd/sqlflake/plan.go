package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/snowflake"
)

// write prints a plan in the format.
func (t *partitioned) write(w io.Writer, plan *partition.Plan) error {
	text := plan.String()
	switch t.format {
	case "json":
		return writeJSON(w, t.value(plan))
	case "csv":
		lines := [][]string{{"action", "partition", "from", "to", "lo", "hi", "rows", "bytes", "why"}}
		for _, s := range t.value(plan).Steps {
			lines = append(lines, []string{
				s.Action, s.Partition, s.From, s.To, s.Lo.String(), s.Hi.String(), figure(s.Rows), figure(s.Bytes), s.Why,
			})
		}
		return csv.NewWriter(w).WriteAll(lines)
	case "sql":
		var b strings.Builder
		for _, s := range plan.Steps {
			fmt.Fprintf(&b, "-- %s %s: %s\n%s;\n", s.Action, s.Partition, s.Why, strings.Join(s.SQL, ";\n"))
		}
		text = b.String()
	}
	_, err := io.WriteString(w, text)
	return err
}

// planValue is a plan in JSON.
type planValue struct {
	Table    string      `json:"table"`
	Now      time.Time   `json:"now"`
	Covered  *time.Time  `json:"covered"`
	Overdue  *time.Time  `json:"overdue"`
	Steps    []stepValue `json:"steps"`
	Problems []string    `json:"problems"`
}

type stepValue struct {
	Action    string       `json:"action"`
	Partition string       `json:"partition"`
	From      string       `json:"from"`
	To        string       `json:"to"`
	Lo        snowflake.ID `json:"lo"`
	Hi        snowflake.ID `json:"hi"`
	Rows      *int64       `json:"rows"` // null if the database does not know
	Bytes     *int64       `json:"bytes"`
	Why       string       `json:"why"`
	SQL       []string     `json:"sql"`
}

func (t *partitioned) value(plan *partition.Plan) planValue {
	known := func(at time.Time) *time.Time {
		if at.IsZero() {
			return nil
		}
		return &at
	}
	text := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.In(t.zone).Format(time.RFC3339Nano)
	}
	count := func(n int64) *int64 {
		if n < 0 {
			return nil
		}
		return &n
	}
	v := planValue{plan.Table, plan.Now, known(plan.Covered), known(plan.Overdue), []stepValue{}, []string{}} // [], not null
	for _, s := range plan.Steps {
		v.Steps = append(v.Steps, stepValue{
			s.Action, s.Partition, text(s.From), text(s.To), s.Lo, s.Hi, count(s.Rows), count(s.Bytes), s.Why, s.SQL,
		})
	}
	for _, p := range plan.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	return v
}

// figure returns a number for CSV, where one that is unknown is empty.
func figure(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
