package readme

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

var outputComment = regexp.MustCompile(`(?im)^\s*//\s*(unordered )?output:`)

// Extract returns the named declarations of a Go file in the form that the package comment describes. The filename is
// for messages. It returns an error when the file does not parse, a name is not declared at top level, or an Example
// function has no output comment.
func Extract(filename string, src []byte, names []string) (string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filename, src, parser.ParseComments)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return string(src), nil
	}
	s := source{fset: fset, src: src}
	var parts []string
	for _, name := range names {
		decl := find(file, name)
		if decl == nil {
			return "", fmt.Errorf("%s has no %s", filename, name)
		}
		part := s.declaration(decl)
		if fn, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(name, "Example") {
			part = s.body(fn)
			if !outputComment.MatchString(part) {
				return "", fmt.Errorf("%s: %s has no // Output: comment, so it is compiled but never run", filename, name)
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "\n"), nil
}

// find returns the top-level declaration of name, or nil.
func find(file *ast.File, name string) ast.Decl {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == name {
				return d
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if declares(spec, name) {
					return d
				}
			}
		}
	}
	return nil
}

func declares(spec ast.Spec, name string) bool {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return s.Name.Name == name
	case *ast.ValueSpec:
		for _, ident := range s.Names {
			if ident.Name == name {
				return true
			}
		}
	}
	return false
}

type source struct {
	fset *token.FileSet
	src  []byte
}

// declaration returns the whole lines of a declaration with its comment.
func (s source) declaration(decl ast.Decl) string {
	start := decl.Pos()
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc != nil {
			start = d.Doc.Pos()
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			start = d.Doc.Pos()
		}
	}
	text := s.src[s.offset(start):]
	end := s.offset(decl.End()) - s.offset(start)
	for end < len(text) && text[end] != '\n' { // a comment may follow on the last line
		end++
	}
	return string(text[:end]) + "\n"
}

// body returns the lines between the braces of a function, one tab less indented.
func (s source) body(fn *ast.FuncDecl) string {
	text := string(s.src[s.offset(fn.Body.Lbrace)+1 : s.offset(fn.Body.Rbrace)])
	inString := s.rawStringLines(fn)
	var out strings.Builder
	number := s.fset.Position(fn.Body.Lbrace).Line
	for line := range strings.Lines(text) {
		if !inString[number] {
			line = strings.TrimPrefix(line, "\t")
		}
		out.WriteString(line)
		number++
	}
	return strings.Trim(out.String(), "\n") + "\n"
}

// rawStringLines returns the numbers of the lines that begin inside a raw string. Their tabs are part of the string.
func (s source) rawStringLines(fn *ast.FuncDecl) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(fn, func(node ast.Node) bool {
		if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			for n := s.fset.Position(lit.Pos()).Line + 1; n <= s.fset.Position(lit.End()).Line; n++ {
				lines[n] = true
			}
		}
		return true
	})
	return lines
}

func (s source) offset(pos token.Pos) int { return s.fset.Position(pos).Offset }
