package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// fleet is some generators of a library that run beside each other. A clock may be ahead, or behind.
type fleet struct {
	library string
	nodes   []int
	ahead   []time.Duration // of the nodes; those that are missing have the right time
	pace    time.Duration   // between two IDs of a node; 0: none
	others  int             // IDs for other tables, such as of the parent, before each of this one
}

// draw returns n IDs in the order in which they were issued. The nodes take turns: of two goroutines one could end
// before the other begins.
func (f fleet) draw(t *testing.T, n int) (all []int64) {
	t.Helper()
	var nodes []func() (int64, error)
	for i, node := range f.nodes {
		var ahead time.Duration
		if i < len(f.ahead) {
			ahead = f.ahead[i]
		}

		next, err := openPeer(t.Context(), f.library, node, ahead)
		must(t, err)

		nodes = append(nodes, next)
	}

	for range n / len(nodes) {
		for _, next := range nodes {
			var id int64
			for range f.others + 1 {
				var err error
				if id, err = next(); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, id)
		}

		if f.pace > 0 {
			time.Sleep(f.pace)
		}
	}

	return all
}

// auditor is the program, built as a release builds it.
type auditor string

func buildAuditor(t *testing.T) auditor {
	t.Helper()
	program := filepath.Join(t.TempDir(), "sqlflake.exe")
	// Without cgo, as another step of .ci/run compiles it anyway.
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir, build.Env = "../../cmd/sqlflake", append(os.Environ(), "CGO_ENABLED=0")

	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	return auditor(program)
}

// findings returns the exit code, and the names of what was found.
func (a auditor) findings(ctx context.Context, ids []int64, args ...string) (code int, found []string, err error) {
	var text []byte
	for _, id := range ids {
		text = append(strconv.AppendInt(text, id, 10), '\n')
	}

	cmd := exec.CommandContext(ctx, string(a), append([]string{"audit", "--json"}, args...)...)
	cmd.Stdin = strings.NewReader(string(text))
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code, err = exit.ExitCode(), nil
	}

	var page struct {
		Findings []struct {
			Kind string `json:"kind"`
		} `json:"findings"`
	}

	if err == nil {
		err = json.Unmarshal(out, &page)
	}

	for _, f := range page.Findings {
		found = append(found, f.Kind)
	}

	return code, found, err
}

// The presets with the layouts that the libraries have by default.
var peerLayouts = []struct{ library, layout string }{
	{"bwmarrin", "bwmarrin"},
	{sonyflakeV1, "sonyflake"},
	{"sonyflake", "sonyflake2"},
	{"godruoyi", "godruoyi"},
	{"yitter", "yitter"},
}

// IDs as other libraries make them, and with each fault that such tables have.
func TestAuditFindsWhatWasPlantedAndNothingElse(t *testing.T) {
	t.Parallel()
	program := buildAuditor(t)
	for _, tt := range peerLayouts {
		t.Run(tt.library, func(t *testing.T) {
			t.Parallel()
			check := func(name string, ids []int64, want string, args ...string) {
				t.Helper()
				code, found, err := program.findings(t.Context(), ids, args...)
				if err != nil || strings.Join(found, " ") != want || (code == 3) != (want != "") {
					t.Errorf("%s, %d IDs, %v: exit code %d, found %q, want %q; %v",
						name, len(ids), args, code, found, want, err)
				}
			}
			both := func(name string, ids []int64, want string) { // with a guess, too
				t.Helper()
				check(name, ids, want, "--order", "issue", "--layout", tt.layout)
				check(name, ids, want, "--order", "issue")
			}
			four, pace := fleet{library: tt.library, nodes: []int{1, 2, 3, 4}}, 250*time.Microsecond

			if tt.library == "godruoyi" { // a process has only one generator
				four.nodes = four.nodes[:1]
			}

			slow := four
			slow.pace = pace
			both("clean", slow.draw(t, 1000), "")
			many := four.draw(t, 100_000)
			check("clean", many, "", "--order", "issue")
			check("clean", many, "", "--layout", tt.layout)
			third := slices.DeleteFunc(slices.Clone(many), func(int64) bool { return rand.IntN(3) > 0 })
			both("clean, one row in three of a burst", third, "")

			for _, others := range []int{1, 2} {
				children := four
				children.others, children.pace = others, pace
				both("clean, each after IDs of other tables", children.draw(t, 1000), "")
			}

			if tt.library == "bwmarrin" {
				check("clean", four.draw(t, 1_000_000), "", "--order", "issue")
			}

			before, after := four.draw(t, 1000), four // more than --slack, the first not of the future
			after.ahead = []time.Duration{-20 * time.Second, -20 * time.Second, -20 * time.Second, -20 * time.Second}
			both("a restart after a step back", slices.Concat(before, after.draw(t, 1000)), "step_back")
			after.ahead = []time.Duration{time.Hour}
			both("a clock that was ahead", after.draw(t, 1000), "future")

			if tt.library != "godruoyi" {
				// sonyflake: also without an address, which gives a fallback
				twice := fleet{library: tt.library, nodes: []int{7, 7}}
				both("two with one number", twice.draw(t, 2000), "duplicate")
				twice.pace, twice.ahead = pace, []time.Duration{-20 * time.Second} // more than --slack
				both("two with one number, one behind", twice.draw(t, 600), "interleaved")
			}

			// others are rounded to duplicates, or not at all
			if strings.HasSuffix(snowflake.MustPreset(tt.layout).String(), "worker:10 sequence:12") {
				rounded := four.draw(t, 20_000)
				for i, id := range rounded {
					rounded[i] = int64(float64(id))
				}
				both("rounded by JavaScript", rounded, "duplicate rounded")
			}
		})
	}
}
