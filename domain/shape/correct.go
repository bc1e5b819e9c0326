package shape

import (
	"fmt"
	"slices"
	"strconv"

	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/jsontype"
)

// Correction is a change that an import makes to a document so that it can be used.
type Correction struct {
	Field   string // its path in the document as it was
	Reason  string // one of the reasons below
	Message string
}

// The reasons of corrections.
const (
	ValueConverted = "value_converted" // a number read as a string, or a string as a number or boolean
	AddressDropped = "address_dropped" // a picture or script that no browser would load
	OldBlockForm   = "old_block_form"  // blocks {name, config} read as {slug, …settings}
	SettingDropped = "setting_dropped" // one of two settings with the same name
	UnknownRule    = "unknown_rule"    // a subject or action of a rule that does not exist here
)

// Correct returns a document of an import as it is stored, and what was changed: values that have an
// obvious meaning in another type are converted, addresses that cannot be used and rules about
// unknown subjects are dropped, and blocks of the older form {name, config} become {slug, …settings}.
// The same document always gives the same result, so that a file in a repository and the document
// that was read from it can be compared. doc stays as it is.
func Correct(kind *document.Kind, doc *document.Map) (*document.Map, []Correction) {
	c := &corrector{}
	switch kind {
	case document.Security:
		doc = c.rules(doc)
	case document.Index:
		if blocks, _ := doc.Get("blocks"); kindOf(blocks) == object {
			at := (*fieldPath)(nil).at("blocks")
			doc = c.replace(doc, "blocks", c.each(blocks.(*document.Map), at, c.blocksOf))
		}
		doc = c.fields(indexTable, doc)
	case document.Page:
		doc = c.fields(pageTable, c.blocksOf(doc, nil).(*document.Map))
	case document.Import:
		doc = c.fields(importTable, doc)
	case document.Knowledge:
		doc = c.fields(knowledgeTable, doc)
	case document.Test:
		doc = c.fields(testTable, doc)
	case document.Agent:
		doc = c.fields(agentTable, doc)
	default: // other kinds are not checked here
		doc = c.fields(&table{fields: []field{{name: "slug", is: text}}}, doc)
	}
	if c.oldBlocks > 0 {
		c.list = append(c.list, Correction{c.firstOldBlock.String(), OldBlockForm, fmt.Sprintf("%s in the older form {name, config} read as {slug, …settings}", blockCount(c.oldBlocks))})
	}
	return doc, c.list
}

func blockCount(blocks int) string {
	if blocks == 1 {
		return "1 block"
	}
	return fmt.Sprintf("%d blocks", blocks)
}

// corrector collects corrections of one document.
type corrector struct {
	list          []Correction
	oldBlocks     int
	firstOldBlock *fieldPath
}

func (c *corrector) addCorrection(at *fieldPath, reason, format string, args ...any) {
	if len(c.list) < maxFaults {
		c.list = append(c.list, Correction{at.String(), reason, fmt.Sprintf(format, args...)})
	}
}

// replace returns m with another value under a key, m itself when the value is the same.
func (c *corrector) replace(m *document.Map, key string, value any) *document.Map {
	if before, _ := m.Get(key); isIdentical(before, value) {
		return m
	}
	m = m.Copy()
	m.Set(key, value)
	return m
}

// isIdentical reports whether two values are the same one in memory, or equal scalars.
func isIdentical(a, b any) bool {
	switch a := a.(type) {
	case []any:
		l, ok := b.([]any)
		return ok && len(a) == len(l) && (len(a) == 0 || &a[0] == &l[0])
	case *document.Map:
		m, ok := b.(*document.Map)
		return ok && a == m
	}
	if kindOf(b)&(list|object) != 0 {
		return false
	}
	return a == b
}

// each replaces the values of a mapping.
func (c *corrector) each(m *document.Map, at *fieldPath, change func(v any, at *fieldPath) any) *document.Map {
	next := m
	for key, v := range m.All() {
		if after := change(v, at.at(key)); !isIdentical(v, after) {
			if next == m {
				next = m.Copy()
			}
			next.Set(key, after)
		}
	}
	return next
}

// items replaces the items of a list.
func (c *corrector) items(items []any, at *fieldPath, change func(v any, at *fieldPath) any) []any {
	next, copied := items, false
	for i, v := range items {
		if after := change(v, at.at(i)); !isIdentical(v, after) {
			if !copied {
				next, copied = slices.Clone(items), true
			}
			next[i] = after
		}
	}
	return next
}

// fields corrects the fields of a document that a table knows.
func (c *corrector) fields(t *table, doc *document.Map) *document.Map {
	return c.members(&field{of: t.fields}, doc, nil)
}

