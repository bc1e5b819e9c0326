package projections

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/app"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/review"
	"svc/domain/value"
	"svc/domain/workspace"
)

// Problems is the read model of what is wrong with the content of workspaces: faults and
// warnings of each document, and names that documents use and that do not exist. The review of
// each document is stored, and for each name the documents that use it, so that a change leads
// to new reviews of the affected documents only.
//
//	a{app}\0{workspace}\0{path}  nothing: an instance of the app
//	b{workspace}\0{object}       problems of the object
//	g{workspace}                 the last config schemas of a workspace, with their sequences
//	l{workspace}                 list of the documents that listen to events
//	m{workspace}\0{event}        list of the documents that emit the event; for a.b also under a.*
//	n{workspace}\0{name}         list of the documents that use a name: c:automation, i:instance (its automations, its events), s:secret, e:event, k:base
//	L…, M…, N…                   a bucket of the list under the same key in lower case
//	s{workspace}\0{secret}       nothing: the secret has a value
//	t{workspace}                 stagedName
//	t{workspace}\0{n}            stagedFacts of one event
//	u{app}                       publication: who publishes the app, and whether it still does
//	v{app}\0{version}            config schema of a version of an app; version "": the newest
//	w{workspace}                 workspaceFacts
//	x{workspace}                 by path: prefixes of the types of events that a document computes
//	z{workspace}\0{path}         documentFacts
//
// A list consists of buckets, and a bit for each bucket that is not empty, so that adding a
// document to a long list, or removing it, writes only a short bucket. Apply may be repeated: the
// key that says that a change was made is written after everything that follows from the change.
type Problems struct{}

// Name implements Projection.
func (Problems) Name() string { return "problems.6" }

// Log implements Projection.
func (Problems) Log() domain.Log { return domain.State }

// Rewritten implements Rewriting.
func (Problems) Rewritten() string { return "bglmnLMNwxz" }

// Repeatable implements Repeatable.
func (Problems) Repeatable() {}

