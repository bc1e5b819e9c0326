// Package suite reads test suites of automations, the documents tests/{slug} of a workspace, and compares
// what an automation did with what a case expects.
//
// What documents may contain is in domain/shape: a suite that is read here has passed that check.
package suite

import (
	"strings"
	"time"

	"svc/domain/automation/expr"
	"svc/domain/value"
)

// Suite is a set of cases for one automation.
type Suite struct {
	Slug       string
	Automation string
	Cases      []Case
}

// Case is one start of the automation, what it gets from outside, and what is expected of it.
type Case struct {
	Name string
	// How it starts: with one of these.
	Input   *value.Object // arguments
	Request *value.Object // to its endpoint: method, headers, query, body, rawBody, pathParams
	Event   *value.Object // type, payload, id, source, createdAt

	User    *value.Object // id, email, role, authData; nil: nobody signed in
	Session string
	Stubs   Stubs
	Expect  Expectation
}

// Stubs is what an automation gets from outside. Everything else is empty: contexts, collections.
type Stubs struct {
	Now         time.Time
	Random      int64 // the seed
	Fetch       []FetchStub
	Calls       []CallStub  // of modules and automations
	Events      []EventStub // that waits get, in this order
	Secrets     map[string]string
	Config      *value.Object // settings that replace those of the workspace
	Contexts    *value.Object // by name: run, session, user, global, socket
	Collections *value.Object // lists of rows, by name
}

// FetchStub answers requests.
type FetchStub struct {
	Method string // "": any
	URL    Pattern
	Times  int           // how often it answers; 0: always
	Answer *value.Object // status, headers, body
	Error  string        // the reason of a FetchError; "": there is an answer
}

// Automations is the module of stubs that answer calls of automations: the function is the name that is called.
const Automations = "automations"

// CallStub answers calls of functions of modules, and of automations.
type CallStub struct {
	Module, Function string
	Parameters       *value.Object // that the call must have, among others
	Times            int           // how often it answers; 0: always
	Result           any
	Error            *value.Object // error, message, details; nil: there is a result
}

// EventStub is an event that a wait gets.
type EventStub struct {
	Type    string
	Payload *value.Object
}

// DefaultNow is the time of cases that say none.
var DefaultNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Pattern is an address in which * stands for any text. One without a query is for addresses with any.
type Pattern string

