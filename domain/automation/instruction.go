package automation

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// Instruction is one step of an automation.
type Instruction struct {
	Path    string // where it stands, such as do[3].checkRepeat.do[0].fetch
	Name    string // a built-in instruction, or the slug of an automation
	Builtin bool
	// Params are the parameters that are evaluated before it runs: an object
	// without those below, or one template that yields it. Nil when there are
	// none.
	Params *expr.Tree
	Target *expr.Target // name of set and delete
	Output *expr.Target // where the result goes; nil: nowhere
	// BadOutput says that output is no string: the result goes nowhere and an
	// error event says so.
	BadOutput bool

	Branches []Branch       // of conditions, in their order
	Default  []*Instruction // of conditions
	Until    *expr.Tree     // of repeat, evaluated before each iteration
	// Autocomplete is the help of an emit for editors, as written; nil for none.
	Autocomplete any
	// Do holds the instructions of repeat, try and all.
	Do, Catch, Finally []*Instruction

	// Fault is raised instead of running it.
	Fault *Fault
}

// Branch is a condition and what it leads to.
type Branch struct {
	Condition *expr.Condition // nil when Fault is set
	Do        []*Instruction
	Fault     *Fault
}

// place is the position of an instruction.
type place struct {
	depth int
	loop  bool // inside a repeat of this document
}

// body reads a list of instructions. Null is empty; empty items are skipped.
func (c *checker) body(v any, path string, at place) []*Instruction {
	at.depth++
	list, ok := v.([]any)
	if !ok {
		if !value.IsNothing(v) && path != "do" {
			f := c.fault(InvalidInstruction, path, "expected a list of instructions, got %s", value.TypeName(v))
			return []*Instruction{{Path: path, Fault: f}}
		}
		return nil
	}
	var all []*Instruction
	for i, item := range list {
		if o, ok := item.(*value.Object); item == nil || ok && o.Len() == 0 {
			continue
		}
		if at.depth > MaxNesting {
			f := c.fault(InvalidInstruction, path, "instructions are nested more than %d deep", MaxNesting)
			return []*Instruction{{Path: path, Fault: f}}
		}
		all = append(all, c.instruction(item, fmt.Sprintf("%s[%d]", path, i), at))
	}
	return all
}

// instruction reads an object of one key. Of several the first counts: imports
// bring them.
func (c *checker) instruction(v any, path string, at place) *Instruction {
	o, ok := v.(*value.Object)
	if !ok {
		return &Instruction{Path: path, Fault: c.fault(InvalidInstruction, path, "an instruction is an object, not %s", value.TypeName(v))}
	}
	if o.Len() > 1 {
		c.fault("", path, "an instruction has one key, not %d: %s", o.Len(), strings.Join(o.Keys(), ", "))
	}
	name := o.Keys()[0]
	in := &Instruction{Path: expr.Member(path, name), Name: name}
	params := o.At(name)
	row, ok := builtin[name]
	in.Builtin = ok
	switch {
	case params == nil:
		in.Fault = c.fault(InvalidInstruction, in.Path, "expected parameters; write {} if there are none")
	case !ok:
		c.call(in, params)
	default:
		c.builtin(in, row, params, at)
	}
	return in
}

// call reads the arguments of an automation.
func (c *checker) call(in *Instruction, params any) {
	for known := range builtin {
		if strings.EqualFold(known, in.Name) {
			c.warn("", in.Path, "this calls an automation; the instruction is written %s", known)
		}
	}
	o, ok := params.(*value.Object)
	switch {
	case ok:
		c.output(in, o)
	case !isDynamic(params):
		in.Fault = c.fault(InvalidInstruction, in.Path, "arguments are an object, not %s", value.TypeName(params))
	}
	c.params(in, params, nil)
}

func (c *checker) builtin(in *Instruction, row *instruction, params any, at place) {
	if in.Name == "comment" {
		if _, ok := params.(string); !ok {
			in.Fault = c.fault(InvalidInstruction, in.Path, "a comment is a string")
		}
		return
	}
	if isDynamic(params) && !row.nested {
		c.params(in, params, nil)
		return
	}
	if !isOneOf(row.form, params) {
		in.Fault = c.fault(InvalidInstruction, in.Path, "expected %s, got %s", strings.Join(row.form.Names(), " or "), value.TypeName(params))
		return
	}
	o, _ := params.(*value.Object)
	switch in.Name {
	case "all":
		in.Do = c.body(params, in.Path, at)
		return
	case "conditions":
		c.conditions(in, o, at)
		return
	}
	in.Fault = c.checkMembers(row.params, o, in.Path, true)
	c.checkSpecial(in, o, at)
	c.nested(in, o, at)
	if row.results {
		c.output(in, o)
	}
	c.params(in, o, row.params)
}

