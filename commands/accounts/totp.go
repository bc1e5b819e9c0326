package accounts

import (
	"bytes"
	"cmp"
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

	"svc/domain/user"
)

// The codes of authenticator apps.
const (
	totpSecretSize = 20 // bytes
	totpPeriod     = 30 * time.Second
	totpDrift      = 1   // steps that clocks may differ
	totpImage      = 240 // pixels
)

// totpPurpose is what a TOTP secret is sealed for.
func totpPurpose(userID string) string { return "totp/" + userID }

var base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)

// codeStep returns the step near now whose code is the given one; false when
// there is none. Whether it was used already, the log knows.
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

// MFASetup is a second factor that awaits its first code, with what an
// authenticator app needs of it. It is shown once.
type MFASetup struct {
	Method     string
	Secret     string // base32
	OTPAuthURL string
	QRImage    string // data URL of a PNG
}

// describe returns what an app needs of a secret.
func (s Settings) describe(secret []byte, u user.User) (MFASetup, error) {
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
