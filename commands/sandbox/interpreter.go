package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/file"
	"github.com/grafana/sobek/parser"

	"svc/domain/value"
)

const (
	maxCalls   = 10_000 // how deep functions may call each other
	maxMessage = 2_000  // bytes of a message
	cutMark    = "…"    // stands where a message was cut off
)

// interpreter runs one order.
type interpreter struct {
	vm        *sobek.Runtime
	order     order
	parse     sobek.Callable
	stringify sobek.Callable
}

// newInterpreter returns one whose lines of the console go to tell.
func newInterpreter(o order, log func(line string)) (*interpreter, error) {
	vm := sobek.New()
	vm.SetParserOptions(parser.WithDisableSourceMaps)
	vm.SetMaxCallStackSize(maxCalls)
	clock := time.UnixMilli(o.Clock).UTC()
	vm.SetTimeSource(func() time.Time { return clock })
	vm.SetRandSource(rand.New(rand.NewPCG(uint64(o.Seed), 0)).Float64)
	in := &interpreter{vm: vm, order: o}
	// Taken before the code can put others in their place.
	json := vm.Get("JSON").ToObject(vm)
	in.parse, _ = sobek.AssertFunction(json.Get("parse"))
	in.stringify, _ = sobek.AssertFunction(json.Get("stringify"))
	lines := &console{left: maxLogs, log: log}
	return in, errors.Join(lines.install(vm, in.text), installBuiltins(vm))
}

// run returns what the code returns, as JSON; nil for undefined.
func (in *interpreter) run() (result []byte, failed *failure) {
	defer func() {
		broken := recover()
		if err, ok := broken.(error); ok {
			failed = in.failure(err) // an interruption where nobody waited for one
		} else if broken != nil {
			failed = &failure{Reason: reasonException, Message: truncate(fmt.Sprintf("the interpreter gave up: %v", broken))}
		}
	}()
	args, names, err := in.arguments()
	if err != nil {
		return nil, in.failure(err)
	}
	program, failed := compile(in.order.Code, names)
	if failed != nil {
		return nil, failed
	}
	made, err := in.vm.RunProgram(program)
	if err != nil {
		return nil, in.failure(err)
	}
	call, _ := sobek.AssertFunction(made)
	returned, err := call(sobek.Undefined(), args...)
	if err != nil {
		return nil, in.failure(err)
	}
	settled, failed := in.awaitPromise(returned)
	if failed != nil {
		return nil, failed
	}
	return in.json(settled)
}

// arguments returns the variables of the code and their names: each argument, undefined ones
// too, and args, which is all of them together unless an argument has that name.
func (in *interpreter) arguments() (all []sobek.Value, names []string, err error) {
	args, err := in.parse(sobek.Undefined(), in.vm.ToValue(string(in.order.Arguments)))
	if err != nil {
		return nil, nil, err
	}
	object := args.ToObject(in.vm)
	for _, name := range in.order.Undefined {
		if err := object.Set(name, sobek.Undefined()); err != nil {
			return nil, nil, err
		}
	}
	names = variables(object.Keys())
	for _, name := range names {
		all = append(all, object.Get(name))
	}
	if !slices.Contains(names, allArguments) {
		all, names = append(all, args), append(names, allArguments)
	}
	return all, names, nil
}

// awaitPromise returns the value of a promise, or v itself when it is none. Jobs of
// promises have all run when a call returns, and nothing else will ever settle
// one.
func (in *interpreter) awaitPromise(v sobek.Value) (sobek.Value, *failure) {
	if v.ExportType() != reflect.TypeFor[*sobek.Promise]() {
		return v, nil
	}
	promise, ok := v.Export().(*sobek.Promise)
	if !ok {
		return v, nil
	}
	switch promise.State() {
	case sobek.PromiseStateFulfilled:
		return promise.Result(), nil
	case sobek.PromiseStateRejected:
		return nil, in.thrownFailure(promise.Result(), "")
	}
	return nil, &failure{Reason: reasonException, Message: "the promise that was returned never settles: there are no timers"}
}

func (in *interpreter) json(v sobek.Value) ([]byte, *failure) {
	text, err := in.stringify(sobek.Undefined(), v)
	if err != nil {
		return nil, in.failure(err)
	}
	if sobek.IsUndefined(text) {
		return nil, nil
	}
	result := text.String()
	if len(result) > in.order.MaxOutput {
		return nil, outputFailure(in.order.MaxOutput)
	}
	if _, err := value.ParseJSON(result); err != nil {
		return nil, &failure{Reason: reasonOutput, Message: "the result cannot be kept: " + err.Error()}
	}
	return []byte(result), nil
}

func outputFailure(most int) *failure {
	return &failure{Reason: reasonOutput, Message: fmt.Sprintf("the result is larger than %d bytes", most)}
}

// failure says what ended the code.
func (in *interpreter) failure(err error) *failure {
	if cut, ok := errors.AsType[*sobek.InterruptedError](err); ok {
		if f, ok := cut.Value().(*failure); ok {
			return f
		}
	}
	if _, ok := errors.AsType[*sobek.StackOverflowError](err); ok {
		return &failure{Reason: reasonException, Message: fmt.Sprintf("RangeError: functions call each other more than %d deep", maxCalls)}
	}
	exception, ok := errors.AsType[*sobek.Exception](err)
	if !ok {
		return &failure{Reason: reasonException, Message: truncate(err.Error())}
	}
	stack := ""
	for _, frame := range exception.Stack() {
		if frame.SrcName() == sourceName {
			at := frame.Position()
			stack = fmt.Sprintf("%s:%d:%d", sourceName, at.Line, at.Column)
			break
		}
	}
	return in.thrownFailure(exception.Value(), stack)
}

var position = regexp.MustCompile(`\b` + sourceName + `:(\d+):(\d+)`)

// thrownFailure describes what was thrown. Without a stack it looks for that of an
// error.
func (in *interpreter) thrownFailure(v sobek.Value, stack string) *failure {
	f := &failure{Reason: reasonException, Message: "exception"}
	if broken := in.vm.Try(func() {
		f.Message = truncate(in.text(v))
		if object, ok := v.(*sobek.Object); ok && stack == "" {
			if text := object.Get("stack"); text != nil {
				stack = text.String()
			}
		}
	}); broken != nil {
		f.Message = "what was thrown has no text"
	}
	if at := position.FindStringSubmatch(stack); at != nil {
		line, _ := strconv.Atoi(at[1])
		column, _ := strconv.Atoi(at[2])
		f.locate(line, column)
	}
	return f
}

// text is a value as the console writes it: objects as JSON, errors as their
// message.
func (in *interpreter) text(v sobek.Value) string {
	object, ok := v.(*sobek.Object)
	if !ok || object.ClassName() == "Error" {
		return v.String()
	}
	if _, callable := sobek.AssertFunction(v); !callable {
		if text, err := in.stringify(sobek.Undefined(), v); err == nil && !sobek.IsUndefined(text) {
			return text.String()
		}
	}
	return v.String()
}

func truncate(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + cutMark
}

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
