package lease_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// BenchmarkStripes runs several workers of the Default layout, 4,096 IDs a
// millisecond each, as fast as they go, and reports the rate in units of what one
// worker can have.
func BenchmarkStripes(b *testing.B) {
	for _, n := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", n), func(b *testing.B) {
			s, err := lease.OpenStripes(b.Context(), leasetest.NewMemory(nil), n, lease.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close(b.Context()) }()
			const callers, each = 4, 1_000_000
			start := time.Now()
			for b.Loop() {
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() {
						for range each {
							_, _ = s.Next()
						}
					})
				}
				wg.Wait()
			}
			rate := float64(b.N) * callers * each / time.Since(start).Seconds()
			b.ReportMetric(rate/4.096e6, "workers'-rate")
			b.ReportMetric(0, "ns/op")
		})
	}
}
