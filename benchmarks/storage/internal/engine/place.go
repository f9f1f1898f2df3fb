package engine

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// placePrefix is the prefix of the schemas and databases of the tool; eight random hexadecimal digits follow.
const placePrefix = "sqlflake_storage_"

const placePattern = "^" + placePrefix + "[0-9a-f]{8}$" // valid in PostgreSQL and MariaDB

func newPlace() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return placePrefix + hex.EncodeToString(b[:])
}

const (
	connectTimeout = 15 * time.Second // for the first answer of a server
	closeTimeout   = time.Minute      // for removing a place
	idleConns      = 64               // kept by a pool, so that a run with many clients does not reconnect
)

// notes collects the sentences of Engine.Notes without duplicates.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.list, note) {
		n.list = append(n.list, note)
	}
}

// Notes returns a copy.
func (n *notes) Notes() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// leftovers adds a note about places of other runs.
func (n *notes) leftovers(what string, quoted []string, drop string) {
	if len(quoted) > 0 {
		n.add("There are %s of other runs, which are running or were killed: %s. -cleanup drops those of killed runs; to drop one: %s.",
			what, strings.Join(quoted, ", "), fmt.Sprintf(drop, quoted[0]))
	}
}

// badDSN is an error in a DSN. It does not contain the driver's message, which may repeat parts of the password.
type badDSN struct {
	text  string
	cause error
}

func (e *badDSN) Error() string { return e.text }
func (e *badDSN) Unwrap() error { return e.cause }

// commentOf returns the comment of a place. Cleanup and administrators read it.
func commentOf(pid int, host string) string {
	return fmt.Sprintf("sqlflake storage benchmark, process %d on %s; may be dropped after it has ended", pid, host)
}

func ownComment() string {
	host, _ := os.Hostname() // without it Cleanup keeps the place
	return commentOf(os.Getpid(), host)
}

var commentPattern = regexp.MustCompile(
	`^sqlflake storage benchmark, process (\d+) on (.*); may be dropped after it has ended$`)

// inUse returns why a place must be kept: the comment is not the tool's, or its process may be alive. It is empty if
// the process has ended.
func inUse(comment string) string {
	found := commentPattern.FindStringSubmatch(comment)
	if found == nil {
		return "its comment is not by this tool"
	}
	host, err := os.Hostname()
	if err != nil || host == "" || found[2] != host {
		return fmt.Sprintf("its process is on %q and cannot be checked from here", found[2])
	}
	pid, err := strconv.Atoi(found[1])
	if err != nil || alive(pid) {
		return "process " + found[1] + " lives"
	}
	return ""
}

// alive reports whether a process with this ID exists or may exist.
func alive(pid int) bool {
	if runtime.GOOS == "windows" { // which has no signal 0
		return true
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return !errors.Is(err, os.ErrProcessDone)
	}
	err = p.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}
