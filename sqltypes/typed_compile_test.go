package sqltypes_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// exportData returns an importer of package sqltypes from its export data.
func exportData(t *testing.T, files *token.FileSet) types.Importer {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f={{.ImportPath}} {{.Export}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	return importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}

func TestTypedIDsOfTwoKindsDoNotMix(t *testing.T) {
	const declarations = `package sqltypes_test; import ("github.com/sqlflake/sqlflake/snowflake"; "github.com/sqlflake/sqlflake/sqltypes")
type user struct{}; func (user) Prefix() string { return "user" }
type order struct{}; func (order) Prefix() string { return "order" }
type (UserID = sqltypes.Typed[user]; OrderID = sqltypes.Typed[order]; named string)
func find(UserID) {}
func (named) Prefix() string { return "named" }
func use(userID UserID, orderID OrderID, id snowflake.ID) { `
	files := token.NewFileSet()
	config := types.Config{Importer: exportData(t, files)}
	for statement, want := range map[string]string{ // what the compiler says, "" if nothing
		"find(userID); find(7); find(UserID(id)); find(UserID(orderID)); _ = snowflake.ID(userID)": "",
		"find(orderID)":                  "cannot use orderID",
		"find(id)":                       "cannot use id",
		"id = userID":                    "cannot use userID",
		"_ = userID == orderID":          "mismatched types",
		"_ = map[UserID]bool{}[orderID]": "cannot use orderID",
		"_ = append(sqltypes.Array[sqltypes.Typed[user]]{}, orderID)": "cannot use orderID",
		// A method of a nil pointer might panic.
		"var _ sqltypes.Typed[*user]":    "does not satisfy sqltypes.Kind",
		"var _ sqltypes.Typed[struct{}]": "does not satisfy sqltypes.Kind",
		"var _ sqltypes.Typed[named]":    "does not satisfy sqltypes.Kind",
	} {
		file, err := parser.ParseFile(files, "", declarations+statement+" }", 0)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		_, err = config.Check("", files, []*ast.File{file}, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: the compiler says %v, want %q", statement, err, want)
		}
	}
}
