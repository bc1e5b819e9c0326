package oidc

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"

	"svc/http/gateway"
)

// A sign-in belongs to the browser in which it began. The browser holds a secret
// in a cookie, the sign-in its digest: without the cookie nobody goes on with
// it, neither who reads its address nor another site that posts to it.

// browserCookie is the name of that cookie. Over HTTPS the prefix keeps other
// hosts of the same domain from setting it.
func browserCookie(r *http.Request) string {
	if gateway.Secure(r) {
		return "__Host-svc-signin"
	}
	return "svc-signin"
}

const secretLength = 26 // of newSecret

// browserSecret returns the secret of the browser, or "".
func browserSecret(r *http.Request) string {
	cookie, err := r.Cookie(browserCookie(r))
	if err != nil || len(cookie.Value) != secretLength {
		return ""
	}
	return cookie.Value
}

// knownBrowser returns the secret of the browser and the cookie that keeps it. A
// browser that has one keeps it: it may be signing in elsewhere as well.
func knownBrowser(r *http.Request) (secret string, cookie *http.Cookie) {
	if secret = browserSecret(r); secret == "" {
		secret = newSecret()
	}
	return secret, &http.Cookie{
		Name: browserCookie(r), Value: secret, Path: "/", MaxAge: int(interactionLifetime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: gateway.Secure(r),
	}
}

// sameBrowser reports whether r comes from the browser with this digest.
func sameBrowser(r *http.Request, known string) bool {
	secret := browserSecret(r)
	return secret != "" && subtle.ConstantTimeCompare([]byte(digest(secret)), []byte(known)) == 1
}

// sameSite reports whether a form was sent from a page of ours, as far as the
// browser tells.
func sameSite(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin" || site == "none"
	}
	from := r.Header.Get("Origin")
	u, err := url.Parse(from)
	return from == "" || err == nil && u.Host == r.Host
}

// tokenCookie carries the token of a session; an empty token takes it away.
func tokenCookie(r *http.Request, token string, seconds int) *http.Cookie {
	if token == "" {
		seconds = -1
	}
	return &http.Cookie{
		Name: gateway.CookieName, Value: token, Path: "/", MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: gateway.Secure(r),
	}
}

// sealed hides a password between two steps of a sign-in. It opens only with
// the secret of the browser, which the platform does not keep.
func sealed(secret, id, password string) ([]byte, error) {
	box, err := boxOf(secret, id)
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, nil, []byte(password), []byte(id)), nil
}

func unsealed(secret, id string, text []byte) (password string, ok bool) {
	box, err := boxOf(secret, id)
	if err != nil || len(text) == 0 {
		return "", false
	}
	plain, err := box.Open(nil, nil, text, []byte(id))
	return string(plain), err == nil
}

func boxOf(secret, id string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), []byte(id), "svc sign-in password", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