// Problem is something wrong with an object of a workspace.
type Problem struct {
	Object  string `json:"-"` // path of a document, index, or repositories/{id}
	Field   string `json:"field"`
	Message string `json:"message"`
	Warning bool   `json:"warning,omitempty"`
	// Kind and Name are set for a name that does not exist: call, event, secret or knowledgeBase. With kind
	// PerhapsMissing it is the name of an automation of an app instance, which only the content
	// of the installed version of the app can tell: readers of problems omit those that exist. With kind
	// PerhapsDisabled it is an automation that an agent calls: they omit those that are not disabled.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// The kinds of names that may be missing.
const (
	MissingCall     = "call"
	PerhapsMissing  = "instanceCall"
	PerhapsDisabled = "disabledCall"
	MissingEvent    = "event"
	MissingSecret   = "secret"
	MissingBase     = "knowledgeBase"
)

// documentFacts is what is stored about a document.
type documentFacts struct {
	automation.Review
	App     string          `json:"app,omitempty"` // of an app instance
	Version string          `json:"version,omitempty"`
	Config  json.RawMessage `json:"config,omitempty"`
}

// workspaceFacts is what is stored about a workspace besides its documents.
type workspaceFacts struct {
	Declared []string `json:"declared,omitempty"` // names of secrets
	Events   []string `json:"events,omitempty"`   // types that are declared
	Apps     []string `json:"apps,omitempty"`     // published apps: their users may emit the events that it listens to
	// Unreachable are the repositories that the last operation could not reach.
	Unreachable []string `json:"unreachable,omitempty"`
}

// problemsTx reads and writes the rows of one workspace in a transaction.
type problemsTx struct {
	getter
	tx Tx
	id string
}

// getter is a txSource or a reader.
type getter interface {
	Get(key []byte) (value []byte, ok bool, err error)
}

// readerGetter reads the keys of Problems.
type readerGetter struct{ r Reader }

// Get returns what is stored under a key.
func (g readerGetter) Get(key []byte) ([]byte, bool, error) { return g.r.Get(Problems{}, key) }

// Apply implements Projection.
func (p Problems) Apply(tx Tx, ev domain.Recorded) error {
	w := problemsTx{txSource{tx}, tx, ev.Stream.ID}
	switch e := ev.Data.(type) {
	case app.Published:
		return w.publish(e.App)
	case app.Deleted:
		return w.unpublish(e.AppSlug)
	case operation.Progress:
		w.id = ev.Stream.Scope
		return w.repository(e)
	case workspace.Staged:
		return w.stage(e)
	case workspace.SecretsUpdated:
		return w.secrets(e)
	case workspace.Updated:
		if e.Aside {
			return w.settings(ev.Seq, e.Workspace.Settings, nil)
		}
	}
	d, ok := tx.delta(ev)
	if !ok {
		return nil
	}
	changes := map[string]*documentFacts{}
	for _, path := range d.Deleted {
		changes[path] = nil
	}
	if d.Stage != "" {
		if err := w.unstage(d.Stage, changes); err != nil {
			return err
		}
	}
	for _, e := range d.Entries {
		if e.From != "" {
			changes[e.From] = nil
		}
	}
	for _, e := range d.Entries {
		facts := factsOf(e)
		changes[e.Path] = &facts
	}
	touched := map[string]bool{}
	if d.Settings != nil {
		if err := w.settings(ev.Seq, *d.Settings, touched); err != nil {
			return err
		}
	}
	return w.change(changes, touched, d.IsNew)
}

// kindsOfNames are what the names of documents begin with in lists, by their folder.
var kindsOfNames = map[string]string{"automations": "c:", "imports": "i:", "knowledge": "k:"}

// change replaces the facts of documents, nil for deleted ones, and reviews the affected
// documents and the touched ones. With areNew none of the documents was there before.
func (w problemsTx) change(changes map[string]*documentFacts, touched map[string]bool, areNew bool) error {
	var index listChanges
	var appeared, gone []string // names
	olds := map[string]*documentFacts{}
	paths := slices.Sorted(maps.Keys(changes))
	for _, path := range paths {
		var old *documentFacts
		if !areNew {
			var err error
			if old, err = w.facts(path); err != nil {
				return err
			}
		}
		next := changes[path]
		olds[path], touched[path] = old, true
		index.note(path, w.namesOf(old), w.namesOf(next))
		if folder, slug := workspace.Folder(path); (old == nil) != (next == nil) {
			name := kindsOfNames[folder]
			if name != "" && next != nil {
				appeared = append(appeared, name+slug)
			} else if name != "" {
				gone = append(gone, name+slug)
			}
		}
	}
	listening, err := w.emitters(olds, changes)
	if err != nil {
		return err
	}
	flipped, err := index.apply(w)
	if err != nil {
		return err
	}
	for _, key := range flipped {
		if event, ok := strings.CutPrefix(key, string(scopedKey('m', w.id, nil))); ok {
			appeared = append(appeared, "e:"+event)
		}
	}
	for _, name := range append(appeared, gone...) {
		if err := w.touch(scopedKey('n', w.id, []byte(name)), touched); err != nil {
			return err
		}
	}
	if listening {
		if err := w.touch(scopedKey('l', w.id, nil), touched); err != nil {
			return err
		}
	}
	for _, path := range paths {
		if err := w.putFacts(path, olds[path], changes[path]); err != nil {
			return err
		}
	}
	return w.review(touched, changes)
}

// putFacts stores the facts of a document.
func (w problemsTx) putFacts(path string, old, next *documentFacts) error {
	if old != nil && old.App != "" && (next == nil || next.App != old.App) {
		if err := w.tx.Delete(instanceKey(old.App, w.id, path)); err != nil {
			return err
		}
	}
	key := scopedKey('z', w.id, []byte(path))
	if next == nil {
		return errors.Join(w.tx.Delete(key), w.tx.Delete(scopedKey('b', w.id, []byte(path))))
	}
	if next.App != "" {
		if err := w.tx.Set(instanceKey(next.App, w.id, path), nil); err != nil {
			return err
		}
	}
	body, err := next.encode()
	if err != nil {
		return err
	}
	return w.tx.Set(key, body)
}

// encode returns what encoding/json makes of f.
func (f *documentFacts) encode() ([]byte, error) {
	o := domain.NewObjectEncoder(make([]byte, 0, 256))
	f.Review.Encode(&o)
	o.TextIfAny("app", f.App)
	o.TextIfAny("version", f.Version)
	if len(f.Config) > 0 {
		o.JSON("config", f.Config)
	}
	return o.End()
}

// decode sets f, which is empty, from what is stored.
func (f *documentFacts) decode(body []byte) error {
	return domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "app":
			return domain.DecodeText(&f.App, value)
		case "version":
			return domain.DecodeText(&f.Version, value)
		case "config":
			f.Config = bytes.Clone(value)
			return nil
		}
		return f.Review.DecodeMember(key, value)
	})
}

func instanceKey(appSlug, workspaceID, path string) []byte {
	return scopedKey('a', appSlug, []byte(workspaceID+"\x00"+path))
}

// facts returns the facts of a document; nil when it does not exist.
func (w problemsTx) facts(path string) (*documentFacts, error) {
	body, ok, err := w.Get(scopedKey('z', w.id, []byte(path)))
	if err != nil || !ok {
		return nil, err
	}
	facts := &documentFacts{}
	return facts, facts.decode(body)
}

