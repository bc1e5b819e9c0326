package automation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// Automation is a document, parsed. What had a fault is empty, or an
// instruction that raises it.
type Automation struct {
	Slug              string // "" when the document has none
	Name, Description any    // a string, or an object by locale; Undefined when absent
	Do                []*Instruction
	Output            *expr.Tree // nil when absent: {}
	OutputFault       *Fault     // is raised in place of the output; nil: none
	When              Triggers
	Arguments         *value.Object // typed fields by name; nil when absent
	Schemas           []Schema
	ValidateArguments bool
	Private, Disabled bool
	Action            string // of authorizations
	Labels            []string
}

// Schema is a branch of the schemas of a document.
type Schema struct {
	Conditions      *value.Object // nil: always
	Payload, Output *value.Object // nil when absent
}

// jsonPerByte is how many bytes of JSON there are at most for each one that value.FitsWithin counts: of a number it counts one.
const jsonPerByte = 32

// Parse reads a document: a *value.Object, or any map that value.From takes. The Automation
// shares the values of the document, which must not be changed after that. Only a document
// that is no object has no Automation.
func Parse(doc any, rules Rules) (*Automation, []Fault) {
	c := &checker{Rules: rules.withDefaults()}
	o, ok := doc.(*value.Object)
	if !ok {
		o, ok = value.From(doc).(*value.Object)
	}
	if !ok {
		c.formFault(false, domain.CodeInvalidRequest, "", "", "an automation is an object")
		return nil, c.faults
	}
	if !value.FitsWithin(o, MaxSize/jsonPerByte) && len(value.JSON(o, "")) > MaxSize {
		c.fault("", "", "an automation has at most %d bytes", MaxSize)
		return nil, c.faults
	}
	c.document(o)
	for i := range c.faults {
		if c.faults[i].Name == InvalidInstruction {
			c.faults[i].Name = "" // no instruction is reached because of it
		}
	}
	a := &Automation{
		Slug: textOf(o.At("slug")), Name: o.At("name"), Description: o.At("description"),
		Labels: stringsOf(o.At("labels")), Action: textOf(value.At(o.At("authorizations"), "action")),
		ValidateArguments: o.At("validateArguments") == true, Private: o.At("private") == true, Disabled: o.At("disabled") == true,
	}
	a.Do = c.body(o.At("do"), "do", instructionContext{})
	if out, ok := o.Get("output"); ok {
		a.Output = expr.ParseTree(out, "output", func(path string, err error) { a.OutputFault = cmp.Or(a.OutputFault, c.template(path, err)) })
	}
	a.When = c.when(o.At("when"), a.Slug)
	a.Arguments = c.arguments(o.At("arguments"))
	a.Schemas = c.schemas(o.At("schemas"))
	return a, c.faults
}

// documentFields is the table of a document, in the order of the contract.
var documentFields = []field{
	{name: "slug", is: text, doc: "Its name in addresses and calls."},
	{name: "name", is: text | object, must: true, each: &field{is: text}, rule: titleRule, doc: "Its title, by locale; folder/sub/Label groups it in folders."},
	{name: "description", is: text | object, each: &field{is: text}, doc: "What it is for, by locale."},
	{name: "do", is: list | null, must: true, role: body, doc: "Instructions."},
	{name: "output", is: anything, role: later, doc: "What it returns."},
	{name: "when", is: object, doc: "What starts it besides calls.", of: []field{
		{name: "events", is: list, each: &field{is: text, rule: eventPatternRule}, doc: "Types of events; the last part may be *."},
		{name: "endpoint", is: boolean | text, rule: endpointRule, doc: "true: its slug; or a path with :parameters."},
		{name: "schedules", is: list, each: &field{is: text, rule: scheduleRule, raises: InvalidSchedule}, doc: "Cron, five fields."},
	}},
	{name: "arguments", is: object, doc: "Typed fields of its input, by name."},
	{name: "schemas", is: list, doc: "Schemas of its input and output, the first whose conditions match counts.", each: &field{is: object, of: []field{
		{name: "conditions", is: object, doc: "Paths of the input and their values."},
		{name: "payload", is: object, doc: "Schema of the input."},
		{name: "output", is: object, doc: "Schema of the output; never enforced."},
	}}},
	{name: "validateArguments", is: boolean, otherwise: true, doc: "Check the input before anything runs."},
	{name: "private", is: boolean, otherwise: false, doc: "Callable from its workspace or app only."},
	{name: "disabled", is: boolean, otherwise: false, doc: "Nothing starts it."},
	{name: "authorizations", is: object, doc: "Who may execute it.", of: []field{
		{name: "action", is: text, doc: "The action that rules name."},
	}},
	{name: "labels", is: list, each: &field{is: text, match: `^[0-9A-Za-z._:-]{2,60}$`, expectation: "label (2 to 60 letters, digits and ._:-)"}, doc: "Labels."},
	{name: "events", is: anything, computed: true, doc: "Events it emits and listens to."},
	{name: "createdAt", is: anything, computed: true},
	{name: "updatedAt", is: anything, computed: true},
	{name: "createdBy", is: anything, computed: true},
	{name: "updatedBy", is: anything, computed: true},
	{name: "checksum", is: anything, computed: true},
}

