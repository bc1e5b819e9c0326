package automation

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain/automation/expr"
	"svc/domain/automation/redact"
	"svc/domain/jsontype"
	"svc/domain/value"
)

// instruction is a row of the table of built-in instructions. Parser, JSON Schema, review,
// interpreter, runtime and replay all read it. What a row cannot hold because of the layers
// is in two tables that are keyed by its name: machine.performers, for instructions that the
// interpreter performs itself, and the effects of commands/runtime, for all others.
type instruction struct {
	name string
	doc  string
	form jsontype.Set // of its parameters; 0: object

	params  []field
	results bool // it has a result: output takes it
	removes bool // it removes the variable that it names
	holds   nesting
	loops   bool // it repeats the instructions that it holds: break can end that

	// parse reads the parameters that are not evaluated with the others, and reports what
	// the table of parameters cannot say; nil: there is nothing more.
	parse func(c *checker, in *Instruction, params *value.Object, at instructionContext)
	// check refuses evaluated parameters whenever the instruction runs; nil: the table of
	// parameters says all.
	check func(path string, params *value.Object) *Error
	// review notes the names that the instruction uses. Params is nil when one template
	// yields all parameters; nil: it uses none.
	review func(v *reviewer, in *Instruction, params *value.Object)
	// effect is what it requests; nil: the interpreter performs it.
	effect *Effect

	evaluated []field // params as CheckParams asks for them
}

// nesting says where an instruction holds others. Its parameters are no template then.
type nesting uint8

const (
	nowhere    nesting = iota
	inFields           // in parameters of the role body
	inList             // it is a list of them
	inBranches         // it is an object of lists by condition
)

// Effect is what an instruction requests from outside: how the request is listed with its
// run, and how a replay compares it with the recorded one.
type Effect struct {
	// Kind is the name of the request, which is recorded; "": the name of the instruction.
	Kind string
	// Summary says in a line what a request is about; nil: nothing.
	Summary func(Asked) string
	// Emits says that the result is an event that was recorded.
	Emits bool
	// Compared returns what a replay compares of what was asked for; nil: all of it.
	Compared func(asked any) any
	// Redacted returns the parameters without credentials; nil: they have none.
	Redacted func(params *value.Object) *value.Object
	// Credentials returns those that the parameters contain; nil: they have none.
	Credentials func(params *value.Object) []string
}

// Asked is a request as it was recorded.
type Asked struct {
	Params   any    // Undefined when there are none
	Slug     string // of the automation that is to be called
	Duration time.Duration
}

// EventName is what emitted events may be called: a regular expression.
const EventName = `^[a-zA-Z0-9 ._-]{1,200}$`