func (c *corrector) members(f *field, m *document.Map, at *fieldPath) *document.Map {
	next := m
	for key, v := range m.All() {
		member := f.member(key)
		if member == nil || member.readOnly || v == nil {
			continue
		}
		after := c.value(member, v, at.at(key))
		if member.droppable && (kindOf(after)&member.is == 0 || member.valueProblem(after) != "") {
			c.addCorrection(at.at(key), AddressDropped, "%s: %s: it was dropped", key, "must be an http or https URL or a path that begins with /")
			next = next.Copy()
			next.Delete(key)
			continue
		}
		next = c.replace(next, key, after)
	}
	return next
}

// value converts a value to the type of its field, and corrects what is in it.
func (c *corrector) value(f *field, v any, at *fieldPath) any {
	if f.typed != untyped {
		return v
	}
	got := kindOf(v)
	if got&f.is == 0 {
		return c.converted(f, v, at)
	}
	switch v := v.(type) {
	case []any:
		if f.each != nil {
			return c.items(v, at, func(item any, at *fieldPath) any { return c.value(f.each, item, at) })
		}
	case *document.Map:
		if f.of != nil {
			return c.members(f, v, at)
		}
		if f.each != nil {
			return c.each(v, at, func(item any, at *fieldPath) any { return c.value(f.each, item, at) })
		}
	}
	return v
}

// converted returns a scalar in the type that its field has, the value itself when that is not
// obvious. The message does not repeat the value: it may be a credential.
func (c *corrector) converted(f *field, v any, at *fieldPath) any {
	var after any
	switch v := v.(type) {
	case float64, bool:
		if f.is&text == 0 {
			return v
		}
		body, err := document.JSON(v)
		if err != nil {
			return v
		}
		after = string(body)
	case string:
		if number, err := strconv.ParseFloat(v, 64); err == nil && f.is&jsontype.Number != 0 {
			after = number
		} else if f.is&boolean != 0 && (v == "true" || v == "false") {
			after = v == "true"
		} else {
			return v
		}
	default:
		return v
	}
	c.addCorrection(at, ValueConverted, "%s read as %s", kindOf(v), kindOf(after))
	return after
}

// blocksOf corrects the blocks of a page or of a block of the workspace.
func (c *corrector) blocksOf(v any, at *fieldPath) any {
	m, _ := v.(*document.Map)
	items, _ := m.Get("blocks")
	if kindOf(items) != list {
		return v
	}
	return c.replace(m, "blocks", c.blocks(items, at.at("blocks"), false))
}

// blocks corrects a value where blocks are expected. With strict, only a certain block of the
// older form is changed: a content may be anything. A block with a slug is not changed,
// with all its settings: they may look like blocks of the older form.
func (c *corrector) blocks(v any, at *fieldPath, strict bool) any {
	block := func(v any, at *fieldPath) any {
		if m, ok := v.(*document.Map); ok && isOldBlock(m, strict) {
			return c.blocksInside(c.newBlock(m, at), at)
		}
		return v
	}
	if items, ok := v.([]any); ok {
		return c.items(items, at, block)
	}
	return block(v, at)
}

// isOldBlock reports whether a mapping is a block of the form {name, config}.
func isOldBlock(m *document.Map, strict bool) bool {
	_, hasSlug := m.Get("slug")
	config, hasConfig := m.Get("config")
	if hasSlug || m.Text("name") == "" || hasConfig && config != nil && kindOf(config) != object {
		return false
	}
	return !strict || hasConfig
}

// newBlock converts a block {name, config} to {slug, …settings}. A setting of its config
// takes precedence over one beside it, except for its kind and its app instance.
func (c *corrector) newBlock(m *document.Map, at *fieldPath) *document.Map {
	if c.oldBlocks++; c.firstOldBlock == nil {
		c.firstOldBlock = at
	}
	value, _ := m.Get("config")
	config, _ := value.(*document.Map)
	next := document.MapOf(document.Pair{Key: "slug", Value: m.Text("name")})
	for key, v := range m.All() {
		if key == "name" || key == "config" {
			continue
		}
		if _, twice := config.Get(key); twice && key != "appInstance" {
			c.addCorrection(at.at(key), SettingDropped, "%s: the config of the block has it too: that one is used", key)
			continue
		}
		next.Set(key, v)
	}
	for key, v := range config.All() {
		if _, exists := next.Get(key); exists {
			c.addCorrection(at.at("config").at(key), SettingDropped, "%s: it is a field of the block itself: the setting was dropped", key)
			continue
		}
		next.Set(key, v)
	}
	return next
}