// params reads what is evaluated before the instruction runs. A parameter that a built-in
// instruction does not know is left out; fields are nil for a call, whose arguments are the
// author's.
func (c *checker) params(in *Instruction, v any, fields []field) {
	report := func(path string, err error) { in.Fault = firstFault(in.Fault, c.template(path, err)) }
	o, ok := v.(*value.Object)
	if !ok {
		in.Params = expr.ParseTree(v, in.Path, report)
		return
	}
	kept := &value.Object{}
	for _, key := range o.Keys() {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		if i >= 0 && fields[i].role == plain || fields == nil && key != "output" {
			kept.Set(key, o.At(key))
		}
	}
	in.Params = expr.ParseTree(kept, in.Path, report)
}

// output reads where a result goes.
func (c *checker) output(in *Instruction, o *value.Object) {
	v, ok := o.Get("output")
	if !ok || v == nil {
		return
	}
	path := expr.Member(in.Path, "output")
	s, ok := v.(string)
	if !ok {
		in.BadOutput = true
		c.warn(InvalidOutput, path, "expected the path of a variable, got %s: the result goes nowhere", value.TypeName(v))
		return
	}
	out, err := expr.ParseTarget(s, false)
	if err != nil {
		in.Fault = firstFault(in.Fault, c.template(path, err))
		return
	}
	in.Output = out
}

// conditions reads the branches. Their keys are expressions.
func (c *checker) conditions(in *Instruction, o *value.Object, at place) {
	for _, key := range o.Keys() {
		path := expr.Member(in.Path, key)
		do := c.body(o.At(key), path, at)
		if key == "default" {
			in.Default = do
			continue
		}
		b := Branch{Do: do}
		cond, err := expr.ParseCondition(key)
		if err != nil {
			b.Fault = c.template(path, err)
		}
		b.Condition = cond
		in.Branches = append(in.Branches, b)
	}
}

// nested reads the instructions of repeat and try.
func (c *checker) nested(in *Instruction, o *value.Object, at place) {
	if in.Name != "repeat" && in.Name != "try" {
		return
	}
	at.loop = at.loop || in.Name == "repeat"
	in.Do = c.body(o.At("do"), expr.Member(in.Path, "do"), at)
	if in.Name == "try" {
		in.Catch = c.body(o.At("catch"), expr.Member(in.Path, "catch"), at)
		in.Finally = c.body(o.At("finally"), expr.Member(in.Path, "finally"), at)
	}
}

// checkSpecial checks what the table cannot say, and reads the parameters that are
// not evaluated with the others.
func (c *checker) checkSpecial(in *Instruction, o *value.Object, at place) {
	switch in.Name {
	case "set", "delete":
		c.checkTarget(in, o)
	case "repeat":
		c.checkRepeat(in, o)
	case "break":
		if o.At("scope") == "repeat" && !at.loop {
			in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, expr.Member(in.Path, "scope"), "there is no repeat around this break"))
		}
	case "emit":
		in.Autocomplete, _ = o.Get("autocomplete")
		if v, ok := o.Get("payload"); ok && !isOneOf(object|null, v) && !isDynamic(v) {
			c.warn(InvalidEvent, expr.Member(in.Path, "payload"), "a payload is an object: an error event takes the place of this one")
		}
	case "wait":
		if n, ok := o.At("timeout").(float64); ok && n > c.MaxWait.Seconds() {
			in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, expr.Member(in.Path, "timeout"), "at most %d seconds", int(c.MaxWait.Seconds())))
		}
	case "run":
		c.checkModule(in, o)
	}
}

// readOnly are the variables that automations cannot write; what ends in * is
// a whole context.
var readOnly = map[string][]string{
	"secret": {"*"}, "$workspace": {"*"},
	"run": {
		"depth", "correlationId", "executionId", "attempt", "socketId", "automationSlug", "date", "trigger", "ip", "sourceWorkspaceId",
		"authenticatedWorkspaceId", "permissions", "scopes", "appSlug", "appInstanceSlug", "appInstanceFullSlug", "parentAppSlug",
	},
	"user":   {"email", "authData", "role"},
	"global": {"workspaceId", "workspaceName", "apiUrl", "studioUrl", "pagesUrl", "pagesHost", "endpoints", "workspacesRegistry"},
}