// instructions is the table of built-in instructions, in the order of the contract.
var instructions = []instruction{
	{name: "set", doc: "Stores a value in a variable.", parse: parseTarget, params: []field{
		{name: "name", is: text, must: true, role: target, doc: "Path of the variable; ending in [] it appends."},
		{name: "value", is: anything, must: true, doc: "The value."},
		{name: "type", is: text, enum: []string{"replace", "merge", "push"}, otherwise: "replace", doc: "How the value joins the one before."},
		{name: "ttl", is: number, least: pointerTo(0), above: true, doc: "Seconds until the variable is removed; contexts only."},
		{name: "lifespan", is: number, least: pointerTo(0), above: true, doc: "The same as ttl."},
		{name: "scope", is: anything, role: raw, doc: "Ignored."},
	}},
	{name: "delete", doc: "Removes a variable, a key or an item.", removes: true, parse: parseTarget, params: []field{
		{name: "name", is: text, must: true, role: target, doc: "Path of the variable."},
	}},
	{name: "conditions", doc: "Runs the instructions of the first condition that holds, else those of default.", holds: inBranches},
	{name: "repeat", doc: "Runs instructions for each item, or until a number or condition is reached.", holds: inFields, loops: true, parse: parseRepeat, params: []field{
		{name: "on", is: list | object | text | number | null, rule: iterationsRule, doc: "What to go through: an array, an object, a stream, or a number of iterations."},
		{name: "until", is: number | text, role: later, doc: "A number of iterations, or an expression that ends the loop."},
		{name: "do", is: list | null, must: true, role: body, doc: "Instructions; item and $index are the iteration's."},
		{name: "batch", is: object, doc: "Iterations at the same time.", of: []field{
			{name: "size", is: number, least: pointerTo(1), rule: integerRule, otherwise: 1.0, doc: "How many at once."},
			{name: "interval", is: number, least: pointerTo(0), otherwise: 0.0, doc: "Milliseconds between batches."},
		}},
	}},
	{name: "break", doc: "Ends the loop, the automation or the whole tree.", parse: parseBreak, params: []field{
		{name: "scope", is: text, enum: []string{"automation", "repeat", "all"}, otherwise: "automation", doc: "What ends."},
		{name: "payload", is: anything, doc: "The output of what ends."},
	}},
	{name: "all", doc: "Runs instructions side by side.", form: list, holds: inList},
	{name: "try", doc: "Runs instructions and catches their error.", holds: inFields, params: []field{
		{name: "do", is: list | null, must: true, role: body, doc: "Instructions."},
		{name: "catch", is: list | null, role: body, doc: "Instructions after an error, which is in $error."},
		{name: "finally", is: list | null, role: body, doc: "Instructions in any case."},
	}},
	{name: "emit", doc: "Records an event.", results: true, parse: parseEmit, review: reviewEmit, effect: &Effect{Summary: paramSummary("event"), Emits: true}, params: []field{
		{name: "event", is: text, must: true, match: EventName, expectation: "event name (1 to 200 letters, digits, blanks and ._-)", rule: emittedEventRule, raises: InvalidEvent, doc: "Its type."},
		{name: "payload", is: anything, otherwise: &value.Object{}, doc: "An object."},
		{name: "target", is: object, of: emitTarget, doc: "Who receives it live."},
		{name: "options", is: object, of: emitOptions, doc: "How it is kept."},
		{name: "private", is: boolean, doc: "Not in the list of events of the app."},
		{name: "autocomplete", is: anything, role: raw, doc: "For editors."},
	}},
	{name: "wait", doc: "Waits for an event, or for time to pass.", results: true, parse: parseWait, review: reviewWait, effect: &Effect{Summary: waitSummary}, params: []field{
		{name: "oneOf", is: list, doc: "Events; the first ends the wait.", each: &field{is: object, of: []field{
			{name: "event", is: text, must: true, rule: eventPatternRule, doc: "A type, or one ending in .*"},
			{name: "filters", is: object, rule: filtersRule, doc: "What the event must look like."},
			{name: "cancelTriggers", is: boolean, otherwise: false, doc: "The event starts nothing else."},
		}}},
		{name: "timeout", is: number, least: pointerTo(0), above: true, otherwise: 20.0, doc: "Seconds."},
	}},
	{name: "fetch", doc: "Sends an HTTP request.", results: true, review: reviewFetch, params: fetchParams, effect: &Effect{
		Summary: fetchSummary, Compared: sentByFetch, Redacted: showFetch, Credentials: fetchCredentials,
	}},
	{name: "comment", doc: "A note.", form: text},
	{name: "createUserTopic", doc: "Makes a topic that users receive events through.", results: true, effect: topicEffect, params: []field{
		{name: "topic", is: text, must: true, doc: "Its name."},
		{name: "userIds", is: list, each: &field{is: text}, doc: "Who receives it."},
	}},
	{name: "joinUserTopic", doc: "Adds users to a topic.", results: true, effect: topicEffect, params: []field{
		{name: "topic", is: text, must: true, doc: "Its name."},
		{name: "userIds", is: list, each: &field{is: text}, doc: "Who joins; the current user when absent."},
		{name: "create", is: boolean, otherwise: true, doc: "Make the topic when there is none."},
	}},
	{name: "rateLimit", doc: "Counts, and tells when a limit is reached.", results: true, effect: &Effect{Summary: paramSummary("name")}, params: []field{
		{name: "name", is: text, must: true, doc: "The counter."},
		{name: "limit", is: number, must: true, least: pointerTo(0), doc: "How many in a window."},
		{name: "window", is: number, must: true, least: pointerTo(0), above: true, doc: "Seconds."},
		{name: "consumer", is: text | number, doc: "Who is counted; one counter for all when absent."},
		{name: "consume", is: number, least: pointerTo(0), otherwise: 1.0, doc: "How much this counts; 0 looks only."},
		{name: "break", is: boolean, otherwise: false, doc: "Raise an error when the limit is reached."},
	}},
	{name: "auth", doc: "Makes a token for calls to this platform.", results: true, effect: &Effect{}, params: []field{
		{name: "workspace", is: boolean, otherwise: false, doc: "Of the workspace instead of the session."},
	}},
	{name: "run", doc: "Calls a function of a module.", results: true, parse: parseRun, check: checkRun, effect: &Effect{Kind: "module", Summary: runSummary}, params: []field{
		{name: "module", is: text, must: true, doc: "collections, knowledge, secrets, text, crypto or code."},
		{name: "function", is: text, must: true, doc: "Its name."},
		{name: "parameters", is: object, doc: "Its parameters."},
		{name: "onError", is: text, enum: []string{"break", "throw", "emit", "continue"}, otherwise: "break", doc: "What an error does; throw is the same as break."},
	}},
	{name: "runWorkflow", doc: "Calls the automation of a slug.", results: true, review: reviewRunWorkflow, params: []field{
		{name: "workflow", is: text, must: true, doc: "The slug."},
		{name: "parameters", is: object, doc: "Its arguments."},
		{name: "wait", is: boolean, otherwise: true, doc: "Go on when it ended."},
	}},
}

