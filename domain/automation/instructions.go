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
		{name: "ttl", is: number, least: pointerTo(0), above: true, doc: "Seconds until the variable is removed; contexts only."},
		{name: "lifespan", is: number, least: pointerTo(0), above: true, doc: "The same as ttl."},
		{name: "scope", is: anything, role: raw, doc: "Ignored."},
	}},
	{name: "delete", doc: "Removes a variable, a key or an item.", params: []field{
		{name: "name", is: text, must: true, role: target, doc: "Path of the variable."},
	}},
	{name: "conditions", doc: "Runs the instructions of the first condition that holds, else those of default.", nested: true},
	{name: "repeat", doc: "Runs instructions for each item, or until a number or condition is reached.", nested: true, params: []field{
		{name: "on", is: list | object | text | number | null, rule: iterationsRule, doc: "What to go through: an array, an object, a stream, or a number of iterations."},
		{name: "until", is: number | text, role: later, doc: "A number of iterations, or an expression that ends the loop."},
		{name: "do", is: list | null, must: true, role: body, doc: "Instructions; item and $index are the iteration's."},
		{name: "batch", is: object, doc: "Iterations at the same time.", of: []field{
			{name: "size", is: number, least: pointerTo(1), rule: integerRule, otherwise: 1.0, doc: "How many at once."},
			{name: "interval", is: number, least: pointerTo(0), otherwise: 0.0, doc: "Milliseconds between batches."},
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
		{name: "event", is: text, must: true, match: EventName, says: "event name (1 to 200 letters, digits, blanks and ._-)", rule: emittedEventRule, raises: InvalidEvent, doc: "Its type."},
		{name: "payload", is: anything, otherwise: &value.Object{}, doc: "An object."},
		{name: "target", is: object, of: emitTarget, doc: "Who receives it live."},
		{name: "options", is: object, of: emitOptions, doc: "How it is kept."},
		{name: "private", is: boolean, doc: "Not in the list of events of the app."},
		{name: "autocomplete", is: anything, role: raw, doc: "For editors."},
	}},
	{name: "wait", doc: "Waits for an event, or for time to pass.", results: true, params: []field{
		{name: "oneOf", is: list, doc: "Events; the first ends the wait.", each: &field{is: object, of: []field{
			{name: "event", is: text, must: true, rule: eventPatternRule, doc: "A type, or one ending in .*"},
			{name: "filters", is: object, rule: filtersRule, doc: "What the event must look like."},
			{name: "cancelTriggers", is: boolean, otherwise: false, doc: "The event starts nothing else."},
		}}},
		{name: "timeout", is: number, least: pointerTo(0), above: true, otherwise: 20.0, doc: "Seconds."},
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
		{name: "limit", is: number, must: true, least: pointerTo(0), doc: "How many in a window."},
		{name: "window", is: number, must: true, least: pointerTo(0), above: true, doc: "Seconds."},
		{name: "consumer", is: text | number, doc: "Who is counted; one counter for all when absent."},
		{name: "consume", is: number, least: pointerTo(0), otherwise: 1.0, doc: "How much this counts; 0 looks only."},
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

func integerRule(v any) string {
	if n, ok := v.(float64); ok && n != float64(int64(n)) {
		return "expected an integer"
	}
	return ""
}

// MaxIterations is how many iterations a repeat may be given as a number.
const MaxIterations = 1_000_000_000

// iterationsRule is the rule of a number that a repeat goes through.
func iterationsRule(v any) string {
	if n, ok := v.(float64); ok && (n < 0 || n > MaxIterations || n != math.Trunc(n)) {
		return fmt.Sprintf("a number of iterations is an integer from 0 to %d", MaxIterations)
	}
	return ""
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

// hasTemplate reports whether v contains a template.
func hasTemplate(v any) bool {
	switch v := v.(type) {
	case string:
		return isDynamic(v)
	case []any:
		return slices.ContainsFunc(v, hasTemplate)
	case *value.Object:
		return slices.ContainsFunc(v.Keys(), func(key string) bool { return hasTemplate(v.At(key)) })
	}
	return false
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
	{name: "labels", is: list, each: &field{is: text, match: `^[0-9A-Za-z._:-]{2,60}$`, says: "label (2 to 60 letters, digits and ._:-)"}, doc: "Labels."},
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
		{name: "event", is: text, match: EventName, says: "event name (1 to 200 letters, digits, blanks and ._-)", rule: emittedEventRule, raises: InvalidEvent, blank: IsBlank, doc: "Type of the events."},
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

// modules are the functions that run may call.
var modules = map[string][]string{
	"collections": {
		"updateSchema", "listCollections", "getCollectionSchemas", "getCollectionStats", "inferCollectionSchema", "deleteCollections",
		"findOne", "findMany", "findAndCount", "count", "distinct", "aggregate", "create", "bulkCreate", "updateOne", "updateMany",
		"upsert", "bulkUpsert", "deleteOne", "deleteMany",
	},
	"secrets": {"set", "get", "delete"},
	"text":    {"splitText", "parseUrl"},
	"crypto":  {"sha256", "sha512", "md5", "hmac", "base64Encode", "base64Decode", "randomBytes", "randomUUID"},
	"code":    {"run", "call"},
}

// natives are the event types that only the platform emits, except error and usage: a
// prefix and its suffixes.
var natives = map[string]string{
	"webhooks.":                 "test deliveries.attempted",
	"gateway.login.":            "succeeded failed",
	"gateway.mfa.":              "succeeded failed",
	"gateway.passwordReset.":    "requested succeeded",
	"gateway.signup.":           "succeeded",
	"gateway.users.":            "created updated deleted",
	"gateway.sessions.":         "ended",
	"gateway.accessTokens.":     "created deleted",
	"gateway.jwks.":             "updated",
	"apikeys.":                  "created updated deleted",
	"workspaces.":               "created updated deleted undeleted configured restored duplicated locked unlocked imported staged",
	"workspaces.security.":      "updated",
	"workspaces.secrets.":       "updated",
	"workspaces.events.":        "updated",
	"workspaces.blocks.":        "updated",
	"workspaces.permissions.":   "shared deleted",
	"workspaces.automations.":   "created updated deleted",
	"workspaces.pages.":         "created updated deleted permissions.shared permissions.deleted",
	"workspaces.apps.":          "installed configured uninstalled",
	"workspaces.files.":         "uploaded updated deleted counted",
	"workspaces.subscriptions.": "created updated deleted disabled",
	"workspaces.collections.":   "updated",
	"workspaces.versions.":      "published deleted progress marked intended",
	"workspaces.bulkImport.":    "started progress completed",
	"workspaces.bulkPush.":      "started progress completed",
	"apps.":                     "published deleted",
	"runtime.jwks.":             "updated",
	"runtime.interactions.":     "triggered",
	"runtime.webhooks.":         "triggered",
	"runtime.schedules.":        "triggered created",
	"runtime.automations.":      "executed",
	"runtime.fetch.":            "failed",
	"runtime.waits.":            "pending kept fulfilled expired",
	"runtime.runs.":             "replayed",
	"runtime.contexts.":         "updated",
	"events.userTopics.":        "created joined",
	"events.":                   "cleaned dropped deliveries.dropped",
	"workspaces.operations.":    "started cancelRequested resumed advanced ended",
	"runtime.trees.":            "started",
	"log.":                      "sealed",
	"names.":                    "taken released",
	"nats.users.":               "created deleted",
}

// nativeTypes are their whole names: every event is asked for.
var nativeTypes = func() map[string]bool {
	all := map[string]bool{}
	for prefix, names := range natives {
		for _, name := range strings.Fields(names) {
			all[prefix+name] = true
		}
	}
	return all
}()

// Native reports whether only the platform may emit an event type; not so error and usage.
func Native(eventType string) bool { return nativeTypes[eventType] }

// emittedEventRule is the rule of names that are emitted.
func emittedEventRule(v any) string {
	if s, ok := v.(string); ok && Native(s) {
		return fmt.Sprintf("%q is an event of the platform itself", s)
	}
	return ""
}
