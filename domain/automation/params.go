package automation

import (
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
	c := &checker{Rules: Rules{}.withDefaults()}
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
		return Raise(InvalidInstruction, "there is no module "+module, "field", expr.Member(path, "module"))
	case !slices.Contains(known, function):
		return Raise(InvalidInstruction, "module "+module+" has no function "+function, "field", expr.Member(path, "function"))
	}
	return nil
}