// outputField is a parameter of every instruction that has a result.
var outputField = field{name: "output", is: text, role: target, doc: "Path of the variable that takes the result."}

// builtin is the table by name, with what follows from its rows.
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
		if row.effect != nil && row.effect.Kind == "" {
			row.effect.Kind = row.name
		}
		row.evaluated = slices.Clone(row.params)
		for i, f := range row.evaluated { // what may be anything may also come out as nothing: a set that unsets
			row.evaluated[i].must = f.must && f.role == plain && f.is != anything
		}
		all[row.name] = row
	}
	return all
}()

// Instructions returns the names of the built-in instructions, in the order of the table.
func Instructions() []string {
	var all []string
	for _, row := range instructions {
		all = append(all, row.name)
	}
	return all
}

// InstructionNames returns the names of the built-in instructions, in alphabetical order.
func InstructionNames() []string { return instructionNames }

var instructionNames = slices.Sorted(maps.Keys(builtin))

// Effects returns the effects of the built-in instructions by the name of the instruction.
func Effects() iter.Seq2[string, *Effect] {
	return func(yield func(string, *Effect) bool) {
		for name, row := range builtin {
			if row.effect != nil && !yield(name, row.effect) {
				return
			}
		}
	}
}

// EffectOf returns the effect of an instruction, an empty one if it requests nothing.
func EffectOf(name string) *Effect {
	if row := builtin[name]; row != nil && row.effect != nil {
		return row.effect
	}
	return &Effect{}
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

// parseTarget reads the path of the variable that set and delete change.
func parseTarget(c *checker, in *Instruction, o *value.Object, _ instructionContext) {
	v, ok := o.Get("name")
	if !ok || v == nil {
		return // reported as required
	}
	path := expr.Member(in.Path, "name")
	s, ok := v.(string)
	if !ok {
		in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, path, "expected the path of a variable, got %s", value.TypeName(v)))
		return
	}
	t, err := expr.ParseTarget(s, !in.row.removes)
	if err != nil {
		in.Fault = firstFault(in.Fault, c.template(path, err))
		return
	}
	in.Target = t
	if keys, static := t.Static(); static && ReadOnly(keys) {
		c.warn(InvalidInstruction, path, "%s cannot be written", s)
	}
}

// MaxIterations is how many iterations a repeat may be given as a number.
const MaxIterations = 1_000_000_000

// iterationsRule is the rule of a number that a repeat iterates over.
func iterationsRule(v any) string {
	if n, ok := v.(float64); ok && (n < 0 || n > MaxIterations || n != math.Trunc(n)) {
		return fmt.Sprintf("a number of iterations is an integer from 0 to %d", MaxIterations)
	}
	return ""
}

// parseRepeat reads until, and reports a repeat that has nothing to iterate over.
func parseRepeat(c *checker, in *Instruction, o *value.Object, _ instructionContext) {
	on, hasOn := o.Get("on")
	until, hasUntil := o.Get("until")
	if !hasOn && (!hasUntil || until == nil) {
		in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, in.Path, "on or until is required"))
	}
	if s, ok := on.(string); ok && s != "" && !isDynamic(s) {
		in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, expr.Member(in.Path, "on"), "only a list, an object or a template can be gone through"))
	}
	if hasUntil && until != nil {
		in.Until = expr.ParseTree(until, expr.Member(in.Path, "until"), func(path string, err error) {
			in.Fault = firstFault(in.Fault, c.template(path, err))
		})
	}
}