// Matches reports whether an address fits the pattern.
func (p Pattern) Matches(address string) bool {
	if !strings.Contains(string(p), "?") {
		address, _, _ = strings.Cut(address, "?")
	}
	parts := strings.Split(string(p), "*")
	if len(parts) == 1 {
		return address == string(p)
	}
	rest, ok := strings.CutPrefix(address, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// Read returns the suite of a document.
func Read(slug string, doc *value.Object) *Suite {
	s := &Suite{Slug: slug, Automation: doc.Text("automation")}
	shared := object(doc.At("stubs"))
	for _, item := range list(doc.At("cases")) {
		s.Cases = append(s.Cases, readCase(object(item), shared))
	}
	return s
}

func readCase(o, shared *value.Object) Case {
	c := Case{
		Name: o.Text("name"), Input: object(o.At("input")), Request: object(o.At("request")), Event: object(o.At("event")),
		User: object(o.At("user")), Session: o.Text("session"), Expect: ReadExpectation(object(o.At("expect"))),
	}
	c.Stubs = readStubs(object(o.At("stubs")), shared)
	return c
}

// readStubs reads the stubs of a case. Those of its suite follow them, and hold where a case says nothing.
func readStubs(own, shared *value.Object) Stubs {
	s := Stubs{Now: DefaultNow, Secrets: map[string]string{}}
	for _, from := range []*value.Object{shared, own} {
		if at, err := time.Parse(time.RFC3339, from.Text("now")); err == nil {
			s.Now = at.UTC()
		}
		if seed, ok := from.At("random").(float64); ok {
			s.Random = int64(seed)
		}
		for name, secret := range object(from.At("secrets")).All() {
			s.Secrets[name] = value.Text(secret)
		}
		s.Config = merge(s.Config, object(from.At("config")))
		s.Contexts = merge(s.Contexts, object(from.At("contexts")))
		s.Collections = merge(s.Collections, object(from.At("collections")))
	}
	for _, from := range []*value.Object{own, shared} {
		for _, item := range list(from.At("fetch")) {
			f := object(item)
			s.Fetch = append(s.Fetch, FetchStub{
				Method: strings.ToUpper(f.Text("method")), URL: Pattern(f.Text("url")), Times: count(f.At("times")), Answer: object(f.At("answer")), Error: f.Text("error"),
			})
		}
		for _, item := range list(from.At("modules")) {
			m := object(item)
			s.Calls = append(s.Calls, CallStub{
				Module: m.Text("module"), Function: m.Text("function"), Parameters: object(m.At("parameters")), Times: count(m.At("times")),
				Result: m.At("result"), Error: object(m.At("error")),
			})
		}
		for _, item := range list(from.At("automations")) {
			a := object(item)
			s.Calls = append(s.Calls, CallStub{
				Module: Automations, Function: a.Text("automation"), Parameters: object(a.At("arguments")), Times: count(a.At("times")),
				Result: a.At("output"), Error: object(a.At("error")),
			})
		}
		for _, item := range list(from.At("events")) {
			e := object(item)
			s.Events = append(s.Events, EventStub{e.Text("type"), object(e.At("payload"))})
		}
	}
	return s
}

// merge returns an object with the members of both; those of the second hold.
func merge(a, b *value.Object) *value.Object {
	if a == nil {
		return b
	}
	all := a.Copy()
	for key, v := range b.All() {
		all.Set(key, v)
	}
	return all
}

func object(v any) *value.Object {
	o, _ := v.(*value.Object)
	return o
}

func list(v any) []any {
	items, _ := v.([]any)
	return items
}

func count(v any) int {
	n, _ := v.(float64)
	return int(n)
}

// Expectation is what a case expects. What it does not say is not compared, but an error is never expected.
type Expectation struct {
	Status      any           // a number, or succeeded, or failed; nil: not said
	Error       string        // the name of the error; "": not said
	Message     string        // of the error; "": not said
	Output      any           // exactly; Undefined: not said
	OutputMatch *value.Object // a condition; nil: not said
	Events      []any         // all that are emitted, in order; nil: not said
	Fetches     []any         // all requests, in order; nil: not said
	Chunks      []any         // all that are sent to the caller, in order; nil: not said
	Contexts    *value.Object // keys of contexts afterwards, by context
	Collections *value.Object // rows of collections afterwards, by name
}

// ReadExpectation returns what the expect of a case says.
func ReadExpectation(o *value.Object) Expectation {
	e := Expectation{
		Output: value.Undefined, OutputMatch: object(o.At("outputMatches")), Events: list(o.At("events")), Fetches: list(o.At("fetches")),
		Chunks: list(o.At("chunks")), Contexts: object(o.At("contexts")), Collections: object(o.At("collections")),
	}
	if status := o.At("status"); !value.IsNothing(status) {
		e.Status = status
	}
	if output, ok := o.Get("output"); ok {
		e.Output = output
	}
	switch failed := o.At("error").(type) {
	case string:
		e.Error = failed
	case *value.Object:
		e.Error, e.Message = failed.Text("error"), failed.Text("message")
	}
	return e
}

// expectsError reports whether the automation is to fail.
func (e Expectation) expectsError() bool {
	status, isNumber := e.Status.(float64)
	return e.Error != "" || e.Message != "" || e.Status == Failed || isNumber && status >= 400
}

// ConditionProblem returns what is wrong with a condition of outputMatches, payloadMatches or bodyMatches; "": nothing.
func ConditionProblem(cond *value.Object) string {
	if _, err := expr.CompileMatcher(cond, false); err != nil {
		return err.Error()
	}
	return ""
}

// SameCase reports whether two cases differ at most in their names, times and those who started them.
func SameCase(a, b any) bool {
	return value.StrictEqual(essence(a), essence(b))
}

func essence(c any) any {
	rest := object(c).Copy()
	for _, key := range []string{"name", "user", "session"} {
		rest.Delete(key)
	}
	stubs := object(rest.At("stubs")).Copy()
	stubs.Delete("now")
	rest.Set("stubs", stubs)
	if event := object(rest.At("event")); event != nil {
		event = event.Copy()
		for _, key := range []string{"id", "source", "createdAt"} {
			event.Delete(key)
		}
		rest.Set("event", event)
	}
	return rest
}
