package deps_test

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// A type of an internal package in an exported signature is a way into the machinery, where no rule of the public
// package holds.
func TestNoExportedNameHasAnInternalType(t *testing.T) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}} {{.DepOnly}} {{.Name}}", "./..."}
	args = append(args, "./contrib/...")
	for _, own := range []string{"etcdlease", "natslease", "otelsnowflake", "promsnowflake", "redislease"} {
		args = append(args, "./contrib/"+own)
	}

	exports, published := map[string]string{}, []string{}
	for line := range strings.Lines(goCommand(t, nil, args...)) {
		f := strings.Fields(line)
		if len(f) != 4 { // no Go files, or package unsafe
			continue
		}
		exports[f[0]] = f[1]
		if f[2] == "false" && f[3] != "main" && !isInternal(f[0]) {
			published = append(published, f[0])
		}
	}
	if !slices.Contains(published, module+"/snowflake/lease") {
		t.Fatalf("package lease is not among %q", published)
	}

	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(token.NewFileSet(), "gc", open)
	for _, path := range published {
		pkg, err := imports.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if object := pkg.Scope().Lookup(name); object.Exported() {
				for _, found := range internalTypes(object) {
					t.Errorf("%s.%s has the type %s", path, name, found)
				}
			}
		}
	}
}

func isInternal(path string) bool {
	return strings.HasPrefix(path, module+"/") && slices.Contains(strings.Split(path, "/"), "internal")
}

// internalTypes returns the types of internal packages that a caller meets at an object: in what it is, takes, returns,
// and in its exported fields and methods.
func internalTypes(object types.Object) (found []string) {
	seen := map[types.Type]bool{}
	var visit func(types.Type)
	visitAll := func(n int, at func(int) types.Type) {
		for i := range n {
			visit(at(i))
		}
	}

	visit = func(t types.Type) {
		if seen[t] {
			return
		}
		seen[t] = true

		switch t := types.Unalias(t).(type) {
		case *types.Named:
			if pkg := t.Obj().Pkg(); pkg != nil && isInternal(pkg.Path()) {
				found = append(found, t.String())
			}
			visitAll(t.TypeArgs().Len(), t.TypeArgs().At)
		case *types.TypeParam:
			visit(t.Constraint())
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					visit(f.Type())
				}
			}
		case *types.Interface:
			visitAll(t.NumMethods(), func(i int) types.Type { return t.Method(i).Type() })
			visitAll(t.NumEmbeddeds(), t.EmbeddedType)
		case *types.Union:
			visitAll(t.Len(), func(i int) types.Type { return t.Term(i).Type() })
		case *types.Signature:
			visitAll(t.TypeParams().Len(), func(i int) types.Type { return t.TypeParams().At(i) })
			visitAll(t.Params().Len(), func(i int) types.Type { return t.Params().At(i).Type() })
			visitAll(t.Results().Len(), func(i int) types.Type { return t.Results().At(i).Type() })
		case *types.Map:
			visit(t.Key())
			visit(t.Elem())
		case interface{ Elem() types.Type }: // a pointer, a slice, an array or a channel
			visit(t.Elem())
		}
	}

	visit(object.Type())
	if named, ok := object.Type().(*types.Named); ok && object == named.Obj() {
		visitAll(named.TypeParams().Len(), func(i int) types.Type { return named.TypeParams().At(i) })
		visit(named.Underlying())
		for m := range types.NewMethodSet(types.NewPointer(named)).Methods() { // with promoted ones
			if m.Obj().Exported() {
				visit(m.Type())
			}
		}
	}
	return found
}