// namesOf returns the lists that a document is in.
func (w problemsTx) namesOf(f *documentFacts) (keys []string) {
	if f == nil {
		return nil
	}
	use := func(name string) { keys = append(keys, string(scopedKey('n', w.id, []byte(name)))) }
	for _, r := range f.Calls {
		if instance, _, ok := strings.Cut(r.Name, "."); ok {
			use("i:" + instance)
		} else {
			use("c:" + r.Name)
		}
	}
	for _, r := range f.Secrets {
		use("s:" + r.Name)
	}
	for _, r := range f.Bases {
		use("k:" + r.Name)
	}
	for _, r := range f.Listens {
		use("e:" + r.Name)
		if instance, _, ok := strings.Cut(r.Name, "."); ok {
			use("i:" + instance) // events of an instance begin with its name
		}
	}
	if len(f.Listens) > 0 {
		keys = append(keys, string(scopedKey('l', w.id, nil)))
	}
	for _, e := range f.Emits {
		keys = append(keys, string(scopedKey('m', w.id, []byte(e))))
		for i, c := range e {
			if c == '.' {
				keys = append(keys, string(scopedKey('m', w.id, []byte(e[:i+1]+"*"))))
			}
		}
	}
	return keys
}

// emitters stores which documents emit events with computed types, and reports whether that
// changed.
func (w problemsTx) emitters(olds, changes map[string]*documentFacts) (changed bool, err error) {
	var all map[string][]string
	for path, next := range changes {
		var before, after []string
		if old := olds[path]; old != nil {
			before = old.EmitsLike
		}
		if next != nil {
			after = next.EmitsLike
		}
		if len(before) == 0 && len(after) == 0 || slices.Equal(before, after) {
			continue
		}
		if all == nil {
			if all, err = w.computed(); err != nil {
				return false, err
			}
		}
		if delete(all, path); len(after) > 0 {
			all[path] = after
		}
		changed = true
	}
	if !changed {
		return false, nil
	}
	return true, setJSON(w.tx, scopedKey('x', w.id, nil), all)
}

func (w problemsTx) computed() (map[string][]string, error) {
	all := map[string][]string{}
	body, ok, err := w.Get(scopedKey('x', w.id, nil))
	if err != nil || !ok {
		return all, err
	}
	return all, json.Unmarshal(body, &all)
}

// touch adds the paths of a list to touched.
func (w problemsTx) touch(list []byte, touched map[string]bool) error {
	filled, err := w.filledBuckets(list)
	for bucket := range listBuckets {
		if err != nil {
			return err
		}
		if filled&(1<<bucket) == 0 {
			continue
		}
		var paths []string
		paths, err = w.bucket(list, bucket)
		for _, path := range paths {
			touched[path] = true
		}
	}
	return err
}

// listBuckets is the number of buckets of a list.
const listBuckets = 64

// bucketOf returns the bucket of a path.
func bucketOf(path string) int { return int(crc32.ChecksumIEEE([]byte(path)) % listBuckets) }

// bucketKey is the key of a bucket of a list.
func bucketKey(list []byte, bucket int) []byte {
	key := append(append(make([]byte, 0, len(list)+1), list...), byte(bucket))
	key[0] -= 'a' - 'A'
	return key
}

