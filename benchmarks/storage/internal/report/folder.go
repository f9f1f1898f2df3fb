package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// file is a name and a function that writes its content.
type file struct {
	name  string
	write func(io.Writer) error
}

// WriteFolder writes index.html, RESULTS.md, summary.csv and summary.json into a folder and replaces existing ones.
func (r Report) WriteFolder(dir string) error {
	return writeFiles(dir, []file{
		{"index.html", r.WriteHTML}, {"RESULTS.md", r.WriteMarkdown}, {"summary.csv", r.WriteCSV}, {"summary.json", r.WriteJSON},
	})
}

func writeFiles(dir string, files []file) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := writeFile(filepath.Join(dir, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file when the new one is complete, so that a full disk keeps the old one.
func writeFile(path string, write func(io.Writer) error) error {
	out, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(write(out), out.Chmod(0o644), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}
