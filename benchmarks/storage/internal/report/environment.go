package report

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

const environmentName = "environment.json"

// Machine describes the computer and the program. What the system does not report is left out.
func Machine(ctx context.Context) []measure.Setting {
	settings := []measure.Setting{{Name: "system", Value: runtime.GOOS + "/" + runtime.GOARCH}}
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			settings = append(settings, measure.Setting{Name: name, Value: value})
		}
	}
	add("processor", field("/proc/cpuinfo", "model name"))
	add("cores", strconv.Itoa(runtime.NumCPU()))
	if kilobytes, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		add("memory", fmt.Sprintf("%.1f GiB", float64(kilobytes)/(1<<20)))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		add(loadName, strings.Join(first(strings.Fields(string(load)), 3), " "))
	}
	add("Go", runtime.Version())
	add("commit", commit(ctx))
	return settings
}

// loadName is the setting that may differ when a report is resumed.
const loadName = "load average at the start"

func first(list []string, n int) []string { return list[:min(n, len(list))] }

// field returns the value after "name:" in a file of Linux.
func field(path, name string) string {
	in, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = in.Close() }() // read only
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// commit returns that of the program or, because go run does not record it, that of the folder if it is the tool's
// module.
func commit(ctx context.Context) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		var revision, modified string
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = ", with changes"
			}
		}
		if revision != "" {
			return revision + modified
		}
	}
	module, err := os.ReadFile("go.mod")
	if err != nil || !strings.HasPrefix(string(module), "module github.com/sqlflake/sqlflake") {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	git := exec.CommandContext(ctx, "git", "describe", "--always", "--abbrev=12", "--dirty=, with changes", "--exclude=*")
	out, err := git.Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// LoadEnvironment reads the environment of a report's folder. The error is fs.ErrNotExist if there is none.
func LoadEnvironment(dir string) (measure.Environment, error) {
	var env measure.Environment
	text, err := os.ReadFile(filepath.Join(dir, environmentName))
	if err != nil {
		return env, err
	}
	if err := json.Unmarshal(text, &env); err != nil {
		return env, fmt.Errorf("%s: %w", filepath.Join(dir, environmentName), err)
	}
	return env, nil
}

// SaveEnvironment writes the environment into a report's folder.
func SaveEnvironment(dir string, env measure.Environment) error {
	return writeFiles(dir, []file{{environmentName, func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "\t")
		return out.Encode(env)
	}}})
}

// Resume returns the environment of a resumed report: that of its start, with additions, and a sentence for each
// setting that has changed since. The sentences are also added to its notes, because figures from before and after are
// not comparable.
func Resume(dir string, now measure.Environment) (env measure.Environment, changed []string, err error) {
	env, err = LoadEnvironment(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil, nil
	}
	if err != nil {
		return env, nil, err
	}
	differ := func(where string, old, current []measure.Setting) {
		for _, s := range old {
			i := slices.IndexFunc(current, func(c measure.Setting) bool { return c.Name == s.Name })
			if i >= 0 && current[i].Value != s.Value && s.Name != loadName {
				changed = append(changed, fmt.Sprintf("%s: %s was %s when the report was started and %s when it was resumed.",
					where, s.Name, s.Value, current[i].Value))
			}
		}
	}
	differ("The machine", env.Machine, now.Machine)
	differ("The tool", env.Settings, now.Settings)
	if env.Database == nil {
		env.Database = map[string][]measure.Setting{}
	}
	if env.Notes == nil {
		env.Notes = map[string][]string{}
	}
	for name, settings := range now.Database {
		title := engineTitle(name)
		if isMySQL(settings) {
			title = engineTitle("mysql")
		}
		differ(title, env.Database[name], settings)
		if env.Database[name] == nil {
			env.Database[name] = settings
		}
	}
	if now.Baseline != "" {
		env.Baseline = now.Baseline // it affects the report, not the measurements
	}
	slices.Sort(changed)
	AddNotes(env, "report", changed)
	return env, changed, nil
}

// AddNotes adds notes without duplicates.
func AddNotes(env measure.Environment, name string, notes []string) {
	for _, note := range notes {
		if !slices.Contains(env.Notes[name], note) {
			env.Notes[name] = append(env.Notes[name], note)
		}
	}
}
