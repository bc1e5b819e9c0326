package shape

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/agent"
	"svc/domain/automation"
	"svc/domain/automation/cron"
	"svc/domain/crawl"
	"svc/domain/document"
	"svc/domain/jsontype"
	"svc/domain/kbdocument"
	"svc/domain/suite"
)

// table is one sort of document.
type table struct {
	name   string         // of its schema
	kind   *document.Kind // nil: it is part of other documents
	title  string
	doc    string
	fields []field
	// also checks the document as a whole.
	also     func(*checker, *document.Map)
	examples []string // in JSON
}

// tables are all documents of this package.
var tables = []*table{indexTable, securityTable, pageTable, blockTable, importTable, knowledgeTable, testTable, agentTable}

// audited are fields that the service sets on every object.
var audited = readOnly("id", "checksum", "permissions", "createdAt", "createdBy", "updatedAt", "updatedBy")

// readOnly returns fields that the service sets.
func readOnly(names ...string) []field {
	fields := make([]field, len(names))
	for i, name := range names {
		fields[i] = field{name: name, is: anything, readOnly: true, doc: "Set by the service."}
	}
	return fields
}

// withDescription returns f under a name.
func withDescription(name, doc string, f field) field {
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
	picture = field{is: text, limit: 2048, rule: pictureRule, droppable: true}
	prose   = byLanguage(field{is: text, limit: maxText})
	open    = field{is: object}
	// announced is an event that is emitted, awaited one that is listened to.
	announced = field{is: text | object, rule: emittedEventRule, of: []field{
		{name: "event", is: text, must: true, rule: emittedEventRule, doc: "Its type."},
		{name: "payload", is: anything, doc: "What it carries; goes before what the visitor supplies."},
	}}
	awaited = field{is: text, rule: eventRule}
	// called is an automation.
	called = field{is: text | object, rule: referenceRule, of: []field{
		{name: "slug", is: text, must: true, rule: referenceRule, doc: "Its slug."},
		{name: "payload", is: anything, doc: "Its input besides page, language and query."},
	}}
)

// byLanguage returns a text, or several by language, each of which is like f.
func byLanguage(f field) field {
	f.each = &field{is: text, limit: f.limit, rule: f.rule}
	f.is, f.keys = text|object, namingOf(language)
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
		{name: "slug", is: text, rule: slugRule(document.Import, "1 to 60 letters, digits, spaces, _ and -"), doc: "Its name in the workspace; that of the app when absent."},
		{name: "appSlug", is: text, must: true, rule: slugRule(document.Import, "1 to 60 letters, digits, spaces, _ and -"), doc: "The app."},
		{name: "appVersion", is: text, match: matching(`^[A-Za-z0-9_.-]{1,63}$`, "name of a version (1 to 63 letters, digits and _.-)"), doc: "The version of the app; absent: always the newest."},
		{name: "disabled", is: boolean, otherwise: false, doc: "It does nothing and offers nothing."},
		withDescription("labels", "Labels.", labels),
		{name: "config", is: object | text, rule: configRule, doc: "The value of the app's config; one template passes a config of the workspace on."},
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
		each: &field{is: object | null, of: []field{withDescription("conditions", "On {authData}.", open)}},
	},
}

var ruleFields = []field{
	{name: "action", is: text | list, each: word, must: true, nullIsPresent: true, suggest: actions(), doc: "What is done."},
	{name: "subject", is: text | list, each: word, must: true, nullIsPresent: true, suggest: subjects(), doc: "To what."},
	{name: "role", is: text | list, each: word, nullIsPresent: true, doc: "Who; absent: everyone."},
	{name: "inverted", is: boolean, nullIsPresent: true, otherwise: false, doc: "The rule denies."},
	{name: "conditions", is: object, nullIsPresent: true, doc: "Fields of the subject and their values or $operators."},
	{name: "fields", is: list, each: word, nullIsPresent: true, doc: "The top-level fields that an update may touch."},
	{name: "reason", is: text, limit: 1000, doc: "Why."},
	{name: "priority", is: number, least: 100, most: 999, whole: true, doc: "Its place among the rules; absent: 100 and its position."},
}

var word = &field{is: text}

