package leasetest

import (
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

var listTests = []test{
	{promise: "each row shows all but the token, in the order of the workers", run: func(f *fixture) {
		r := f.request(9, 9)
		r.Holder = leasestore.Holder{Host: "ä.example.com", PID: 1, Version: ""}
		f.acquire(r)
		claim := f.take(2, 2).Claim
		f.extend(claim, 1000, long)
		f.free(claim)
		f.free(f.take(3, 3).Claim)
		last := f.request(3, 3)
		last.Holder = leasestore.Holder{Host: "b", PID: 2, Version: "v3"} // not of the owner before
		f.extend(f.acquire(last).Claim, 2000, long)
		want := []leasestore.Entry{
			{Claim: leasestore.Claim{Worker: 2, Epoch: 1}, Horizon: 1000, Held: false, Holder: holder},
			{Claim: leasestore.Claim{Worker: 3, Epoch: 2}, Horizon: 2000, Held: true, Holder: last.Holder},
			{Claim: leasestore.Claim{Worker: 9, Epoch: 1}, Horizon: 0, Held: true, Holder: r.Holder},
		}
		got := f.list(f.namespace)
		if len(got) != len(want) {
			f.Fatalf("%d rows, want %d: %+v", len(got), len(want), got)
		}
		for i := range want {
			want[i].Namespace, want[i].Layout, want[i].Expires = f.namespace, layout, got[i].Expires
			if got[i] != want[i] {
				f.Errorf("row %d is\n%+v\nwant\n%+v", i, got[i], want[i])
			}
			if got[i].Expires.IsZero() != f.settings.NoExpiry {
				f.Errorf("row %d expires at %v", i, got[i].Expires)
			}
		}
	}},
	{promise: "a long host or version is no error", run: func(f *fixture) {
		r := f.request(7, 7)
		for len(r.Holder.Host) < 5000 {
			r.Holder.Host += "äöü."
		}
		r.Holder.Version = r.Holder.Host[1:] + "\xff\x00" // it may be any bytes
		f.acquire(r)
		f.list(f.namespace)
	}},
	{promise: "no namespace means all of them, one after another", run: func(f *fixture) {
		if entries := f.list(f.namespace); len(entries) != 0 {
			f.Errorf("a namespace that was never used has %+v", entries)
		}
		first, second := f.namespace, f.namespace+"-2"
		for _, namespace := range []string{second, first, second, first} {
			f.namespace = namespace
			f.take(0, 9)
		}
		var ours []leasestore.Claim
		seen := map[string]bool{}
		last := leasestore.Claim{}
		for _, e := range f.list("") {
			if e.Namespace != last.Namespace {
				if seen[e.Namespace] {
					f.Errorf("the rows of %q are not together", e.Namespace)
				}
				seen[e.Namespace] = true
			} else if e.Worker <= last.Worker {
				f.Errorf("worker %d after %d in %q", e.Worker, last.Worker, e.Namespace)
			}
			last = e.Claim
			if e.Namespace == first || e.Namespace == second {
				ours = append(ours, e.Claim)
			}
			if e.Token != "" || e.Next != "" {
				f.Errorf("a token of worker %d in %q is shown", e.Worker, e.Namespace)
			}
		}
		if len(ours) != 4 {
			f.Errorf("%d rows of the two namespaces, want 4: %+v", len(ours), ours)
		}
	}},
}
