package document

import (
	"slices"
	"strings"

	"svc/domain/nearest"
	"svc/domain/value"
)

// Kind is what a file of a workspace describes.
type Kind struct {
	Name   string // of one: index, automation, …
	Folder string // the files are in; "" for the two files at the root, called as the kind
	keys   []string
	inner  map[string][]string // the order below a key
	never  []string            // not written, however they came in
	slug   func(string) bool
	// defaults are what fields are when a document says nothing. They are not written. Those of each are of every
	// value of an object or a list.
	defaults *Map
	each     map[string]*Map
}

// The kinds of files, with the order of their keys.
var (
	Index = &Kind{
		Name: "index",
		keys: strings.Fields("name slug description photo labels registerWorkspace allowUnsecurePages config secrets " +
			"blocks events models"),
		inner: map[string][]string{"config": {"schema", "block", "value"}},
		never: strings.Fields("dirty lastPush lastPull versions contentRevision syncedRevision writeLock " +
			"repositories platformRepositories customDomains authentication agents automations pages knowledgeBases imports tests"),
	}
	Security = &Kind{
		Name:  "security",
		keys:  []string{"authorizations"},
		inner: map[string][]string{"authorizations": {"roles", "rules"}},
		never: []string{"authentication"},
	}
	Agent = &Kind{
		Name: "agent", Folder: "agents", slug: isShortSlug,
		keys: strings.Fields("slug name description labels public published disabled instructions model temperature " +
			"maxTokens knowledge tools memory limits"),
		inner: map[string][]string{"memory": {"messages"}, "limits": {"steps", "toolCalls", "seconds", "tokens"}},
		defaults: MapOf(
			Pair{"temperature", 0.2}, Pair{"maxTokens", 1000.0},
			Pair{"memory", MapOf(Pair{"messages", 20.0})},
			Pair{"limits", MapOf(Pair{"steps", 10.0}, Pair{"toolCalls", 20.0}, Pair{"seconds", 120.0}, Pair{"tokens", 50000.0})},
		),
		each: map[string]*Map{"knowledge": MapOf(Pair{"topK", 6.0}, Pair{"when", "tool"}, Pair{"access", "caller"})},
	}
	Automation = &Kind{
		Name: "automation", Folder: "automations", slug: isPathSlug,
		keys: strings.Fields("slug name description labels arguments schemas validateArguments when do output private " +
			"disabled authorizations"),
		never: []string{"events"},
	}
	Import = &Kind{
		Name: "import", Folder: "imports", slug: isInstanceSlug,
		keys:  strings.Fields("slug appSlug appVersion disabled labels config"),
		never: []string{"appName"},
	}
	Knowledge = &Kind{
		Name: "knowledgeBase", Folder: "knowledge", slug: isBaseSlug,
		keys: strings.Fields("slug name description labels language chunking embedding search answer synonyms sources"),
		inner: map[string][]string{
			"chunking": {"strategy", "size", "overlap"}, "search": {"mode", "limit", "weights", "minSimilarity", "boosts"},
			"answer": {"model", "instructions", "topK", "temperature", "maxTokens", "noAnswer"},
		},
		defaults: MapOf(
			Pair{"language", "auto"},
			Pair{"chunking", MapOf(Pair{"strategy", "structure"}, Pair{"size", 1500.0}, Pair{"overlap", 150.0})},
			Pair{"search", MapOf(
				Pair{"mode", "auto"}, Pair{"limit", 10.0}, Pair{"weights", MapOf(Pair{"text", 1.0}, Pair{"vector", 1.0})},
				Pair{"minSimilarity", 0.0}, Pair{"boosts", MapOf(Pair{"title", 2.0}, Pair{"headings", 1.5})},
			)},
			Pair{"answer", MapOf(Pair{"topK", 8.0}, Pair{"temperature", 0.2}, Pair{"maxTokens", 1000.0})},
		),
		each: map[string]*Map{"sources": MapOf(
			Pair{"depth", 3.0}, Pair{"maxPages", 1000.0}, Pair{"sitemap", "auto"}, Pair{"types", []any{"html"}}, Pair{"robots", true},
			Pair{"keepVanished", false}, Pair{"disabled", false},
		)},
	}
	Page = &Kind{
		Name: "page", Folder: "pages", slug: isPageSlug,
		keys: strings.Fields("slug name description labels public redirect colorScheme favicon styles onInit updateOn " +
			"notifyOn automation blocks"),
		never: strings.Fields("workspaceId workspaceSlug events customDomains"),
	}
	Test = &Kind{
		Name: "test", Folder: "tests", slug: isPathSlug,
		keys: strings.Fields("slug name description labels automation stubs cases"),
	}
)

