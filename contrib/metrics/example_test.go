package metrics_test

import (
	"fmt"

	"github.com/sqlflake/sqlflake/contrib/metrics"
	"github.com/sqlflake/sqlflake/snowflake"
)

// An exporter that prints.
func ExampleSet() {
	units := map[string]string{}
	for _, m := range metrics.All() {
		units[m.Name] = m.Unit
	}
	gen, err := snowflake.New(5)
	if err != nil {
		fmt.Println(err)
		return
	}
	var set metrics.Set
	set.Add("orders", gen, nil, func(v metrics.Value) { fmt.Println(v.Metric, v.Label, v.Value) })
	for _, v := range set.Read() {
		if v.Metric == "snowflake.worker" || v.Metric == "snowflake.clock.steps" {
			fmt.Println(v.Metric, v.Generator, v.Value, units[v.Metric])
		}
	}
	// Output:
	// snowflake.clock.steps orders 0 {step}
	// snowflake.worker orders 5 1
}
