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
func (h *House) addFunctions(p *Place) {
	if p.Parent == nil {
		return
	}
	for _, functions := range []any{value.At(p.install.config, "functions"), value.Walk(p.edition.index, "config", "value", "functions")} {
		declared, _ := functions.(*value.Object)
		for _, name := range declared.Keys() {
			function, ok := declared.At(name).(*value.Object)
			if !ok || p.programs[name] != nil || !document.Automation.HasSlug(name) {
				continue
			}
			if h.programs++; h.programs > h.library.maxPrograms {
				h.Cut = true
				return
			}
			if c := h.library.callOf(name, function); c.Automation != nil {
				p.programs[name] = newProgram(p, name, p.prefix()+name, c, refOf(p, name, content.Ref{}))
			}
		}
	}
}

// callOf is the automation that calls a function with all that it is called with: the
// parameters that a function declares make a form, and are not enforced.
func (l *Library) callOf(name string, function *value.Object) *compiled {
	parameters, _ := function.At("parameters").(*value.Object)
	fields := &value.Object{}
	for _, key := range parameters.Keys() {
		if field, ok := parameters.At(key).(*value.Object); ok {
			fields.Set(key, field)
		}
	}
	call := value.NewObject("module", "code", "function", "call", "output", "result", "parameters", value.NewObject("name", name, "input", true))
	made, doc := value.NewObject("slug", name, "name", name, "arguments", fields, "do", []any{value.NewObject("run", call)}, "output", "{{result}}"), document.MapOf()
	c := &compiled{}
	if doc.UnmarshalJSON([]byte(value.JSON(made, ""))) != nil {
		return c
	}
	if c.Automation, _ = automation.Parse(doc, l.rules()); c.Automation != nil {
		c.shape = input.Compile(c.Automation)
	}
	return c
}
