package settings

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// MasterKey is one key of SECRETS_MASTER_KEYS. The active one wraps data keys,
// the others only unwrap.
type MasterKey struct {
	KID    string
	Key    Secret // 32 raw bytes
	Active bool
}

// Bytes returns the raw key.
func (k MasterKey) Bytes() []byte { return []byte(k.Key.Reveal()) }

// The example keys of docs/config.md. They show the form and are refused.
const (
	exampleMasterKey = "8f3a61c27d09e4b5120c9be87f46d3a15e72b80d94cf1b6a3de05871ac29f64b"
	exampleAPIKey    = "example-only-3vQ8mZ1xKd7TgLw0RbYc"
)

const (
	masterKeyBytes  = 32
	apiKeyMinLength = 32
	minDistinct     = 12
	minDistinctHex  = 8 // of the 16 digits
)

// wireKey is the JSON form of a master key.
type wireKey struct {
	KID    string `json:"kid"`
	Key    string `json:"key"`
	Active bool   `json:"active,omitempty"`
}

func masterKeys(p *[]MasterKey) value {
	const expect = `JSON [{"kid":"k1","key":"<64 hex digits>","active":true}, …]`
	return bind(p, "JSON", expect, parseMasterKeys)
}

// parseMasterKeys reads and judges SECRETS_MASTER_KEYS. Its errors name a key by
// its kid and never hold the key.
func parseMasterKeys(text string) ([]MasterKey, error) {
	var wire []wireKey
	if decodeJSON(text, &wire) != nil {
		return nil, errBad
	}
	var keys []MasterKey
	seen, active := map[string]bool{}, 0
	for i, w := range wire {
		key, err := w.parse()
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if seen[key.KID] {
			return nil, fmt.Errorf("kid %s is given twice", key.KID)
		}
		seen[key.KID] = true
		if key.Active {
			active++
		}
		keys = append(keys, key)
	}
	if active != 1 {
		return nil, fmt.Errorf("exactly one key must be active, not %d", active)
	}
	return keys, nil
}

var kidPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,40}$`)

func (w wireKey) parse() (MasterKey, error) {
	if !kidPattern.MatchString(w.KID) {
		return MasterKey{}, errors.New("kid must be 1-40 letters, digits, dots, dashes or underscores")
	}
	raw, err := hex.DecodeString(w.Key)
	if err != nil || len(raw) != masterKeyBytes {
		return MasterKey{}, errors.New("a key must be 32 bytes as 64 hex digits")
	}
	if strings.EqualFold(w.Key, exampleMasterKey) {
		return MasterKey{}, errors.New("the example key of the documentation protects nothing")
	}
	if err := weak(raw); err != nil {
		return MasterKey{}, err
	}
	return MasterKey{KID: w.KID, Key: Secret(raw), Active: w.Active}, nil
}

func internalKey(p *Secret) value {
	const expect = "a random key of at least 32 characters without blanks"
	return bind(p, "text", expect, parseInternalKey)
}

// parseInternalKey judges INTERNAL_API_KEY as it is and, when it is hex, as the
// bytes it stands for: hex has few distinct characters by nature, and hides
// patterns.
func parseInternalKey(text string) (Secret, error) {
	if len(text) < apiKeyMinLength || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errBad
	}
	if text == exampleAPIKey || strings.EqualFold(text, exampleMasterKey) {
		return "", errors.New("the example key of the documentation protects nothing")
	}
	raw, hexErr := hex.DecodeString(text)
	if hexErr != nil {
		return Secret(text), weak([]byte(text))
	}
	if patterned(raw) || patterned([]byte(text)) {
		return "", errPattern
	}
	if distinct(raw) < minDistinct || distinct([]byte(text)) < minDistinctHex {
		return "", errFewBytes
	}
	return Secret(text), nil
}

var (
	errPattern  = errors.New("the key follows a pattern; take a random one")
	errFewBytes = fmt.Errorf("the key has fewer than %d distinct bytes; take a random one", minDistinct)
)

// weak refuses what no random source would give.
func weak(key []byte) error {
	if patterned(key) {
		return errPattern
	}
	if distinct(key) < minDistinct {
		return errFewBytes
	}
	return nil
}

func distinct(key []byte) int {
	seen := map[byte]bool{}
	for _, b := range key {
		seen[b] = true
	}
	return len(seen)
}

// patterned reports whether key is all equal, counts in steps for three
// quarters of its length, or repeats its first half.
func patterned(key []byte) bool {
	steps := map[byte]int{}
	most := 0
	for i := 1; i < len(key); i++ {
		step := key[i] - key[i-1]
		steps[step]++
		most = max(most, steps[step])
	}
	half := len(key) / 2
	return 4*most >= 3*(len(key)-1) || bytes.Equal(key[:half], key[len(key)-half:])
}

// newMasterKeys is the text of SECRETS_MASTER_KEYS with one fresh key.
func newMasterKeys(raw []byte) string {
	text, _ := json.Marshal([]wireKey{{KID: "k1", Key: hex.EncodeToString(raw), Active: true}}) // strings always encode
	return string(text)
}
