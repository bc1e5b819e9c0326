package automation

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/automation/expr"
	"svc/domain/nearest"
	"svc/domain/value"
)

// Review is what one document says about itself and what it needs of others: what is
// wrong with it wherever it is, and the names that have to exist in its workspace.
type Review struct {
	Findings []Finding `json:"findings,omitempty"`
	// Calls are automations that it calls, Secrets those that it reads, Listens the types
	// of events, or patterns, that start it or that it waits for; each name once.
	Calls   []Reference `json:"calls,omitempty"`
	Secrets []Reference `json:"secrets,omitempty"`
	Listens []Reference `json:"listens,omitempty"`
	Bases   []Reference `json:"bases,omitempty"` // knowledge bases that it searches
	// Emits are the types of events that it emits. EmitsLike are what types begin with
	// that are computed when it runs; "": it may be any.
	Emits     []string `json:"emits,omitempty"`
	EmitsLike []string `json:"emitsLike,omitempty"`
}

// Finding is something wrong with a document.
type Finding struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	Warning bool   `json:"warning,omitempty"`
}

// Reference is a name that a document uses, and where it does so first.
type Reference struct {
	Name  string `json:"name"`
	Field string `json:"field"`
}

// Use is a place at which a document names an automation or an event.
type Use struct {
	Kind  UseKind
	Name  string // of an event that is listened to, perhaps a pattern
	Field string
	IsKey bool // the name is the last key of Field; else it is the value there
}

// UseKind says what a document does with a name.
type UseKind uint8

// The kinds of uses.
const (
	Call UseKind = iota + 1
	Emission
	Listening
)

// Encode adds the members of a review as encoding/json encodes them.
func (r *Review) Encode(o *domain.ObjectEncoder) {
	if len(r.Findings) > 0 {
		o.Each("findings", len(r.Findings), func(i int) {
			o.Text("field", r.Findings[i].Field)
			o.Text("message", r.Findings[i].Message)
			o.IfTrue("warning", r.Findings[i].Warning)
		})
	}
	encodeReferences(o, "calls", r.Calls)
	encodeReferences(o, "secrets", r.Secrets)
	encodeReferences(o, "listens", r.Listens)
	encodeReferences(o, "bases", r.Bases)
	o.TextsIfAny("emits", r.Emits)
	o.TextsIfAny("emitsLike", r.EmitsLike)
}

func encodeReferences(o *domain.ObjectEncoder, name string, list []Reference) {
	if len(list) > 0 {
		o.Each(name, len(list), func(i int) {
			o.Text("name", list[i].Name)
			o.Text("field", list[i].Field)
		})
	}
}

// DecodeMember sets a member of a review from what Encode encoded. Members that it does not know it leaves out.
func (r *Review) DecodeMember(key, value []byte) (err error) {
	switch string(key) {
	case "findings":
		return domain.VisitElements(value, func(element []byte) error {
			r.Findings = append(r.Findings, Finding{})
			return domain.VisitMembers(element, r.Findings[len(r.Findings)-1].decodeMember)
		})
	case "calls":
		return decodeReferences(&r.Calls, value)
	case "secrets":
		return decodeReferences(&r.Secrets, value)
	case "listens":
		return decodeReferences(&r.Listens, value)
	case "bases":
		return decodeReferences(&r.Bases, value)
	case "emits":
		r.Emits, err = domain.DecodeTexts(value)
	case "emitsLike":
		r.EmitsLike, err = domain.DecodeTexts(value)
	}
	return err
}

func (f *Finding) decodeMember(key, value []byte) error {
	switch string(key) {
	case "field":
		return domain.DecodeText(&f.Field, value)
	case "message":
		return domain.DecodeText(&f.Message, value)
	case "warning":
		return domain.DecodeBool(&f.Warning, value)
	}
	return nil
}

func decodeReferences(to *[]Reference, value []byte) error {
	return domain.VisitElements(value, func(element []byte) error {
		var r Reference
		err := domain.VisitMembers(element, func(key, value []byte) error {
			switch string(key) {
			case "name":
				return domain.DecodeText(&r.Name, value)
			case "field":
				return domain.DecodeText(&r.Field, value)
			}
			return nil
		})
		*to = append(*to, r)
		return err
	})
}

