package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

var (
	load      = flag.Duration("load", 0, "how long to load each kind of codes in a round; without it a short test without figures")
	rounds    = flag.Int("rounds", 5, "rounds of -load, in which the kinds take turns")
	processes = flag.Int("processes", 2, "processes of the service")
	clients   = flag.Int("clients", 32, "clients of -load, which send one request at a time")
)

// result is what the clients have seen.
type result struct {
	elapsed time.Duration
	waits   []time.Duration   // ascending
	urls    map[string]string // by code
	retried int               // requests that were sent again, since their process was killed
	cpu     time.Duration     // of the processes, also of the killed one
}

func (r *result) rate() float64 { return float64(len(r.waits)) / r.elapsed.Seconds() }

func (r *result) quantile(q float64) time.Duration { return r.waits[int(q*float64(len(r.waits)-1))] }

// Several processes shorten on one PostgreSQL. In the middle one is killed, and replaced.
func TestKilledProcessesLoseNoLink(t *testing.T) {
	if *load > 0 {
		t.Skip("TestLoad does the same")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { loadProcesses(t, kind, time.Second) })
	}
}

// TestLoad prints rates:
//
//	go test ./examples/urlshortener -run TestLoad -v -load 10s
func TestLoad(t *testing.T) {
	if *load == 0 {
		t.Skip("no -load")
	}
	rates, ratios := map[string][]float64{}, map[string][]float64{}
	p50, p99, cpu := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	subjects := append([]string{autoIncrement}, kinds...)
	for round := range *rounds {
		for i := range subjects { // each is the first once
			kind := subjects[(i+round)%len(subjects)]
			t.Run(kind, func(t *testing.T) {
				r := loadProcesses(t, kind, *load)
				rates[kind] = append(rates[kind], r.rate())
				p50[kind] = append(p50[kind], r.quantile(.5).Seconds()*1000)
				p99[kind] = append(p99[kind], r.quantile(.99).Seconds()*1000)
				cpu[kind] = append(cpu[kind], r.cpu.Seconds()*1e6/float64(len(r.urls)))
				t.Logf("%7.0f a second, p50 %v, p99 %v, %d links, %d sent again",
					r.rate(), r.quantile(.5).Round(10*time.Microsecond), r.quantile(.99).Round(10*time.Microsecond), len(r.urls), r.retried)
			})
			if t.Failed() {
				return
			}
		}
		for _, kind := range subjects {
			ratios[kind] = append(ratios[kind], rates[kind][round]/rates[autoIncrement][round])
		}
	}
	t.Logf("%d processes, %d clients, PostgreSQL; medians of %d rounds of %v, in each of which a process is killed",
		*processes, *clients, *rounds, *load)
	for _, kind := range subjects {
		t.Logf("%-14s %6.0f links a second, ratio %.2f (%.2f to %.2f), p50 %.1f ms, p99 %.1f ms, processor time %.0f µs a link",
			kind, median(rates[kind]), median(ratios[kind]), slices.Min(ratios[kind]), slices.Max(ratios[kind]),
			median(p50[kind]), median(p99[kind]), median(cpu[kind]))
	}
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// loadProcesses lets clients shorten for the time, and checks what they were told.
func loadProcesses(t *testing.T, kind string, d time.Duration) *result {
	target := testdb.Postgres(t)
	all := make([]atomic.Pointer[process], *processes)
	for i := range all {
		all[i].Store(startProcess(t, target.DSN, kind))
	}
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = *clients

	r := &result{urls: map[string]string{}}
	var mu sync.Mutex // of r
	var wg sync.WaitGroup
	began := time.Now()
	for client := range *clients {
		wg.Go(func() {
			var waits []time.Duration
			urls, retried := map[string]string{}, 0
			for n := 0; time.Since(began) < d && !t.Failed(); n++ {
				long := fmt.Sprintf("https://example.com/%d/%d", client, n)
				sent := time.Now()
				for try := 0; ; try++ { // the next process, as a load balancer would do it
					p := all[(client+try)%len(all)].Load()
					code, err := shortenAt(p, long)
					if err == nil {
						urls[code] = long
						break
					}
					if retried++; try == 100 {
						t.Error(err)
						return
					}
				}
				waits = append(waits, time.Since(sent))
			}
			mu.Lock()
			defer mu.Unlock()
			r.waits = append(r.waits, waits...)
			r.retried += retried
			for code, long := range urls {
				if other, ok := r.urls[code]; ok {
					t.Errorf("%s and %s have the code %s", long, other, code)
				}
				r.urls[code] = long
			}
		})
	}
	time.Sleep(d / 2)
	all[0].Load().kill()
	r.cpu += all[0].Load().cpu()
	all[0].Store(startProcess(t, target.DSN, kind))
	wg.Wait()
	r.elapsed = time.Since(began)
	slices.Sort(r.waits)

	if r.retried == 0 {
		t.Error("no client has noticed that a process was killed")
	}
	var rows int
	if err := target.Open(t).QueryRowContext(t.Context(), "SELECT count(*) FROM links").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if rows != len(r.urls) || rows != len(r.waits) {
		t.Errorf("%d answers with %d codes, and %d rows", len(r.waits), len(r.urls), rows)
	}
	if kind != autoIncrement {
		checkLinks(t, all[1].Load(), r.urls)
	}
	http.DefaultClient.CloseIdleConnections() // Shutdown waits five seconds for one that has sent no request yet
	for i := range all {
		all[i].Load().end(t)
		r.cpu += all[i].Load().cpu()
	}
	return r
}

func shortenAt(p *process, long string) (code string, err error) {
	response, err := http.Post(p.url+"/api/links", "application/json", bytes.NewReader([]byte(`{"url":"`+long+`"}`)))
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	var link linkJSON
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, &link)
	}
	if err == nil && (response.StatusCode/100 != 2 || link.URL != long || link.Code == "") {
		err = fmt.Errorf("%d: %s", response.StatusCode, text)
	}
	return link.Code, err
}

// checkLinks reads the list and compares it with the codes that the clients got, and follows some.
func checkLinks(t *testing.T, p *process, want map[string]string) {
	t.Helper()
	c := &client{T: t, url: p.url}
	listed, followed := 0, 0
	for path := "/api/links?limit=100"; path != ""; {
		a := c.want("list", c.get(path), 200)
		for _, l := range a.Links {
			listed++
			if want[l.Code] != l.URL {
				t.Fatalf("%s is listed for %s, a client was told %q", l.Code, l.URL, want[l.Code])
			}
		}
		if len(a.Links) > 0 && followed < 100 {
			followed++
			l := a.Links[0]
			if a := c.want("redirect", c.get("/"+l.Code), 302); a.header.Get("Location") != l.URL {
				t.Errorf("%s leads to %s, want %s", l.Code, a.header.Get("Location"), l.URL)
			}
		}
		if path = ""; a.Next != "" {
			path = "/api/links?limit=100&after=" + a.Next
		}
	}
	if listed != len(want) {
		t.Errorf("%d links are listed, want %d", listed, len(want))
	}
}
