package sandbox

import (
	"errors"
	"slices"
	"strings"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/file"
	"github.com/grafana/sobek/parser"
)

// sourceName is the file that positions in code name.
const sourceName = "code"

// allArguments is the variable that holds all arguments together.
const allArguments = "args"

// reserved are the words that cannot name a variable. Arguments of these names
// are only in args.
var reserved = strings.Fields(`arguments await break case catch class const continue debugger default delete do
	else enum eval export extends false finally for function if implements import in instanceof interface let new null
	package private protected public return static super switch this throw true try typeof var void while with yield`)

// variables returns which of the arguments can be variables.
func variables(names []string) []string {
	var all []string
	for _, name := range names {
		if parser.IsIdentifier(name) && !slices.Contains(reserved, name) {
			all = append(all, name)
		}
	}
	return all
}

// compile makes a function of its body. The body stands on lines of its own, so
// that columns are those of the author. A body that awaits is that of an async
// function.
func compile(code string, variables []string) (*sobek.Program, *failure) {
	head := "function(" + strings.Join(variables, ",") + "){\n"
	program, failed := compileAs(head, code)
	if failed != nil && strings.Contains(code, "await") {
		if async, fault := compileAs("async "+head, code); fault == nil {
			return async, nil
		}
	}
	return program, failed
}

func compileAs(head, code string) (*sobek.Program, *failure) {
	// A source map would be read from wherever the code says.
	tree, err := parser.ParseFile(nil, sourceName, "("+head+code+"\n})", 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, syntaxFailure(err, code)
	}
	if !oneFunction(tree) {
		return nil, &failure{Reason: reasonSyntax, Message: "SyntaxError: the code is not a function body: its braces do not match"}
	}
	program, err := sobek.CompileAST(tree, false)
	if err != nil {
		return nil, syntaxFailure(err, code)
	}
	return program, nil
}

// oneFunction reports whether a program is one function and nothing else.
func oneFunction(tree *ast.Program) bool {
	if len(tree.Body) != 1 {
		return false
	}
	statement, ok := tree.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	_, ok = statement.Expression.(*ast.FunctionLiteral)
	return ok
}

func syntaxFailure(err error, code string) *failure {
	var at file.Position
	message := err.Error()
	if list, ok := errors.AsType[parser.ErrorList](err); ok && len(list) > 0 {
		at, message = list[0].Position, list[0].Message
	} else if fault, ok := errors.AsType[*sobek.CompilerSyntaxError](err); ok {
		message = fault.Message
		if fault.File != nil {
			at = fault.File.Position(fault.Offset)
		}
	}
	f := &failure{Reason: reasonSyntax, Message: "SyntaxError: " + strings.TrimPrefix(message, "SyntaxError: ")}
	f.locate(at.Line, at.Column)
	if lines := strings.Count(code, "\n") + 1; f.Line > lines {
		// What is missing was looked for behind the end.
		f.Line, f.Column = lines, len(code)-strings.LastIndexByte(code, '\n')
	}
	return f
}

// locate says where in the code something went wrong, of where it did in the
// program.
func (f *failure) locate(line, column int) {
	if line > 1 {
		f.Line, f.Column = line-1, column
	}
}
