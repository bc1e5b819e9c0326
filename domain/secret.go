package domain

import (
	"crypto/sha256"
	"encoding/hex"
)

// HashSecret is how a token or a key is known afterwards: by its SHA-256, in hex.
// They are random and long, so that nobody finds one by its hash and nothing
// slower is needed.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