// filledBuckets returns a bit for each bucket of a list that is not empty.
func (w problemsTx) filledBuckets(list []byte) (filled uint64, err error) {
	value, ok, err := w.Get(list)
	if err != nil || !ok {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// bucket returns the paths in a bucket of a list.
func (w problemsTx) bucket(list []byte, bucket int) (paths []string, err error) {
	body, ok, err := w.Get(bucketKey(list, bucket))
	if err != nil || !ok {
		return nil, err
	}
	return domain.DecodeTexts(body)
}

// listChange adds a path to a list, or removes it.
type listChange struct {
	list   string // its key
	bucket int    // of the path
	path   string
	add    bool
}

type listChanges []listChange

// note records the lists that a document leaves and enters.
func (c *listChanges) note(path string, before, after []string) {
	bucket := bucketOf(path)
	change := func(keys, others []string, add bool) {
		for _, key := range keys {
			if !slices.Contains(others, key) {
				*c = append(*c, listChange{key, bucket, path, add})
			}
		}
	}
	change(before, after, false)
	change(after, before, true)
}

// apply changes the lists. It returns the keys of the lists that became empty or not empty.
func (c listChanges) apply(w problemsTx) (flipped []string, err error) {
	slices.SortFunc(c, func(a, b listChange) int {
		return cmp.Or(strings.Compare(a.list, b.list), cmp.Compare(a.bucket, b.bucket), strings.Compare(a.path, b.path))
	})
	c = slices.Compact(c) // a document may use a name twice
	for len(c) > 0 {
		list := []byte(c[0].list)
		before, err := w.filledBuckets(list)
		if err != nil {
			return nil, err
		}
		after := before
		for len(c) > 0 && c[0].list == string(list) {
			bucket, n := c[0].bucket, 1
			for n < len(c) && c[n].list == c[0].list && c[n].bucket == bucket {
				n++
			}
			has, err := w.changeBucket(list, bucket, before&(1<<bucket) != 0, c[:n])
			if err != nil {
				return nil, err
			}
			if after &^= 1 << bucket; has {
				after |= 1 << bucket
			}
			c = c[n:]
		}
		switch after {
		case before:
			continue
		case 0:
			err = w.tx.Delete(list)
		default:
			err = w.tx.Set(list, binary.BigEndian.AppendUint64(nil, after))
		}
		if err != nil {
			return nil, err
		}
		if (before == 0) != (after == 0) {
			flipped = append(flipped, string(list))
		}
	}
	return flipped, nil
}

// changeBucket adds paths to a bucket, which had paths or none, or removes them, and reports whether the bucket has paths
// afterwards.
func (w problemsTx) changeBucket(list []byte, bucket int, had bool, changes []listChange) (has bool, err error) {
	key := bucketKey(list, bucket)
	var paths []string
	if had {
		body, ok, err := w.Get(key)
		if err != nil {
			return false, err
		}
		if ok && len(changes) == 1 && changes[0].add { // one more, which is by far the most frequent change
			if with, inserted := insertPath(body, changes[0].path); inserted {
				return true, w.tx.Set(key, with)
			}
		}
		if ok {
			paths, err = domain.DecodeTexts(body)
		}
		if err != nil {
			return false, err
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		return slices.ContainsFunc(changes, func(c listChange) bool { return c.path == path })
	})
	for _, c := range changes {
		if c.add {
			paths = append(paths, c.path)
		}
	}
	if len(paths) == 0 {
		return false, w.tx.Delete(key)
	}
	slices.Sort(paths)
	return true, w.tx.Set(key, domain.AppendTexts(nil, paths))
}

// insertPath returns the paths of a bucket, as they are stored and in their order, with one more. It returns false where
// they are not written as they are.
func insertPath(body []byte, path string) ([]byte, bool) {
	entry := domain.AppendText(make([]byte, 0, len(path)+2), path)
	if len(body) < 2 || !domain.IsEncoded(body) || bytes.IndexByte(entry, '\\') >= 0 {
		return nil, false
	}
	at := 1
	for body[at] == '"' {
		end := at + 1 + bytes.IndexByte(body[at+1:], '"')
		other := body[at+1 : end]
		if string(other) == path {
			return body, true
		}
		if string(other) > path {
			return slices.Concat(body[:at], entry, comma, body[at:]), true
		}
		if at = end + 1; body[at] == ',' {
			at++
		}
	}
	switch {
	case body[at] != ']' || at != len(body)-1:
		return nil, false
	case at == 1:
		return slices.Concat(body[:at], entry, body[at:]), true
	}
	return slices.Concat(body[:at], comma, entry, body[at:]), true
}

var comma = []byte{','}

// review finds the problems of documents again. changed has what is known of some of them already.
func (w problemsTx) review(touched map[string]bool, changed map[string]*documentFacts) error {
	for _, path := range slices.Sorted(maps.Keys(touched)) {
		facts, known := changed[path]
		if !known {
			var err error
			if facts, err = w.facts(path); err != nil {
				return err
			}
		}
		if facts == nil {
			continue
		}
		found, err := w.resolve(path, *facts)
		if err == nil {
			err = w.set(path, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// set stores the problems of an object.
func (w problemsTx) set(object string, found []Problem) error {
	key := scopedKey('b', w.id, []byte(object))
	if len(found) == 0 {
		if had, err := w.has(key); err != nil || !had {
			return err
		}
		return w.tx.Delete(key)
	}
	return w.tx.Set(key, encodeProblems(found))
}

// encodeProblems returns what encoding/json makes of problems.
func encodeProblems(list []Problem) []byte {
	body := append(make([]byte, 0, 256*len(list)), '[')
	for i := range list {
		if i > 0 {
			body = append(body, ',')
		}
		o := domain.NewObjectEncoder(body)
		list[i].encode(&o)
		body, _ = o.End() // texts have no faults
	}
	return append(body, ']')
}

// resolve returns the problems of a document: its own, and the names that do not exist.
func (w problemsTx) resolve(path string, f documentFacts) (found []Problem, err error) {
	for _, finding := range f.Findings {
		found = append(found, Problem{Field: finding.Field, Message: finding.Message, Warning: finding.Warning})
	}
	missing := func(kind string, refs []automation.Reference, exists func(name string) (bool, error), message func(name string) string) {
		for _, r := range refs {
			ok, failed := exists(r.Name)
			if err = errors.Join(err, failed); !ok {
				found = append(found, Problem{Field: r.Field, Message: message(r.Name), Warning: true, Kind: kind, Name: r.Name})
			}
		}
	}
	missing(MissingCall, f.Calls, func(name string) (bool, error) { return w.callable(path, name) }, review.NoAutomation)
	missing(MissingSecret, f.Secrets, w.hasSecret, review.NoSecret)
	missing(MissingBase, f.Bases, func(name string) (bool, error) { return w.has(scopedKey('z', w.id, []byte("knowledge/"+name))) }, review.NoBase)
	missing(MissingEvent, f.Listens, func(name string) (bool, error) { return w.emitted(name, f) }, review.NobodyEmits)
	for _, r := range f.Calls {
		if strings.HasPrefix(path, "agents/") {
			found = append(found, Problem{Field: r.Field, Message: review.DisabledAutomation(r.Name), Warning: true, Kind: PerhapsDisabled, Name: r.Name})
		}
		instance, name, isCall := strings.Cut(r.Name, ".")
		if known, failed := w.has(scopedKey('z', w.id, []byte("imports/"+instance))); failed != nil {
			return nil, failed
		} else if isCall && known {
			found = append(found, Problem{Field: r.Field, Message: review.NotOffered(instance, name), Warning: true, Kind: PerhapsMissing, Name: r.Name})
		}
	}
	if f.App == "" || err != nil {
		return found, err
	}
	own, err := w.checkInstance(f)
	return append(found, own...), err
}

func quoted(name string) string { return `"` + name + `"` }

func (w problemsTx) has(key []byte) (bool, error) {
	_, ok, err := w.Get(key)
	return ok, err
}

// callable reports whether a name is an automation of the workspace, or begins with the name of
// an app instance.
func (w problemsTx) callable(path, name string) (bool, error) {
	if instance, _, ok := strings.Cut(name, "."); ok {
		return w.has(scopedKey('z', w.id, []byte("imports/"+instance)))
	}
	if path == "automations/"+name {
		return true, nil
	}
	return w.has(scopedKey('z', w.id, []byte("automations/"+name)))
}

func (w problemsTx) hasSecret(name string) (bool, error) {
	return w.has(scopedKey('s', w.id, []byte(name)))
}

// emitted reports whether something in the workspace emits an event with a name, or one that
// matches it as a pattern. f is the new version of the document that listens.
func (w problemsTx) emitted(name string, f documentFacts) (bool, error) {
	fits := func(prefix string) bool {
		base := strings.TrimSuffix(name, "*")
		return strings.HasPrefix(base, prefix) || base != name && strings.HasPrefix(prefix, base)
	}
	if slices.ContainsFunc(f.Emits, func(e string) bool { return automation.MatchEvent(name, e) }) || slices.ContainsFunc(f.EmitsLike, fits) {
		return true, nil
	}
	facts, _, err := w.workspace()
	if err != nil || len(facts.Apps) > 0 || slices.ContainsFunc(facts.Events, func(e string) bool { return automation.MatchEvent(name, e) }) {
		return true, err
	}
	if instance, _, ok := strings.Cut(name, "."); ok {
		if known, err := w.has(scopedKey('z', w.id, []byte("imports/"+instance))); err != nil || known {
			return true, err
		}
	}
	if known, err := w.has(scopedKey('m', w.id, []byte(name))); err != nil || known {
		return true, err
	}
	computed, err := w.computed()
	for _, prefixes := range computed {
		if slices.ContainsFunc(prefixes, fits) {
			return true, err
		}
	}
	return false, err
}

// workspace returns the facts of the workspace, and whether there are any stored.
func (w problemsTx) workspace() (f workspaceFacts, known bool, err error) {
	body, known, err := w.Get(scopedKey('w', w.id, nil))
	if err != nil || !known || string(body) == "{}" {
		return f, known, err
	}
	return f, true, json.Unmarshal(body, &f)
}

// isEqual reports whether two workspaces are stored with the same facts.
func (f workspaceFacts) isEqual(other workspaceFacts) bool {
	return slices.Equal(f.Declared, other.Declared) && slices.Equal(f.Events, other.Events) &&
		slices.Equal(f.Apps, other.Apps) && slices.Equal(f.Unreachable, other.Unreachable)
}

// factsOf returns the facts of an entry. For a document that is stored apart because of its size,
// the event contains them.
func factsOf(e workspace.Entry) (f documentFacts) {
	folder, _ := workspace.Folder(e.Path)
	if folder == "imports" {
		f.App = e.App
	}
	if len(e.Body) == 0 {
		if e.Review != nil {
			f.Review = *e.Review
		}
		return f
	}
	doc := document.MapOf()
	if doc.UnmarshalJSON(e.Body) != nil {
		return f
	}
	switch folder {
	case "automations":
		f.Review = input.Review(doc)
	case "pages":
		f.Review = review.Page(doc)
	case "knowledge":
		f.Findings = review.UnknownFields(document.Knowledge, doc)
	case "agents":
		f.Review = review.Agent(doc)
	case "tests":
		f.Review = review.Test(doc)
	case "imports":
		config, _ := doc.Get("config")
		f.Version, f.Findings, f.Secrets = doc.Text("appVersion"), review.UnknownFields(document.Import, doc), review.Secrets(config, "config")
		if given, ok := config.(*document.Map); ok {
			f.Config, _ = document.JSON(given)
		}
	}
	return f
}

// settings stores the facts of the settings of a workspace, and adds the affected documents to
// touched. touched is nil for settings that are not content.
func (w problemsTx) settings(seq uint64, s workspace.Settings, touched map[string]bool) error {
	before, known, err := w.workspace()
	if err != nil {
		return err
	}
	after := workspaceFacts{Apps: before.Apps, Declared: keysAt(s.Secrets, "schema"), Events: keysAt(s.Events, "types")}
	for _, id := range before.Unreachable {
		if _, ok := s.Repositories.Get(id); ok {
			after.Unreachable = append(after.Unreachable, id)
		} else if err := w.set("repositories/"+id, nil); err != nil {
			return err
		}
	}
	config, _ := s.Config.Get("value")
	facts := &documentFacts{Review: automation.Review{Secrets: review.Secrets(config, "config.value")}}
	for _, name := range after.Declared {
		if !slices.ContainsFunc(facts.Secrets, func(r automation.Reference) bool { return r.Name == name }) {
			facts.Secrets = append(facts.Secrets, automation.Reference{Name: name, Field: "secrets.schema." + name})
		}
	}
	if !known || !after.isEqual(before) {
		if err := setJSON(w.tx, scopedKey('w', w.id, nil), after); err != nil {
			return err
		}
	}
	if !slices.Equal(before.Events, after.Events) && touched != nil {
		if err := w.touch(scopedKey('l', w.id, nil), touched); err != nil {
			return err
		}
	}
	if err := w.putSchema(seq, s.Config); err != nil {
		return err
	}
	return w.change(map[string]*documentFacts{"index": facts}, map[string]bool{}, false)
}

func keysAt(m *document.Map, key string) (keys []string) {
	v, _ := m.Get(key)
	fields, _ := v.(*document.Map)
	for name := range fields.All() {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return keys
}

// secrets stores which secrets have a value.
func (w problemsTx) secrets(e workspace.SecretsUpdated) error {
	touched := map[string]bool{}
	note := func(name string, has bool) error {
		key := scopedKey('s', w.id, []byte(name))
		var err error
		if has {
			err = w.tx.Set(key, nil)
		} else {
			err = w.tx.Delete(key)
		}
		if err != nil {
			return err
		}
		return w.touch(scopedKey('n', w.id, []byte("s:"+name)), touched)
	}
	for _, name := range e.Deleted {
		if err := note(name, false); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		if err := note(name, true); err != nil {
			return err
		}
	}
	return w.review(touched, nil)
}

// repository stores whether the last operation could reach its repository.
func (w problemsTx) repository(e operation.Progress) error {
	if e.RepositoryID == "" || e.Failure == nil && e.State != operation.StepDone {
		return nil
	}
	var found []Problem
	if e.Failure != nil {
		reason, _ := e.Failure.Details["reason"].(string)
		if !strings.HasPrefix(reason, "remote_") {
			return nil
		}
		found = []Problem{{Message: "the repository could not be reached: " + e.Failure.Message}}
	}
	facts, _, err := w.workspace()
	if err != nil {
		return err
	}
	had := slices.Contains(facts.Unreachable, e.RepositoryID)
	if !had && found == nil {
		return nil
	}
	if found == nil {
		facts.Unreachable = slices.DeleteFunc(facts.Unreachable, func(id string) bool { return id == e.RepositoryID })
	} else if !had {
		facts.Unreachable = append(facts.Unreachable, e.RepositoryID)
		slices.Sort(facts.Unreachable)
	}
	return errors.Join(setJSON(w.tx, scopedKey('w', w.id, nil), facts), w.set("repositories/"+e.RepositoryID, found))
}

// stagedFacts is what one event staged.
type stagedFacts struct {
	Path  string        `json:"path"`
	Facts documentFacts `json:"facts"`
}

// stagedName is the name under which parts are staged, and their number.
type stagedName struct {
	Name  string `json:"name"`
	Parts int    `json:"parts"`
}

func (w problemsTx) stage(e workspace.Staged) error {
	var at stagedName
	if err := getJSON(w.tx, scopedKey('t', w.id, nil), &at); err != nil {
		return err
	}
	if at.Name != e.Name {
		if err := w.dropStaged(at); err != nil {
			return err
		}
		at = stagedName{Name: e.Name}
	}
	part := make([]stagedFacts, len(e.Entries))
	for i, entry := range e.Entries {
		part[i] = stagedFacts{entry.Path, factsOf(entry)}
	}
	at.Parts++
	return errors.Join(setJSON(w.tx, scopedKey('t', w.id, seqKey(uint64(at.Parts))), part), setJSON(w.tx, scopedKey('t', w.id, nil), at))
}

func (w problemsTx) dropStaged(at stagedName) error {
	for n := 1; n <= at.Parts; n++ {
		if err := w.tx.Delete(scopedKey('t', w.id, seqKey(uint64(n)))); err != nil {
			return err
		}
	}
	return w.tx.Delete(scopedKey('t', w.id, nil))
}

// unstage adds what was staged under a name to changes. It is deleted when something else is
// staged: until then the change may be repeated.
func (w problemsTx) unstage(name string, changes map[string]*documentFacts) error {
	var at stagedName
	if err := getJSON(w.tx, scopedKey('t', w.id, nil), &at); err != nil || at.Name != name {
		return err
	}
	for n := 1; n <= at.Parts; n++ {
		var part []stagedFacts
		if err := getJSON(w.tx, scopedKey('t', w.id, seqKey(uint64(n))), &part); err != nil {
			return err
		}
		for _, s := range part { // what is staged is never renamed
			changes[s.Path] = &s.Facts
		}
	}
	return nil
}

// configSchema is the config schema of a workspace from a sequence on.
type configSchema struct {
	Seq    uint64          `json:"seq"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// maxSchemas is how many schemas of a workspace are stored: a version of an app is made from a
// recent revision of the workspace.
const maxSchemas = 20

func (w problemsTx) putSchema(seq uint64, config *document.Map) error {
	schema, _ := config.Get("schema")
	fields, _ := schema.(*document.Map)
	now := configSchema{Seq: seq}
	if fields.Len() > 0 {
		now.Schema, _ = document.JSON(fields)
	}
	var all []configSchema
	key := scopedKey('g', w.id, nil)
	if err := getJSON(w.tx, key, &all); err != nil {
		return err
	}
	if n := len(all); n > 0 && (all[n-1].Seq >= seq || string(all[n-1].Schema) == string(now.Schema)) || n == 0 && now.Schema == nil {
		return nil
	}
	all = append(all, now)
	return setJSON(w.tx, key, all[max(0, len(all)-maxSchemas):])
}

// publish stores the config schema of the published version of an app, and checks the affected
// instances.
func (w problemsTx) publish(a app.App) error {
	if len(a.Versions) == 0 {
		return nil
	}
	var all []configSchema
	if err := getJSON(w.tx, scopedKey('g', a.WorkspaceID, nil), &all); err != nil {
		return err
	}
	schema := json.RawMessage("null")
	for _, s := range all {
		if s.Seq <= a.Versions[0].Revision && s.Schema != nil {
			schema = s.Schema
		} else if s.Seq <= a.Versions[0].Revision {
			schema = json.RawMessage("null")
		}
	}
	var was publication
	if err := getJSON(w.tx, publicationKey(a.Slug), &was); err != nil {
		return err
	}
	before, known, err := w.Get(schemaKey(a.Slug, ""))
	if err != nil {
		return err
	}
	now := publication{WorkspaceID: a.WorkspaceID}
	err = errors.Join(w.tx.Set(schemaKey(a.Slug, a.Versions[0].Name), schema), w.tx.Set(schemaKey(a.Slug, ""), schema), setJSON(w.tx, publicationKey(a.Slug), now))
	if err != nil || known && was == now && string(before) == string(schema) {
		return err
	}
	return errors.Join(w.checkInstances(a.Slug), w.setApp(a.WorkspaceID, a.Slug, true))
}

// publication is who publishes an app.
type publication struct {
	WorkspaceID string `json:"workspaceId"`
	Ended       bool   `json:"ended,omitempty"`
}

func publicationKey(appSlug string) []byte { return append([]byte{'u'}, appSlug...) }

func schemaKey(appSlug, version string) []byte { return scopedKey('v', appSlug, []byte(version)) }

// unpublish stores that an app is not published any more. Its instances keep running.
func (w problemsTx) unpublish(slug string) error {
	var was publication
	if err := getJSON(w.tx, publicationKey(slug), &was); err != nil || was.WorkspaceID == "" {
		return err
	}
	was.Ended = true
	if err := setJSON(w.tx, publicationKey(slug), was); err != nil {
		return err
	}
	return errors.Join(w.checkInstances(slug), w.setApp(was.WorkspaceID, slug, false))
}

// setApp stores whether a workspace publishes an app: others may then emit the events that it
// listens to.
func (w problemsTx) setApp(workspaceID, slug string, published bool) error {
	w.id = workspaceID
	facts, _, err := w.workspace()
	if err != nil {
		return err
	}
	facts.Apps = slices.DeleteFunc(facts.Apps, func(s string) bool { return s == slug })
	if published {
		facts.Apps = append(facts.Apps, slug)
		slices.Sort(facts.Apps)
	}
	touched := map[string]bool{}
	err = errors.Join(setJSON(w.tx, scopedKey('w', w.id, nil), facts), w.touch(scopedKey('l', w.id, nil), touched))
	if err != nil {
		return err
	}
	return w.review(touched, nil)
}

// checkInstances reviews the instances of an app.
func (w problemsTx) checkInstances(slug string) error {
	found := map[string]map[string]bool{}
	prefix := scopedKey('a', slug, nil)
	err := w.tx.Iterate(Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		id, path, _ := strings.Cut(string(key[len(prefix):]), "\x00")
		if found[id] == nil {
			found[id] = map[string]bool{}
		}
		found[id][path] = true
		return true, nil
	})
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if err != nil {
			return err
		}
		w.id = id
		err = w.review(found[id], nil)
	}
	return err
}

// checkInstance returns the problems of an app instance and its config. An app that was never
// published here is not checked: it may be built in.
func (w problemsTx) checkInstance(f documentFacts) (found []Problem, err error) {
	body, known, err := w.Get(publicationKey(f.App))
	if err != nil || !known {
		return nil, err
	}
	var p publication
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, err
	}
	if p.Ended {
		found = append(found, Problem{Field: "appSlug", Warning: true, Message: "the app " + quoted(f.App) + " is not published any more; the instance runs the version that it has"})
	}
	schema, ok, err := w.Get(schemaKey(f.App, f.Version))
	if err != nil || !ok || len(f.Config) == 0 {
		return found, err
	}
	fields, err := objectOf(schema)
	if err != nil {
		return found, err
	}
	config, err := objectOf(f.Config)
	if err != nil {
		return found, err
	}
	for _, fault := range input.CompileConfig(fields).CheckWritten(config, nil) {
		found = append(found, Problem{Field: fault.Field, Message: fault.Message})
	}
	return found, nil
}

// objectOf parses an object; nil for null.
func objectOf(body []byte) (*value.Object, error) {
	v, err := value.ParseJSON(string(body))
	o, _ := v.(*value.Object)
	return o, err
}

// List visits the problems of a workspace by object, until visit returns false.
func (p Problems) List(r Reader, workspaceID string, visit func(Problem) (more bool)) error {
	prefix := scopedKey('b', workspaceID, nil)
	return r.Iterate(p, Span{Prefix: prefix}, func(key, value []byte) (bool, error) {
		found, err := decodeProblems(string(key[len(prefix):]), value)
		for _, problem := range found {
			if err != nil || !visit(problem) {
				return false, err
			}
		}
		return true, err
	})
}

// References visits the automations and pages of a workspace by their paths, with what each needs
// of others.
func (p Problems) References(r Reader, workspaceID string, visit func(path string, review automation.Review) error) error {
	all := scopedKey('z', workspaceID, nil)
	for _, folder := range []string{"automations/", "pages/"} {
		err := r.Iterate(p, Span{Prefix: scopedKey('z', workspaceID, []byte(folder))}, func(key, value []byte) (bool, error) {
			var facts documentFacts
			if err := facts.decode(value); err != nil {
				return false, err
			}
			return true, visit(string(key[len(all):]), facts.Review)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Of returns the problems of one object.
func (p Problems) Of(r Reader, workspaceID, object string) ([]Problem, error) {
	body, ok, err := r.Get(p, scopedKey('b', workspaceID, []byte(object)))
	if err != nil || !ok {
		return nil, err
	}
	return decodeProblems(object, body)
}

// decodeProblems returns the problems of an object from what is stored.
func decodeProblems(object string, body []byte) (found []Problem, err error) {
	err = domain.VisitElements(body, func(value []byte) error {
		problem := Problem{Object: object}
		err := problem.decode(value)
		found = append(found, problem)
		return err
	})
	return found, err
}

// encode adds the members of a problem that are stored.
func (p *Problem) encode(o *domain.ObjectEncoder) {
	o.Text("field", p.Field)
	o.Text("message", p.Message)
	o.IfTrue("warning", p.Warning)
	o.TextIfAny("kind", p.Kind)
	o.TextIfAny("name", p.Name)
}

// decode sets p from what is stored.
func (p *Problem) decode(body []byte) error {
	return domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "field":
			return domain.DecodeText(&p.Field, value)
		case "message":
			return domain.DecodeText(&p.Message, value)
		case "warning":
			return domain.DecodeBool(&p.Warning, value)
		case "kind":
			return domain.DecodeText(&p.Kind, value)
		case "name":
			return domain.DecodeText(&p.Name, value)
		}
		return nil
	})
}

// Try returns the problems that an automation would have at a path.
func (p Problems) Try(r Reader, workspaceID, path string, review automation.Review) ([]Problem, error) {
	found, err := problemsTx{getter: readerGetter{r}, id: workspaceID}.resolve(path, documentFacts{Review: review})
	for i := range found {
		found[i].Object = path
	}
	return found, err
}
