package shape

import (
	"slices"

	"svc/domain/document"
)

var indexTable = &table{
	name: "index", kind: document.Index, title: "Workspace",
	doc: "The workspace itself: index.yml.",
	fields: slices.Concat([]field{
		{name: "name", is: text, must: true, limit: 60, rule: wrongWorkspaceName, doc: "Its title: 1 to 60 characters on one line."},
		{name: "slug", is: text, limit: 60, match: matching(`^[a-z0-9-]+(/[a-z0-9-]+)*$`, "slug (a-z, 0-9 and -, in segments joined by /)"), doc: "Its name in addresses."},
		described("description", "What it is for, by language.", prose),
		described("photo", "Address of its picture.", picture),
		described("logo", "The same as photo.", picture),
		described("labels", "Labels.", labels),
		{name: "registerWorkspace", is: boolean, otherwise: false, doc: "Listed in workspacesRegistry of automations."},
		{name: "allowUnsecurePages", is: boolean, otherwise: false, doc: "Its pages may run scripts of their own."},
		{name: "config", is: object, of: configFields, doc: "Settings that its automations read."},
		{name: "secrets", is: object, doc: "The secrets it needs; never their values.", of: []field{
			{name: "schema", is: object, typed: byName, doc: "Typed fields by name of the secret.", keys: named(matching(`^[A-Za-z0-9_.-]{1,100}$`, "name of a secret (1 to 100 letters, digits and _.-)"))},
		}},
		{name: "blocks", is: object, keys: blockNames, each: &field{is: object | null, of: blockFields}, doc: "Its blocks by name."},
		{name: "events", is: object, doc: "What its events carry.", of: []field{
			{name: "types", is: object, keys: named(eventType), doc: "By type of event.", each: &field{is: object | null, of: []field{
				{name: "schema", is: object, typed: either, doc: "Typed fields of the payload by name, or one schema of it; searched under aggPayload."},
			}}},
			described("mapping", "How payloads become search fields.", open),
		}},
		{name: "models", is: object, of: modelFields, doc: "Language models, over those of the platform."},
		{name: "customDomains", is: list, doc: "Hosts of its pages.", each: &field{is: text, limit: 253, match: matching(
			`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`, "host (lower case, with a dot)",
		)}},
		{name: "repositories", is: object, doc: "Where its content is pushed to and pulled from, by id.", each: &field{is: object, of: repositoryFields}, keys: named(
			matching(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`, "id of a repository (1 to 40 letters, digits, _ and -)"),
		)},
	}, readOnly(
		"platformRepositories", "dirty", "lastPush", "lastPull", "versions", "contentRevision", "syncedRevision", "writeLock",
		"automations", "pages", "imports", "authentication", "clientId", "role", "can", "deletedAt", "restorableUntil",
	), audited),
	also: func(c *checker, doc *document.Map) {
		blocks, _ := doc.Get("blocks")
		m, _ := blocks.(*document.Map)
		for name, block := range m.All() {
			if inside, ok := block.(*document.Map); ok {
				c.nested(inside, (*place)(nil).at("blocks").at(name))
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

var repositoryFields = slices.Concat([]field{
	{name: "name", is: text, must: true, limit: 60, rule: wrongWorkspaceName, doc: "Its title."},
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
}, readOnly("id", "groups"))

var modelFields = []field{
	{name: "providers", is: object, keys: names(60), doc: "Providers by name.", each: &field{is: object, of: []field{
		{name: "baseUrl", is: text, must: true, rule: wrongAddress, limit: 2048, doc: "Address of an OpenAI-compatible endpoint."},
		{name: "apiKey", is: text, rule: wrongSecret, doc: "{{secret.NAME}}"},
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
