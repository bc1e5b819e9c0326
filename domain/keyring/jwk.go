package keyring

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"svc/domain"
)

// JWK is the public part of a key as RFC 7517 writes it. It has no field that a
// private part could hide in, so that none can reach an event.
type JWK struct {
	KID string `json:"kid"` // Thumbprint
	Kty string `json:"kty"` // RSA or EC
	Alg string `json:"alg"`
	Use string `json:"use"` // sig
	N   string `json:"n,omitempty"`
	E   string `json:"e,omitempty"`
	Crv string `json:"crv,omitempty"`
	X   string `json:"x,omitempty"`
	Y   string `json:"y,omitempty"`
}

// Thumbprint returns the name of the key by RFC 7638: two keys never share one.
// It is empty for a key of an unknown type.
func (k JWK) Thumbprint() string {
	var named any
	switch k.Kty { // members in the order of their names, and no others
	case "RSA":
		named = struct {
			E   string `json:"e"`
			Kty string `json:"kty"`
			N   string `json:"n"`
		}{k.E, k.Kty, k.N}
	case "EC":
		named = struct {
			Crv string `json:"crv"`
			Kty string `json:"kty"`
			X   string `json:"x"`
			Y   string `json:"y"`
		}{k.Crv, k.Kty, k.X, k.Y}
	default:
		return ""
	}
	text, err := json.Marshal(named)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// validate refuses a key that cannot be told from others. Keys are made by the
// platform, so that a bad one is its own fault.
func (k JWK) validate() error {
	if k.KID == "" || k.KID != k.Thumbprint() || k.Alg == "" {
		return domain.Refuse(domain.CodeInternal, "keyring: a key needs an algorithm, and its thumbprint as its kid")
	}
	return nil
}
