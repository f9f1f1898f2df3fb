package filelease

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// open returns a store in the folder dir. The gate is a name in it, file also, or "".
func open(dir, file, gate string) (*Store, error) {
	// Absolute, so that a process that changes its working directory keeps its store.
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = makeFolder(dir)
	}
	if err != nil {
		return nil, storeError(err)
	}
	if name, err := networkFileSystem(dir); err != nil {
		return nil, storeError(err)
	} else if name != "" {
		return nil, fmt.Errorf("%w: %s is on a network file system (%s), whose locks can be lost without notice",
			lease.ErrOption, dir, name)
	}

	if err := probeLocks(dir); err != nil {
		return nil, err
	}

	f := &Store{
		dir:   dir,
		gate:  fileRow{path: filepath.Join(dir, gate)},
		turn:  make(chan struct{}, 1),
		owned: map[string]*owner{},
	}
	if file != "" {
		f.file = filepath.Join(dir, file)
	}

	return f, nil
}

// probeLocks checks that files can be written in the folder, and that a lock keeps others out: some file systems grant
// every lock.
func probeLocks(dir string) error {
	first, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return storeError(err)
	}

	second, err := os.OpenFile(first.Name(), os.O_RDWR, 0)
	if err == nil {
		one, oneErr := lockFile(first)
		two, twoErr := lockFile(second)
		if lockErr := errors.Join(oneErr, twoErr); lockErr != nil || !one || two {
			err = errors.Join(
				fmt.Errorf("%w: the file system of %s does not keep locks", lease.ErrOption, dir), lockErr)
		}
		err = errors.Join(err, second.Close())
	}

	return storeError(errors.Join(err, first.Close(), os.Remove(first.Name())))
}

// makeFolder creates a folder and its parents, and makes that durable.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(parent)
}

// folder returns the folder of a namespace. Hexadecimal digits are a file name everywhere, even where names ignore
// case.
func (f *Store) folder(namespace string) string {
	return filepath.Join(f.dir, hex.EncodeToString([]byte(namespace)))
}

// namespaces returns those that have a folder.
func (f *Store) namespaces() ([]string, error) {
	found, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, storeError(err)
	}
	var names []string
	for _, e := range found {
		if name, err := hex.DecodeString(e.Name()); err == nil && e.IsDir() && strings.ToLower(e.Name()) == e.Name() {
			names = append(names, string(name))
		}
	}
	return names, nil
}

func (f *Store) row(namespace string, worker int64) fileRow {
	if f.file != "" {
		return fileRow{path: f.file}
	}
	name := strconv.FormatInt(worker, 10) + stateSuffix
	return fileRow{path: filepath.Join(f.folder(namespace), name), namespace: namespace, worker: worker}
}

// checkVersion returns a *lease.VersionError if a later version that needs to keep this one out has put a file of its
// format into the folder of the namespace.
func (f *Store) checkVersion(namespace string) error {
	_, _, err := fileRow{path: filepath.Join(f.folder(namespace), "namespace"+stateSuffix)}.read(nil)
	return err
}

// used returns the rows that have a state, in the order of their last write. In a folder it opens none of the files.
func (f *Store) used(namespace string) ([]fileRow, error) {
	if f.file != "" {
		row := f.row("", 0)
		s, ok, err := row.read(nil)
		if err != nil || !ok {
			return nil, err
		}
		row.worker = s.Worker
		return []fileRow{row}, nil
	}

	found, err := os.ReadDir(f.folder(namespace))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError(err)
	}

	var rows []fileRow
	for _, e := range found {
		digits, isState := strings.CutSuffix(e.Name(), stateSuffix)
		worker, err := strconv.ParseInt(digits, 10, 64)
		row := f.row(namespace, worker)
		isWorker := err == nil && worker >= 0
		isRow := filepath.Base(row.path) == e.Name() // without leading zeros, say
		if !isState || !isWorker || !isRow {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile; read finds out from the lock file
		}
		if err != nil {
			return nil, storeError(err)
		}
		row.written = info.ModTime()
		rows = append(rows, row)
	}

	slices.SortFunc(rows, func(a, b fileRow) int {
		return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.worker, b.worker))
	})

	return rows, nil
}
