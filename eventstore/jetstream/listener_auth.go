package jetstream

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// Guest is who somebody has proved to be: they hold the seed of a key, and an account
// vouches for that key.
type Guest struct {
	Key    string // their public key
	Issuer string // the public key of the account
}

// Pass is what a guest may hear.
type Pass struct {
	User       string    // names them in the log, and their queue groups
	Workspaces []string  // none: all of them
	Types      []string  // of events, whole words may be *; none: all of them
	Until      time.Time // when they are cut off; zero: never
}

// Check implements server.Authentication.
func (l *Listener) Check(c server.ClientAuthentication) bool {
	from := c.RemoteAddress()
	if from == nil {
		return false // it has left already
	}
	if from.Network() == "pipe" { // in this process
		return subtle.ConstantTimeCompare([]byte(c.GetOpts().Token), []byte(l.token)) == 1
	}
	guest, err := identify(c)
	if err == nil {
		err = l.fresh()
	}
	l.turn.RLock()
	defer l.turn.RUnlock()
	var pass Pass
	if err == nil {
		pass, err = l.opts.Admit(guest)
	}
	if err != nil {
		l.refused.tell(l.opts.Log, from.String(), err)
		return false
	}
	c.RegisterUser(&server.User{Username: guest.String(), ConnectionDeadline: pass.Until, Permissions: pass.permissions(guest)})
	l.opts.Log.Info("a subscriber was let in", "user", pass.User, "from", from.String())
	return true
}

// identify finds out who connects. What the credentials say of rights is not asked:
// those are kept here.
func identify(c server.ClientAuthentication) (guest Guest, err error) {
	o := c.GetOpts()
	if c.Kind() != server.CLIENT || o.JWT == "" {
		return guest, errors.New("no credentials were shown")
	}
	claims, err := jwt.DecodeUserClaims(o.JWT) // verifies the signature of the issuer
	if err != nil {
		return guest, fmt.Errorf("the credentials cannot be read: %w", err)
	}
	found := jwt.CreateValidationResults()
	claims.Validate(found)
	if found.IsBlocking(true) {
		return guest, fmt.Errorf("the credentials are not valid: %w", errors.Join(found.Errors()...))
	}
	if err := provesKey(claims.Subject, o.Sig, c.GetNonce()); err != nil {
		return guest, fmt.Errorf("the holder of %s did not prove to be it: %w", claims.Subject, err)
	}
	return Guest{Key: claims.Subject, Issuer: claims.Issuer}, nil
}

// provesKey verifies that the nonce was signed with the seed of a key.
func provesKey(key, signature string, nonce []byte) error {
	signed, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		signed, err = base64.StdEncoding.DecodeString(signature) // of older clients
	}
	if err != nil || len(nonce) == 0 {
		return errors.New("the nonce is not signed")
	}
	pair, err := nkeys.FromPublicKey(key)
	if err != nil {
		return err
	}
	return pair.Verify(nonce, signed)
}

// String is the name under which a guest is known to the server.
func (g Guest) String() string { return g.Key + "/" + g.Issuer }

// parseGuest reads what String wrote.
func parseGuest(text string) (g Guest, ok bool) {
	g.Key, g.Issuer, ok = strings.Cut(text, "/")
	return g, ok
}

// permissions is what the server holds a guest to: they say nothing, and hear what the
// pass names. A queue group, which takes messages away from its other members, must
// begin with their own name.
func (p Pass) permissions(g Guest) *server.Permissions {
	allow := []string{"_INBOX." + g.Key + ".>"}
	for _, subject := range p.subjects() {
		allow = append(allow, subject, subject+" "+p.User, subject+" "+p.User+".>")
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{">"}},
		Subscribe: &server.SubjectPermission{Allow: allow},
	}
}

// subjects are those of the events that a pass is for.
func (p Pass) subjects() (all []string) {
	if len(p.Workspaces) == 0 && len(p.Types) == 0 {
		return []string{activityRoot + ">"}
	}
	workspaces, types := []string{"*"}, []string{">"}
	if len(p.Workspaces) > 0 {
		workspaces = nil
	}
	for _, id := range p.Workspaces {
		workspaces = append(workspaces, token(id))
	}
	if len(p.Types) > 0 {
		types = nil
	}
	for _, pattern := range p.Types {
		types = append(types, patternTokens(pattern))
	}
	for _, workspace := range workspaces {
		for _, of := range types {
			all = append(all, activityRoot+workspace+"."+of)
		}
	}
	return all
}

// patternTokens encodes a pattern of event types. A * in the end stands for all that
// may follow, another one for one word.
func patternTokens(pattern string) string {
	words := strings.Split(pattern, ".")
	for i, word := range words {
		switch {
		case word != "*":
			words[i] = token(word)
		case i == len(words)-1:
			words[i] = ">"
		}
	}
	return strings.Join(words, ".")
}

// complaints are told at most once in a second: whoever guesses shall not fill the log.
type complaints struct{ last atomic.Int64 }

func (c *complaints) tell(log *slog.Logger, from string, why error) {
	now, last := time.Now().UnixNano(), c.last.Load()
	if now-last >= int64(time.Second) && c.last.CompareAndSwap(last, now) {
		log.Warn("a subscriber was not let in", "from", from, "err", why)
	}
}

// guestLog is brokerLog for a server whose clients are not ours: what they do wrong is
// no error of the service.
type guestLog struct{ *brokerLog }

// Errorf implements server.Logger.
func (l guestLog) Errorf(format string, v ...any) { l.Noticef(format, v...) }
