package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	for line, want := range map[string][]string{
		"":                            {"decode", "range", "new", "layout", "workers", "sql", "partition", "completion", "version", "help"},
		"de":                          {"decode"},
		"workers ":                    {"watch", "release"},
		"workers -":                   {"-dsn", "-json", "-namespace", "-table"},
		"workers release -f":          {"-force"},
		"sql ":                        {"functions", "leases"},
		"help w":                      {"workers"},
		"help workers w":              {"watch"},
		"decode -layout t":            {"twitter"},
		"decode -layout al":           {"all"},
		"decode --layout t":           {"twitter"},
		"decode -layout twitter ":     nil,
		"decode -from base":           {"base32", "base62"},
		"layout dis":                  {"discord"},
		"layout -years ":              nil,
		"sql functions -dialect ":     {"postgres", "mariadb"},
		"completion ":                 {"bash", "fish", "zsh"},
		"nothing ":                    nil,
		"sql leases -table x -dialec": {"-dialect"},
	} {
		if got := complete(strings.Split(line, " ")); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := complete(nil); got != nil {
		t.Errorf("%q", got)
	}
}

// TestTheScriptsCompleteInTheirShells needs the shells; those that are missing are left out.
func TestTheScriptsCompleteInTheirShells(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "snowflake")); err != nil {
		t.Skip(err)
	}
	for shell, test := range map[string]struct{ args, script string }{
		"bash": {"--norc -c", `source <(snowflake completion bash)
			COMP_WORDS=(snowflake decode -layout tw) COMP_CWORD=3; _snowflake; echo "${COMPREPLY[@]}"`},
		"zsh": {"-f -c", `autoload -Uz compinit; compinit -D -u
			source <(snowflake completion zsh)
			compadd() { print -l "${(@P)2}" }
			words=(snowflake decode -layout tw) CURRENT=4; _snowflake`},
		"fish": {"--no-config -c", `snowflake completion fish | source; complete -C "snowflake decode -layout tw"`},
	} {
		t.Run(shell, func(t *testing.T) {
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(err)
			}
			cmd := exec.CommandContext(t.Context(), program, append(strings.Fields(test.args), test.script)...)
			cmd.Env = append(os.Environ(), commandVariable+"=1", "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir)
			var warnings strings.Builder // such as one of a locale that is not installed
			cmd.Stderr = &warnings
			out, err := cmd.Output()
			if err != nil || strings.TrimSpace(string(out)) != "twitter" {
				t.Errorf("%v\n%s%s", err, out, &warnings)
			}
		})
	}
}
