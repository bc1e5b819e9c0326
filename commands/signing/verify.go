package signing

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"svc/domain"
)

// digest is how a token that was verified is known again.
type digest [sha256.Size]byte

// verified is a token whose signature and claims were found good. Whether its
// key is still one, and its time not over, is asked each time.
type verified struct {
	claims Claims
	kid    string
	size   int
}

const (
	maxToken    = 8 << 10  // bytes; ours have less than one
	cachedBytes = 16 << 20 // of tokens that are remembered
	entryBytes  = 512      // what remembering one costs besides
)

func weigh(_ digest, v *verified) uint32 { return uint32(v.size + entryBytes) }

// Verify returns what token says when it is ours and in force: signed with
// JWKS_ALG by a key of the ring, by this issuer, for this audience, and not
// expired. It refuses with CodeTokenExpired a token that was good until its time
// was over, and with CodeInvalidToken any other.
func (k *Keys) Verify(ctx context.Context, token string) (Claims, error) {
	if len(token) > maxToken {
		return Claims{}, invalid("it is too long")
	}
	if strings.ContainsAny(token, "\r\n") { // base64 would skip them: one token has one spelling
		return Claims{}, invalid("it is malformed")
	}
	id := digest(sha256.Sum256([]byte(token)))
	if known, ok := k.verified.Get(id); ok {
		return k.still(id, known)
	}
	found, err := k.parse(ctx, token)
	if err != nil {
		return Claims{}, err
	}
	k.verified.Set(id, found)
	return found.claims, nil
}

// still returns the claims of a token that was verified before, if they count.
func (k *Keys) still(id digest, known *verified) (Claims, error) {
	set, err := k.current()
	if err != nil {
		return Claims{}, err
	}
	if _, there := set.public[known.kid]; !there {
		k.verified.Drop(id)
		return Claims{}, invalid("its key is not in use")
	}
	if over(known.claims.ExpiresAt, k.o.Now()) {
		k.verified.Drop(id)
		return Claims{}, expired()
	}
	return known.claims, nil
}

// over reports whether a token that expires at exp is refused at now.
func over(exp, now time.Time) bool { return !now.Before(exp.Add(tolerance)) }

// parse verifies a token that is seen for the first time.
func (k *Keys) parse(ctx context.Context, token string) (*verified, error) {
	var said wire
	var kid string
	var failed error // that says nothing about the token
	_, err := k.parser.ParseWithClaims(token, &said, func(t *jwt.Token) (any, error) {
		kid, _ = t.Header["kid"].(string)
		key, ok, err := k.find(ctx, kid)
		failed = err
		if !ok || key.Alg != k.alg.name {
			return nil, errUnknownKey
		}
		return key.Key, nil
	})
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, refusal(err)
	}
	return &verified{claims: said.claims(), kid: kid, size: len(token)}, nil
}

var errUnknownKey = errors.New("unknown key")

// faults are what can be wrong with a token that is well formed, besides that it
// has expired; with what the caller is told.
var faults = []struct {
	err error
	why string
}{
	{errUnknownKey, "its key is not in use"},
	{jwt.ErrTokenMalformed, "it is malformed"},
	{jwt.ErrTokenUnverifiable, "it cannot be verified"},
	{jwt.ErrTokenSignatureInvalid, "its signature is wrong"},
	{jwt.ErrTokenRequiredClaimMissing, "a claim is missing"},
	{jwt.ErrTokenInvalidIssuer, "it was issued elsewhere"},
	{jwt.ErrTokenInvalidAudience, "it is for another audience"},
	{jwt.ErrTokenNotValidYet, "it is not valid yet"},
	{jwt.ErrTokenUsedBeforeIssued, "it is not valid yet"},
}

// refusal turns an error of the parser into ours. A token has expired only when
// nothing else is wrong with it.
func refusal(err error) error {
	for _, f := range faults {
		if errors.Is(err, f.err) {
			return invalid(f.why)
		}
	}
	if errors.Is(err, jwt.ErrTokenExpired) {
		return expired()
	}
	return invalid("it is malformed")
}

func invalid(why string) error {
	return domain.Refuse(domain.CodeInvalidToken, "the token is not valid: %s", why)
}

func expired() error { return domain.Refuse(domain.CodeTokenExpired, "the token has expired") }
