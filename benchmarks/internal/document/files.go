package document

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WriteFiles creates the folder, if need be, and writes each file by its function. It replaces a file when the new one is
// complete, so that a full disk keeps the old one.
func WriteFiles(dir string, files map[string]func(io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, write := range files {
		out, err := os.CreateTemp(dir, "."+name+".*")
		if err != nil {
			return err
		}
		err = errors.Join(write(out), out.Chmod(0o644), out.Close())
		if err == nil {
			err = os.Rename(out.Name(), filepath.Join(dir, name))
		}
		if err != nil {
			return errors.Join(err, os.Remove(out.Name()))
		}
	}
	return nil
}
