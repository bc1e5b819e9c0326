package programs

import (
	"svc/commands/content"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/automation/value"
	"svc/domain/document"
)

// addFunctions makes an automation of each function in the config of an app instance: what
// code.call calls is called by its own name, too. Automations of the app come first. Of a
// config that is a template nothing is known here.
func (set *ProgramSet) addFunctions(p *Scope) {
	if p.Parent == nil {
		return
	}
	for _, functions := range []any{value.At(p.install.config, "functions"), value.Walk(p.compiled.index, "config", "value", "functions")} {
		declared, _ := functions.(*value.Object)
		for _, name := range declared.Keys() {
			function, ok := declared.At(name).(*value.Object)
			if !ok || p.programs[name] != nil || !document.Automation.HasSlug(name) {
				continue
			}
			if set.programCount++; set.programCount > set.library.maxPrograms {
				set.Truncated = true
				return
			}
			if c := set.library.newFunctionAutomation(name, function); c.Automation != nil {
				p.programs[name] = newProgram(p, name, p.namePrefix()+name, c, encodeRef(p, name, content.Ref{}))
			}
		}
	}
}

// newFunctionAutomation is the automation that calls a function with all that it is called with: the
// parameters that a function declares make a form, and are not enforced.
func (l *Library) newFunctionAutomation(name string, function *value.Object) *compiledDocument {
	parameters, _ := function.At("parameters").(*value.Object)
	fields := &value.Object{}
	for _, key := range parameters.Keys() {
		if field, ok := parameters.At(key).(*value.Object); ok {
			fields.Set(key, field)
		}
	}
	call := value.NewObject("module", "code", "function", "call", "output", "result", "parameters", value.NewObject("name", name, "input", true))
	made, doc := value.NewObject("slug", name, "name", name, "arguments", fields, "do", []any{value.NewObject("run", call)}, "output", "{{result}}"), document.MapOf()
	c := &compiledDocument{}
	if doc.UnmarshalJSON([]byte(value.JSON(made, ""))) != nil {
		return c
	}
	if c.Automation, _ = automation.Parse(doc, l.rules()); c.Automation != nil {
		c.shape = input.Compile(c.Automation)
	}
	return c
}
