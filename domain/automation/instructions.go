package automation

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/jsontype"
)

// instruction is a row of the table of built-in instructions.
type instruction struct {
	name    string
	doc     string
	form    jsontype.Set // what stands behind the name; object unless said
	params  []field
	results bool // it takes output
	nested  bool // it holds instructions: its parameters are no template
}

// EventName is what emitted events may be called: a regular expression.
const EventName = `^[a-zA-Z0-9 ._-]{1,200}$`

// Built-in instructions, in the order of the contract. What a parameter's rule
// cannot say is in special.go.
var instructions = []instruction{
	{name: "set", doc: "Stores a value in a variable.", params: []field{
		{name: "name", is: text, must: true, role: target, doc: "Path of the variable; ending in [] it appends."},
		{name: "value", is: anything, must: true, doc: "The value."},
		{name: "type", is: text, enum: []string{"replace", "merge", "push"}, otherwise: "replace", doc: "How the value joins the one before."},
		{name: "ttl", is: number, least: bound(0), above: true, doc: "Seconds until the variable is removed; contexts only."},
		{name: "lifespan", is: number, least: bound(0), above: true, doc: "The same as ttl."},
		{name: "scope", is: anything, role: raw, doc: "Ignored."},
	}},
	{name: "delete", doc: "Removes a variable, a key or an item.", params: []field{
		{name: "name", is: text, must: true, role: target, doc: "Path of the variable."},
	}},
	{name: "conditions", doc: "Runs the instructions of the first condition that holds, else those of default.", nested: true},
	{name: "repeat", doc: "Runs instructions for each item, or until a number or condition is reached.", nested: true, params: []field{
		{name: "on", is: list | object | text | number | null, rule: iterations, doc: "What to go through: an array, an object, a stream, or a number of iterations."},
		{name: "until", is: number | text, role: later, doc: "A number of iterations, or an expression that ends the loop."},
		{name: "do", is: list | null, must: true, role: body, doc: "Instructions; item and $index are the iteration's."},
		{name: "batch", is: object, doc: "Iterations at the same time.", of: []field{
			{name: "size", is: number, least: bound(1), rule: integer, otherwise: 1.0, doc: "How many at once."},
			{name: "interval", is: number, least: bound(0), otherwise: 0.0, doc: "Milliseconds between batches."},
		}},
	}},
	{name: "break", doc: "Ends the loop, the automation or the whole tree.", params: []field{
		{name: "scope", is: text, enum: []string{"automation", "repeat", "all"}, otherwise: "automation", doc: "What ends."},
		{name: "payload", is: anything, doc: "The output of what ends."},
	}},
	{name: "all", doc: "Runs instructions side by side.", form: list, nested: true},
	{name: "try", doc: "Runs instructions and catches their error.", nested: true, params: []field{
		{name: "do", is: list | null, must: true, role: body, doc: "Instructions."},
		{name: "catch", is: list | null, role: body, doc: "Instructions after an error, which is in $error."},
		{name: "finally", is: list | null, role: body, doc: "Instructions in any case."},
	}},
	{name: "emit", doc: "Records an event.", results: true, params: []field{
		{name: "event", is: text, must: true, match: EventName, says: "event name (1 to 200 letters, digits, blanks and ._-)", rule: notNative, raises: InvalidEvent, doc: "Its type."},
		{name: "payload", is: anything, otherwise: &value.Object{}, doc: "An object."},
		{name: "target", is: object, of: emitTarget, doc: "Who receives it live."},
		{name: "options", is: object, of: emitOptions, doc: "How it is kept."},
		{name: "private", is: boolean, doc: "Not in the list of events of the app."},
		{name: "autocomplete", is: anything, role: raw, doc: "For editors."},
	}},
	{name: "wait", doc: "Waits for an event, or for time to pass.", results: true, params: []field{
		{name: "oneOf", is: list, doc: "Events; the first ends the wait.", each: &field{is: object, of: []field{
			{name: "event", is: text, must: true, rule: pattern, doc: "A type, or one ending in .*"},
			{name: "filters", is: object, rule: filters, doc: "What the event must look like."},
			{name: "cancelTriggers", is: boolean, otherwise: false, doc: "The event starts nothing else."},
		}}},
		{name: "timeout", is: number, least: bound(0), above: true, otherwise: 20.0, doc: "Seconds."},
	}},
	{name: "fetch", doc: "Sends an HTTP request.", results: true, params: fetchParams},
	{name: "comment", doc: "A note.", form: text},
	{name: "createUserTopic", doc: "Makes a topic that users receive events through.", results: true, params: []field{
		{name: "topic", is: text, must: true, doc: "Its name."},
		{name: "userIds", is: list, each: &field{is: text}, doc: "Who receives it."},
	}},
	{name: "joinUserTopic", doc: "Adds users to a topic.", results: true, params: []field{
		{name: "topic", is: text, must: true, doc: "Its name."},
		{name: "userIds", is: list, each: &field{is: text}, doc: "Who joins; the current user when absent."},
		{name: "create", is: boolean, otherwise: true, doc: "Make the topic when there is none."},
	}},
	{name: "rateLimit", doc: "Counts, and tells when a limit is reached.", results: true, params: []field{
		{name: "name", is: text, must: true, doc: "The counter."},
		{name: "limit", is: number, must: true, least: bound(0), doc: "How many in a window."},
		{name: "window", is: number, must: true, least: bound(0), above: true, doc: "Seconds."},
		{name: "consumer", is: text | number, doc: "Who is counted; one counter for all when absent."},
		{name: "consume", is: number, least: bound(0), otherwise: 1.0, doc: "How much this counts; 0 looks only."},
		{name: "break", is: boolean, otherwise: false, doc: "Raise an error when the limit is reached."},
	}},
	{name: "auth", doc: "Makes a token for calls to this platform.", results: true, params: []field{
		{name: "workspace", is: boolean, otherwise: false, doc: "Of the workspace instead of the session."},
	}},
	{name: "run", doc: "Calls a function of a module.", results: true, params: []field{
		{name: "module", is: text, must: true, doc: "collections, secrets, text, crypto or code."},
		{name: "function", is: text, must: true, doc: "Its name."},
		{name: "parameters", is: object, doc: "Its parameters."},
		{name: "onError", is: text, enum: []string{"break", "throw", "emit", "continue"}, otherwise: "break", doc: "What an error does; throw is the same as break."},
	}},
	{name: "runWorkflow", doc: "Calls the automation of a slug.", results: true, params: []field{
		{name: "workflow", is: text, must: true, doc: "The slug."},
		{name: "parameters", is: object, doc: "Its arguments."},
		{name: "wait", is: boolean, otherwise: true, doc: "Go on when it ended."},
	}},
}

