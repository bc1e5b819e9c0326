package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"svc/domain/keyring"
)

// algorithm is one way to sign.
type algorithm struct {
	name   string
	kty    string
	method jwt.SigningMethod
	curve  elliptic.Curve // of an EC key
	size   int            // bits of an RSA key
}

// algorithms are those of JWKS_ALG.
var algorithms = map[string]algorithm{
	"RS256": {kty: "RSA", method: jwt.SigningMethodRS256},
	"RS384": {kty: "RSA", method: jwt.SigningMethodRS384},
	"RS512": {kty: "RSA", method: jwt.SigningMethodRS512},
	"PS256": {kty: "RSA", method: jwt.SigningMethodPS256},
	"ES256": {kty: "EC", method: jwt.SigningMethodES256, curve: elliptic.P256()},
	"ES384": {kty: "EC", method: jwt.SigningMethodES384, curve: elliptic.P384()},
}

// Bounds of JWKS_SIZE.
const (
	minSize = 2048
	maxSize = 4096
)

// algorithmOf returns the algorithm with this name. It refuses a key type that
// the algorithm cannot use, and RSA keys that are too small or too slow.
func algorithmOf(name, kty string, size int) (algorithm, error) {
	a, ok := algorithms[name]
	if !ok {
		return a, fmt.Errorf("JWKS_ALG: %q is not an algorithm that tokens are signed with", name)
	}
	if a.kty != kty {
		return a, fmt.Errorf("JWKS_KTY: %s needs %s keys, not %q", name, a.kty, kty)
	}
	if kty == "RSA" && (size < minSize || size > maxSize) {
		return a, fmt.Errorf("JWKS_SIZE: an RSA key has %d to %d bits, not %d", minSize, maxSize, size)
	}
	a.name, a.size = name, size
	return a, nil
}

// generate makes a new key.
func (a algorithm) generate() (private crypto.Signer, public keyring.JWK, err error) {
	if a.kty == "EC" {
		private, err = ecdsa.GenerateKey(a.curve, rand.Reader)
	} else {
		private, err = rsa.GenerateKey(rand.Reader, a.size)
	}
	if err != nil {
		return nil, keyring.JWK{}, fmt.Errorf("make a signing key: %w", err)
	}
	public, err = encodeJWK(private.Public(), a.name)
	return private, public, err
}

// encodeJWK returns the public key as a JWK named by its thumbprint.
func encodeJWK(public crypto.PublicKey, alg string) (k keyring.JWK, err error) {
	text, err := json.Marshal(jose.JSONWebKey{Key: public, Algorithm: alg, Use: "sig"})
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return k, fmt.Errorf("encode a public key: %w", err)
	}
	k.KID = k.Thumbprint()
	return k, nil
}

// decodeJWK returns the public key that k names.
func decodeJWK(k keyring.JWK) (crypto.PublicKey, error) {
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	var parsed jose.JSONWebKey
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("decode public key %s: %w", k.KID, err)
	}
	return parsed.Key, nil
}