// titleRule is the rule of name: some title is there.
func titleRule(v any) string {
	o, ok := v.(*value.Object)
	if v == "" || ok && o.Len() == 0 {
		return "expected a name"
	}
	return ""
}

// document checks the fields of a document, all but those that are read by
// others.
func (c *checker) document(o *value.Object) {
	for _, key := range o.Keys() {
		i := slices.IndexFunc(documentFields, func(f field) bool { return f.name == key })
		if i < 0 {
			c.formFault(false, domain.CodeInvalidRequest, "", expr.Member("", key), "unknown field%s", c.didYouMean(key, documentFields))
			continue
		}
		f, v := documentFields[i], o.At(key)
		if f.computed || v == nil && f.is&null == 0 && !f.must {
			continue
		}
		c.check(f, v, key, false)
	}
	for _, f := range documentFields {
		if _, ok := o.Get(f.name); f.must && !ok {
			c.formFault(false, domain.CodeMissingParameter, "", f.name, "is required")
		}
	}
	if slug, ok := o.At("slug").(string); ok {
		if why := SlugProblem(slug, c.Rules); why != "" {
			c.fault("", "slug", "%s", why)
		}
	}
}

// SlugProblem says what is wrong with a slug, "" when nothing is.
func SlugProblem(slug string, rules Rules) string {
	switch {
	case utf8.RuneCountInString(slug) > MaxSlug:
		return fmt.Sprintf("a slug has at most %d characters", MaxSlug)
	case !rules.withDefaults().Slug.MatchString(slug):
		return "a slug has letters, digits, spaces, _, - and / only"
	case strings.HasPrefix(slug, "/") || strings.HasSuffix(slug, "/") || strings.Contains(slug, "//"):
		return "a slug has no / at its ends and no two in a row"
	}
	return ""
}

// Walk calls visit for every instruction, in the order of the document.
func (a *Automation) Walk(visit func(*Instruction)) { walk(a.Do, visit) }

func walk(list []*Instruction, visit func(*Instruction)) {
	for _, in := range list {
		visit(in)
		for _, b := range in.Branches {
			walk(b.Do, visit)
		}
		walk(in.Default, visit)
		walk(in.Do, visit)
		walk(in.Catch, visit)
		walk(in.Finally, visit)
	}
}

// template reports a fault of an expression or a path.
func (c *checker) template(path string, err error) *Fault {
	fault, ok := err.(*expr.Error) //nolint:errorlint // made by the parser, never wrapped
	if !ok {
		return c.fault(InvalidExpression, path, "%s", err.Error())
	}
	f := c.fault(fault.Name, path, "%s (at character %d)", fault.Message, fault.Offset+1)
	f.Offset, f.cause = fault.Offset, fault
	c.faults[len(c.faults)-1].Offset = fault.Offset
	return f
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

func stringsOf(v any) []string {
	var all []string
	for _, item := range listOf(v) {
		if s, ok := item.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// LocalName returns a name of the workspace, of an event, an automation or an endpoint, as
// the automations of an app instance call it. What is not of the instance, and events of the
// platform, have the same name everywhere.
func LocalName(instance, name string) string {
	if instance == "" || Native(name) {
		return name
	}
	local, _ := strings.CutPrefix(name, instance+".")
	return local
}

// executedEvent is recorded when an execution ends.
const executedEvent = "runtime.automations.executed"

// LocalEvent returns an event as the automations of an app instance see it: it has the name
// that it has in the workspace they were written in. The event itself stays as it is.
func LocalEvent(instance string, event any) any {
	o, ok := event.(*value.Object)
	name, named := o.At("type").(string)
	if instance == "" || !ok || !named {
		return event
	}
	if name == executedEvent {
		local := withLocalMember(o, "payload", func(payload *value.Object) *value.Object {
			return withLocalMember(withLocalText(payload, instance, "slug"), "trigger", func(trigger *value.Object) *value.Object {
				return withLocalText(trigger, instance, "value")
			})
		})
		return local
	}
	return withLocalText(o, instance, "type")
}

// withLocalText returns an object with the local name in the place of one of its texts.
func withLocalText(o *value.Object, instance, key string) *value.Object {
	name, ok := o.At(key).(string)
	if !ok || LocalName(instance, name) == name {
		return o
	}
	local := o.Copy()
	local.Set(key, LocalName(instance, name))
	return local
}

// withLocalMember returns an object with one of its objects changed.
func withLocalMember(o *value.Object, key string, change func(*value.Object) *value.Object) *value.Object {
	member, ok := o.At(key).(*value.Object)
	if !ok {
		return o
	}
	changed := change(member)
	if changed == member {
		return o
	}
	local := o.Copy()
	local.Set(key, changed)
	return local
}
