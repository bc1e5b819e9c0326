package gitsync

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"svc/commands/archive"
	"svc/domain"
)

// Session is the dealings of one operation with one remote. It is not safe for
// concurrent use.
type Session struct {
	remote  Remote
	options Options
	target  target
	wire    wire
	store   *store
	objects *Objects

	reading   conversation // what ListRefs began and Fetch may go on with
	readingAt time.Time
	refs      Refs
	fetched   []plumbing.Hash // heads of this session
	hostKey   *HostKey
}

// Refs are those of a remote: ids by full name, such as refs/heads/main.
type Refs struct {
	IDs     map[string]string
	Default string // the branch that HEAD names, such as main; "": none, or not told
}

// Branch returns the head of a branch, "" when there is none.
func (r Refs) Branch(name string) string { return r.IDs["refs/heads/"+name] }

// Tag returns what a tag points at, perhaps an annotated tag; "" when there is
// none.
func (r Refs) Tag(name string) string { return r.IDs["refs/tags/"+name] }

// Empty reports whether the repository has nothing at all.
func (r Refs) Empty() bool { return len(r.IDs) == 0 }

// escapes are the colours of a terminal.
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]")

// Open checks a remote and prepares its object store. Nothing is sent yet. Close
// the session when it is done.
func Open(remote Remote, o Options) (*Session, error) {
	remote = remote.Normalised()
	at, signer, err := remote.read(o.AllowHTTP)
	if err != nil {
		return nil, err
	}
	s := &Session{remote: remote, options: o.withDefaults(), target: at}
	if s.target.scheme == "ssh" {
		s.wire = &sshWire{session: s, signer: signer}
	} else {
		s.wire = newHTTPWire(s)
	}
	if s.store, err = openStore(s.options.Cache, remote); err != nil {
		return nil, err
	}
	s.objects = newObjects(s.store, s.options.Limits)
	return s, nil
}

// Close ends the conversation and gives back what the session holds. What was
// fetched stays in the cache.
func (s *Session) Close() {
	s.endReading()
	s.wire.close()
	s.store.close()
}

// Objects are those fetched, and those made here to be pushed.
func (s *Session) Objects() *Objects { return s.objects }

// FinalURL is where the repository is, after the redirects of the last listing.
func (s *Session) FinalURL() string { return s.wire.url() }

// HostKey is the key that an SSH server showed last; nil for https.
func (s *Session) HostKey() *HostKey { return s.hostKey }

// ListRefs asks for the refs of the remote. An empty repository has none.
func (s *Session) ListRefs(ctx context.Context) (Refs, error) {
	s.endReading()
	inner, cancel := context.WithTimeout(ctx, s.options.Timeouts.Exchange)
	defer cancel()
	c, err := s.wire.begin(inner, uploadPack)
	if err != nil {
		return Refs{}, s.failure(ctx, err)
	}
	s.reading, s.readingAt = c, time.Now()
	s.refs, err = s.readRefs(c.advertised())
	if err != nil {
		s.endReading()
		return Refs{}, err
	}
	return s.refs, nil
}

func (s *Session) readRefs(adv *packp.AdvRefs) (Refs, error) {
	refs := Refs{IDs: make(map[string]string, len(adv.References))}
	if len(adv.References) > s.options.Limits.Refs {
		return refs, archive.Exceeded("refs", s.options.Limits.Refs, "")
	}
	for name, id := range adv.References {
		refs.IDs[name] = id.String()
	}
	for _, ref := range adv.Capabilities.Get(capability.SymRef) {
		if branch, ok := strings.CutPrefix(ref, "HEAD:refs/heads/"); ok {
			refs.Default = branch
		}
	}
	if refs.Default == "" && adv.Head != nil {
		refs.Default = guessDefault(refs, adv.Head.String())
	}
	return refs, nil
}

// guessDefault finds the branch of HEAD for servers that do not tell.
func guessDefault(refs Refs, head string) string {
	least := ""
	for name, id := range refs.IDs {
		branch, ok := strings.CutPrefix(name, "refs/heads/")
		switch {
		case !ok || id != head:
		case branch == "main" || branch == "master":
			return branch
		case least == "" || branch < least:
			least = branch
		}
	}
	return least
}

// resolve turns a full ref name or an id into an id.
func (s *Session) resolve(want string) (plumbing.Hash, error) {
	if plumbing.IsHash(want) {
		return plumbing.NewHash(want), nil
	}
	if id, ok := s.refs.IDs[want]; ok {
		return plumbing.NewHash(id), nil
	}
	return plumbing.ZeroHash, domain.Refuse(domain.CodeNotFound, "the remote has no %s", s.clean(want)).Reason("ref_not_found")
}

// fresh is how long a conversation that was begun for a listing is good for a
// fetch: servers do not wait for ever.
const fresh = 10 * time.Second

// takeReading returns the conversation of the last listing, or a new one.
func (s *Session) takeReading(ctx context.Context) (conversation, error) {
	c := s.reading
	s.reading = nil
	if c != nil && time.Since(s.readingAt) < fresh {
		return c, nil
	}
	if c != nil {
		c.close()
	}
	return s.wire.begin(ctx, uploadPack)
}

func (s *Session) endReading() {
	if s.reading != nil {
		s.reading.close()
		s.reading = nil
	}
}