// maxNames is how many names of a sort a bounded review has.
const maxNames = 500

// Bounded returns a review that an event has room for.
func (r Review) Bounded() Review {
	for _, list := range []*[]Reference{&r.Calls, &r.Secrets, &r.Listens, &r.Bases} {
		*list = (*list)[:min(len(*list), maxNames)]
	}
	for _, list := range []*[]string{&r.Emits, &r.EmitsLike} {
		*list = (*list)[:min(len(*list), maxNames)]
	}
	return r
}

// maxFindings is how many findings of one document are listed.
const maxFindings = 100

// NewReview reviews an automation; faults are what is wrong with it as a document.
func NewReview(a *Automation, faults []Fault) Review {
	v := &reviewer{}
	for _, f := range faults {
		v.Findings = append(v.Findings, Finding{Field: f.Field, Message: f.Message, Warning: f.Warning})
	}
	if a == nil {
		return v.Review
	}
	v.collect(a)
	v.variables(a)
	v.Findings = v.Findings[:min(len(v.Findings), maxFindings)]
	return v.Review
}

// Uses returns every place at which an automation names another one or an event. Names that are computed when it
// runs are not known.
func (a *Automation) Uses() []Use {
	v := &reviewer{}
	if a != nil {
		v.collect(a)
	}
	return v.uses
}

// collect notes the names that an automation uses.
func (v *reviewer) collect(a *Automation) {
	v.set, v.read, v.tested = map[string]bool{}, map[string]string{}, map[string]bool{}
	a.Walk(v.instruction)
	a.Output.Reads("output", v.reads)
	for i, name := range a.When.Events {
		v.listens(name, "when.events["+strconv.Itoa(i)+"]")
	}
}

// reviewer collects a review.
type reviewer struct {
	Review
	uses             []Use
	set              map[string]bool   // roots that something sets
	read             map[string]string // roots that are read, and where first
	order            []string          // of read
	tested           map[string]bool   // roots that are read to see whether they are there
	setsComputedName bool              // a variable is set whose name is computed
}

func addReference(list []Reference, name, field string) []Reference {
	if name == "" || slices.ContainsFunc(list, func(r Reference) bool { return r.Name == name }) {
		return list
	}
	return append(list, Reference{name, field})
}