// Kinds are all kinds, in the order in which checksums list them.
var Kinds = []*Kind{Index, Security, Agent, Automation, Import, Knowledge, Page, Test}

// neverOfAll are what the service says about an object, not what the object says.
var neverOfAll = strings.Fields("id createdAt createdBy updatedAt updatedBy checksum permissions")

// Canonical returns doc with its keys in the order of its kind, without the
// fields that are empty, are no content or say what is so without them. Whatever
// else doc has follows in the order it is stored in. doc stays as it is; the two
// share values.
func (k *Kind) Canonical(doc *Map) *Map {
	written := value.NewObjectSize(doc.Len())
	add := func(key string, v any) {
		if key == "labels" {
			v = sortedLabels(v)
		}
		if usual, ok := k.defaults.Get(key); ok {
			v = withoutDefaults(v, usual)
		}
		if usual := k.each[key]; usual != nil {
			v = inEach(v, func(m *Map) *Map {
				if rest, ok := withoutDefaults(m, usual).(*Map); ok {
					return rest
				}
				return MapOf()
			})
		}
		if !k.isNeverWritten(key) && (!isEmpty(v) || key == "do") {
			written.Set(key, v)
		}
	}
	for _, key := range k.keys {
		if v, ok := doc.Get(key); ok {
			add(key, orderKeys(v, k.inner[key]))
		}
	}
	for key, v := range doc.All() {
		if !slices.Contains(k.keys, key) {
			add(key, v)
		}
	}
	return written
}

// withoutDefaults returns what of a value is not the default, nil when all is.
func withoutDefaults(v, usual any) any {
	defaults, ok := usual.(*Map)
	given, isMap := v.(*Map)
	if !ok || !isMap {
		if Equal(v, usual) {
			return nil
		}
		return v
	}
	rest := MapOf()
	for key, v := range given.All() {
		if usual, ok := defaults.Get(key); ok {
			v = withoutDefaults(v, usual)
		}
		if v != nil {
			rest.Set(key, v)
		}
	}
	if rest.Len() == 0 {
		return nil
	}
	return rest
}

// Complete returns doc with the defaults of what it does not say. doc stays as it is.
func (k *Kind) Complete(doc *Map) *Map {
	whole := orderKeys(complete(doc, k.defaults), k.keys).(*Map)
	for key, usual := range k.each {
		if v, ok := whole.Get(key); ok {
			whole.Set(key, inEach(v, func(m *Map) *Map { return complete(m, usual) }))
		}
	}
	return whole
}

// inEach returns an object or a list with each of its objects changed; other values it returns as they are.
func inEach(v any, change func(*Map) *Map) any {
	if list, ok := v.([]any); ok {
		list = slices.Clone(list)
		for i, item := range list {
			if inner, ok := item.(*Map); ok {
				list[i] = change(inner)
			}
		}
		return list
	}
	m, ok := v.(*Map)
	if !ok {
		return v
	}
	changed := MapOf()
	for key, item := range m.All() {
		if inner, ok := item.(*Map); ok {
			item = change(inner)
		}
		changed.Set(key, item)
	}
	return changed
}

