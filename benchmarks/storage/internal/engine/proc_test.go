package engine

import (
	"os"
	"runtime"
	"testing"
	"time"
)

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

func TestProcessCPU(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	before, err := processCPU(os.Getpid())
	must(t, err)
	done := make(chan struct{})
	go func() { // on a thread that ends with the goroutine
		defer close(done)
		runtime.LockOSThread()
		for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
		}
	}()
	<-done
	after, err := processCPU(os.Getpid())
	must(t, err)
	if after <= before {
		t.Errorf("%v, then %v", before, after)
	}
	p, err := readProcess(os.Getpid())
	must(t, err)
	if p.parent != os.Getppid() || p.name == "" {
		t.Errorf("%+v", p)
	}
	if _, err := processCPU(1 << 28); err == nil { // above the highest number that Linux allows
		t.Error("an impossible process has used CPU time")
	}
}