func addName(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

func (v *reviewer) instruction(in *Instruction) {
	if in.Name != "" && !in.Builtin {
		v.calls(Use{Name: in.Name, Field: in.Path, IsKey: true})
	}
	for _, t := range []*expr.Target{in.Target, in.Output} {
		if t == nil {
			continue
		}
		t.Reads(func(r expr.Read) { v.reads(in.Path, r) })
		if t == in.Target && in.row.removes {
			continue
		}
		root := t.Root()
		v.set[root] = true
		v.setsComputedName = v.setsComputedName || root == ""
	}
	in.Params.Reads(in.Path, v.reads)
	in.Until.Reads(expr.Member(in.Path, "until"), v.reads)
	for _, b := range in.Branches {
		b.Condition.Reads(func(r expr.Read) { v.reads(expr.Member(in.Path, b.Condition.String()), r) })
	}
	if in.Params == nil {
		return
	}
	params, isObject := in.Params.Source().(*value.Object)
	v.setsComputedName = v.setsComputedName || !isObject // one template yields all of them, with an output perhaps
	if in.row != nil && in.row.review != nil {
		in.row.review(v, in, params)
	}
}

// calls notes an automation that an instruction calls.
func (v *reviewer) calls(use Use) {
	use.Kind = Call
	v.uses = append(v.uses, use)
	v.Calls = addReference(v.Calls, use.Name, use.Field)
}

// emits notes the type of an event that an instruction emits at a field. Without parameters
// it may be any: one template yields them.
func (v *reviewer) emits(params *value.Object, name any, field string) {
	s, ok := name.(string)
	switch {
	case params == nil:
		v.EmitsLike = addName(v.EmitsLike, "")
	case !ok || s == "":
	case isDynamic(s):
		at := len(s)
		for _, open := range []string{"{{", "{%"} {
			if i := strings.Index(s, open); i >= 0 {
				at = min(at, i)
			}
		}
		v.EmitsLike = addName(v.EmitsLike, s[:at])
	default:
		v.uses = append(v.uses, Use{Kind: Emission, Name: s, Field: field})
		v.Emits = addName(v.Emits, s)
	}
}

// listens notes an event that has to come from somewhere. The platform emits its own.
func (v *reviewer) listens(name, field string) {
	v.uses = append(v.uses, Use{Kind: Listening, Name: name, Field: field})
	if eventPatternRule(name) == "" && !emittedByPlatform(name) {
		v.Listens = addReference(v.Listens, name, field)
	}
}

// emittedByPlatform reports whether the platform itself emits events that a type or a
// pattern fits.
func emittedByPlatform(name string) bool {
	if last := name[strings.LastIndexByte(name, '.')+1:]; last == "error" || last == "usage" {
		return true
	}
	base, isPattern := strings.CutSuffix(name, ".*")
	return isPattern && strings.HasPrefix("error.", base+".") || FitsNative(name)
}

func (v *reviewer) reads(field string, r expr.Read) {
	if len(r.Keys) == 0 {
		return
	}
	root := r.Keys[0]
	if root == "secret" {
		if len(r.Keys) > 1 && !r.Tested { // who asks whether there is one expects that there may be none
			v.Secrets = addReference(v.Secrets, r.Keys[1], field)
		}
		return
	}
	if r.Tested {
		v.tested[root] = true
	}
	if _, known := v.read[root]; !known {
		v.read[root] = field
		v.order = append(v.order, root)
	}
}

// knownVariables are the variables that an execution may have whatever its document says:
// contexts, those of instructions, and the input of triggers and pages.
var knownVariables = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(`run session user global socket config secret $workspace
		item $index $error $http
		id type source payload createdAt
		method headers query pathParams body rawBody workspaceId automationSlug
		pageSlug language`) {
		all[name] = true
	}
	return all
}()

// KnownVariables returns the variables that an execution may have whatever its document says, sorted.
func KnownVariables() []string { return slices.Sorted(maps.Keys(knownVariables)) }

// variables warns of variables that are read and that nothing sets. Callers may pass
// anything, so only documents are checked that declare their input: by their
// arguments, their schemas or what triggers them.
func (v *reviewer) variables(a *Automation) {
	declared, closed := declaredArguments(a)
	if v.setsComputedName || !closed {
		return
	}
	var likely map[string]bool // what else may be meant: looked for when something is missing
	for _, root := range v.order {
		if v.set[root] || declared[root] || knownVariables[root] || v.tested[root] {
			continue
		}
		if likely == nil {
			likely = maps.Clone(knownVariables)
			maps.Copy(likely, v.set)
			maps.Copy(likely, declared)
		}
		v.Findings = append(v.Findings, Finding{Field: v.read[root], Warning: true, Message: "nothing sets the variable " + strconv.Quote(root) +
			nearest.DidYouMean(root, slices.Values(slices.Sorted(maps.Keys(likely))))})
	}
}

// declaredArguments returns the arguments that a document names; closed is false when others
// are to be expected.
func declaredArguments(a *Automation) (names map[string]bool, closed bool) {
	names = map[string]bool{}
	closed = a.Arguments.Len() > 0 || len(a.Schemas) > 0 || len(a.When.Events) > 0 || a.When.Endpoint != nil || len(a.When.Schedules) > 0
	for _, name := range a.Arguments.Keys() {
		names[name] = true
	}
	for _, s := range a.Schemas {
		if s.Payload == nil {
			closed = false
			continue
		}
		properties, ok := s.Payload.At("properties").(*value.Object)
		if !ok || s.Payload.At("additionalProperties") == true || s.Payload.At("patternProperties") != value.Undefined ||
			slices.ContainsFunc([]string{"$ref", "allOf", "anyOf", "oneOf", "if"}, func(key string) bool { _, has := s.Payload.Get(key); return has }) {
			closed = false
		}
		if ok {
			for _, name := range properties.Keys() {
				names[name] = true
			}
		}
	}
	return names, closed
}
