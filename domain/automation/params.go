package automation

import (
	"iter"
	"maps"
	"slices"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// CheckParams checks the parameters of a built-in instruction as they are when it
// runs, by the table that checks saved documents. Path is that of the
// instruction. The parameters that are not evaluated before it runs (paths of
// variables, instructions) are not looked at.
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
		raised := missing("Module %s not found", "module", module, moduleNames())
		raised.Details.Set("field", expr.Member(path, "module"))
		return raised
	case !slices.Contains(known, function):
		raised := missing("Module "+module+" has no function %s", "function", function, slices.Values(known))
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
