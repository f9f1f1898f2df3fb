package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// completeCommand is what the scripts call, with the words of the line after the program's name. The last word is the one
// to complete, and may be empty.
const completeCommand = "__complete"

// shells are the scripts. Where nothing is suggested, bash completes the names of files.
var shells = map[string]string{
	"bash": `_snowflake() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _snowflake snowflake
`,
	"zsh": `#compdef snowflake
_snowflake() {
	local -a found
	found=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if (( ${#found} )) && [[ -n ${found[1]} ]]; then compadd -a found; else _files; fi
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then _snowflake "$@"; else compdef _snowflake snowflake; fi
`,
	"fish": `function __snowflake_complete
	set -l words (commandline -opc) (commandline -ct)
	$words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c snowflake -a '(__snowflake_complete)'
`,
}

func completionCommand() *command {
	names := slices.Sorted(maps.Keys(shells))
	c := newCommand("completion", strings.Join(names, "|"), "a script that completes commands in a shell")
	c.text = `
It completes the commands, their flags, and the values of flags that have a few.
`
	c.examples = `
source <(snowflake completion bash)
snowflake completion zsh >"${fpath[1]}/_snowflake"
snowflake completion fish >~/.config/fish/completions/snowflake.fish
`
	c.run = func(_ context.Context, env environment, args []string) error {
		if len(args) != 1 || shells[args[0]] == "" {
			return usage("want one of %s", strings.Join(names, ", "))
		}
		_, err := fmt.Fprint(env.out, shells[args[0]])
		return err
	}
	return c
}

// complete returns what the last word may be.
func complete(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	done, last := words[:len(words)-1], words[len(words)-1]
	if len(done) > 0 && done[0] == "help" {
		done = done[1:]
	}
	var found []string
	add := func(candidates ...string) {
		for _, s := range candidates {
			if strings.HasPrefix(s, last) && !slices.Contains(found, s) {
				found = append(found, s)
			}
		}
	}
	// The next word of the name of a command.
	for _, c := range commands() {
		name := strings.Fields(c.name)
		if len(name) > len(done) && slices.Equal(name[:len(done)], done) {
			add(name[len(done)])
		}
	}
	if len(done) == 0 {
		add("help")
	}
	c, rest := find(done)
	switch {
	case c == nil:
		return found
	case c.name == "completion":
		add(slices.Sorted(maps.Keys(shells))...)
	case len(rest) > 0 && c.takesValue(rest[len(rest)-1]) && strings.HasPrefix(rest[len(rest)-1], "-"):
		add(c.values[strings.TrimLeft(rest[len(rest)-1], "-")]...)
		return found
	case c.name == "layout":
		add(presetNames...)
	}
	if strings.HasPrefix(last, "-") {
		c.flags.VisitAll(func(f *flag.Flag) { add("-" + f.Name) })
	}
	return found
}
