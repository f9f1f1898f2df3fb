package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this command, and of Go", Example: "  sqlflake version", Args: cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), c.Root().Name(), c.Root().Version) },
	}
}

// version returns what the go command has written into the binary.
func version() string {
	module := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Version
	}
	return strings.Join([]string{module, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, " ")
}
