package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// What became of an automation, in the words of status.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
)

// Outcome is what an automation did in a case.
type Outcome struct {
	Status    int               // of the answer that a caller would get
	Err       *automation.Error // nil unless it failed
	Output    any
	Events    []Event
	Fetches   []Fetch
	Unstubbed []Fetch // requests that no stub answered
	Chunks    []any
	Logs      []string

	Contexts    *value.Object // by name, of those that were used
	Collections *value.Object // lists of rows, by name
	SecretNames []string      // secrets that were read and have no stub
}

// Event is an event that was emitted.
type Event struct {
	Type    string
	Payload any
}

// Fetch is a request that was made.
type Fetch struct {
	Method, URL string
	Headers     *value.Object
	Body        any
}

// Difference is something that is not as a case expects. An absent side is left out.
type Difference struct {
	Path     string          `json:"path"`
	Message  string          `json:"message"`
	Expected json.RawMessage `json:"expected,omitempty"`
	Got      json.RawMessage `json:"got,omitempty"`
}

// maxDifferences is how many differences of a case are listed.
const maxDifferences = 50

// comparison collects the differences of one case.
type comparison struct{ found []Difference }

// Compare returns how an outcome differs from what a case expects.
func Compare(e Expectation, o Outcome) []Difference {
	c := &comparison{}
	c.unstubbed(o)
	c.status(e, o)
	if !value.IsUndefined(e.Output) {
		c.exact("output", e.Output, o.Output)
	}
	c.matches("output", e.OutputMatch, o.Output)
	c.events(e.Events, o.Events)
	c.fetches(e.Fetches, o.Fetches)
	if e.Chunks != nil {
		c.exact("chunks", e.Chunks, o.Chunks)
	}
	for name, keys := range e.Contexts.All() {
		for key, v := range object(keys).All() {
			c.exact(expr.Member("contexts."+name, key), v, value.Walk(o.Contexts, name, key))
		}
	}
	for name, rows := range e.Collections.All() {
		c.rows(expr.Member("collections", name), list(rows), list(o.Collections.At(name)))
	}
	return c.found
}

func (c *comparison) add(path, message string, expected, got any) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, Difference{path, message, shown(expected), shown(got)})
	}
}

// maxShown is how many bytes of a value a difference shows.
const maxShown = 2000

// shown returns a value as a difference shows it; nil for Undefined.
func shown(v any) json.RawMessage {
	if value.IsUndefined(v) {
		return nil
	}
	text, whole := value.JSONWithin(v, "", maxShown)
	if !whole {
		cut, _ := json.Marshal(strings.ToValidUTF8(text[:min(len(text), maxShown)], "") + "…") // a text
		return cut
	}
	return json.RawMessage(text)
}

// unstubbed reports requests without an answer: nothing leaves a test.
func (c *comparison) unstubbed(o Outcome) {
	for _, f := range o.Unstubbed {
		stub := value.NewObject("method", f.Method, "url", f.URL, "answer", value.NewObject("status", 200.0, "body", &value.Object{}))
		c.add("stubs.fetch", fmt.Sprintf("no stub answers %s %s: add one like this", f.Method, f.URL), stub, value.Undefined)
	}
	for _, name := range o.SecretNames {
		c.add("stubs.secrets", fmt.Sprintf("the secret %s has no stub: add one, tests get no real secrets", name), value.NewObject(name, "…"), value.Undefined)
	}
}

func (c *comparison) status(e Expectation, o Outcome) {
	word := Succeeded
	if o.Err != nil {
		word = Failed
	}
	switch want := e.Status.(type) {
	case float64:
		if int(want) != o.Status {
			c.add("status", "another status"+because(o.Err), want, float64(o.Status))
		}
	case string:
		if want != word {
			c.add("status", "the automation "+word+because(o.Err), want, word)
		}
	}
	switch {
	case o.Err == nil && (e.Error != "" || e.Message != ""):
		c.add("error", "the automation did not fail", e.Error, value.Undefined)
	case o.Err != nil && !e.expectsError():
		if e.Status == nil && len(o.Unstubbed)+len(o.SecretNames) == 0 { // else it is said already
			c.add("error", "the automation failed"+because(o.Err), value.Undefined, o.Err.Name)
		}
	case o.Err != nil && e.Error != "" && e.Error != o.Err.Name:
		c.add("error", "another error"+because(o.Err), e.Error, o.Err.Name)
	case o.Err != nil && e.Message != "" && e.Message != o.Err.Message:
		c.add("error.message", "another message", e.Message, o.Err.Message)
	}
}

// because tells of the error that an automation failed with.
func because(err *automation.Error) string {
	if err == nil {
		return ""
	}
	text := ": " + err.Name + ": " + err.Message
	if err.Instruction != "" {
		text += " (" + err.Document + ", " + err.Instruction + ")"
	}
	return text
}

