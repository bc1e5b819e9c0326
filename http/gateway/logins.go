package gateway

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// Attempts to guess passwords are limited in three ways: by address and client together, so that
// nobody can lock out somebody else; by address over all clients, so that many clients cannot
// guess faster; and by client, so that nobody can try one password at every address. Devices and
// IPs from which the address signed in before are known, by a cookie and by a stored record, and
// are counted apart from unknown ones.

// Devices stores from which IPs mail addresses signed in. It is a *jetstream.Records.
type Devices interface {
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// DeviceLifetime is how long a device, or an IP, is known after somebody signed in there.
const DeviceLifetime = 30 * 24 * time.Hour

const (
	knownLogins   = 4  // times the limit: attempts from a known device, or a known IP
	allLogins     = 10 // times the limit: attempts at one address from all unknown devices and IPs
	clientLogins  = 60 // times the limit: attempts from one IP at all addresses that never signed in there
	deviceNonce   = 16 // bytes
	maxDevices    = 4  // accounts that one browser is known for
	deviceDivider = "."
)

// deviceCookie is the name of the cookie of a known device. Over HTTPS the prefix keeps
// other hosts of the same domain from setting it.
func deviceCookie(r *http.Request) string {
	if Secure(r) {
		return "__Host-svc-device"
	}
	return "svc-device"
}

// LimitLogin counts one more attempt at the password of an address in its normal form. It is called
// before the account is read, so that a refusal does not reveal whether it exists. It refuses with
// 429, and reports whether the address signed in from this device or IP before.
func LimitLogin(r *http.Request, email string) (known bool, err error) {
	ex := exchangeFrom(r.Context())
	if ex == nil || ex.gateway == nil {
		return false, nil
	}
	g, ctx := ex.gateway, r.Context()
	if device := g.knownDevice(ex, email); device != "" {
		return true, g.limits.useTimes(ctx, ex, RateLogin, "device\n"+email+"\n"+device, knownLogins)
	}
	if g.isKnownIP(ctx, ex, email) {
		return true, g.limits.useTimes(ctx, ex, RateLogin, "known\n"+email+"\n"+addressKey(ex.ip), knownLogins)
	}
	if err := g.limits.use(ctx, ex, RateLogin, email+"\n"+addressKey(ex.ip)); err != nil {
		return false, err
	}
	if err := g.limits.useTimes(ctx, ex, RateLogin, "client\n"+addressKey(ex.ip), clientLogins); err != nil {
		return false, err
	}
	return false, g.limits.useTimes(ctx, ex, RateLogin, email, allLogins)
}

// LimitSignup counts one more account that is made by a client, for a route with another limit. It
// refuses with 429.
func LimitSignup(r *http.Request) error {
	ex := exchangeFrom(r.Context())
	if ex == nil || ex.gateway == nil {
		return nil
	}
	return ex.gateway.limits.use(r.Context(), ex, RateSignup, addressKey(ex.ip))
}

// LimitAccount counts one more attempt at the second factor of an account, or at its password by a
// caller who is signed in. Such a caller has a valid credential already, so it is counted by
// account only.
func LimitAccount(ctx context.Context, account string) error {
	return Limit(ctx, RateLogin, "account\n"+account)
}

// RememberDevice stores that a mail address signed in, and returns the cookie that identifies the
// device.
func RememberDevice(r *http.Request, email string) *http.Cookie {
	ex := exchangeFrom(r.Context())
	if ex == nil || ex.gateway == nil {
		return nil
	}
	ex.gateway.rememberIP(r.Context(), ex, email)
	nonce := make([]byte, deviceNonce)
	_, _ = rand.Read(nonce) // never fails: crypto/rand ends the process instead
	tokens := []string{base64.RawURLEncoding.EncodeToString(append(nonce, ex.gateway.signDevice(email, nonce)...))}
	for _, other := range ex.devices {
		if len(tokens) < maxDevices && ex.gateway.deviceOf(other, email) == "" {
			tokens = append(tokens, other)
		}
	}
	return &http.Cookie{
		Name: deviceCookie(r), Value: strings.Join(tokens, deviceDivider), Path: "/", MaxAge: int(DeviceLifetime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: Secure(r),
	}
}

// deviceTokens returns the device tokens of a request: one for each account that signed in on the
// device.
func deviceTokens(r *http.Request) []string {
	cookie, err := r.Cookie(deviceCookie(r))
	if err != nil || len(cookie.Value) > 4096 {
		return nil
	}
	return strings.Split(cookie.Value, deviceDivider)
}

// knownDevice returns the name of the device that a request comes from, if the address
// signed in there before; else "".
func (g *Gateway) knownDevice(ex *exchange, email string) string {
	for i, token := range ex.devices {
		if device := g.deviceOf(token, email); device != "" && i < maxDevices {
			return device
		}
	}
	return ""
}

// deviceOf returns the name of the device if token is valid for the address; else "".
func (g *Gateway) deviceOf(token, email string) string {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) <= deviceNonce || !hmac.Equal(raw[deviceNonce:], g.signDevice(email, raw[:deviceNonce])) {
		return ""
	}
	return token[:deviceNonce]
}

func (g *Gateway) signDevice(email string, nonce []byte) []byte {
	mac := hmac.New(sha256.New, g.opts.DeviceKey)
	mac.Write([]byte("device\n" + email + "\n"))
	mac.Write(nonce)
	return mac.Sum(nil)[:16]
}

// deviceKey is the key under which a sign-in of an address from an IP is stored. It is a hash and
// reveals neither.
func (g *Gateway) deviceKey(ex *exchange, email string) string {
	mac := hmac.New(sha256.New, g.opts.DeviceKey)
	mac.Write([]byte("device address\n" + email + "\n" + addressKey(ex.ip)))
	return digest(string(mac.Sum(nil)))
}

// isKnownIP reports whether a mail address signed in from the IP of a request lately; false when the
// store does not answer.
func (g *Gateway) isKnownIP(ctx context.Context, ex *exchange, email string) bool {
	if g.opts.Devices == nil || ex.settings.DisableRateLimit {
		return false
	}
	_, known, err := g.opts.Devices.Get(ctx, g.deviceKey(ex, email))
	if err != nil {
		g.opts.Log.WarnContext(ctx, "known devices not read", "err", err)
	}
	return known
}

func (g *Gateway) rememberIP(ctx context.Context, ex *exchange, email string) {
	if g.opts.Devices == nil || ex.settings.DisableRateLimit || g.isKnownIP(ctx, ex, email) {
		return
	}
	if err := g.opts.Devices.Put(ctx, g.deviceKey(ex, email), []byte{1}, DeviceLifetime); err != nil {
		g.opts.Log.WarnContext(ctx, "a known device was not stored", "err", err)
	}
}