// parseBreak reports a break of a loop that is in none.
func parseBreak(c *checker, in *Instruction, o *value.Object, at instructionContext) {
	if o.At("scope") == "repeat" && !at.loop {
		in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, expr.Member(in.Path, "scope"), "there is no repeat around this break"))
	}
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

// parseEmit reads the help for editors, and warns of a payload that no event can have.
func parseEmit(c *checker, in *Instruction, o *value.Object, _ instructionContext) {
	in.Autocomplete, _ = o.Get("autocomplete")
	if v, ok := o.Get("payload"); ok && !isOneOf(object|null, v) && !isDynamic(v) {
		c.warn(InvalidEvent, expr.Member(in.Path, "payload"), "a payload is an object: an error event takes the place of this one")
	}
}

func reviewEmit(v *reviewer, in *Instruction, params *value.Object) {
	v.emits(params, params.At("event"), in.Path+".event")
}

// paramSummary returns a summary that consists of one parameter.
func paramSummary(param string) func(Asked) string {
	return func(q Asked) string { return value.Text(value.At(q.Params, param)) }
}

// parseWait reports a timeout that is too long.
func parseWait(c *checker, in *Instruction, o *value.Object, _ instructionContext) {
	if n, ok := o.At("timeout").(float64); ok && n > c.MaxWait.Seconds() {
		in.Fault = firstFault(in.Fault, c.fault(InvalidInstruction, expr.Member(in.Path, "timeout"), "at most %d seconds", int(c.MaxWait.Seconds())))
	}
}

func reviewWait(v *reviewer, in *Instruction, params *value.Object) {
	for i, item := range OneOf(params) {
		if name, ok := value.At(item, "event").(string); ok && !isDynamic(name) {
			v.listens(name, in.Path+".oneOf["+strconv.Itoa(i)+"].event")
		}
	}
}

// waitSummary names the events that a wait is for, or how long it lasts.
func waitSummary(q Asked) string {
	list := OneOf(q.Params)
	names := make([]string, len(list))
	for i, item := range list {
		names[i] = value.Text(value.At(item, "event"))
	}
	if len(names) == 0 {
		return q.Duration.String()
	}
	return strings.Join(names, ", ")
}

func filtersRule(v any) string {
	o, ok := v.(*value.Object)
	if !ok {
		return ""
	}
	if _, err := expr.CompileMatcher(o, true); err != nil && !hasTemplate(o) {
		return err.Error()
	}
	return ""
}

