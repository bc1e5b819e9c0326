package accounts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"image/png"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"svc/commands"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/user"
)

// ShowCode checks a code for a session that was opened without the second factor.
func (a *Accounts) ShowCode(ctx context.Context, by sessions.Session, code, ip string) error {
	s, err := a.load(ctx, by.UserID)
	if err != nil {
		return err
	}
	if s.MFA != user.MFATOTP {
		return domain.Refuse(domain.CodeNotFound, "this account has no second factor").With("resource", "mfa").With("id", by.UserID)
	}
	if err := a.useCode(ctx, s, code, ip); err != nil {
		return err
	}
	return a.o.Sessions.Confirm(ctx, by.UserID, by.ID)
}

// useCode accepts a code of the second factor of s, only once on all nodes.
func (a *Accounts) useCode(ctx context.Context, s user.State, code, ip string) error {
	step, err := a.codeOf(ctx, s, s.Credentials.TOTP, code, ip)
	if err != nil {
		return err
	}
	// With new ids each time: a repeated request has no second go at a code.
	spending := unrepeated(ctx)
	_, err = a.change(spending, s.ID, user.UseCode{Step: step, IP: ip})
	commands.RequestFrom(ctx).Saw(commands.RequestFrom(spending).Position())
	if domain.CodeOf(err) == domain.CodeInvalidCredentials {
		return a.wrongCode(ctx, s, ip)
	}
	return err
}

// codeOf returns the step of a code of a sealed secret.
func (a *Accounts) codeOf(ctx context.Context, s user.State, sealed []byte, code, ip string) (step int64, err error) {
	secret, err := a.o.Box.Open(sealed, totpPurpose(s.ID))
	if err != nil {
		return 0, err
	}
	step, ok, err := codeStep(secret, code, a.o.Now())
	if err == nil && !ok {
		err = a.wrongCode(ctx, s, ip)
	}
	return step, err
}

// wrongCode records a wrong code and returns the answer to it.
func (a *Accounts) wrongCode(ctx context.Context, s user.State, ip string) error {
	if err := a.o.Engine.Record(ctx, domain.Platform, user.MFAFailed{Email: s.Email, IP: ip}); err != nil {
		a.o.Log.WarnContext(ctx, "wrong code not recorded", "err", err)
	}
	return wrongCredentials()
}

// OfferMFA begins to set up the second factor: it is active after the first code (ConfirmMFA).
// An account with a password needs it.
func (a *Accounts) OfferMFA(ctx context.Context, by sessions.Session, currentPassword string) (MFASetup, error) {
	s, err := a.mayChangeMFA(ctx, by, currentPassword)
	if err != nil {
		return MFASetup{}, err
	}
	sealed, err := a.o.Box.Seal(randomBytes(totpSecretSize), totpPurpose(s.ID))
	if err != nil {
		return MFASetup{}, err
	}
	if s, err = a.change(ctx, s.ID, user.OfferTOTP{Sealed: sealed}); err != nil {
		return MFASetup{}, err
	}
	// The stored secret is returned: a repeated request gets that of the first one.
	secret, err := a.o.Box.Open(s.Credentials.OfferedTOTP, totpPurpose(s.ID))
	if err != nil {
		return MFASetup{}, err
	}
	return a.o.Settings().newMFASetup(secret, s.User)
}

// ConfirmMFA activates the offered second factor, also for the session.
func (a *Accounts) ConfirmMFA(ctx context.Context, by sessions.Session, code, ip string) error {
	s, err := a.loadExisting(ctx, by.UserID)
	if err != nil {
		return err
	}
	if err := checkMFA(s, by); err != nil {
		return err
	}
	offered := s.Credentials.OfferedTOTP
	if len(offered) == 0 {
		return domain.Refuse(domain.CodeNotFound, "no second factor is being set up").With("resource", "mfa").With("id", s.ID)
	}
	step, err := a.codeOf(ctx, s, offered, code, ip)
	if err != nil {
		return err
	}
	if _, err := a.change(ctx, s.ID, user.ConfirmTOTP{Sealed: offered, Step: step}); err != nil {
		return err
	}
	return a.o.Sessions.Confirm(ctx, by.UserID, by.ID)
}

// DropMFA removes the second factor.
func (a *Accounts) DropMFA(ctx context.Context, by sessions.Session, currentPassword string) error {
	s, err := a.mayChangeMFA(ctx, by, currentPassword)
	if err != nil {
		return err
	}
	_, err = a.change(ctx, s.ID, user.DropTOTP{})
	return err
}

