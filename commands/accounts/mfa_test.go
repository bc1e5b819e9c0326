package accounts_test

import (
	"encoding/base32"
	"encoding/base64"
	"image/png"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/commands/seal"
	"svc/domain"
	"svc/domain/user"
)

const step = 30 * time.Second

func TestTheSecondFactorFromBeginToEnd(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	in := h.enter(ada.Email, password, "")

	requireRefusal(t, h.ConfirmMFA(h.ctx(), in, "123456", ""), domain.CodeNotFound, "")
	requireRefusal(t, h.ShowCode(h.ctx(), in, "123456", ""), domain.CodeNotFound, "")
	_, err := h.OfferMFA(h.ctx(), in, "wrong")
	requireRefusal(t, err, domain.CodeInvalidCredentials, "")
	offer, err := h.OfferMFA(h.ctx(), in, password)
	require.NoError(t, err)
	h.enter(ada.Email, password, "") // an offer does not count yet
	requireRefusal(t, h.ConfirmMFA(h.ctx(), in, "000000", ""), domain.CodeInvalidCredentials, "")
	require.NoError(t, h.ConfirmMFA(h.ctx(), in, h.code(offer.Secret), ""))
	require.Equal(t, user.MFATOTP, h.state(ada.ID).MFA)
	in, ok, err := h.sessions.Get(h.ctx(), in.UserID, in.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, in.MFA, "the session has shown it with that")

	_, err = h.login(ada.Email, password, "")
	requireRefusal(t, err, domain.CodeInvalidCredentials, "mfa_required")
	_, err = h.login(ada.Email, "wrong", h.code(offer.Secret))
	requireRefusal(t, err, domain.CodeInvalidCredentials, "")
	_, err = h.login(ada.Email, "wrong", "")
	requireRefusal(t, err, domain.CodeInvalidCredentials, "")
	_, err = h.login(ada.Email, password, h.code(offer.Secret))
	requireRefusal(t, err, domain.CodeInvalidCredentials, "") // it confirmed the offer
	h.pass(step)
	second := h.enter(ada.Email, password, h.code(offer.Secret)[:3]+" "+h.code(offer.Secret)[3:])
	require.True(t, second.MFA)
	_, err = h.login(ada.Email, password, h.code(offer.Secret))
	requireRefusal(t, err, domain.CodeInvalidCredentials, "")
	require.Equal(t, 3, h.countEvents(domain.Activity, user.MFAFailed{}))
	require.Equal(t, 1, h.countEvents(domain.State, user.CodeAccepted{}))

	requireRefusal(t, h.DropMFA(h.ctx(), second, "wrong"), domain.CodeInvalidCredentials, "")
	require.NoError(t, h.DropMFA(h.ctx(), second, password))
	require.Equal(t, user.MFANone, h.state(ada.ID).MFA)
	h.enter(ada.Email, password, "")
}

func TestWhatAnAuthenticatorIsTold(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	offer, err := h.OfferMFA(h.ctx(), h.enter(ada.Email, password, ""), password)
	require.NoError(t, err)
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(offer.Secret)
	require.NoError(t, err)
	require.Len(t, secret, 20)
	u, err := url.Parse(offer.OTPAuthURL)
	require.NoError(t, err)
	require.Equal(t, "otpauth://totp/svc:ada@example.org", strings.Split(offer.OTPAuthURL, "?")[0])
	require.Equal(t, url.Values{"secret": {offer.Secret}, "issuer": {"svc"}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}, u.Query())
	image, found := strings.CutPrefix(offer.QRImage, "data:image/png;base64,")
	require.True(t, found)
	picture, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(image)))
	require.NoError(t, err)
	require.Equal(t, 240, picture.Bounds().Dx())
	require.Equal(t, user.MFATOTP, offer.Method)
}

func TestCodesOfNeighbouringStepsAreTaken(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	secret := h.secondFactor(h.enter(ada.Email, password, ""))
	for _, drift := range []time.Duration{-step, step} {
		h.pass(5 * step)
		h.pass(drift)
		code := h.code(secret)
		h.pass(-drift)
		h.enter(ada.Email, password, code)
	}
	for _, drift := range []time.Duration{-2 * step, 2 * step} {
		h.pass(5 * step)
		h.pass(drift)
		code := h.code(secret)
		h.pass(-drift)
		_, err := h.login(ada.Email, password, code)
		requireRefusal(t, err, domain.CodeInvalidCredentials, "")
	}
	h.pass(5 * step)
	later := h.code(secret)
	h.enter(ada.Email, password, later)
	h.pass(-step)
	_, err := h.login(ada.Email, password, h.code(secret))
	requireRefusal(t, err, domain.CodeInvalidCredentials, "") // an older code than the last one
}

