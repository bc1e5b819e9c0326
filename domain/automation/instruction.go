package automation

import (
	"fmt"
	"slices"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/value"
)

// Instruction is one step of an automation.
type Instruction struct {
	Path    string // such as do[3].repeat.do[0].fetch
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

	row *instruction // nil for a call
}

// list is where the instructions of a parameter go.
func (in *Instruction) list(param string) *[]*Instruction {
	switch param {
	case "catch":
		return &in.Catch
	case "finally":
		return &in.Finally
	}
	return &in.Do
}

// Branch is a condition and what it leads to.
type Branch struct {
	Condition *expr.Condition // nil when Fault is set
	Do        []*Instruction
	Fault     *Fault
}

// instructionContext is the position of an instruction.
type instructionContext struct {
	depth int
	loop  bool // inside a repeat of this document
}

// body reads a list of instructions. Null is empty; empty items are skipped.
func (c *checker) body(v any, path string, at instructionContext) []*Instruction {
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
func (c *checker) instruction(v any, path string, at instructionContext) *Instruction {
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
	in.row, in.Builtin = row, ok
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

func (c *checker) builtin(in *Instruction, row *instruction, params any, at instructionContext) {
	if row.form == text {
		if _, ok := params.(string); !ok {
			in.Fault = c.fault(InvalidInstruction, in.Path, "a comment is a string")
		}
		return
	}
	if isDynamic(params) && row.holds == nowhere {
		c.params(in, params, nil)
		return
	}
	if !isOneOf(row.form, params) {
		in.Fault = c.fault(InvalidInstruction, in.Path, "expected %s, got %s", strings.Join(row.form.Names(), " or "), value.TypeName(params))
		return
	}
	o, _ := params.(*value.Object)
	switch row.holds {
	case inList:
		in.Do = c.body(params, in.Path, at)
		return
	case inBranches:
		c.branches(in, o, at)
		return
	}
	in.Fault = c.checkMembers(row.params, o, in.Path, true)
	if row.parse != nil {
		row.parse(c, in, o, at)
	}
	at.loop = at.loop || row.loops
	for _, f := range row.params {
		if f.role == body {
			*in.list(f.name) = c.body(o.At(f.name), expr.Member(in.Path, f.name), at)
		}
	}
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
	valid := &value.Object{}
	for _, key := range o.Keys() {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		if i >= 0 && fields[i].role == plain || fields == nil && key != "output" {
			valid.Set(key, o.At(key))
		}
	}
	in.Params = expr.ParseTree(valid, in.Path, report)
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

// branches reads those of conditions. Their keys are expressions.
func (c *checker) branches(in *Instruction, o *value.Object, at instructionContext) {
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

// CheckParams checks the evaluated parameters of the instruction, unless they were checked
// when the document was saved.
func (in *Instruction) CheckParams(params *value.Object) *Error {
	if in.row == nil || in.Params.Static() && in.row.check == nil {
		return nil
	}
	return CheckParams(in.Path, in.Name, params)
}

// CheckParams checks the evaluated parameters of a built-in instruction with the table
// that checks saved documents. Path is that of the instruction. Parameters that are not
// evaluated before it runs (paths of variables, instructions) are not checked.
func CheckParams(path, name string, params *value.Object) *Error {
	row, ok := builtin[name]
	if !ok {
		return nil
	}
	c := &checker{Rules: Rules{}.withDefaults(), running: true}
	if f := c.checkMembers(row.evaluated, params, path, false); f != nil {
		return f.Raised()
	}
	if row.check == nil {
		return nil
	}
	return row.check(path, params)
}