// blocksInside corrects the blocks in the settings of a block of the older form.
func (c *corrector) blocksInside(v any, at *fieldPath) any {
	switch v := v.(type) {
	case []any:
		return c.items(v, at, c.blocksInside)
	case *document.Map:
		return c.each(v, at, func(value any, at *fieldPath) any {
			switch {
			case at.step == "blocks" && kindOf(value) == list:
				return c.blocks(value, at, false)
			case at.step == "content" && kindOf(value)&(list|object) != 0:
				return c.blocks(value, at, true)
			}
			return c.blocksInside(value, at)
		})
	}
	return v
}

// rules drops subjects and actions of rules that do not exist here, and rules that nothing is left of: what they
// allow cannot be done. Rules that deny are left as they are, to be refused. Where rules have priorities of their
// own, dropping one would move others among them, and nothing is changed.
func (c *corrector) rules(doc *document.Map) *document.Map {
	value, _ := doc.Get("authorizations")
	authorizations, _ := value.(*document.Map)
	value, _ = authorizations.Get("rules")
	rules, _ := value.([]any)
	at := (*fieldPath)(nil).at("authorizations").at("rules")
	fixed := slices.ContainsFunc(rules, func(v any) bool {
		rule, _ := v.(*document.Map)
		priority, _ := rule.Get("priority")
		return priority != nil
	})
	remaining, changed := make([]any, 0, len(rules)), false
	for i, v := range rules {
		rule, ok := v.(*document.Map)
		if !ok {
			remaining = append(remaining, v)
			continue
		}
		next, some := c.rule(rule, at.at(i), fixed)
		if some {
			remaining = append(remaining, next)
		}
		changed = changed || !some || next != rule
	}
	if !changed {
		return doc
	}
	return c.replace(doc, "authorizations", c.replace(authorizations, "rules", remaining))
}

// maxRuleWords is how many subjects or actions of a rule are read.
const maxRuleWords = 200

// rule returns a rule without its unknown parts; some is false when nothing is left.
func (c *corrector) rule(rule *document.Map, at *fieldPath, fixed bool) (next *document.Map, some bool) {
	subjects, actions := wordsAt(rule, "subject"), wordsAt(rule, "action")
	if len(subjects) == 0 || len(actions) == 0 || len(subjects) > maxRuleWords || len(actions) > maxRuleWords {
		return rule, true // it is refused later
	}
	if denies, _ := rule.Get("inverted"); denies != nil && denies != false {
		return rule, true // it may be misspelt, and is refused later
	}
	knownSubjects := slices.DeleteFunc(slices.Clone(subjects), func(s string) bool { return s != "all" && access.Actions(s) == nil })
	knownActions := slices.DeleteFunc(slices.Clone(actions), func(a string) bool {
		return !slices.ContainsFunc(knownSubjects, func(s string) bool { return isAction(a, s) })
	})
	if len(knownSubjects) == 0 || len(knownActions) == 0 {
		if fixed {
			return rule, true
		}
		c.addCorrection(at, UnknownRule, "%s of %s is unknown here: the rule was dropped", joinWords(actions), joinWords(subjects))
		return nil, false
	}
	next = rule
	if len(knownActions) < len(actions) {
		c.addCorrection(at.at("action"), UnknownRule, "unknown actions were dropped: %s", joinWords(withoutWords(actions, knownActions)))
		next = c.replace(next, "action", document.StringList(knownActions))
	}
	if len(knownSubjects) < len(subjects) {
		c.addCorrection(at.at("subject"), UnknownRule, "unknown subjects were dropped: %s", joinWords(withoutWords(subjects, knownSubjects)))
		next = c.replace(next, "subject", document.StringList(knownSubjects))
	}
	return next, true
}

// isAction reports whether an action can be done to a subject.
func isAction(action, subject string) bool {
	if action == "manage" {
		return true
	}
	if subject == "all" {
		return slices.Contains(actions(), action)
	}
	return slices.Contains(access.Actions(subject), action)
}

// wordsAt returns a word, or a list of them, under a key; nil when it is neither.
func wordsAt(m *document.Map, key string) []string {
	value, _ := m.Get(key)
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		words := make([]string, 0, len(v))
		for _, item := range v {
			word, ok := item.(string)
			if !ok {
				return nil
			}
			words = append(words, word)
		}
		return words
	}
	return nil
}

func withoutWords(words, known []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(known, w) })
}

// joinWords lists words for a message.
func joinWords(words []string) string {
	text := ""
	for i, word := range words {
		if i > 0 {
			text += ", "
		}
		text += document.QuoteShort(word)
	}
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200]) + "…"
	}
	return text
}
