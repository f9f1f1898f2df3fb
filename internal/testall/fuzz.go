package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fuzzPackage is a package with fuzz targets.
type fuzzPackage struct {
	path, dir string
	targets   []string
}

// fuzz runs the fuzz targets in order. It builds only packages that have some, and each once: "go test -list" would build
// every package, and "go test -fuzz" would link one for each of its targets.
func (g goTester) fuzz(ctx context.Context, s suite, args []string) (code int, err error) {
	packages, code, err := g.fuzzPackages(ctx, s)
	if code != 0 || err != nil {
		return code, err
	}
	temp, err := os.MkdirTemp("", "testall")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(temp)
	program := filepath.Join(temp, "fuzz.test")
	for _, p := range packages {
		one, err := g.run(ctx, s.module, slices.Concat(args, []string{"-c", "-fuzz=Fuzz", "-o=" + program, p.path}), g.stdout)
		if one == 0 && err == nil {
			one, err = g.fuzzAll(ctx, program, p)
		}
		if code == 0 {
			code = one
		}
		if err != nil || ctx.Err() != nil {
			return code, err
		}
	}
	return code, nil
}

// fuzzAll runs the targets in the folder of their package, with the cache that "go test -fuzz" uses.
func (g goTester) fuzzAll(ctx context.Context, program string, p fuzzPackage) (code int, err error) {
	cache, err := g.goEnv(ctx, "GOCACHE")
	if err != nil {
		return 1, err
	}
	for _, target := range p.targets {
		fmt.Fprintf(g.stdout, "\n%s: -test.fuzz=^%s$\n", p.path, target)
		cmd := g.command(ctx, ".", program, "-test.run=^$", "-test.fuzz=^"+target+"$", "-test.fuzztime="+g.opts.fuzz,
			"-test.fuzzcachedir="+filepath.Join(cache, "fuzz", filepath.FromSlash(p.path)), "-test.paniconexit0",
			"-test.timeout="+longTimeout.String())
		cmd.Dir = p.dir
		one, err := g.exitCode(ctx, cmd, g.stdout)
		if code == 0 {
			code = one
		}
		if err != nil || ctx.Err() != nil {
			return code, err
		}
	}
	return code, nil
}

// fuzzPackages returns the packages of a suite that have fuzz targets.
func (g goTester) fuzzPackages(ctx context.Context, s suite) (packages []fuzzPackage, code int, err error) {
	var list bytes.Buffer
	const format = `{{.ImportPath}}|{{.Dir}}|{{join .TestGoFiles "|"}}|{{join .XTestGoFiles "|"}}`
	code, err = g.run(ctx, s.module, append([]string{"list", "-f", format}, s.packages...), &list)
	if code != 0 || err != nil {
		return nil, code, err
	}
	for line := range strings.Lines(list.String()) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		p := fuzzPackage{path: fields[0], dir: fields[1]}
		for _, name := range fields[2:] {
			if name == "" {
				continue
			}
			targets, err := fuzzTargets(filepath.Join(p.dir, name))
			if err != nil {
				return nil, 1, err
			}
			p.targets = append(p.targets, targets...)
		}
		if len(p.targets) > 0 {
			packages = append(packages, p)
		}
	}
	return packages, 0, nil
}

// fuzzTargets returns the names of the functions FuzzX(f *testing.F) of a file.
func fuzzTargets(path string) (names []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") && len(f.Type.Params.List) == 1 {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}