var fetchParams = []field{
	{name: "url", is: text, must: true, rule: webAddressRule, doc: "Absolute address, http or https."},
	{name: "method", is: text, enum: []string{"get", "post", "put", "patch", "delete", "head"}, fold: true, otherwise: "get", doc: "The method."},
	{name: "headers", is: object, doc: "Headers."},
	{name: "query", is: object, doc: "Joined to the address; an array repeats its key."},
	{name: "body", is: anything, doc: "JSON unless a content-type says otherwise."},
	{name: "multipart", is: list, doc: "Parts of a form.", each: &field{is: object, of: []field{
		{name: "fieldname", is: text, must: true, doc: "Name of the part."},
		{name: "value", is: anything, must: true, doc: "Text, bytes, or base64 with a filename."},
		{name: "filename", is: text, doc: "Name of the file."},
		{name: "contentType", is: text, doc: "Its type."},
	}}},
	{name: "outputMode", is: text, enum: []string{"body", "detailed_response", "base64", "data_url"}, otherwise: "body", doc: "What the result is."},
	{name: "emitErrors", is: boolean, otherwise: true, doc: "Record runtime.fetch.failed."},
	{name: "timeout", is: number, least: pointerTo(0), above: true, most: pointerTo(600), doc: "Seconds."},
	{name: "auth", is: object, blank: IsBlank, doc: "How to authenticate; nothing when every field is empty.", of: []field{
		{name: "basic", is: object, of: []field{{name: "user", is: text}, {name: "password", is: text}}},
		{name: "awsv4", is: object, of: []field{
			{name: "accessKeyId", is: text}, {name: "secretAccessKey", is: text}, {name: "service", is: text}, {name: "region", is: text},
		}},
		{name: "oauth2", is: object, of: []field{
			{name: "tokenUrl", is: text}, {name: "clientId", is: text}, {name: "clientSecret", is: text}, {name: "scope", is: text},
		}},
		{name: "svc", is: object, of: []field{{name: "forwardWorkspaceAuth", is: boolean}}},
	}},
	{name: "svcApiKey", is: object, of: []field{{name: "name", is: text}}, doc: "Add the API key of a role."},
	{name: "allowSelfSignedCert", is: boolean, otherwise: false, doc: "Do not verify the certificate."},
	{name: "stream", is: object, blank: hasNoEvent, doc: "Emit the answer piece by piece; nothing without event.", of: []field{
		{name: "event", is: text, match: EventName, expectation: "event name (1 to 200 letters, digits, blanks and ._-)", rule: emittedEventRule, raises: InvalidEvent, blank: IsBlank, doc: "Type of the events."},
		{name: "payload", is: anything, doc: "Added to each."},
		{name: "target", is: object, of: emitTarget, doc: "Who receives them live."},
		{name: "options", is: object, of: emitOptions, doc: "How they are kept."},
		{name: "endChunk", is: anything, doc: "The last chunk."},
		{name: "concatenate", is: object, doc: "Gather the pieces.", of: []field{
			{name: "path", is: text, doc: "What of a piece."},
			{name: "throttle", is: number, least: pointerTo(0), doc: "Milliseconds between events."},
		}},
	}},
}

// hasNoEvent reports whether a stream names no event: there is none then.
func hasNoEvent(v any) bool {
	stream, ok := v.(*value.Object)
	return ok && IsBlank(stream.At("event"))
}

// secretMark is what a reference to a secret begins with. A fetch has the secret in its
// place when it sends.
const secretMark = "$secret:"

