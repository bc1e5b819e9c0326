// Package sessions keeps who is signed in. A session lives in a durable bucket
// for its time and no longer; that it ended before is an event, so that every
// node knows it with the next request.
package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"svc/commands"
	"svc/commands/cache"
	"svc/domain/session"
	"svc/eventstore"
)

// Session is the session of a user or a visitor.
type Session struct {
	ID         string    `json:"id"`
	UserID     string    `json:"userId"`
	CreatedAt  time.Time `json:"createdAt"`
	LastSeenAt time.Time `json:"lastSeenAt"`
	Expires    time.Time `json:"expires"`
	IP         string    `json:"ip,omitempty"`
	UserAgent  string    `json:"userAgent,omitempty"`
	Provider   string    `json:"provider"`
	ClientID   string    `json:"clientId,omitempty"`
	MFA        bool      `json:"mfa,omitempty"`        // the second factor was shown
	MFAPending bool      `json:"mfaPending,omitempty"` // it is still owed
	Anonymous  bool      `json:"anonymous,omitempty"`
}

// Opening has the data of a new session.
type Opening struct {
	UserID, IP, UserAgent, Provider, ClientID string

	MFA, MFAPending, Anonymous bool
	Lifetime                   time.Duration // 0, or longer than allowed: as long as allowed
}

// Options configure Sessions; Engine, Bucket, Ended and MaxAge are required.
type Options struct {
	Engine *commands.Engine
	Bucket eventstore.Bucket
	// Ended reports whether a session ended before its time, as the read model
	// knows.
	Ended func(id string) (bool, error)
	// Moment names a time during which Ended returns the same again; 0 names none. nil: it may change at any time.
	Moment func() uint64
	MaxAge func() time.Duration // longest life of a session
	Now    func() time.Time     // default time.Now
}

// Sessions are those of the platform.
type Sessions struct {
	o     Options
	cache *cache.Cache[string, cachedSession]
	seen  chan cachedSession
}

// cachedSession is a session as it was read, with its revision in the bucket.
type cachedSession struct {
	Session
	revision uint64
	read     time.Time
	liveAt   *atomic.Uint64 // the moment at which it had not ended
}

// Bounds of what a node remembers.
const (
	cached     = 20_000
	cacheFor   = time.Minute
	seenEvery  = time.Minute // how exact LastSeenAt is
	seenQueue  = 256
	maxAgent   = 300 // characters of a user agent
	touchLimit = 5 * time.Second
)