func complete(doc, defaults *Map) *Map {
	whole := doc.Copy()
	for key, usual := range defaults.All() {
		v, _ := whole.Get(key)
		inner, nested := usual.(*Map)
		given, isMap := v.(*Map)
		switch {
		case v == nil:
			whole.Set(key, usual)
		case nested && isMap:
			whole.Set(key, complete(given, inner))
		}
	}
	return whole
}

// Text returns the bytes of the file of doc.
func (k *Kind) Text(doc *Map) ([]byte, error) { return YAML(k.Canonical(doc)) }

// Unknown returns the keys of doc that mean nothing in this kind.
func (k *Kind) Unknown(doc *Map) []string {
	var unknown []string
	for key := range doc.All() {
		if !slices.Contains(k.keys, key) && !k.isNeverWritten(key) {
			unknown = append(unknown, key)
		}
	}
	return unknown
}

// DidYouMean ends a message about an unknown key with the nearest one that documents of this kind have.
func (k *Kind) DidYouMean(key string) string { return nearest.DidYouMean(key, slices.Values(k.keys)) }

func (k *Kind) isNeverWritten(key string) bool {
	return slices.Contains(k.never, key) || slices.Contains(neverOfAll, key)
}

// orderKeys puts keys first in a mapping; other values it returns as they are.
func orderKeys(v any, keys []string) any {
	m, ok := v.(*Map)
	if !ok || len(keys) == 0 {
		return v
	}
	sorted := MapOf()
	for _, key := range keys {
		if item, ok := m.Get(key); ok {
			sorted.Set(key, item)
		}
	}
	for key, item := range m.All() {
		sorted.Set(key, item)
	}
	return sorted
}

// sortedLabels sorts a list of strings and drops what it has twice; other values
// it returns as they are.
func sortedLabels(v any) any {
	list, ok := v.([]any)
	if !ok || slices.ContainsFunc(list, func(item any) bool { _, text := item.(string); return !text }) {
		return v
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return slices.Compact(list)
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case *Map:
		return v.Len() == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// HasSlug reports whether slug may name an object of this kind, by the rule that
// the API has (contract/api.md 1.7) and by what a file can be called.
func (k *Kind) HasSlug(slug string) bool { return k.slug != nil && k.slug(slug) }

// listing is a file that other platforms put beside the objects. It is never
// read, hence no object can be called so.
const listing = "__index__"

// isPathSlug is the rule of what may lie in folders: segments joined by "/".
func isPathSlug(slug string) bool {
	if len(slug) > 128 {
		return false
	}
	for segment := range strings.SplitSeq(slug, "/") {
		if !isSegment(segment) {
			return false
		}
	}
	return !strings.HasSuffix("/"+slug, "/"+listing)
}

func isPageSlug(slug string) bool {
	first, _, _ := strings.Cut(slug, "/")
	return isPathSlug(slug) && first != "_svc"
}

func isInstanceSlug(slug string) bool {
	return len(slug) <= 60 && isSegment(slug) && slug != listing
}

func isShortSlug(slug string) bool {
	return slug != "" && len(slug) <= 60 && slug[0] != '-' && !strings.ContainsFunc(slug, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

// AgentSlugForm says which slugs agents have.
const AgentSlugForm = "1 to 60 of a-z, 0-9 and -, not - first"

// BaseSlugForm says which slugs knowledge bases have.
const BaseSlugForm = "1 to 60 of a-z, 0-9 and -, not - first, and neither search nor ask"

// isBaseSlug leaves the words out that paths have in the place of a base.
func isBaseSlug(slug string) bool { return isShortSlug(slug) && slug != "search" && slug != "ask" }

// isSegment allows no blanks at the ends, which no tool can be trusted to keep in
// the name of a file.
func isSegment(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return !isLetter(r) && (r < '0' || r > '9') && r != ' ' && r != '_' && r != '-'
	})
}