// exact reports where two values differ.
func (c *comparison) exact(path string, expected, got any) {
	switch expected := expected.(type) {
	case *value.Object:
		other, ok := got.(*value.Object)
		if !ok {
			break
		}
		for key, v := range expected.All() {
			c.exact(expr.Member(path, key), v, other.At(key))
		}
		for key, v := range other.All() {
			if _, known := expected.Get(key); !known && !value.IsUndefined(v) {
				c.add(expr.Member(path, key), "not expected", value.Undefined, v)
			}
		}
		return
	case []any:
		other, ok := got.([]any)
		if !ok {
			break
		}
		for i := range max(len(expected), len(other)) {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i >= len(other):
				c.add(at, "missing", expected[i], value.Undefined)
			case i >= len(expected):
				c.add(at, "not expected", value.Undefined, other[i])
			default:
				c.exact(at, expected[i], other[i])
			}
		}
		return
	}
	if value.IsUndefined(got) {
		c.add(path, "missing", expected, got)
	} else if !value.StrictEqual(expected, asData(got)) {
		c.add(path, "another value", expected, got)
	}
}

// asData returns a value as JSON has it: bytes are text.
func asData(v any) any {
	if raw, ok := v.(value.Bytes); ok {
		return value.Text(raw)
	}
	return v
}

// matches reports the parts of a condition that a value does not meet.
func (c *comparison) matches(path string, cond *value.Object, got any) {
	for key, operand := range cond.All() {
		part := value.NewObject(key, operand)
		matcher, err := expr.CompileMatcher(part, false)
		if err == nil {
			var met bool
			if met, err = matcher.Match(got); met {
				continue
			}
		}
		at, message := path, "the condition is not met"
		is := got
		if !strings.HasPrefix(key, "$") {
			at, is = path+"."+key, value.Walk(got, strings.Split(key, ".")...)
		}
		if err != nil {
			message += ": " + err.Error()
		}
		c.add(at, message, operand, is)
	}
}

func (c *comparison) events(expected []any, got []Event) {
	if expected == nil {
		return
	}
	for i := range max(len(expected), len(got)) {
		at := fmt.Sprintf("events[%d]", i)
		switch {
		case i >= len(got):
			c.add(at, "not emitted", expected[i], value.Undefined)
		case i >= len(expected):
			c.add(at, "not expected", value.Undefined, value.NewObject("type", got[i].Type, "payload", got[i].Payload))
		default:
			want := object(expected[i])
			if want.Text("type") != got[i].Type {
				c.add(at+".type", "another event", want.Text("type"), got[i].Type)
				continue
			}
			if payload, ok := want.Get("payload"); ok {
				c.exact(at+".payload", payload, got[i].Payload)
			}
			c.matches(at+".payload", object(want.At("payloadMatches")), got[i].Payload)
		}
	}
}

func (c *comparison) fetches(expected []any, got []Fetch) {
	if expected == nil {
		return
	}
	for i := range max(len(expected), len(got)) {
		at := fmt.Sprintf("fetches[%d]", i)
		switch {
		case i >= len(got):
			c.add(at, "not requested", expected[i], value.Undefined)
		case i >= len(expected):
			c.add(at, "not expected", value.Undefined, value.NewObject("method", got[i].Method, "url", got[i].URL, "body", got[i].Body))
		default:
			c.fetch(at, object(expected[i]), got[i])
		}
	}
}

func (c *comparison) fetch(at string, want *value.Object, got Fetch) {
	if method := strings.ToUpper(want.Text("method")); method != "" && method != got.Method {
		c.add(at+".method", "another method", method, got.Method)
	}
	if url := want.Text("url"); url != "" && !Pattern(url).Matches(got.URL) {
		c.add(at+".url", "another address", url, got.URL)
	}
	for name, v := range object(want.At("headers")).All() {
		c.exact(expr.Member(at+".headers", name), v, got.Headers.At(strings.ToLower(name)))
	}
	if body, ok := want.Get("body"); ok {
		c.exact(at+".body", body, got.Body)
	}
	c.matches(at+".body", object(want.At("bodyMatches")), got.Body)
}

// rowFields are the fields of rows that the platform sets: they are compared when a case names them.
var rowFields = []string{"id", "createdAt", "createdBy", "updatedAt", "updatedBy"}

// rows compares rows, in the order in which they were made.
func (c *comparison) rows(path string, expected, got []any) {
	plain := make([]any, len(got))
	for i, row := range got {
		plain[i] = row
		var want *value.Object
		if i < len(expected) {
			want = object(expected[i])
		}
		own := &value.Object{}
		for key, v := range object(row).All() {
			if _, named := want.Get(key); named || !slices.Contains(rowFields, key) {
				own.Set(key, v)
			}
		}
		plain[i] = own
	}
	c.exact(path, expected, plain)
}
