//go:build unix

package testdb

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// binaryFolders are where packages put the binaries that they keep out of PATH: Debian, Red Hat, Homebrew.
var binaryFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// findBinaries returns a directory that holds initdb and postgres.
func findBinaries() (string, error) {
	candidates := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range binaryFolders {
		matches, _ := filepath.Glob(pattern) // fails for a bad pattern only
		candidates = append(candidates, matches...)
	}
	for _, dir := range candidates {
		if isProgram(filepath.Join(dir, "initdb")) && isProgram(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errors.New("initdb and postgres are not installed")
}

func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil && filepath.IsAbs(path)
}

// sweepClusters removes what processes have left behind that were killed. Each directory's name tells its process.
func sweepClusters() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), clusterPrefix+"*")) // fails for a bad pattern only
	for _, dir := range dirs {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), clusterPrefix), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 0 {
			continue
		}
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // best effort: it may be another user's
		}
	}
}
