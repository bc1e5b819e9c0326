// Package gitsync speaks Git with the remotes of workspaces
// (contract/versioning.md 16 and 17): it lists refs, fetches history, builds
// trees and commits in an object store, and sends them with the exact ids that
// each ref must have had. There is no work tree and no git program.
//
// A Session works with one remote, Objects are the objects that it fetched and made.
// Connections are made by Options.Dial, which knows the addresses that may be
// reached. Nothing that a remote says is trusted: sizes are bounded, texts are
// cleaned, and no credential is in any error.
package gitsync

import (
	"context"
	"crypto/x509"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"svc/commands/archive"
	"svc/domain"
)

// Options are the options of a node. Only Dial is required.
type Options struct {
	// Dial connects to host:port for a scheme of https, http or ssh. It refuses
	// addresses that must not be reached, unless exempt; (*egress.Egress).Dial.
	Dial func(ctx context.Context, scheme, address string, exempt bool) (net.Conn, error)

	AllowHTTP      bool           // GIT_ALLOWED_SCHEMES has http
	Roots          *x509.CertPool // of the system and EXTRA_CA_CERTS_FILE; nil: of the system
	KnownHostsFile string         // GIT_KNOWN_HOSTS_FILE
	Cache          string         // directory of object stores, may be deleted at any time; "": in memory
	Limits         Limits
	Timeouts       Timeouts
}

// Limits bound what a remote may send and what is read of it. Zero is the default.
type Limits struct {
	Tree       *archive.Limits // managed files; nil: archive.Usual
	FetchBytes int64           // GIT_MAX_FETCH_MB: one pack; 512 MB
	// ObjectBytes is how large one object of a pack may be once it is unpacked, which
	// happens in memory: 100 MB, what the large hosts allow.
	ObjectBytes int64
	Refs        int // 100,000
	History     int // commits looked at to count; 10,000
}

// Timeouts bound waiting. Zero is the default.
type Timeouts struct {
	Connect  time.Duration // until the handshake is done; 10 s
	Silence  time.Duration // no byte in either direction; 30 s
	Exchange time.Duration // GIT_REMOTE_TIMEOUT_SECONDS: one call of a Session; 300 s
}

func (o Options) withDefaults() Options {
	if o.Limits.Tree == nil {
		o.Limits.Tree = &archive.Usual
	}
	setDefault(&o.Limits.FetchBytes, 512<<20)
	setDefault(&o.Limits.ObjectBytes, 100<<20)
	setDefault(&o.Limits.Refs, 100_000)
	setDefault(&o.Limits.History, 10_000)
	setDefault(&o.Timeouts.Connect, 10*time.Second)
	setDefault(&o.Timeouts.Silence, 30*time.Second)
	setDefault(&o.Timeouts.Exchange, 300*time.Second)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Session is the connection of one operation to one remote. It is not safe for
// concurrent use.
type Session struct {
	remote  Remote
	options Options
	target  target
	wire    wire
	store   *store
	objects *Objects

	reading   conversation // begun by ListRefs, continued by Fetch
	readingAt time.Time
	refs      Refs
	fetched   []plumbing.Hash // heads of this session
	hostKey   *HostKey
}

// Refs are those of a remote: ids by full name, such as refs/heads/main.
type Refs struct {
	IDs     map[string]string
	Default string // the branch that HEAD names, such as main; "": none, or unknown
}

// Branch returns the head of a branch, "" when there is none.
func (r Refs) Branch(name string) string { return r.IDs["refs/heads/"+name] }

// Tag returns what a tag points at, perhaps an annotated tag; "" when there is
// none.
func (r Refs) Tag(name string) string { return r.IDs["refs/tags/"+name] }

// Empty reports whether the repository has nothing at all.
func (r Refs) Empty() bool { return len(r.IDs) == 0 }

// escapes matches terminal escape sequences.
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

// Close closes the connections and releases the object store. Fetched objects stay in the
// cache.
func (s *Session) Close() {
	s.endReading()
	s.wire.close()
	s.store.close()
}

// Objects returns the fetched objects, and those made here to be pushed.
func (s *Session) Objects() *Objects { return s.objects }

// FinalURL returns the URL of the repository, after the redirects of the last listing.
func (s *Session) FinalURL() string { return s.wire.url() }

// HostKey returns the last key of the SSH server; nil for https.
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

// guessDefault finds the branch of HEAD for servers without the capability symref.
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

// listingTimeout is how long the conversation of a listing can be continued by a fetch:
// servers do not wait for ever.
const listingTimeout = 10 * time.Second

// continueReading returns the conversation of the last listing, or a new one.
func (s *Session) continueReading(ctx context.Context) (conversation, error) {
	c := s.reading
	s.reading = nil
	if c != nil && time.Since(s.readingAt) < listingTimeout {
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