// ReadOnly reports whether a variable is one that automations cannot write.
func ReadOnly(keys []expr.Step) bool {
	if len(keys) == 0 {
		return false
	}
	keysOf := readOnly[keys[0].Key]
	return slices.Contains(keysOf, "*") || len(keys) > 1 && slices.Contains(keysOf, keys[1].Key)
}

func (c *checker) checkTarget(in *Instruction, o *value.Object) {
	v, ok := o.Get("name")
	if !ok || v == nil {
		return // reported as required
	}
	path := expr.Member(in.Path, "name")
	s, ok := v.(string)
	if !ok {
		in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, path, "expected the path of a variable, got %s", value.TypeName(v)))
		return
	}
	t, err := expr.ParseTarget(s, in.Name == "set")
	if err != nil {
		in.Fault = firstFault(in.Fault, c.template(path, err))
		return
	}
	in.Target = t
	if keys, static := t.Static(); static && ReadOnly(keys) {
		c.warn(InvalidInstruction, path, "%s cannot be written", s)
	}
}

func (c *checker) checkRepeat(in *Instruction, o *value.Object) {
	on, hasOn := o.Get("on")
	until, hasUntil := o.Get("until")
	if !hasOn && (!hasUntil || until == nil) {
		in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, in.Path, "on or until is required"))
	}
	if s, ok := on.(string); ok && s != "" && !isDynamic(s) {
		in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, expr.Member(in.Path, "on"), "only a list, an object or a template can be gone through"))
	}
	if hasUntil && until != nil {
		in.Until = expr.ParseTree(until, expr.Member(in.Path, "until"), func(path string, err error) {
			in.Fault = firstFault(in.Fault, c.template(path, err))
		})
	}
}

func (c *checker) checkModule(in *Instruction, o *value.Object) {
	name, function := o.At("module"), o.At("function")
	if isDynamic(name) || isDynamic(function) {
		return
	}
	if textOf(name) == "" || textOf(function) == "" && modules[textOf(name)] != nil {
		return // reported as required
	}
	if err := checkFunction(in.Path, textOf(name), textOf(function)); err != nil {
		c.fault(err.Name, textOf(err.Details.At("field")), "%s", err.Message) // raised by CheckParams, which tells more
	}
}

// CheckParams checks the evaluated parameters of a built-in instruction with the table
// that checks saved documents. Path is that of the instruction. Parameters that are not
// evaluated before it runs (paths of variables, instructions) are not checked.
func CheckParams(path, name string, params *value.Object) *Error {
	fields, ok := evaluated[name]
	if !ok {
		return nil
	}
	c := &checker{Rules: Rules{}.withDefaults(), running: true}
	if f := c.checkMembers(fields, params, path, false); f != nil {
		return f.Raised()
	}
	if name == "run" {
		return checkFunction(path, textOf(params.At("module")), textOf(params.At("function")))
	}
	return nil
}

// evaluated are the parameters of each instruction as they are asked for when it
// runs. What may be anything may also come out as nothing: a set that unsets.
var evaluated = func() map[string][]field {
	all := map[string][]field{}
	for name, row := range builtin {
		fields := slices.Clone(row.params)
		for i := range fields {
			fields[i].must = fields[i].must && fields[i].role == plain && fields[i].is != anything
		}
		all[name] = fields
	}
	return all
}()

// checkFunction refuses a function that no module has.
func checkFunction(path, module, function string) *Error {
	known, ok := modules[module]
	switch {
	case !ok:
		raised := notFoundError("Module %s not found", "module", module, moduleNames())
		raised.Details.Set("field", expr.Member(path, "module"))
		return raised
	case !slices.Contains(known, function):
		raised := notFoundError("Module "+module+" has no function %s", "function", function, slices.Values(known))
		raised.Details.Set("module", module)
		raised.Details.Set("field", expr.Member(path, "function"))
		return raised
	}
	return nil
}

// moduleNames are the names of modules, in order.
func moduleNames() iter.Seq[string] { return slices.Values(slices.Sorted(maps.Keys(modules))) }

// InstructionNames returns the names of the built-in instructions, in order.
func InstructionNames() []string { return instructionNames }

var instructionNames = slices.Sorted(maps.Keys(builtin))