var indexTable = &table{
	name: "index", kind: document.Index, title: "Workspace",
	doc: "The workspace itself: index.yml.",
	fields: slices.Concat([]field{
		{name: "name", is: text, must: true, limit: 60, rule: workspaceNameRule, doc: "Its title: 1 to 60 characters on one line."},
		{name: "slug", is: text, limit: 60, match: matching(`^[a-z0-9-]+(/[a-z0-9-]+)*$`, "slug (a-z, 0-9 and -, in segments joined by /)"), doc: "Its name in addresses."},
		withDescription("description", "What it is for, by language.", prose),
		withDescription("photo", "Address of its picture.", picture),
		withDescription("logo", "The same as photo.", picture),
		withDescription("labels", "Labels.", labels),
		{name: "registerWorkspace", is: boolean, otherwise: false, doc: "Listed in workspacesRegistry of automations."},
		{name: "allowUnsecurePages", is: boolean, otherwise: false, doc: "Its pages may run scripts of their own."},
		{name: "config", is: object, of: configFields, doc: "Settings that its automations read."},
		{name: "secrets", is: object, doc: "The secrets it needs; never their values.", of: []field{
			{name: "schema", is: object, typed: byName, doc: "Typed fields by name of the secret.", keys: namingOf(matching(`^[A-Za-z0-9_.-]{1,100}$`, "name of a secret (1 to 100 letters, digits and _.-)"))},
		}},
		{name: "blocks", is: object, keys: blockNames, each: &field{is: object | null, of: blockFields}, doc: "Its blocks by name."},
		{name: "events", is: object, doc: "What its events carry.", of: []field{
			{name: "types", is: object, keys: namingOf(eventType), doc: "By type of event.", each: &field{is: object | null, of: []field{
				{name: "schema", is: object, typed: either, doc: "Typed fields of the payload by name, or one schema of it; searched under aggPayload."},
			}}},
			withDescription("mapping", "How payloads become search fields.", open),
		}},
		{name: "models", is: object, of: modelFields, doc: "Language models, over those of the platform."},
		{name: "customDomains", is: list, doc: "Hosts of its pages.", each: &field{is: text, limit: 253, match: matching(
			`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`, "host (lower case, with a dot)",
		)}},
		{name: "repositories", is: object, doc: "Where its content is pushed to and pulled from, by id.", each: &field{is: object, of: repositoryFields}, keys: namingOf(
			matching(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`, "id of a repository (1 to 40 letters, digits, _ and -)"),
		)},
	}, readOnly(
		"platformRepositories", "dirty", "lastPush", "lastPull", "versions", "contentRevision", "syncedRevision", "writeLock",
		"agents", "automations", "pages", "knowledgeBases", "tests", "imports", "authentication", "clientId", "role", "can", "deletedAt", "restorableUntil",
	), audited),
	also: func(c *checker, doc *document.Map) {
		for slug, provider := range doc.Object("models").Object("providers").All() {
			provider, _ := provider.(*document.Map)
			c.checkCredentialHeaders(provider, (*fieldPath)(nil).at("models").at("providers").at(slug))
		}
		blocks, _ := doc.Get("blocks")
		m, _ := blocks.(*document.Map)
		for name, block := range m.All() {
			if inside, ok := block.(*document.Map); ok {
				c.checkBlocks(inside, (*fieldPath)(nil).at("blocks").at(name))
			}
		}
	},
	examples: []string{
		`{"name":"Shop","slug":"shop","description":{"en":"What the shop sells","fr":"Ce que la boutique vend"},"photo":"/assets/shop.png","labels":["env:prod"],` +
			`"config":{"schema":{"currency":{"type":"string","title":"Currency"}},"value":{"currency":"EUR"}},"secrets":{"schema":{"paymentKey":{"type":"string","secret":true}}},` +
			`"blocks":{"Product":{"name":"Product","config":{"size":"small"},"blocks":[{"slug":"RichText","content":"{{title}}"}]}},` +
			`"events":{"types":{"order.paid":{"schema":{"amount":{"type":"number"}}}}}}`,
	},
}

// checkCredentialHeaders refuses headers that look like credentials and are no secrets of the workspace.
func (c *checker) checkCredentialHeaders(m *document.Map, at *fieldPath) {
	for name, v := range m.Object("headers").All() {
		if s, _ := v.(string); credentialHeader.MatchString(name) && !secretRef.MatchString(s) {
			c.fault(domain.CodeValidation, at.at("headers").at(name), "must be a secret of the workspace: {{secret.NAME}}")
		}
	}
}

var repositoryFields = slices.Concat([]field{
	{name: "name", is: text, must: true, limit: 60, rule: workspaceNameRule, doc: "Its title."},
	{name: "type", is: text, enum: []string{"git", "archive"}, otherwise: "git", doc: "What it is."},
	{name: "mode", is: text, enum: []string{"read-write", "read-only", "write-only"}, otherwise: "read-write", doc: "What may be done with it."},
	{name: "config", is: object, doc: "How it is reached.", of: []field{
		{name: "url", is: text, doc: "Its address: https, ssh, or user@host:path."},
		{name: "branch", is: text, otherwise: "main", doc: "The branch."},
		{name: "dirpath", is: text, doc: "The directory in it; absent: its root."},
		{name: "auth", is: object, doc: "Who we are there; {{secret.NAME}} may stand for each.", of: []field{
			{name: "user", is: text}, {name: "password", is: text}, {name: "sshkey", is: text}, {name: "passphrase", is: text},
		}},
		{name: "caBundle", is: text, doc: "Certificates that are trusted besides."},
		{name: "knownHosts", is: text, doc: "Lines of known_hosts."},
		{name: "redirectHosts", is: list, each: word, doc: "Hosts that may get the credentials after a redirect."},
	}},
	{name: "pull", is: object, doc: "What is taken from it.", of: []field{
		{name: "exclude", is: list, doc: "What is not.", each: &field{is: object, of: []field{
			{name: "path", is: text, must: true, doc: "index, security, automations/charge, or a folder and /*."},
		}}},
	}},
	{name: "checks", is: text, enum: []string{"required"}, doc: "A push is refused unless all tests of the workspace pass; absent: tests are not run."},
}, readOnly("id", "groups"))

var modelFields = []field{
	{name: "providers", is: object, rule: atMost(20, "providers"), keys: namingOf(matching(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$`, "name of a provider (1 to 60 letters, digits and _.-)")), doc: "Providers by name.", each: &field{is: object, of: []field{
		{name: "type", is: text, enum: []string{"openai", "anthropic", "ollama"}, otherwise: "openai", doc: "The protocol; openai stands for all that speak that of OpenAI."},
		{name: "baseUrl", is: text, must: true, rule: addressRule, limit: 2048, doc: "Its address, such as https://api.openai.com/v1, https://api.anthropic.com/v1 or http://localhost:11434."},
		{name: "apiKey", is: text, rule: secretRule, doc: "{{secret.NAME}}"},
		{name: "headers", is: object, each: word, doc: "Headers; secret ones as {{secret.NAME}}."},
		{name: "models", is: list, doc: "Its models; absent: those it lists itself.", each: &field{is: object, of: []field{
			{name: "id", is: text, must: true},
			{name: "kind", is: text, enum: []string{"chat", "embedding"}},
			{name: "context", is: number, least: 1, most: 1e9, whole: true, doc: "Tokens."},
			{name: "dimensions", is: number, least: 1, most: 1e6, whole: true},
			{name: "tools", is: boolean, otherwise: true},
		}}},
	}}},
	{name: "defaults", is: object, doc: "What is used where none is named.", of: []field{{name: "chat", is: text}, {name: "embedding", is: text}}},
}

var pageTable = &table{
	name: "page", kind: document.Page, title: "Page",
	doc: "A page of blocks.",
	fields: slices.Concat([]field{
		{name: "slug", is: text, rule: slugRule(document.Page, "at most 128 letters, digits, spaces, _ and -, in segments joined by /, the first of which is not _svc"), doc: "Its address; index is served at /."},
		required(withDescription("name", "Its title, by language.", byLanguage(field{is: text, limit: 500, rule: titleRule}))),
		withDescription("description", "What it is about, by language.", prose),
		withDescription("labels", "Labels; conditions of rules may name them.", labels),
		{name: "public", is: boolean, doc: "Everyone may read it. Set by sharing the page; true in an imported file shares it."},
		{name: "redirect", is: object, doc: "Where visitors are sent instead.", of: []field{
			{name: "url", is: text, must: true, limit: 2048, rule: lineRule, doc: "http(s), or a path."},
			{name: "permanent", is: boolean, otherwise: false, doc: "308 instead of 302."},
		}},
		{name: "colorScheme", is: text, enum: []string{"auto", "light", "dark"}, otherwise: "auto", doc: "Light or dark."},
		withDescription("favicon", "Address of its icon.", picture),
		{name: "styles", is: text, doc: "CSS of the page."},
		withDescription("onInit", "Event that is emitted once per view.", announced),
		withDescription("updateOn", "Event whose payload updates the page.", awaited),
		withDescription("notifyOn", "Event that notifies the visitor.", awaited),
		withDescription("automation", "Automation whose output is merged over the page.", called),
		{name: "blocks", is: list, each: &field{is: object, of: pageBlockFields, open: true}, doc: "What it shows."},
	}, readOnly("workspaceId", "workspaceSlug", "customDomains", "events", "clientId", "appInstances"), audited),
	also: func(c *checker, doc *document.Map) { c.checkBlocks(doc, nil) },
	examples: []string{
		`{"slug":"home","name":{"en":"Home","fr":"Accueil"},"labels":["public"],"colorScheme":"auto","onInit":{"event":"home.opened","payload":{"from":"page"}},"updateOn":"home.updated",` +
			`"automation":"load-home","blocks":[{"slug":"Header","title":"{{title}}"},{"slug":"crm.Contacts","appInstance":"crm","if":"{{contacts}}"},` +
			`{"slug":"Form","schema":{"type":"object","properties":{"email":{"type":"string"}}},"onSubmit":"subscribe"}]}`,
		`{"name":"Old","redirect":{"url":"/new","permanent":true}}`,
	},
}

var knowledgeTable = &table{
	name: "knowledgeBase", kind: document.Knowledge, title: "Knowledge base",
	doc: "A set of documents with one search index.",
	fields: slices.Concat([]field{
		{name: "slug", is: text, rule: slugRule(document.Knowledge, document.BaseSlugForm), doc: "Its name in the API."},
		required(withDescription("name", "Its title, by language.", byLanguage(field{is: text, limit: 500, rule: titleRule}))),
		withDescription("description", "What it is about, by language.", prose),
		withDescription("labels", "Labels; conditions of rules may name them.", labels),
		{name: "language", is: text, enum: append([]string{"auto"}, stemmedLanguages...), otherwise: "auto", doc: "Of documents that name none and whose text does not tell."},
		{name: "chunking", is: object, doc: "How texts are divided into passages.", of: []field{
			{name: "strategy", is: text, enum: []string{"structure", "fixed"}, otherwise: "structure", doc: "At headings, paragraphs and sentences, or windows of equal length."},
			{name: "size", is: number, least: 200, most: 8000, whole: true, otherwise: 1500.0, doc: "Characters of a passage at most."},
			{name: "overlap", is: number, least: 0, most: 4000, whole: true, otherwise: 150.0, doc: "Characters of the passage before that are repeated; at most half of size."},
		}},
		{name: "search", is: object, doc: "Defaults of searches.", of: []field{
			{name: "mode", is: text, enum: []string{"auto", "text", "vector", "hybrid"}, otherwise: "auto", doc: "How results are ranked."},
			{name: "limit", is: number, least: 1, most: 100, whole: true, otherwise: 10.0, doc: "Results on a page."},
			{name: "weights", is: object, doc: "Of the two lists of a hybrid search.", of: []field{
				{name: "text", is: number, least: 0, most: 1000, otherwise: 1.0}, {name: "vector", is: number, least: 0, most: 1000, otherwise: 1.0},
			}},
			{name: "minSimilarity", is: number, least: 0, most: 1, otherwise: 0.0, doc: "Of the results of a vector search."},
			{name: "boosts", is: object, doc: "How much more than the text a match counts.", of: []field{
				{name: "title", is: number, least: 0, most: 1000, otherwise: 2.0}, {name: "headings", is: number, least: 0, most: 1000, otherwise: 1.5},
			}},
		}},
		{name: "answer", is: object, doc: "How questions are answered.", of: []field{
			{name: "model", is: text, limit: 200, rule: lineRule, doc: "provider/model, or the id of a model; absent: the default."},
			{name: "instructions", is: text, limit: 20_000, doc: "What the model is told besides the rules of the service."},
			{name: "topK", is: number, least: 1, most: 50, whole: true, otherwise: 8.0, doc: "Passages that are searched for."},
			{name: "temperature", is: number, least: 0, most: 2, otherwise: 0.2, doc: "How freely the model words an answer."},
			{name: "maxTokens", is: number, least: 1, most: 100_000, whole: true, otherwise: 1000.0, doc: "Of an answer at most."},
			withDescription("noAnswer", "The answer when no passage fits, by language.", prose),
		}},
		{name: "synonyms", is: list, rule: atMost(500, "groups"), doc: "Groups of words that searches take for the same.", each: &field{
			is: list, rule: synonymsRule, each: &field{is: text, limit: 60, rule: lineRule},
		}},
		{name: "embedding", is: object, doc: "The model that turns passages into vectors; absent: full text only.", of: []field{
			{name: "model", is: text, must: true, limit: 200, rule: lineRule},
			{name: "dimensions", is: number, least: 1, most: 1e6, whole: true},
		}},
		{name: "sources", is: object, rule: atMost(50, "sources"), keys: namingOf(sourceID), each: &field{is: object, of: sourceFields}, doc: "Sites whose pages are documents of the base, by id."},
	}, audited),
	also: func(c *checker, doc *document.Map) {
		for id, source := range doc.Object("sources").All() {
			source, _ := source.(*document.Map)
			at := (*fieldPath)(nil).at("sources").at(id)
			c.checkCredentialHeaders(source, at)
			if selector := source.Object("selector"); selector.Text("css") != "" && selector.Text("xpath") != "" {
				c.fault(domain.CodeValidation, at.at("selector"), "expected css or xpath, not both")
			}
		}
		chunking := document.Knowledge.Complete(doc).Object("chunking")
		size, _ := chunking.Get("size")
		overlap, _ := chunking.Get("overlap")
		if size, ok := size.(float64); ok {
			if overlap, ok := overlap.(float64); ok && overlap > size/2 {
				c.fault(domain.CodeValidation, (*fieldPath)(nil).at("chunking").at("overlap"), "must be at most half of size; it is 150 when it is absent")
			}
		}
	},
	examples: []string{
		`{"slug":"faq","name":{"en":"Questions","fr":"Questions fréquentes"},"labels":["support"],"language":"fr","chunking":{"size":800,"overlap":80},` +
			`"search":{"limit":5,"boosts":{"title":3}},"answer":{"instructions":"Be brief.","topK":5,"noAnswer":{"en":"Ask a colleague.","fr":"Demandez à un collègue."}},"synonyms":[["car","auto"],["bill","invoice"]],` +
			`"sources":{"site":{"urls":["https://docs.example.com/"],"exclude":["/search*"],"schedule":"30 3 * * *","selector":{"css":"main"}}}}`,
	},
}

// requestHeaders are sent to other servers.
var requestHeaders = field{is: object, rule: atMost(10, "headers"), keys: namingOf(matching("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$", "name of a header")), each: &field{is: text, limit: 4000, rule: headerRule}}

// sourceFields are those of a site that is read.
var sourceFields = []field{
	{name: "urls", is: list, must: true, rule: from1To(100, "addresses"), each: &field{is: text, rule: siteRule}, doc: "Where reading begins."},
	{name: "hosts", is: list, rule: atMost(100, "hosts"), each: &field{is: text, limit: 260, match: matching(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$`, "host, such as docs.example.com or localhost:8080")}, doc: "Hosts that belong to the site besides those of urls."},
	{name: "include", is: list, rule: atMost(100, "patterns"), each: sitePattern, doc: "Patterns of addresses that are read: * is any text, a leading / begins at the path, regex: begins a regular expression. Absent: all."},
	{name: "exclude", is: list, rule: atMost(100, "patterns"), each: sitePattern, doc: "Patterns of addresses that are not."},
	{name: "depth", is: number, least: 0, most: 20, whole: true, otherwise: 3.0, doc: "Links from a start address."},
	{name: "maxPages", is: number, least: 1, most: 1e8, whole: true, otherwise: 1000.0, doc: "Pages of one run."},
	{name: "sitemap", is: text, enum: []string{"auto", "only", "off"}, otherwise: "auto", doc: "Whether sitemaps add addresses; only: no links are followed."},
	{name: "schedule", is: text, limit: 200, rule: cronRule, doc: "When it is read: minute hour day month weekday."},
	{name: "selector", is: object, doc: "What of a page is kept; absent: its main part.", of: []field{
		{name: "css", is: text, limit: 1000, doc: "A CSS selector."},
		{name: "xpath", is: text, limit: 1000, doc: "An XPath expression."},
		{name: "remove", is: list, rule: atMost(50, "selectors"), each: &field{is: text, limit: 1000}, doc: "CSS selectors of what is left out."},
	}},
	{name: "types", is: list, rule: from1To(7, "types"), each: &field{is: text, enum: []string{"html", "pdf", "docx", "xlsx", "csv", "markdown", "text"}}, doc: "What is stored: html when absent."},
	{name: "ignoreParams", is: list, rule: atMost(100, "parameters"), each: &field{is: text, limit: 100, rule: lineRule}, doc: "Parameters of addresses that do not tell pages apart."},
	withDescription("headers", "Sent to the hosts of urls only; credentials as {{secret.NAME}}.", requestHeaders),
	{name: "delay", is: number, least: 0, most: 3600, doc: "Seconds between requests to a host, at least DOWNLOAD_DELAY."},
	{name: "robots", is: boolean, otherwise: true, doc: "Obey robots.txt; false only for hosts that the settings exempt."},
	{name: "keepVanished", is: boolean, otherwise: false, doc: "Keep documents of pages that are gone."},
	{name: "disabled", is: boolean, otherwise: false, doc: "It is not read."},
	{name: "tags", is: list, rule: atMost(kbdocument.MaxTags, "tags"), each: &field{is: text, limit: kbdocument.MaxTag, rule: lineRule}, doc: "Of every page."},
	{name: "metadata", is: object, rule: metadataRule, doc: "Of every page: at most 8 KB and 4 levels."},
	{name: "language", is: text, enum: stemmedLanguages, doc: "Of every page; absent: that of its text."},
}

var (
	sourceID    = matching(`^[a-z0-9][a-z0-9-]{0,39}$`, "id of a source (1 to 40 of a-z, 0-9 and -, not - first)")
	sitePattern = &field{is: text, limit: 500, rule: patternRule}
)

// siteRule is the rule of addresses that reading begins with.
func siteRule(v any) string {
	if s, ok := v.(string); ok {
		if _, err := kbdocument.NormaliseURL(s); err != nil {
			return "must be an http or https URL of at most 2048 characters, without user name and password"
		}
	}
	return ""
}

// metadataRule is the rule of what is said of every page.
func metadataRule(v any) string {
	if m, ok := document.Plain(v).(map[string]any); ok {
		return kbdocument.MetadataProblem(m)
	}
	return ""
}

// patternRule is the rule of patterns of addresses.
func patternRule(v any) string {
	s, _ := v.(string)
	if s == "" {
		return "must not be empty"
	}
	return crawl.PatternProblem(s)
}

// cronRule is the rule of schedules.
func cronRule(v any) string {
	s, _ := v.(string)
	if _, err := cron.Parse(s); err != nil {
		return err.Error()
	}
	return ""
}

// headerRule is the rule of the value of a header.
func headerRule(v any) string {
	if s, ok := v.(string); ok && (strings.TrimSpace(s) != s || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f })) {
		return "must be a line of ASCII without blanks at its ends"
	}
	return ""
}

var functionName = matching(`^[A-Za-z0-9_-]{1,64}$`, "name of a function (1 to 64 letters, digits, _ and -)")

var agentTable = &table{
	name: "agent", kind: document.Agent, title: "Agent",
	doc: "Instructions for a language model, the knowledge that it may look up, and the functions that it may call.",
	fields: slices.Concat([]field{
		{name: "slug", is: text, rule: slugRule(document.Agent, document.AgentSlugForm), doc: "Its name in the API."},
		required(withDescription("name", "Its title, by language.", byLanguage(field{is: text, limit: 500, rule: titleRule}))),
		withDescription("description", "What it is about, by language.", prose),
		withDescription("labels", "Labels; conditions of rules may name them. mcp: it can be called by MCP.", labels),
		{name: "public", is: boolean, doc: "Everyone may execute it. Changed by sharing it."},
		{name: "published", is: boolean, doc: "It is what callers get. Changed by publishing it."},
		{name: "disabled", is: boolean, doc: "Only those who may change it can execute it."},
		{name: "instructions", is: text, must: true, limit: 20000, rule: notBlankRule, doc: "For the model. {{config.x}}, {{user.id}}, {{user.email}}, {{run.date}} and {{context.x}} are filled in."},
		{name: "model", is: text, limit: 200, rule: lineRule, doc: "provider/model, or a model; absent: the default."},
		{name: "temperature", is: number, least: 0, most: 2, otherwise: 0.2, doc: "Of the model."},
		{name: "maxTokens", is: number, least: 1, most: 1e6, whole: true, otherwise: 1000.0, doc: "Of an answer."},
		{name: "knowledge", is: list, rule: atMost(20, "bases"), doc: "What it may look up.", each: &field{is: object, of: []field{
			{name: "base", is: text, must: true, rule: slugRule(document.Knowledge, document.BaseSlugForm), doc: "A knowledge base, by its slug."},
			{name: "filters", is: object, rule: filterRule, doc: "Which documents: conditions as in a search."},
			{name: "topK", is: number, least: 1, most: 50, whole: true, otherwise: 6.0, doc: "Passages at most."},
			{name: "when", is: text, enum: []string{"tool", "always"}, otherwise: "tool", doc: "When the model asks for it, or with each message."},
			{name: "access", is: text, enum: []string{"caller", "agent"}, otherwise: "caller", doc: "caller: documents that the caller may read. agent: all within the filters, for whoever may execute the agent."},
		}}},
		{name: "tools", is: list, rule: atMost(agent.MaxFunctions, "tools"), doc: "Functions that it may call.", each: &field{is: object, of: []field{
			{name: "automation", is: text, rule: slugRule(document.Automation, "that of an automation of this workspace"), doc: "An automation, by its slug."},
			{name: "name", is: text, match: functionName, doc: "How the model calls it; absent: by the slug."},
			withDescription("description", "For the model, by language; absent: that of the automation.", prose),
			{name: "arguments", is: object, doc: "Fixed values, unseen by the model, that win over what it sends."},
			{name: "mcp", is: object, doc: "An MCP server with functions.", of: []field{
				{name: "url", is: text, must: true, rule: addressRule, limit: 2048, doc: "Its address."},
				withDescription("headers", "Headers; secret ones as {{secret.NAME}}.", requestHeaders),
				{name: "tools", is: list, rule: atMost(agent.MaxFunctions, "tools"), each: &field{is: text, limit: 128, rule: lineRule}, doc: "Those that the model may call; absent: all."},
			}},
			{name: "approval", is: text, enum: []string{"always"}, doc: "always: a call waits until the author of the conversation approves it."},
		}}},
		{name: "memory", is: object, doc: "What the model gets of the conversation.", of: []field{
			{name: "messages", is: number, least: 0, most: 200, whole: true, otherwise: 20.0, doc: "The last ones."},
		}},
		{name: "limits", is: object, doc: "For one message.", of: []field{
			{name: "steps", is: number, least: 1, most: 1000, whole: true, otherwise: 10.0, doc: "Calls of the model."},
			{name: "toolCalls", is: number, least: 0, most: 1000, whole: true, otherwise: 20.0, doc: "Calls of functions."},
			{name: "seconds", is: number, least: 1, most: 86400, whole: true, otherwise: 120.0},
			{name: "tokens", is: number, least: 1, most: 1e9, whole: true, otherwise: 50000.0},
		}},
	}, audited),
	also: checkTools,
	examples: []string{
		`{"slug":"helper","name":"Helper","labels":["mcp"],"instructions":"You answer customers of {{config.company}}. Today is {{run.date}}.","model":"default/large","temperature":0,` +
			`"knowledge":[{"base":"faq","filters":{"tags":"public"},"topK":4,"when":"always"}],` +
			`"tools":[{"automation":"refund","name":"refund","description":"Refunds an order","arguments":{"currency":"EUR"},"approval":"always"},` +
			`{"mcp":{"url":"https://tools.example.com/mcp","headers":{"authorization":"{{secret.toolsToken}}"},"tools":["weather"]}}],` +
			`"memory":{"messages":10},"limits":{"steps":5,"seconds":60}}`,
	},
}

// checkTools checks what a tool is, and that no two functions have the same name.
func checkTools(c *checker, doc *document.Map) {
	tools, _ := doc.Get("tools")
	list, _ := tools.([]any)
	used := map[string]bool{}
	if bases, _ := doc.Get("knowledge"); !isEmptyList(bases) {
		used[agent.SearchFunction] = true
	}
	if len(list) == agent.MaxFunctions && searchesOnRequest(doc) {
		c.fault(domain.CodeValidation, (*fieldPath)(nil).at("tools"), "must be at most %d tools: %s is a function, too", agent.MaxFunctions-1, agent.SearchFunction)
	}
	for i, item := range list {
		tool, ok := item.(*document.Map)
		if !ok {
			continue
		}
		at := (*fieldPath)(nil).at("tools").at(i)
		automation, server := tool.Text("automation"), tool.Object("mcp")
		if (automation != "") == (server != nil) {
			c.fault(domain.CodeValidation, at, "a tool is an automation or an MCP server: one of automation and mcp must be there")
			continue
		}
		if automation == "" {
			c.checkCredentialHeaders(server, at.at("mcp"))
			for _, key := range []string{"name", "description", "arguments"} {
				if v, _ := tool.Get(key); v != nil {
					c.fault(domain.CodeValidation, at.at(key), "is for automations: the server says it itself")
				}
			}
			continue
		}
		name := agent.FunctionName(tool.Text("name"), automation)
		if used[name] {
			c.fault(domain.CodeValidation, at.at("name"), "another function is called %s: choose another name", name)
		}
		used[name] = true
	}
}

// searchesOnRequest reports whether the model is given the function that searches.
func searchesOnRequest(doc *document.Map) bool {
	bases, _ := doc.Get("knowledge")
	list, _ := bases.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		base, ok := item.(*document.Map)
		return ok && cmp.Or(base.Text("when"), agent.OnRequest) == agent.OnRequest
	})
}

// filterRule is the rule of filters of documents.
func filterRule(v any) string {
	if _, err := kbdocument.ParseFilter("filters", v); err != nil {
		if refusal, ok := errors.AsType[*domain.Error](err); ok {
			if list, ok := refusal.Details["errors"].([]domain.FieldError); ok {
				return list[0].Field + ": " + list[0].Message
			}
		}
		return err.Error()
	}
	return ""
}

func isEmptyList(v any) bool {
	list, _ := v.([]any)
	return len(list) == 0
}

func notBlankRule(v any) string {
	if s, ok := v.(string); ok && strings.TrimSpace(s) == "" {
		return "must not be blank"
	}
	return ""
}

var testTable = &table{
	name: "test", kind: document.Test, title: "Test suite",
	doc: "Cases of an automation: how it starts, what it gets from outside, and what is expected of it.",
	fields: slices.Concat([]field{
		{name: "slug", is: text, rule: slugRule(document.Test, "letters, digits, spaces, _ and - in parts joined by /, at most 128 characters"), doc: "Its name in the API."},
		withDescription("name", "Its title, by language.", byLanguage(field{is: text, limit: 500, rule: titleRule})),
		withDescription("description", "What it is about, by language.", prose),
		withDescription("labels", "Labels; conditions of rules may name them.", labels),
		required(withDescription("automation", "The automation, by its slug.", field{is: text, rule: slugRule(document.Automation, "that of an automation of this workspace")})),
		{name: "stubs", is: object, of: stubFields, doc: "For every case; what a case says itself goes before."},
		{name: "cases", is: list, rule: atMost(500, "cases"), each: &field{is: object, of: caseFields}, doc: "The cases."},
	}, audited),
	also: func(c *checker, doc *document.Map) {
		cases, _ := doc.Get("cases")
		items, _ := cases.([]any)
		known := map[string]bool{}
		for i, item := range items {
			m, _ := item.(*document.Map)
			at := (*fieldPath)(nil).at("cases").at(i)
			if name := m.Text("name"); known[name] && name != "" {
				c.fault(domain.CodeValidation, at.at("name"), "another case has this name")
			} else {
				known[name] = true
			}
			starts := 0
			for _, key := range []string{"input", "request", "event"} {
				if v, _ := m.Get(key); v != nil {
					starts++
				}
			}
			if starts > 1 {
				c.fault(domain.CodeValidation, at, "a case starts with one of input, request and event")
			}
		}
	},
	examples: []string{
		`{"slug":"charge","automation":"charge","stubs":{"now":"2026-01-01T12:00:00Z"},"cases":[{"name":"a large charge is announced","request":{"method":"POST","body":{"amount":150}},` +
			`"stubs":{"fetch":[{"method":"POST","url":"https://bank.example.com/charges","answer":{"status":201,"body":{"id":"c1"}}}]},` +
			`"expect":{"status":200,"output":{"id":"c1"},"events":[{"type":"big-charge","payloadMatches":{"amount":{"$gte":100}}}]}}]}`,
	},
}

var caseFields = []field{
	required(withDescription("name", "What is so in this case.", field{is: text, limit: 200, rule: lineRule})),
	{name: "input", is: object, doc: "The arguments of a call."},
	{name: "request", is: object, doc: "A request to its endpoint.", of: []field{
		{name: "method", is: text, enum: []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}, doc: "POST with a body, else GET."},
		{name: "headers", is: object, each: &field{is: text}, doc: "By name."},
		{name: "query", is: object, doc: "By name."},
		{name: "pathParams", is: object, doc: "By name."},
		{name: "body", is: anything, doc: "What was sent."},
		{name: "rawBody", is: text, doc: "Its text, as it was received; the JSON of the body when absent."},
	}},
	{name: "event", is: object, doc: "An event that it listens to.", of: []field{
		{name: "type", is: text, must: true, match: eventType, doc: "Its type."},
		{name: "payload", is: object, doc: "What it carries."},
		{name: "id", is: text, limit: 100, doc: "Its id."},
		{name: "source", is: object, doc: "Who and what caused it."},
		{name: "createdAt", is: text, rule: momentRule, doc: "Its time; that of the case when absent."},
	}},
	{name: "user", is: object, doc: "Who starts it; absent: nobody signed in.", of: []field{
		{name: "id", is: text, must: true, limit: 200, doc: "The id."},
		{name: "email", is: text, limit: 320, doc: "The address."},
		{name: "role", is: text, limit: 60, doc: "In the workspace."},
		{name: "authData", is: object, doc: "What providers say, by provider."},
	}},
	{name: "session", is: text, limit: 200, doc: "The id of the session."},
	{name: "stubs", is: object, of: stubFields, doc: "What it gets from outside."},
	{name: "expect", is: object, of: expectFields, doc: "What is expected; absent: that it does not fail."},
}

var stubFields = []field{
	{name: "now", is: text, rule: momentRule, otherwise: "2026-01-01T00:00:00Z", doc: "The time, which waits advance."},
	{name: "random", is: number, least: 0, most: 1 << 31, whole: true, doc: "The seed of random numbers and ids."},
	{name: "fetch", is: list, rule: atMost(500, "stubs"), doc: "Answers to requests; the first that fits answers.", each: &field{is: object, rule: fetchStubRule, of: []field{
		{name: "method", is: text, enum: []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "get", "post", "put", "patch", "delete", "head"}, doc: "Absent: any."},
		{name: "url", is: text, must: true, limit: 4000, doc: "The address; * stands for any text. Without ? any query fits."},
		{name: "times", is: number, least: 1, most: 1e6, whole: true, doc: "How often it answers; absent: always."},
		{name: "answer", is: object, doc: "The response.", of: []field{
			{name: "status", is: number, least: 100, most: 599, whole: true, otherwise: 200.0},
			{name: "headers", is: object, each: &field{is: text}},
			{name: "body", is: anything, doc: "JSON, or a text."},
			{name: "base64", is: text, doc: "The body, when it is neither."},
		}},
		{name: "error", is: text, enum: []string{"dns", "connect", "tls", "timeout", "reset"}, doc: "The reason of a FetchError, instead of an answer."},
	}}},
	{name: "modules", is: list, rule: atMost(500, "stubs"), doc: "Results of functions of run; the first that fits answers.", each: &field{is: object, of: []field{
		{name: "module", is: text, must: true, enum: []string{"collections", "secrets"}},
		{name: "function", is: text, must: true, limit: 100},
		{name: "parameters", is: object, doc: "That the call has, among others; absent: any."},
		{name: "times", is: number, least: 1, most: 1e6, whole: true, doc: "How often it answers; absent: always."},
		{name: "result", is: anything},
		{name: "error", is: object, of: []field{{name: "error", is: text, must: true}, {name: "message", is: text}, {name: "details", is: object}}},
	}}},
	{name: "automations", is: list, rule: atMost(500, "stubs"), doc: "Results of automations that are called; the first that fits answers. Those without one run.", each: &field{is: object, of: []field{
		{name: "automation", is: text, must: true, limit: 300, doc: "As it is called: its slug, or that of an app instance before it: Mail.send."},
		{name: "arguments", is: object, doc: "That the call has, among others; absent: any."},
		{name: "times", is: number, least: 1, most: 1e6, whole: true, doc: "How often it answers; absent: always."},
		{name: "output", is: anything, doc: "What it returns."},
		{name: "error", is: object, doc: "What it fails with, instead of an output.", of: []field{{name: "error", is: text, must: true}, {name: "message", is: text}, {name: "details", is: object}}},
	}}},
	{name: "events", is: list, rule: atMost(100, "events"), doc: "Events that waits get; each once, in this order.", each: &field{is: object, of: []field{
		{name: "type", is: text, must: true, match: eventType}, {name: "payload", is: object},
	}}},
	{name: "secrets", is: object, each: &field{is: text}, doc: "Secrets by name: tests get no real ones. Write no real ones here."},
	{name: "config", is: object, doc: "Settings that replace those of the workspace."},
	{name: "contexts", is: object, doc: "What contexts have before, by name; empty when absent.", of: []field{
		{name: "run", is: object}, {name: "session", is: object}, {name: "user", is: object}, {name: "global", is: object}, {name: "socket", is: object},
	}},
	{name: "collections", is: object, each: &field{is: list, each: &field{is: object}}, doc: "Rows that collections have before, by name; empty when absent."},
}

var expectFields = []field{
	{name: "status", is: text | number, rule: statusRule, doc: "succeeded, failed, or the status that a caller of the endpoint gets."},
	{name: "error", is: text | object, doc: "The name of the error.", of: []field{{name: "error", is: text}, {name: "message", is: text}}},
	{name: "output", is: anything, nullIsPresent: true, doc: "Exactly this."},
	{name: "outputMatches", is: object, rule: conditionRule, doc: "A condition, as of filters of a wait."},
	{name: "events", is: list, doc: "All that are emitted, in order.", each: &field{is: object, of: []field{
		{name: "type", is: text, must: true, match: eventType}, {name: "payload", is: object}, {name: "payloadMatches", is: object, rule: conditionRule},
	}}},
	{name: "fetches", is: list, doc: "All requests, in order.", each: &field{is: object, of: []field{
		{name: "method", is: text}, {name: "url", is: text}, {name: "headers", is: object, each: &field{is: text}}, {name: "body", is: anything},
		{name: "bodyMatches", is: object, rule: conditionRule},
	}}},
	{name: "chunks", is: list, doc: "All that are sent to the caller, in order."},
	{name: "contexts", is: object, each: &field{is: object}, doc: "Variables afterwards, by context."},
	{name: "collections", is: object, each: &field{is: list, each: &field{is: object}}, doc: "Rows afterwards, by name."},
}

// momentRule is the rule of times.
func momentRule(v any) string {
	if s, ok := v.(string); ok {
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			return "must be a time such as 2026-01-01T12:00:00Z"
		}
	}
	return ""
}

// statusRule is the rule of the status that a case expects.
func statusRule(v any) string {
	n, isNumber := v.(float64)
	if isNumber && (n < 100 || n > 599 || n != float64(int(n))) || !isNumber && v != suite.Succeeded && v != suite.Failed {
		return "must be succeeded, failed, or a status from 100 to 599"
	}
	return ""
}

// conditionRule is the rule of conditions of the matcher.
func conditionRule(v any) string {
	if cond, ok := v.(*document.Map); ok {
		return suite.ConditionProblem(cond)
	}
	return ""
}

// fetchStubRule is the rule of a stub of fetch as a whole.
func fetchStubRule(v any) string {
	stub, _ := v.(*document.Map)
	answer, _ := stub.Get("answer")
	failure, _ := stub.Get("error")
	if (answer == nil) == (failure == nil) {
		return "a stub has an answer or an error"
	}
	return ""
}

// stemmedLanguages are the languages whose words are stemmed.
var stemmedLanguages = strings.Fields("ar ckb cjk da de en es fa fi fr hi hr hu it nl no pl pt ro ru sv tr")

// atMost is the rule of lists with a limited number of items.
func atMost(limit int, what string) func(any) string {
	return func(v any) string {
		if countOf(v) > limit {
			return fmt.Sprintf("there are at most %d %s", limit, what)
		}
		return ""
	}
}

// from1To is atMost of a list that is not empty.
func from1To(limit int, what string) func(any) string {
	return func(v any) string {
		if n := countOf(v); n < 1 || n > limit {
			return fmt.Sprintf("there are 1 to %d %s", limit, what)
		}
		return ""
	}
}

// countOf returns how many items a list or an object has.
func countOf(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case *document.Map:
		return v.Len()
	}
	return 0
}

func synonymsRule(v any) string {
	if words, ok := v.([]any); ok && (len(words) < 2 || len(words) > 20) {
		return "a group has 2 to 20 words"
	}
	return ""
}

// pageBlockFields are the fields of every block on a page; its other settings depend on its kind.
var pageBlockFields = []field{
	{name: "slug", is: text, must: true, rule: kindRule, doc: "Its kind: a built-in block, one of the workspace, or Instance.Block of an app."},
	{name: "appInstance", is: text, rule: referenceRule, doc: "The app instance in which its automations and events are looked for."},
	{name: "className", is: text, doc: "CSS classes."},
	{name: "css", is: text, doc: "CSS of the block; :block is its root."},
	{name: "sectionId", is: text, doc: "Its id in the page."},
	withDescription("onInit", "Event that is emitted once per view.", announced),
	withDescription("updateOn", "Event whose payload updates the block.", awaited),
	withDescription("automation", "Automation whose output is merged over the block.", called),
	{name: "if", is: anything, doc: "It is shown when this is neither empty nor false."},
	{name: "repeat", is: text | object | list, doc: "One copy for each entry of on."},
	{name: "hidden", is: anything, doc: "It is not shown when this is neither empty nor false."},
}

var blockTable = &table{
	name: "block", title: "Block",
	doc:    "A block of a workspace, for its pages and those that use it as an app.",
	fields: blockFields,
	also:   func(c *checker, doc *document.Map) { c.checkBlocks(doc, nil) },
	examples: []string{
		`{"name":{"en":"Product"},"description":"A thing for sale","photo":"/assets/product.png","schema":{"type":"object","properties":{"title":{"type":"string"}}},` +
			`"config":{"title":"Untitled"},"blocks":[{"slug":"RichText","content":"{{title}}"}],"css":":block { padding: 1rem }"}`,
	},
}

var blockFields = slices.Concat([]field{
	withDescription("name", "Its title, by language.", byLanguage(field{is: text, limit: 500, rule: titleRule})),
	withDescription("description", "What it shows, by language.", prose),
	withDescription("photo", "Address of its picture.", picture),
	{name: "url", is: text, limit: 2048, rule: pictureRule, droppable: true, doc: "Address of a script that shows it; kept, not run."},
	{name: "schema", is: object | boolean, doc: "Schema of its configuration."},
	{name: "edit", is: anything, doc: "How it is edited."},
	{name: "block", is: text, rule: kindRule, doc: "The kind it is made from."},
	withDescription("config", "Its configuration where a page gives none.", open),
	withDescription("automation", "Automation whose output is merged over the block.", called),
	{name: "blocks", is: list, each: &field{is: object, of: pageBlockFields, open: true}, doc: "The blocks it is made of."},
	{name: "css", is: text, doc: "CSS of the block; :block is its root."},
}, readOnly("slug"), audited)

// The types as the tables name them.
const (
	text, number, boolean = jsontype.Text, jsontype.Number, jsontype.Boolean
	list, object, null    = jsontype.List, jsontype.Object, jsontype.Null
	anything              = jsontype.Anything
)

// kindOf returns the type of a value; none when it is no value of a document.
func kindOf(v any) jsontype.Set {
	switch v.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case float64:
		return number
	case string:
		return text
	case []any:
		return list
	case *document.Map:
		return object
	default:
		return 0
	}
}

// typing says which values are typed fields, the JSON Schemas of the contract.
type typing uint8

const (
	untyped  typing = iota
	byName          // an object of typed fields
	either          // one typed field, or an object of them
	settings        // an object of typed fields, and whether there are others
)

// field is a row of the tables.
type field struct {
	name string
	doc  string
	is   jsontype.Set
	must bool
	// nullIsPresent: null does not mean that the field is absent. A rule without a role applies to
	// everyone, which must be explicit.
	nullIsPresent bool
	// readOnly fields are set by the service and not checked.
	readOnly bool
	// droppable fields are left out of an imported document when they are wrong: the document is usable without them.
	droppable bool

	of    []field // the members of an object, which has no others
	open  bool    // … but it has
	each  *field  // the items of an array, the values of an object
	keys  *naming // of an object
	typed typing

	enum  []string
	match *pattern
	limit int // characters of a string; 0: as many as fit into a document
	least float64
	most  float64 // 0: neither least nor most counts
	whole bool
	// rule returns a further problem of a value, "" for none.
	rule func(v any) string

	// For editors: the default, and usual values.
	otherwise any
	suggest   []string
}

// pattern is what a string must look like, for a machine and in words.
type pattern struct {
	*regexp.Regexp
	description string
}

func matching(expression, description string) *pattern {
	return &pattern{regexp.MustCompile(expression), description}
}

// naming is the rule of the keys of an object.
type naming struct {
	wrong func(key string) string
	// For editors, the same as far as a schema can say it.
	match *pattern
	limit int
}

// namingOf is the naming of keys that match a pattern.
func namingOf(p *pattern) *naming {
	return &naming{match: p, wrong: func(key string) string {
		if p.MatchString(key) {
			return ""
		}
		return p.wrong(key)
	}}
}

func (p *pattern) wrong(s string) string {
	return fmt.Sprintf("%s is not a valid %s", document.QuoteShort(s), p.description)
}

// valueProblem returns the problem of a value of the right type.
func (f *field) valueProblem(v any) string {
	why := ""
	switch v := v.(type) {
	case string:
		why = f.textProblem(v)
	case float64:
		why = f.numberProblem(v)
	}
	if why == "" && f.rule != nil {
		why = f.rule(v)
	}
	return why
}

func (f *field) textProblem(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case f.limit > 0 && utf8.RuneCountInString(s) > f.limit:
		return fmt.Sprintf("must have at most %d characters", f.limit)
	case f.enum != nil && !slices.Contains(f.enum, s):
		return "must be one of: " + strings.Join(f.enum, ", ")
	case f.match != nil && !f.match.MatchString(s):
		return f.match.wrong(s)
	}
	return ""
}

func (f *field) numberProblem(n float64) string {
	if f.most == 0 || n >= f.least && n <= f.most && (!f.whole || n == float64(int64(n))) {
		return ""
	}
	what := "a number"
	if f.whole {
		what = "a whole number"
	}
	return fmt.Sprintf("must be %s from %v to %v", what, f.least, f.most)
}

// maxText is the length of a description in one language, in characters.
const maxText = 10000

var (
	label            = matching(`^[0-9A-Za-z._:-]{2,60}$`, "label (2 to 60 letters, digits and ._:-)")
	eventType        = matching(`^[a-zA-Z0-9 ._-]{1,200}$`, "type of an event (1 to 200 letters, digits, spaces and ._-)")
	language         = matching(`^[A-Za-z]{2,8}([_-][A-Za-z0-9]{1,8}){0,4}$`, "language, such as en or pt-BR")
	credentialHeader = regexp.MustCompile(`(?i)^(authorization|cookie)$|key|token|secret`)
	secretRef        = matching(`^\{\{\s*secret\.[A-Za-z0-9_.-]{1,100}\s*\}\}$`, "secret")
)

// The rules below are called with values of the type that their field has; those
// of a field that has two types let the other one pass.

func workspaceNameRule(v any) string {
	if s, ok := v.(string); ok && (s == "" || !domain.IsLine(s, 60)) {
		return "must be 1 to 60 characters without control characters"
	}
	return ""
}

// titleRule is the rule of a name in one language, or of all together.
func titleRule(v any) string {
	if m, ok := v.(*document.Map); ok && m.Len() == 0 {
		return "expected a name in at least one language"
	}
	if s, ok := v.(string); ok && !domain.IsTitle(s, len(s)) {
		return "a name is one line that is not blank, without control characters"
	}
	return ""
}

func lineRule(v any) string {
	if s, ok := v.(string); ok && !domain.IsTitle(s, len(s)) {
		return "must be one line that is not blank, without control characters"
	}
	return ""
}

func pictureRule(v any) string {
	if s, ok := v.(string); ok && s != "" && !domain.IsPicture(s) {
		return "must be an http or https URL or a path that begins with /, of at most 2048 characters"
	}
	return ""
}

// addressRule is the rule of web addresses that are called. Credentials stand in headers, as secrets of the workspace.
func addressRule(v any) string {
	s, ok := v.(string)
	if !ok {
		return ""
	}
	if strings.HasPrefix(s, "/") || !domain.IsPicture(s) {
		return "must be an http or https URL"
	}
	if u, err := url.Parse(s); err != nil || u.User != nil {
		return "must be an http or https URL without credentials"
	}
	return ""
}

// slugRule is the rule of slugs that a kind of documents has.
func slugRule(kind *document.Kind, description string) func(any) string {
	return func(v any) string {
		if s, ok := v.(string); ok && !kind.HasSlug(s) {
			return fmt.Sprintf("%s is no slug: %s", document.QuoteShort(s), description)
		}
		return ""
	}
}

// eventRule is the rule of event types. A template is checked when it is evaluated.
func eventRule(v any) string {
	if s, ok := v.(string); ok && !isTemplate(s) && !eventType.MatchString(s) {
		return eventType.wrong(s)
	}
	return ""
}

// emittedEventRule is the rule of the type of an event that visitors emit.
func emittedEventRule(v any) string {
	if s, ok := v.(string); ok && automation.Native(s) {
		return fmt.Sprintf("%q is an event of the platform itself", s)
	}
	return eventRule(v)
}

func isTemplate(s string) bool { return strings.Contains(s, "{{") }

// referenceRule is the rule of the name of an automation or an app instance,
// which may be of another app.
func referenceRule(v any) string {
	if s, ok := v.(string); ok && !domain.IsTitle(s, 200) {
		return "must be a name of 1 to 200 characters"
	}
	return ""
}

// kindRule is the rule of the kind of a block.
func kindRule(v any) string {
	s, _ := v.(string)
	return nameProblem(s, 200)
}

// secretRule is the rule of values that a document must not contain. The message does not
// repeat the value.
func secretRule(v any) string {
	if s, ok := v.(string); ok && !secretRef.MatchString(s) {
		return "must be a secret of the workspace: {{secret.NAME}}"
	}
	return ""
}

func subjects() []string { return append(access.Subjects(), "all") }

// actions lists the actions of all subjects, each once.
func actions() []string {
	all := []string{"manage"}
	for _, subject := range access.Subjects() {
		for _, action := range access.Actions(subject) {
			if !slices.Contains(all, action) {
				all = append(all, action)
			}
		}
	}
	return all
}

// passedOn is a config that is one of the workspace, or a part of it.
var passedOn = regexp.MustCompile(`^\{\{\s*config(\.[A-Za-z0-9_.-]+)?\s*\}\}$`)

// configRule is the rule of the config of an app instance that is no object.
func configRule(v any) string {
	if text, ok := v.(string); ok && !passedOn.MatchString(text) {
		return "expected an object, or {{config}} or a part of it"
	}
	return ""
}
