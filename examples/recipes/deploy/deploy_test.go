// Package deploy runs examples/api as its compose.yaml and kubernetes.yaml say.
package deploy

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	_ "github.com/sqlflake/sqlflake/gormplugin" // so that go test runs again after a change
	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// api is the service in compose.yaml.
type api struct {
	Environment map[string]string
	Deploy      struct{ Replicas int }
	Restart     string
	Grace       string `yaml:"stop_grace_period"`
	Build       struct{ Context, Dockerfile string }
}

// pod is the part of kubernetes.yaml that the program has to agree with.
type pod struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Lifecycle struct {
						PreStop struct{ Sleep struct{ Seconds int } }
					}
					StartupProbe   probe `yaml:"startupProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
					LivenessProbe  probe `yaml:"livenessProbe"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../api/" + name)
	exampletest.Must(t, err)
	return text
}

// start returns a process that listens, and its URL. It starts one that fails again, as compose does.
func start(t *testing.T, program string, env []string) (*exec.Cmd, string) {
	t.Helper()
	for range 5 {
		cmd := exec.Command(program)
		cmd.Env = env
		log, err := cmd.StderrPipe()
		exampletest.Must(t, err)
		exampletest.Must(t, cmd.Start())
		lines := bufio.NewScanner(log)

		for lines.Scan() {
			if _, address, found := strings.Cut(lines.Text(), "http://"); found {
				go func() { _, _ = io.Copy(io.Discard, log) }()
				t.Cleanup(func() { _ = cmd.Process.Kill() })
				return cmd, "http://" + address
			}
			t.Log(lines.Text())
		}

		_ = cmd.Wait()
	}

	t.Error("a copy did not start")
	return nil, ""
}

func status(url string) int {
	response, err := http.Get(url)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestCopiesShareTheDatabaseAndEndWithoutAFailedRequest starts the copies at once, and ends them while clients send.
func TestCopiesShareTheDatabaseAndEndWithoutAFailedRequest(t *testing.T) {
	var compose struct{ Services struct{ API api } }
	exampletest.Must(t, yaml.Unmarshal(read(t, "compose.yaml"), &compose))
	service := compose.Services.API
	if _, err := os.Stat(filepath.Join("../../api", service.Build.Context, service.Build.Dockerfile)); err != nil ||
		service.Restart != "on-failure" {
		t.Errorf("%+v, %v", service, err)
	}

	target := testdb.Postgres(t)
	env := os.Environ()
	for name := range service.Environment {
		env = append(env, name+"="+map[string]string{"ADDR": "127.0.0.1:0", "DATABASE_URL": target.DSN}[name])
	}

	_, _ = read(t, "api.go"), read(t, "main.go") // again because of go test
	program := filepath.Join(t.TempDir(), "api")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../..", "-o", program,
		"./examples/api").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	copies, urls := make([]*exec.Cmd, service.Deploy.Replicas), make([]string, service.Deploy.Replicas)
	var starts, clients sync.WaitGroup
	for i := range copies {
		starts.Go(func() { copies[i], urls[i] = start(t, program, env) })
	}

	if starts.Wait(); t.Failed() || len(copies) != 3 {
		t.Fatalf("%d copies", len(copies))
	}

	for _, p := range kubernetes(t) {
		if got := status(urls[0] + p.HTTPGet.Path); got != 200 {
			t.Errorf("the probe %s is answered %d", p.HTTPGet.Path, got)
		}
	}

	answers := make([]atomic.Int64, len(copies)) // of each copy
	for i, url := range urls {
		for range 2 {
			clients.Go(func() {
				for {
					response, err := http.Post(url+"/users", "application/json", strings.NewReader(`{"name":"Ada"}`))
					if err != nil {
						return // the copy has ended
					}

					body, err := io.ReadAll(response.Body)
					_ = response.Body.Close()
					if response.StatusCode != 200 || err != nil {
						t.Errorf("%d %s, %v", response.StatusCode, body, err)
						return
					}

					answers[i].Add(1)
				}
			})
		}
	}

	for enough := false; !enough && !t.Failed(); time.Sleep(10 * time.Millisecond) {
		enough = true
		for i := range answers {
			enough = enough && answers[i].Load() > 20
		}
	}

	// A request whose body ends after its copy was told to stop still gets an ID and a row.
	body, rest := io.Pipe()
	running, late := make(chan struct{}), make(chan int, 1)
	trace := &httptrace.ClientTrace{Got100Continue: func() { close(running) }} // the handler reads the body
	ctx := httptrace.WithClientTrace(t.Context(), trace)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, urls[0]+"/users", body)
	exampletest.Must(t, err)
	request.Header.Set("Expect", "100-continue")
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			late <- 0
			return
		}
		_ = response.Body.Close()
		late <- response.StatusCode
	}()
	<-running

	for _, c := range copies {
		exampletest.Must(t, c.Process.Signal(syscall.SIGTERM))
	}

	for status(urls[0]+"/livez") != 0 {
		time.Sleep(10 * time.Millisecond)
	}

	_, err = io.WriteString(rest, `{"name":"Late"}`)
	exampletest.Must(t, errors.Join(err, rest.Close()))
	if got := <-late; got != 200 {
		t.Errorf("the request that was running got %d", got)
	}

	clients.Wait()
	for _, c := range copies {
		if err := c.Wait(); err != nil {
			t.Errorf("a copy ended with %v", err)
		}
	}

	db, stored, total := target.Open(t), int64(0), int64(0)
	exampletest.Must(t, db.QueryRow("SELECT count(*) FROM users").Scan(&stored))
	for i := range answers {
		total += answers[i].Load()
	}

	if stored < total || total == 0 {
		t.Errorf("%d rows, want %d", stored, total)
	}

	store, err := sqllease.New(db, sqldb.Postgres)
	exampletest.Must(t, err)
	entries, err := store.List(t.Context(), "")
	exampletest.Must(t, err)

	for _, e := range entries {
		if e.Held {
			t.Errorf("the worker %d was not given back", e.Worker)
		}
	}

	if len(entries) != len(copies) {
		t.Errorf("%d workers, want one for each copy", len(entries))
	}
}

// kubernetes returns the probes of kubernetes.yaml.
func kubernetes(t *testing.T) []probe {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(string(read(t, "kubernetes.yaml"))))
	var kinds []string
	var probes []probe
	for {
		var p pod
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}

		exampletest.Must(t, err)
		kinds = append(kinds, p.Kind)
		for _, c := range p.Spec.Template.Spec.Containers {
			probes = append(probes, c.StartupProbe, c.ReadinessProbe, c.LivenessProbe)
			if p.Spec.Template.Spec.Grace <= c.Lifecycle.PreStop.Sleep.Seconds+20 {
				t.Error("the grace period is shorter than preStop and Shutdown")
			}
		}
	}

	if strings.Join(kinds, " ") != "Deployment Service" || len(probes) != 3 {
		t.Errorf("kinds %q with %d probes", kinds, len(probes))
	}

	return probes
}
