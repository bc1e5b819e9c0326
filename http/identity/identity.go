// Package identity authenticates and authorises callers: it is the Authenticator and
// Authorizer of the gateway over the read models, the sessions and the signing keys.
package identity

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"svc/commands/cache"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/http/gateway"
	"svc/projections"
)

// Tokens verifies JWTs. It is a *signing.Keys.
type Tokens interface {
	Verify(ctx context.Context, token string) (signing.Claims, error)
}

// Sessions finds live sessions. It is a *sessions.Sessions.
type Sessions interface {
	Get(ctx context.Context, userID, id string) (sessions.Session, bool, error)
}

// ReadModel has the read models. It is a *projections.Models.
type ReadModel interface {
	Reader() projections.Reader
	// MomentsOf tells whether what was read of a projection before is what would be read now.
	MomentsOf(p projections.Projection) projections.Moments
}

// Options configure an Identity; those without a default are required.
type Options struct {
	Tokens    Tokens
	Sessions  Sessions
	ReadModel ReadModel
	// Alone says that there are no other nodes, whose writes would have to be waited for.
	Alone bool
	// Fresh waits until the read models contain what was written before, as far as this node
	// can find out.
	Fresh func(context.Context) error
	// SuperAdmins lists the addresses of super admins as they are now.
	SuperAdmins func() []string
	CSRFKey     []byte
	Used        func(id string) // told the id of each access token and API key that is used; default nobody

	Now func() time.Time // default time.Now
}

// Identity knows callers and their rights. It is safe for concurrent use.
type Identity struct {
	o          Options
	workspaces *cache.Cache[string, *compiledWorkspace]
	keys       *decodedCache[apiKey]
	users      *decodedCache[person]
	members    *cache.Cache[member, *membership]
	rights     *cache.Cache[rightsKey, *knownRights]

	accessMoments projections.Moments // of the rules of workspaces
	topicMoments  projections.Moments // of the topics that users have joined
}

// Sizes of the caches.
const (
	cachedWorkspaces = 2000
	cachedKeys       = 2000
	cachedUsers      = 10_000
	cachedMembers    = 10_000
	cachedRights     = 5000
)

// New returns an Identity.
func New(o Options) (*Identity, error) {
	if o.Tokens == nil || o.Sessions == nil || o.ReadModel == nil || o.Fresh == nil || o.SuperAdmins == nil || len(o.CSRFKey) == 0 {
		return nil, errors.New("identity: Tokens, Sessions, ReadModel, Fresh, SuperAdmins and CSRFKey are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Used == nil {
		o.Used = func(string) {}
	}
	return &Identity{
		o: o, workspaces: cache.New[string, *compiledWorkspace](cachedWorkspaces),
		keys: newDecodedCache(o.ReadModel, projections.APIKeys{}, cachedKeys, newAPIKey), users: newDecodedCache(o.ReadModel, projections.Users{}, cachedUsers, newPerson),
		members: cache.New[member, *membership](cachedMembers), rights: cache.New[rightsKey, *knownRights](cachedRights),
		accessMoments: o.ReadModel.MomentsOf(projections.Access{}), topicMoments: o.ReadModel.MomentsOf(projections.Topics{}),
	}, nil
}

// CSRFToken returns the token that writes with the cookie of a session must have.
func (i *Identity) CSRFToken(sessionID string) string {
	mac := hmac.New(sha256.New, i.o.CSRFKey)
	mac.Write([]byte(sessionID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// CheckCSRF reports whether token is that of the caller's session.
func (i *Identity) CheckCSRF(c gateway.Caller, token string) bool {
	return c.SessionID != "" && hmac.Equal([]byte(token), []byte(i.CSRFToken(c.SessionID)))
}

// decodedCache caches decoded values of a projection. While nothing in it changes they are taken as they are. After that the
// stored value is read again, so that a change has an effect at once; it is decoded only when it has changed. Decoded
// values must not be changed.
type decodedCache[T any] struct {
	model   ReadModel
	moments projections.Moments
	cache   *cache.Cache[string, *cachedValue[T]]
	make    func(stored []byte) (*T, error)
}

type cachedValue[T any] struct {
	at     projections.Moment // when stored was read last
	stored []byte
	made   *T
}

func newDecodedCache[T any](model ReadModel, of projections.Projection, size int, make func([]byte) (*T, error)) *decodedCache[T] {
	return &decodedCache[T]{model, model.MomentsOf(of), cache.New[string, *cachedValue[T]](size), make}
}

// get returns the decoded value of key, nil when there is none. read returns its stored value; ok is false when there is none.
func (m *decodedCache[T]) get(key string, read func(projections.Reader) (stored []byte, ok bool, err error)) (made *T, err error) {
	now := m.moments.Now() // before the reader: what changes between them is looked at again
	have, known := m.cache.Get(key)
	if known && have.at == now && now != 0 {
		return have.made, nil
	}
	r := m.model.Reader()
	defer r.Close()
	stored, ok, err := read(r)
	if err != nil || !ok {
		return nil, err
	}
	if known && bytes.Equal(have.stored, stored) {
		made = have.made
	} else if made, err = m.make(stored); err != nil {
		return nil, err
	}
	m.cache.Set(key, &cachedValue[T]{now, stored, made})
	return made, nil
}
