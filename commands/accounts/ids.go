package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"svc/commands"
)

// newID returns an id of 24 hex digits for something new. In a request that may
// be repeated it is the same each time, so that the repetition meets what was
// made before.
func newID(ctx context.Context, kind string) string {
	seed := commands.RequestFrom(ctx).Seed
	if seed == "" {
		return hex.EncodeToString(randomBytes(12))
	}
	sum := sha256.Sum256([]byte(seed + "\x00accounts\x00" + kind))
	return hex.EncodeToString(sum[:12])
}

// newSecret returns 32 unguessable bytes as text. In a request that may be
// repeated they are the same each time, to whoever has the key.
func newSecret(ctx context.Context, key []byte, kind string) string {
	seed := commands.RequestFrom(ctx).Seed
	if seed == "" {
		return randomText()
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(seed + "\x00" + kind))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// randomText returns 32 random bytes as text that fits in a URL.
func randomText() string { return base64.RawURLEncoding.EncodeToString(randomBytes(32)) }

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return b
}

// readable are letters and digits that nobody takes for one another.
const readable = "abcdefghijkmnpqrstuvwxyz23456789"

// randomPassword returns a password to be read from a screen: 24 letters in
// groups of six, 120 bits.
func randomPassword() string {
	var text []byte
	for i, b := range randomBytes(24) {
		if i > 0 && i%6 == 0 {
			text = append(text, '-')
		}
		text = append(text, readable[int(b)%len(readable)])
	}
	return string(text)
}
