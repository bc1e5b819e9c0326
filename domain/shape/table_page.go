package shape

import (
	"slices"

	"svc/domain/document"
)

var pageTable = &table{
	name: "page", kind: document.Page, title: "Page",
	doc: "A page of blocks.",
	fields: slices.Concat([]field{
		{name: "slug", is: text, rule: wrongSlug(document.Page, "at most 128 letters, digits, spaces, _ and -, in segments joined by /, the first of which is not _svc"), doc: "Its address; index is served at /."},
		required(described("name", "Its title, by language.", byLanguage(field{is: text, limit: 500, rule: wrongTitle}))),
		described("description", "What it is about, by language.", prose),
		described("labels", "Labels; conditions of rules may name them.", labels),
		{name: "public", is: boolean, doc: "Everyone may read it. Set by sharing the page; true in an imported file shares it."},
		{name: "redirect", is: object, doc: "Where visitors are sent instead.", of: []field{
			{name: "url", is: text, must: true, limit: 2048, rule: wrongLine, doc: "http(s), or a path."},
			{name: "permanent", is: boolean, otherwise: false, doc: "308 instead of 302."},
		}},
		{name: "colorScheme", is: text, enum: []string{"auto", "light", "dark"}, otherwise: "auto", doc: "Light or dark."},
		described("favicon", "Address of its icon.", picture),
		{name: "styles", is: text, doc: "CSS of the page."},
		described("onInit", "Event that is emitted once per view.", announced),
		described("updateOn", "Event whose payload updates the page.", awaited),
		described("notifyOn", "Event that notifies the visitor.", awaited),
		described("automation", "Automation whose output is merged over the page.", called),
		{name: "blocks", is: list, each: &field{is: object, of: placedFields, open: true}, doc: "What it shows."},
	}, readOnly("workspaceId", "workspaceSlug", "customDomains", "events", "clientId", "appInstances"), audited),
	also: func(c *checker, doc *document.Map) { c.nested(doc, nil) },
	examples: []string{
		`{"slug":"home","name":{"en":"Home","fr":"Accueil"},"labels":["public"],"colorScheme":"auto","onInit":{"event":"home.opened","payload":{"from":"page"}},"updateOn":"home.updated",` +
			`"automation":"load-home","blocks":[{"slug":"Header","title":"{{title}}"},{"slug":"crm.Contacts","appInstance":"crm","if":"{{contacts}}"},` +
			`{"slug":"Form","schema":{"type":"object","properties":{"email":{"type":"string"}}},"onSubmit":"subscribe"}]}`,
		`{"name":"Old","redirect":{"url":"/new","permanent":true}}`,
	},
}

// placedFields are what every block on a page has; its other settings are its
// own.
var placedFields = []field{
	{name: "slug", is: text, must: true, rule: wrongKind, doc: "Its kind: a built-in block, one of the workspace, or Instance.Block of an app."},
	{name: "appInstance", is: text, rule: wrongReference, doc: "The app instance in which its automations and events are looked for."},
	{name: "className", is: text, doc: "CSS classes."},
	{name: "css", is: text, doc: "CSS of the block; :block is its root."},
	{name: "sectionId", is: text, doc: "Its id in the page."},
	described("onInit", "Event that is emitted once per view.", announced),
	described("updateOn", "Event whose payload updates the block.", awaited),
	described("automation", "Automation whose output is merged over the block.", called),
	{name: "if", is: anything, doc: "It is shown when this is neither empty nor false."},
	{name: "repeat", is: text | object | list, doc: "One copy for each entry of on."},
	{name: "hidden", is: anything, doc: "It is not shown when this is neither empty nor false."},
}

var blockTable = &table{
	name: "block", title: "Block",
	doc:    "A block of a workspace, for its pages and those that use it as an app.",
	fields: blockFields,
	also:   func(c *checker, doc *document.Map) { c.nested(doc, nil) },
	examples: []string{
		`{"name":{"en":"Product"},"description":"A thing for sale","photo":"/assets/product.png","schema":{"type":"object","properties":{"title":{"type":"string"}}},` +
			`"config":{"title":"Untitled"},"blocks":[{"slug":"RichText","content":"{{title}}"}],"css":":block { padding: 1rem }"}`,
	},
}

var blockFields = slices.Concat([]field{
	described("name", "Its title, by language.", byLanguage(field{is: text, limit: 500, rule: wrongTitle})),
	described("description", "What it shows, by language.", prose),
	described("photo", "Address of its picture.", picture),
	{name: "url", is: text, limit: 2048, rule: wrongPicture, droppable: true, doc: "Address of a script that shows it; kept, not run."},
	{name: "schema", is: object | boolean, doc: "Schema of its configuration."},
	{name: "edit", is: anything, doc: "How it is edited."},
	{name: "block", is: text, rule: wrongKind, doc: "The kind it is made from."},
	described("config", "Its configuration where a page gives none.", open),
	described("automation", "Automation whose output is merged over the block.", called),
	{name: "blocks", is: list, each: &field{is: object, of: placedFields, open: true}, doc: "The blocks it is made of."},
	{name: "css", is: text, doc: "CSS of the block; :block is its root."},
}, readOnly("slug"), audited)