// However many nodes see a code at once, it opens one session.
func TestACodeIsUsedOnceOnAllNodes(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	secret := h.secondFactor(h.enter(ada.Email, password, ""))
	nodes := []*accounts.Accounts{h.Accounts, h.node()}
	h.pass(step)
	code := h.code(secret)
	var opened atomic.Int32
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			_, err := nodes[i%2].Login(h.ctx(), accounts.Login{Email: ada.Email, Password: password, TOTP: code})
			if err == nil {
				opened.Add(1)
			} else if domain.CodeOf(err) != domain.CodeInvalidCredentials {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, opened.Load())
}

func TestAForcedSecondFactorIsOwedUntilItIsSetUp(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce, func(s *accounts.Settings) { s.ForceMFA = true })
	ada := h.signUp("ada@example.org")
	in := h.enter(ada.Email, password, "")
	require.True(t, in.MFAPending)
	secret := h.secondFactor(in)
	in, _, err := h.sessions.Get(h.ctx(), in.UserID, in.ID)
	require.NoError(t, err)
	require.False(t, in.MFAPending)
	h.pass(step)
	require.False(t, h.enter(ada.Email, password, h.code(secret)).MFAPending)
}

// Who has the password, or the identity, but not the second factor, cannot get
// rid of it.
func TestTheSecondFactorProtectsItself(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	old := h.enter(ada.Email, password, "")
	secret := h.secondFactor(h.enter(ada.Email, password, ""))
	who := accounts.Identity{Provider: "acme", Subject: "a1", Email: ada.Email, EmailVerified: true}
	_, err := h.Patch(h.ctx(), accounts.Actor{Super: true}, ada.ID, accounts.Patch{FirstName: new("Ada")})
	require.NoError(t, err)
	_, err = h.Claim(h.ctx(), "nobody@example.org", false)
	require.NoError(t, err)
	h.proveEmail(ada.ID)
	in, err := h.LoginWith(h.ctx(), who, accounts.Client{})
	require.NoError(t, err)
	require.True(t, in.Session.MFAPending)
	for _, s := range []struct{ name, id string }{{"a session that owes it", in.SessionID}, {"a session from before", old.ID}} {
		session, ok, err := h.sessions.Get(h.ctx(), ada.ID, s.id)
		require.NoError(t, err)
		require.True(t, ok, s.name)
		_, err = h.OfferMFA(h.ctx(), session, password)
		requireRefusal(t, err, domain.CodeInvalidCredentials, "mfa_required")
		requireRefusal(t, h.ConfirmMFA(h.ctx(), session, h.code(secret), ""), domain.CodeInvalidCredentials, "mfa_required")
		requireRefusal(t, h.DropMFA(h.ctx(), session, password), domain.CodeInvalidCredentials, "mfa_required")
		requireRefusal(t, h.DeleteSelf(h.ctx(), session, password), domain.CodeInvalidCredentials, "mfa_required")
	}
	requireRefusal(t, h.ShowCode(h.ctx(), in.Session, "000000", ""), domain.CodeInvalidCredentials, "")
	h.pass(step)
	require.NoError(t, h.ShowCode(h.ctx(), in.Session, h.code(secret), ""))
	requireRefusal(t, h.ShowCode(h.ctx(), in.Session, h.code(secret), ""), domain.CodeInvalidCredentials, "")
	shown, _, err := h.sessions.Get(h.ctx(), ada.ID, in.SessionID)
	require.NoError(t, err)
	require.True(t, shown.MFA)
	require.NoError(t, h.DropMFA(h.ctx(), shown, password))
}

// proveEmail marks the address of an account as its owner's, as a mail link does.
func (h *fixture) proveEmail(userID string) {
	h.t.Helper()
	require.NoError(h.t, h.RequestValidation(h.ctx(), h.state(userID).Email))
	_, token := h.mail(h.state(userID).Email)
	require.NoError(h.t, h.Validate(h.ctx(), token))
}

func TestASecondFactorOutlivesItsMasterKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	secret := h.secondFactor(h.enter(ada.Email, password, ""))
	changed, err := h.Reseal(h.ctx(), ada.ID)
	require.NoError(t, err)
	require.False(t, changed)

	next := seal.MasterKey{KID: "k2", Key: []byte("fedcba9876543210FEDCBA9876543210"), Active: true}
	h.box, err = seal.New([]seal.MasterKey{{KID: "k1", Key: []byte("0123456789abcdef0123456789ABCDEF")}, next})
	require.NoError(t, err)
	changed, err = h.node().Reseal(h.ctx(), ada.ID)
	require.NoError(t, err)
	require.True(t, changed)

	h.box, err = seal.New([]seal.MasterKey{next})
	require.NoError(t, err)
	h.Accounts = h.node()
	h.pass(step)
	h.enter(ada.Email, password, h.code(secret))
}