// webAddressRule is the rule of fetch.url. What an address is that a secret belongs to is
// known when it is sent.
func webAddressRule(v any) string {
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

func reviewFetch(v *reviewer, in *Instruction, params *value.Object) {
	v.emits(params, value.At(params.At("stream"), "event"), in.Path+".stream.event")
}

// fetchSummary is the first line of a request.
func fetchSummary(q Asked) string {
	params, _ := q.Params.(*value.Object)
	return fetchMethod(params) + " " + value.Text(showFetch(params).At("url"))
}

func fetchMethod(params *value.Object) string {
	if method := value.Text(params.At("method")); method != "" {
		return strings.ToUpper(method)
	}
	return "GET"
}

// SentParams are the parameters that make up a request of fetch. References to secrets are
// resolved in them.
var SentParams = []string{"url", "headers", "query", "body", "multipart", "auth"}

// sentByFetch returns what distinguishes one request from another, as they are written. How the
// answer is used does not count.
func sentByFetch(asked any) any {
	params, _ := asked.(*value.Object)
	sent := value.NewObject("method", fetchMethod(params), "svcApiKey", params.At("svcApiKey"))
	for _, key := range SentParams {
		sent.Set(key, params.At(key))
	}
	return value.JSON(sent, "")
}

// CredentialHeaders are the headers whose values are not shown, in lower case.
var CredentialHeaders = []string{"authorization", "cookie", "set-cookie", "proxy-authorization", "x-svc-api-key", "x-amz-security-token"}

// fetchCredential is the key of each auth of a fetch that is secret.
var fetchCredential = map[string]string{"basic": "password", "awsv4": "secretAccessKey", "oauth2": "clientSecret"}

// showFetch returns the parameters of a fetch without what proves who sends it.
func showFetch(params *value.Object) *value.Object {
	if params == nil {
		return nil
	}
	o := params.Copy()
	replaceMember(o, "url", withoutPassword)
	if headers, ok := o.At("headers").(*value.Object); ok {
		headers = headers.Copy()
		for _, name := range headers.Keys() {
			if slices.Contains(CredentialHeaders, strings.ToLower(name)) {
				headers.Set(name, redact.Redacted)
			}
		}
		o.Set("headers", headers)
	}
	if auth, ok := o.At("auth").(*value.Object); ok {
		auth = auth.Copy()
		for kind, key := range fetchCredential {
			if terms, ok := auth.At(kind).(*value.Object); ok {
				terms = terms.Copy()
				replaceMember(terms, key, func(any) any { return redact.Redacted })
				replaceMember(terms, "tokenUrl", withoutPassword)
				auth.Set(kind, terms)
			}
		}
		o.Set("auth", auth)
	}
	return o
}

// replaceMember replaces a member, if there is one.
func replaceMember(o *value.Object, key string, by func(any) any) {
	if v, ok := o.Get(key); ok {
		o.Set(key, by(v))
	}
}

// withoutPassword is an address without the password in it.
func withoutPassword(address any) any {
	text, _ := address.(string)
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}

// fetchCredentials are those that a request is sent with.
func fetchCredentials(params *value.Object) []string {
	all := HeaderCredentials(params.At("headers"))
	for _, kind := range []string{"basic", "awsv4", "oauth2"} {
		if text, _ := value.Walk(params.At("auth"), kind, fetchCredential[kind]).(string); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// HeaderCredentials are the values of headers that prove who sends a request, whole and
// without their scheme.
func HeaderCredentials(headers any) (all []string) {
	o, _ := headers.(*value.Object)
	for _, name := range o.Keys() {
		switch strings.ToLower(name) {
		case "authorization", "proxy-authorization", "cookie", "x-svc-api-key":
			text := value.Text(o.At(name))
			_, credential, _ := strings.Cut(text, " ")
			all = append(all, text, credential)
		}
	}
	return all
}

var topicEffect = &Effect{Kind: "topic", Summary: paramSummary("topic")}

// modules are the functions that run may call.
var modules = map[string][]string{
	"agents": {"send"},
	"collections": {
		"updateSchema", "listCollections", "getCollectionSchemas", "getCollectionStats", "inferCollectionSchema", "deleteCollections",
		"findOne", "findMany", "findAndCount", "count", "distinct", "aggregate", "create", "bulkCreate", "updateOne", "updateMany",
		"upsert", "bulkUpsert", "deleteOne", "deleteMany",
	},
	"knowledge": {"search", "ask", "addDocument", "getDocument", "listDocuments", "deleteDocument", "crawl"},
	"secrets":   {"set", "get", "delete"},
	"text":      {"splitText", "parseUrl"},
	"crypto":    {"sha256", "sha512", "md5", "hmac", "base64Encode", "base64Decode", "randomBytes", "randomUUID"},
	"code":      {"run", "call"},
}

// parseRun reports a function that no module has.
func parseRun(c *checker, in *Instruction, o *value.Object, _ instructionContext) {
	name, function := o.At("module"), o.At("function")
	if isDynamic(name) || isDynamic(function) {
		return
	}
	if textOf(name) == "" || textOf(function) == "" && modules[textOf(name)] != nil {
		return // reported as required
	}
	if err := checkFunction(in.Path, textOf(name), textOf(function)); err != nil {
		c.fault(err.Name, textOf(err.Details.At("field")), "%s", err.Message) // raised by checkRun, with details
	}
}

// checkRun refuses a function that no module has.
func checkRun(path string, params *value.Object) *Error {
	return checkFunction(path, textOf(params.At("module")), textOf(params.At("function")))
}

// checkFunction refuses a function that no module has.
func checkFunction(path, module, function string) *Error {
	known, ok := modules[module]
	switch {
	case !ok:
		raised := notFoundError("Module %s not found", "module", module, slices.Values(slices.Sorted(maps.Keys(modules))))
		raised.Details.Set("field", expr.Member(path, "module"))
		return raised
	case !slices.Contains(known, function):
		raised := notFoundError("Module "+module+" has no function %s", "function", function, slices.Values(known))
		raised.Details.Set("module", module)
		raised.Details.Set("field", expr.Member(path, "function"))
		return raised
	}
	return nil
}

func runSummary(q Asked) string {
	return value.Text(value.At(q.Params, "module")) + "." + value.Text(value.At(q.Params, "function"))
}

func reviewRunWorkflow(v *reviewer, in *Instruction, params *value.Object) {
	if slug, ok := params.At("workflow").(string); ok && !isDynamic(slug) {
		v.calls(Use{Name: slug, Field: in.Path + ".workflow"})
	}
}