// mayChangeMFA returns the user of a session that may change the second factor: with the
// current factor and the password.
func (a *Accounts) mayChangeMFA(ctx context.Context, by sessions.Session, currentPassword string) (user.State, error) {
	if by.Anonymous {
		return user.State{}, domain.Refuse(domain.CodePermissionDenied, "anonymous users cannot set up a second factor")
	}
	s, err := a.loadExisting(ctx, by.UserID)
	if err != nil {
		return s, err
	}
	if err := checkMFA(s, by); err != nil {
		return s, err
	}
	if s.Credentials.Password == "" {
		return s, nil
	}
	return a.checkCurrentPassword(ctx, s.ID, currentPassword)
}

// checkMFA refuses a session without the second factor of the account: the password alone must
// not be enough to replace it.
func checkMFA(s user.State, by sessions.Session) error {
	if s.MFA == user.MFATOTP && !by.MFA {
		return mfaRequired()
	}
	return nil
}

// ResealAll is Reseal for all users.
func (a *Accounts) ResealAll(ctx context.Context, userIDs func() ([]string, error)) error {
	ids, err := userIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := a.Reseal(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// Reseal seals the second factor of a user under the active master key; false when it is
// already. The old key can be removed when this is done for all users.
func (a *Accounts) Reseal(ctx context.Context, userID string) (changed bool, err error) {
	s, err := a.load(ctx, userID)
	for _, was := range [][]byte{s.Credentials.TOTP, s.Credentials.OfferedTOTP} {
		if err != nil || len(was) == 0 || a.o.Box.Current(was) {
			continue
		}
		var secret, sealed []byte
		if secret, err = a.o.Box.Open(was, totpPurpose(userID)); err == nil {
			sealed, err = a.o.Box.Seal(secret, totpPurpose(userID))
		}
		if err == nil {
			_, err = a.change(ctx, userID, user.ResealTOTP{Was: was, Sealed: sealed})
			changed = err == nil
		}
	}
	return changed, err
}

// The codes of authenticator apps.
const (
	totpSecretSize = 20 // bytes
	totpPeriod     = 30 * time.Second
	totpDrift      = 1   // steps that clocks may differ
	totpImage      = 240 // pixels
)

// totpPurpose is the purpose of a sealed TOTP secret.
func totpPurpose(userID string) string { return "totp/" + userID }

var base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)

// codeStep returns the step near now with the given code; false when there is none. The
// aggregate knows whether it was used.
func codeStep(secret []byte, code string, now time.Time) (step int64, ok bool, err error) {
	code = strings.ReplaceAll(code, " ", "")
	current := now.Unix() / int64(totpPeriod/time.Second)
	for at := current - totpDrift; at <= current+totpDrift; at++ {
		want, err := hotp.GenerateCodeCustom(base32Text.EncodeToString(secret), uint64(at), hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, false, fmt.Errorf("compute a code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, ok = at, true
		}
	}
	return step, ok, nil
}

// MFASetup is a second factor that is not confirmed yet, for authenticator apps. It is returned
// once.
type MFASetup struct {
	Method     string
	Secret     string // base32
	OTPAuthURL string
	QRImage    string // data URL of a PNG
}

// newMFASetup returns the setup of a secret.
func (s Settings) newMFASetup(secret []byte, u user.User) (MFASetup, error) {
	key, err := totp.Generate(totp.GenerateOpts{
		Issuer: cmp.Or(s.Issuer, "svc"), AccountName: cmp.Or(u.Email, u.ID), Secret: secret,
		Period: uint(totpPeriod / time.Second), Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1,
	})
	if err != nil {
		return MFASetup{}, fmt.Errorf("describe a second factor: %w", err)
	}
	picture, err := key.Image(totpImage, totpImage)
	if err != nil {
		return MFASetup{}, fmt.Errorf("draw a second factor: %w", err)
	}
	var image bytes.Buffer
	if err := png.Encode(&image, picture); err != nil {
		return MFASetup{}, fmt.Errorf("draw a second factor: %w", err)
	}
	return MFASetup{
		Method: user.MFATOTP, Secret: key.Secret(), OTPAuthURL: key.URL(),
		QRImage: "data:image/png;base64," + base64.StdEncoding.EncodeToString(image.Bytes()),
	}, nil
}
