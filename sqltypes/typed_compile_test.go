package sqltypes_test

import (
	"bytes"
	"encoding/json"
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
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", ".")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct{ ImportPath, Export string }
		if err := decoder.Decode(&pkg); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[pkg.ImportPath] = pkg.Export
	}
	return importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}

func TestTypedIDsOfTwoKindsDoNotMix(t *testing.T) {
	const declarations = `package shop

import (
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

type user struct{}

func (user) Prefix() string { return "user" }

type order struct{}

func (order) Prefix() string { return "order" }

type (
	UserID  = sqltypes.Typed[user]
	OrderID = sqltypes.Typed[order]
)

func find(UserID) {}

var _ snowflake.ID

func use(userID UserID, orderID OrderID, id snowflake.ID) {
	`
	files := token.NewFileSet()
	imports := exportData(t, files)
	for statement, want := range map[string]string{ // what the compiler says, "" if nothing
		"find(userID)":                        "",
		"find(7)":                             "",
		"find(UserID(id))":                    "",
		"find(UserID(orderID))":               "", // an explicit conversion
		"_ = snowflake.ID(userID)":            "",
		"userID = *new(sqltypes.Typed[user])": "",
		"find(orderID)":                       "cannot use orderID",
		"find(id)":                            "cannot use id",
		"userID = orderID":                    "cannot use orderID",
		"id = userID":                         "cannot use userID",
		"_ = userID == orderID":               "mismatched types",
		"_ = map[UserID]bool{}[orderID]":      "cannot use orderID",
		"_ = sqltypes.Array[sqltypes.Typed[user]]{orderID}":           "cannot use orderID",
		"_ = append(sqltypes.Array[sqltypes.Typed[user]]{}, orderID)": "cannot use orderID",
		// A method of a nil pointer might panic.
		"var _ sqltypes.Typed[*user]":                    "does not satisfy sqltypes.Kind",
		"var _ sqltypes.Typed[struct{}]":                 "does not satisfy sqltypes.Kind",
		"type named string; var _ sqltypes.Typed[named]": "does not satisfy sqltypes.Kind",
	} {
		file, err := parser.ParseFile(files, "shop.go", declarations+statement+"\n}\n", 0)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		config := types.Config{Importer: imports}
		_, err = config.Check("shop", files, []*ast.File{file}, nil)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s does not compile: %v", statement, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: the compiler says %v, want %q", statement, err, want)
		}
	}
}