// New returns the sessions in o.Bucket.
func New(o Options) (*Sessions, error) {
	if o.Engine == nil || o.Bucket == nil || o.Ended == nil || o.MaxAge == nil {
		return nil, errors.New("sessions: Engine, Bucket, Ended and MaxAge are required")
	}
	if o.Moment == nil {
		o.Moment = func() uint64 { return 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Sessions{o: o, cache: cache.New[string, cachedSession](cached), seen: make(chan cachedSession, seenQueue)}, nil
}

// Open begins a session.
func (s *Sessions) Open(ctx context.Context, o Opening) (Session, error) {
	now, longest := s.o.Now().UTC(), s.o.MaxAge()
	if o.Lifetime <= 0 || o.Lifetime > longest {
		o.Lifetime = longest
	}
	next := Session{
		ID: uuid.NewString(), UserID: o.UserID, CreatedAt: now, LastSeenAt: now, Expires: now.Add(o.Lifetime),
		IP: o.IP, UserAgent: cut(o.UserAgent, maxAgent), Provider: o.Provider, ClientID: o.ClientID,
		MFA: o.MFA, MFAPending: o.MFAPending, Anonymous: o.Anonymous,
	}
	body, err := json.Marshal(next)
	if err != nil {
		return Session{}, err
	}
	revision, err := s.o.Bucket.Create(ctx, key(o.UserID, next.ID), body)
	if err != nil {
		return Session{}, unavailable(err)
	}
	s.cacheSession(cachedSession{Session: next, revision: revision, liveAt: new(atomic.Uint64)})
	return next, nil
}

// Get returns a session that is neither over nor ended.
func (s *Sessions) Get(ctx context.Context, userID, id string) (Session, bool, error) {
	found, ok, err := s.find(ctx, userID, id)
	if err != nil || !ok || !found.Expires.After(s.o.Now()) {
		return Session{}, false, err
	}
	if now := s.o.Moment(); now == 0 || found.liveAt.Load() != now { // before the look: what it shows is at least that much
		ended, err := s.o.Ended(id)
		if err != nil || ended {
			return Session{}, false, err
		}
		found.liveAt.Store(now)
	}
	s.note(found)
	return found.Session, true, nil
}

// find reads a session from memory, or from the bucket. What is still going to
// change is not remembered: another node may change it.
func (s *Sessions) find(ctx context.Context, userID, id string) (cachedSession, bool, error) {
	if userID == "" || id == "" {
		return cachedSession{}, false, nil
	}
	if have, ok := s.cache.Get(key(userID, id)); ok && s.o.Now().Sub(have.read) < cacheFor {
		return have, true, nil
	}
	value, revision, err := s.o.Bucket.Get(ctx, key(userID, id))
	if errors.Is(err, eventstore.ErrNoKey) {
		return cachedSession{}, false, nil
	}
	if err != nil {
		return cachedSession{}, false, unavailable(err)
	}
	have := cachedSession{revision: revision, liveAt: new(atomic.Uint64)}
	if err := json.Unmarshal(value, &have.Session); err != nil {
		return cachedSession{}, false, fmt.Errorf("read a session: %w", err)
	}
	s.cacheSession(have)
	return have, true, nil
}

func (s *Sessions) cacheSession(have cachedSession) {
	if have.read = s.o.Now(); !have.MFAPending {
		s.cache.Set(key(have.UserID, have.ID), have)
	}
}

// Of returns the live sessions of a user, the last seen first.
func (s *Sessions) Of(ctx context.Context, userID string) ([]Session, error) {
	values, err := s.o.Bucket.List(ctx, userID)
	if err != nil {
		return nil, unavailable(err)
	}
	var live []Session
	for _, value := range values {
		var one Session
		if err := json.Unmarshal(value, &one); err != nil {
			return nil, fmt.Errorf("read a session: %w", err)
		}
		ended, err := s.o.Ended(one.ID)
		if err != nil {
			return nil, err
		}
		if !ended && one.Expires.After(s.o.Now()) {
			live = append(live, one)
		}
	}
	slices.SortFunc(live, func(a, b Session) int { return b.LastSeenAt.Compare(a.LastSeenAt) })
	return live, nil
}

// Confirm notes that the second factor of a session was shown.
func (s *Sessions) Confirm(ctx context.Context, userID, id string) error {
	for {
		s.cache.Drop(key(userID, id))
		have, ok, err := s.find(ctx, userID, id)
		if err != nil || !ok || have.MFA && !have.MFAPending {
			return err
		}
		have.MFA, have.MFAPending = true, false
		err = s.put(ctx, have)
		if !errors.Is(err, eventstore.ErrConflict) {
			return err
		}
	}
}

// put replaces a session unless it was changed meanwhile.
func (s *Sessions) put(ctx context.Context, have cachedSession) error {
	body, err := json.Marshal(have.Session)
	if err != nil {
		return err
	}
	have.revision, err = s.o.Bucket.Update(ctx, key(have.UserID, have.ID), body, have.revision)
	if err != nil {
		s.cache.Drop(key(have.UserID, have.ID))
		return unavailable(err)
	}
	s.cacheSession(have)
	return nil
}

// End ends a session before its time; false when there is none. The event comes
// first: a session that is told to have ended is over, whatever the bucket says.
func (s *Sessions) End(ctx context.Context, userID, id, cause string) (bool, error) {
	found, ok, err := s.Get(ctx, userID, id)
	if err != nil || !ok {
		return false, err
	}
	_, err = commands.Execute(ctx, s.o.Engine, session.Decider, session.Stream(id), session.End{
		SessionID: id, UserID: userID, Cause: cause, Expires: found.Expires,
	})
	if err != nil {
		return false, err
	}
	s.cache.Drop(key(userID, id))
	return true, unavailable(s.o.Bucket.Delete(ctx, key(userID, id)))
}

// EndAll ends every session of a user but one.
func (s *Sessions) EndAll(ctx context.Context, userID, except, cause string) error {
	live, err := s.Of(ctx, userID)
	for _, one := range live {
		if err == nil && one.ID != except {
			_, err = s.End(ctx, userID, one.ID, cause)
		}
	}
	return err
}

func key(userID, id string) string { return userID + "/" + id }

// cut shortens text to n characters.
func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n])
	}
	return text
}

func unavailable(err error) error {
	if errors.Is(err, eventstore.ErrUnavailable) {
		return commands.Refused(err)
	}
	return err
}

// note queues a session whose LastSeenAt is old. When the queue is full it is
// left for another request.
func (s *Sessions) note(found cachedSession) {
	if s.o.Now().Sub(found.LastSeenAt) < seenEvery {
		return
	}
	found.LastSeenAt = s.o.Now().UTC()
	if !found.MFAPending {
		s.cache.Set(key(found.UserID, found.ID), found) // so that it is queued once
	}
	select {
	case s.seen <- found:
	default:
	}
}

// Run writes down when sessions were last seen, until ctx ends. A session that
// changed or ended meanwhile is left as it is.
func (s *Sessions) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case found := <-s.seen:
			writing, cancel := context.WithTimeout(ctx, touchLimit)
			_ = s.put(writing, found) // it is only a time: the next request tries again
			cancel()
		}
	}
}
