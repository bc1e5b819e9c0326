// Package hash is the crypto module of automations: digests, base64 and random
// text. Randomness arrives from outside, so that a run can be replayed.
package hash

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	stdhash "hash"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/automation"
	"svc/domain/value"
)

const (
	defaultRandom = 32   // bytes of randomBytes
	maxRandom     = 1024 // at most
	sizeOfUUID    = 16
)

// caller reads the parameters of one call.
type caller struct {
	params *value.Object
	random func(n int) []byte
}

// functions are those of the module.
var functions = map[string]func(*caller) (any, error){
	"sha256":       func(c *caller) (any, error) { return c.digest(sha256.New()) },
	"sha512":       func(c *caller) (any, error) { return c.digest(sha512.New()) },
	"md5":          func(c *caller) (any, error) { return c.digest(md5.New()) },
	"hmac":         (*caller).hmac,
	"base64Encode": (*caller).encode,
	"base64Decode": (*caller).decode,
	"randomBytes":  (*caller).randomBytes,
	"randomUUID":   func(c *caller) (any, error) { return uuid(c.random(sizeOfUUID)) },
}

var keyed = map[string]func() stdhash.Hash{"sha256": sha256.New, "sha512": sha512.New, "sha1": sha1.New}

// Call calls a function of the module. random returns that many random bytes.
func Call(function string, params *value.Object, random func(n int) []byte) (any, error) {
	do := functions[function]
	if do == nil {
		return nil, automation.Invalid("crypto has no function %q", function)
	}
	return do(&caller{params, random})
}

func (c *caller) digest(h stdhash.Hash) (any, error) {
	data, err := c.bytes("data")
	if err != nil {
		return nil, err
	}
	h.Write(data)
	return c.written(h.Sum(nil))
}

func (c *caller) hmac() (any, error) {
	key, err := c.bytes("key")
	if err != nil {
		return nil, err
	}
	name, err := c.choice("algorithm", "sha256", "sha512", "sha1")
	if err != nil {
		return nil, err
	}
	return c.digest(hmac.New(keyed[name], key))
}

func (c *caller) encode() (any, error) {
	data, err := c.bytes("data")
	if err != nil {
		return nil, err
	}
	urlSafe, err := c.flag("urlSafe")
	if urlSafe {
		return base64.URLEncoding.EncodeToString(data), err
	}
	return base64.StdEncoding.EncodeToString(data), err
}

// decode takes base64 with and without padding.
func (c *caller) decode() (any, error) {
	data, err := c.bytes("data")
	if err != nil {
		return nil, err
	}
	urlSafe, err := c.flag("urlSafe")
	if err != nil {
		return nil, err
	}
	encoding := base64.RawStdEncoding
	if urlSafe {
		encoding = base64.RawURLEncoding
	}
	text := strings.TrimSpace(string(data))
	bare := strings.TrimRight(text, "=")
	decoded, err := encoding.DecodeString(bare)
	if err != nil || len(text) > len(bare) && len(text)%4 != 0 && !strings.ContainsAny(text, "\r\n") {
		return nil, automation.Invalid("data is not base64")
	}
	if utf8.Valid(decoded) {
		return string(decoded), nil
	}
	return value.Bytes(decoded), nil
}

func (c *caller) randomBytes() (any, error) {
	n := float64(defaultRandom)
	if given := c.params.At("length"); !value.IsNothing(given) {
		var ok bool
		if n, ok = given.(float64); !ok || n != math.Trunc(n) || n < 1 || n > maxRandom {
			return nil, automation.Invalid("length is a whole number from 1 to %d", maxRandom)
		}
	}
	return c.written(c.random(int(n)))
}

// uuid writes random bytes as a UUID of version 4.
func uuid(random []byte) (any, error) {
	b := slices.Clone(random)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b)
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-"), nil
}

// written returns bytes in the encoding that was asked for.
func (c *caller) written(b []byte) (any, error) {
	encoding, err := c.choice("encoding", "hex", "base64", "base64url")
	switch encoding {
	case "base64":
		return base64.StdEncoding.EncodeToString(b), err
	case "base64url":
		return base64.RawURLEncoding.EncodeToString(b), err
	}
	return hex.EncodeToString(b), err
}

// bytes returns a parameter that is text or bytes.
func (c *caller) bytes(name string) ([]byte, error) {
	switch v := c.params.At(name).(type) {
	case string:
		return []byte(v), nil
	case value.Bytes:
		return v, nil
	default:
		return nil, automation.Invalid("%s is text or bytes, not %s", name, value.TypeName(v))
	}
}

// choice returns a parameter that is one of these words; absent, it is the first.
func (c *caller) choice(name string, words ...string) (string, error) {
	given := c.params.At(name)
	if value.IsNothing(given) {
		return words[0], nil
	}
	word, ok := given.(string)
	if !ok || !slices.Contains(words, word) {
		return "", automation.Invalid("%s is one of %s", name, strings.Join(words, ", "))
	}
	return word, nil
}

func (c *caller) flag(name string) (bool, error) {
	given := c.params.At(name)
	is, ok := given.(bool)
	if !ok && !value.IsNothing(given) {
		return false, automation.Invalid("%s is true or false, not %s", name, value.TypeName(given))
	}
	return is, nil
}
