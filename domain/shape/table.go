package shape

import (
	"slices"

	"svc/domain/document"
)

// table is one sort of document.
type table struct {
	name   string         // of its schema
	kind   *document.Kind // nil: it is part of other documents
	title  string
	doc    string
	fields []field
	// also checks what is true of the document as a whole.
	also     func(*checker, *document.Map)
	examples []string // in JSON
}

// tables are all documents of this package.
var tables = []*table{indexTable, securityTable, pageTable, blockTable, importTable}

// audited are what the service says about an object of any sort.
var audited = readOnly("id", "checksum", "permissions", "createdAt", "createdBy", "updatedAt", "updatedBy")

// readOnly returns fields that the service sets.
func readOnly(names ...string) []field {
	fields := make([]field, len(names))
	for i, name := range names {
		fields[i] = field{name: name, is: anything, readOnly: true, doc: "Set by the service."}
	}
	return fields
}

// described returns f under a name.
func described(name, doc string, f field) field {
	f.name, f.doc = name, doc
	return f
}

// required returns f as one that must be there.
func required(f field) field {
	f.must = true
	return f
}

// What several documents have.
var (
	labels  = field{is: list, each: &field{is: text, match: label}}
	picture = field{is: text, limit: 2048, rule: wrongPicture, droppable: true}
	prose   = byLanguage(field{is: text, limit: maxText})
	open    = field{is: object}
	// announced is an event that is emitted, awaited one that is listened to.
	announced = field{is: text | object, rule: wrongEmitted, of: []field{
		{name: "event", is: text, must: true, rule: wrongEmitted, doc: "Its type."},
		{name: "payload", is: anything, doc: "What it carries; goes before what the visitor supplies."},
	}}
	awaited = field{is: text, rule: wrongEvent}
	// called is an automation.
	called = field{is: text | object, rule: wrongReference, of: []field{
		{name: "slug", is: text, must: true, rule: wrongReference, doc: "Its slug."},
		{name: "payload", is: anything, doc: "Its input besides page, language and query."},
	}}
)

// byLanguage returns a text, or several by language, each of which is like f.
func byLanguage(f field) field {
	f.each = &field{is: text, limit: f.limit, rule: f.rule}
	f.is, f.keys = text|object, named(language)
	return f
}

var configFields = []field{
	{name: "schema", is: object, keys: names(100), typed: settings, doc: "Typed fields of the value, by name; additionalProperties: true allows others."},
	{name: "block", is: text | object, doc: "The block that edits the value."},
	{name: "value", is: object, doc: "The value: config of automations."},
}

var importTable = &table{
	name: "import", kind: document.Import, title: "App instance",
	doc: "An app that a workspace uses.",
	fields: slices.Concat([]field{
		{name: "slug", is: text, rule: wrongSlug(document.Import, "1 to 60 letters, digits, spaces, _ and -"), doc: "Its name in the workspace; that of the app when absent."},
		{name: "appSlug", is: text, must: true, rule: wrongSlug(document.Import, "1 to 60 letters, digits, spaces, _ and -"), doc: "The app."},
		{name: "appVersion", is: text, match: matching(`^[A-Za-z0-9_.-]{1,63}$`, "name of a version (1 to 63 letters, digits and _.-)"), doc: "The version of the app; absent: always the newest."},
		{name: "disabled", is: boolean, otherwise: false, doc: "It does nothing and offers nothing."},
		described("labels", "Labels.", labels),
		{name: "config", is: object | text, rule: wrongConfig, doc: "The value of the app's config; one template passes a config of the workspace on."},
	}, readOnly("appName", "photo", "automations", "events", "blocks", "missing"), audited),
	examples: []string{`{"slug":"mail","appSlug":"mailer","appVersion":"v2.5.0","labels":["env:prod"],"config":{"sender":"shop@example.com","token":"{{secret.mailToken}}"}}`},
}

var securityTable = &table{
	name: "security", kind: document.Security, title: "Security",
	doc: "The roles of a workspace, and the rules that say what their holders may do.",
	fields: slices.Concat([]field{
		{name: "authorizations", is: object, doc: "Roles and rules.", of: []field{
			{name: "roles", is: object, keys: names(60), doc: "Custom roles by name.", each: &field{is: object | null, of: roleFields}},
			{name: "rules", is: list, doc: "Rules; of those that match the last one decides.", each: &field{is: object, of: ruleFields}},
		}},
	}, readOnly("authentication"), audited),
	examples: []string{
		`{"authorizations":{"roles":{"editor":{},"agent":{"description":"Answers customers","auth":{"svc":{"conditions":{"authData.email":{"$regex":"@example\\.com$"}}}}}},` +
			`"rules":[{"role":"editor","action":["read","update"],"subject":"pages"},{"role":["agent"],"action":"read","subject":"pages","conditions":{"labels":"internal"},"inverted":true,"reason":"drafts"}]}}`,
	},
}

var roleFields = []field{
	{name: "description", is: text, limit: 1000, doc: "What it is for."},
	{
		name: "auth", is: object, keys: names(60), doc: "Who has it by themselves: users of a provider; apiKey: automations, by name.",
		each: &field{is: object | null, of: []field{described("conditions", "On {authData}.", open)}},
	},
}

var ruleFields = []field{
	{name: "action", is: text | list, each: word, must: true, firm: true, suggest: actions(), doc: "What is done."},
	{name: "subject", is: text | list, each: word, must: true, firm: true, suggest: subjects(), doc: "To what."},
	{name: "role", is: text | list, each: word, firm: true, doc: "Who; absent: everyone."},
	{name: "inverted", is: boolean, firm: true, otherwise: false, doc: "The rule denies."},
	{name: "conditions", is: object, firm: true, doc: "Fields of the subject and their values or $operators."},
	{name: "fields", is: list, each: word, firm: true, doc: "The top-level fields that an update may touch."},
	{name: "reason", is: text, limit: 1000, doc: "Why."},
	{name: "priority", is: number, least: 100, most: 999, whole: true, doc: "Its place among the rules; absent: 100 and its position."},
}

var word = &field{is: text}
