package automation

import (
	"slices"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// special checks what the table cannot say, and reads the parameters that are
// not evaluated with the others.
func (c *checker) special(in *Instruction, o *value.Object, at place) {
	switch in.Name {
	case "set", "delete":
		c.target(in, o)
	case "repeat":
		c.repeat(in, o)
	case "break":
		if o.At("scope") == "repeat" && !at.loop {
			in.Fault = or(in.Fault, c.fault(InvalidInstruction, expr.Member(in.Path, "scope"), "there is no repeat around this break"))
		}
	case "emit":
		in.Autocomplete, _ = o.Get("autocomplete")
		if v, ok := o.Get("payload"); ok && !has(object|null, v) && !dynamic(v) {
			c.warn(InvalidEvent, expr.Member(in.Path, "payload"), "a payload is an object: an error event takes the place of this one")
		}
	case "wait":
		if n, ok := o.At("timeout").(float64); ok && n > c.MaxWait.Seconds() {
			in.Fault = or(in.Fault, c.fault(InvalidInstruction, expr.Member(in.Path, "timeout"), "at most %d seconds", int(c.MaxWait.Seconds())))
		}
	case "run":
		c.module(in, o)
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

func (c *checker) target(in *Instruction, o *value.Object) {
	v, ok := o.Get("name")
	if !ok || v == nil {
		return // reported as required
	}
	path := expr.Member(in.Path, "name")
	s, ok := v.(string)
	if !ok {
		in.Fault = or(in.Fault, c.fault(InvalidInstruction, path, "expected the path of a variable, got %s", value.Kind(v)))
		return
	}
	t, err := expr.ParseTarget(s, in.Name == "set")
	if err != nil {
		in.Fault = or(in.Fault, c.template(path, err))
		return
	}
	in.Target = t
	if keys, static := t.Static(); static && ReadOnly(keys) {
		c.warn(InvalidInstruction, path, "%s cannot be written", s)
	}
}

func (c *checker) repeat(in *Instruction, o *value.Object) {
	on, hasOn := o.Get("on")
	until, hasUntil := o.Get("until")
	if !hasOn && (!hasUntil || until == nil) {
		in.Fault = or(in.Fault, c.fault(InvalidInstruction, in.Path, "on or until is required"))
	}
	if s, ok := on.(string); ok && s != "" && !dynamic(s) {
		in.Fault = or(in.Fault, c.fault(InvalidInstruction, expr.Member(in.Path, "on"), "only a list, an object or a template can be gone through"))
	}
	if hasUntil && until != nil {
		in.Until = expr.ParseTree(until, expr.Member(in.Path, "until"), func(path string, err error) {
			in.Fault = or(in.Fault, c.template(path, err))
		})
	}
}

func (c *checker) module(in *Instruction, o *value.Object) {
	name, function := o.At("module"), o.At("function")
	if dynamic(name) || dynamic(function) {
		return
	}
	if textOf(name) == "" || textOf(function) == "" && modules[textOf(name)] != nil {
		return // reported as required
	}
	if err := checkFunction(in.Path, textOf(name), textOf(function)); err != nil {
		c.fault(err.Name, textOf(err.Details.At("field")), "%s", err.Message) // raised by CheckParams, which tells more
	}
}
