package main

import (
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestSeveralAtOnceStoreEveryRowOnce(t *testing.T) {
	onEach(t, func(t *testing.T, cfg config) {
		var wg sync.WaitGroup
		outputs := make([]string, 4)
		for i := range outputs {
			wg.Go(func() {
				out, errs, code := runHere(t.Context(), append(cfg.args(), "-worker", strconv.Itoa(i+1))...)
				if code != 0 {
					t.Errorf("worker %d: exit code %d: %s", i+1, code, errs)
				}
				outputs[i] = out
			})
		}
		wg.Wait()
		all := strings.Join(outputs, "")
		if first, later := strings.Count(all, "stored 249 countries"), strings.Count(all, "nothing new"); first != 1 || later != 3 {
			t.Errorf("%d stored all and %d nothing, want 1 and 3:\n%s", first, later, all)
		}
		if got, want := rows(t, openTest(t, cfg)), (counts{249, 312, 423}); got != want {
			t.Errorf("rows %+v, want %+v", got, want)
		}
	})
}
