package engine

import "testing"

func TestIsLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.8.0.1": true, "::1": true, "localhost": true, "": true,
		"/var/run/postgresql": true, "@abstract": true,
		"10.0.0.1": false, "db.example.org": false, "localhost.example.org": false, "::2": false,
	} {
		if isLocal(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