var emitTarget = []field{
	{name: "userTopic", is: text, doc: "A topic."},
	{name: "userId", is: text, doc: "A user."},
	{name: "sessionId", is: text, doc: "A session."},
	{name: "currentSocket", is: boolean, doc: "The connection that started the run."},
}

var emitOptions = []field{
	{name: "persist", is: boolean, otherwise: true, doc: "Keep it on the log."},
	{name: "aggPayload", is: boolean, otherwise: false, doc: "Index the payload for search."},
	{name: "async", is: boolean, otherwise: false, doc: "Do not wait until it is recorded."},
}

// The parameters of every instruction that has a result, and the name of one
// that is called.
var outputField = field{name: "output", is: text, role: target, doc: "Path of the variable that takes the result."}

var builtin = func() map[string]*instruction {
	all := map[string]*instruction{}
	for i := range instructions {
		row := &instructions[i]
		if row.form == 0 {
			row.form = object
		}
		if row.results {
			row.params = append(slices.Clip(row.params), outputField)
		}
		all[row.name] = row
	}
	return all
}()

// Instructions returns the names of the built-in instructions.
func Instructions() []string {
	var all []string
	for _, row := range instructions {
		all = append(all, row.name)
	}
	return all
}

func integer(v any) string {
	if n, ok := v.(float64); ok && n != float64(int64(n)) {
		return "expected an integer"
	}
	return ""
}

// MaxIterations is how many iterations a repeat may be given as a number.
const MaxIterations = 1_000_000_000

// iterations is the rule of a number that a repeat goes through.
func iterations(v any) string {
	if n, ok := v.(float64); ok && (n < 0 || n > MaxIterations || n != math.Trunc(n)) {
		return fmt.Sprintf("a number of iterations is an integer from 0 to %d", MaxIterations)
	}
	return ""
}

func filters(v any) string {
	o, ok := v.(*value.Object)
	if !ok {
		return ""
	}
	if _, err := expr.CompileMatcher(o, true); err != nil && !templated(o) {
		return err.Error()
	}
	return ""
}

// templated reports whether a template stands anywhere in v.
func templated(v any) bool {
	switch v := v.(type) {
	case string:
		return dynamic(v)
	case []any:
		return slices.ContainsFunc(v, templated)
	case *value.Object:
		return slices.ContainsFunc(v.Keys(), func(key string) bool { return templated(v.At(key)) })
	}
	return false
}

// secretMark is what a reference to a secret begins with. A fetch has the secret in its
// place when it sends.
const secretMark = "$secret:"

// webAddress is the rule of fetch.url. What an address is that a secret belongs to is
// known when it is sent.
func webAddress(v any) string {
	s, _ := v.(string)
	if strings.Contains(s, secretMark) {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
		return "expected an absolute http or https address"
	}
	return ""
}
