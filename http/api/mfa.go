package api

import (
	"net/http"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/user"
	"svc/http/gateway"
)

// showCode handles POST /v2/login/mfa. Whoever comes with an access token has
// shown enough already: their code is checked, and that is all.
func showCode(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in struct {
			TOTP *string `json:"totp"`
		}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if in.TOTP == nil {
			return nil, missing("totp")
		}
		caller := gateway.CallerFrom(r.Context())
		if err := countGuess(r.Context(), d, caller.UserID); err != nil {
			return nil, err
		}
		by := sessions.Session{UserID: caller.UserID, ID: caller.SessionID}
		if err := d.Accounts.ShowCode(r.Context(), by, *in.TOTP, clientIP(r)); err != nil {
			return nil, err
		}
		return succeeded, nil
	}
}

// mfaBody is the body of POST /v2/user/mfa: a method with the password, or the
// first code.
type mfaBody struct {
	Method          *string `json:"method"`
	CurrentPassword *string `json:"currentPassword"`
	TOTP            *string `json:"totp"`
}

// mfaSetup is the answer of POST /v2/user/mfa.
type mfaSetup struct {
	Method     string `json:"method"`
	Secret     string `json:"secret,omitempty"`     // once
	OTPAuthURL string `json:"otpauthUrl,omitempty"` // once
	QRImage    string `json:"qrImage,omitempty"`    // once
}

// Replayable implements gateway.Replayable: a repeat does not see the secret.
func (s mfaSetup) Replayable() any { return mfaSetup{Method: s.Method} }

// setMFA handles POST /v2/user/mfa.
func setMFA(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in mfaBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		by, err := callerSession(d, r)
		if err != nil {
			return nil, err
		}
		if in.TOTP != nil {
			return confirmMFA(d, r, by, in)
		}
		return chooseMFA(d, r, by, in)
	}
}

// confirmMFA makes the offered second factor count, by its first code.
func confirmMFA(d Deps, r *http.Request, by sessions.Session, in mfaBody) (any, error) {
	if err := unfitting("totp", text{"method", in.Method}, text{"currentPassword", in.CurrentPassword}); err != nil {
		return nil, err
	}
	if err := countGuess(r.Context(), d, by.UserID); err != nil {
		return nil, err
	}
	if err := d.Accounts.ConfirmMFA(r.Context(), by, *in.TOTP, clientIP(r)); err != nil {
		return nil, err
	}
	settle(r.Context(), d.ReadModel)
	return mfaSetup{Method: user.MFATOTP}, nil
}

// chooseMFA offers a second factor, or drops the one there is.
func chooseMFA(d Deps, r *http.Request, by sessions.Session, in mfaBody) (any, error) {
	if in.Method == nil {
		return nil, missing("method")
	}
	if *in.Method != user.MFATOTP && *in.Method != user.MFANone {
		return nil, domain.Invalid(domain.FieldError{Field: "method", Message: "must be totp or none"})
	}
	password, err := currentPassword(d, r, in.CurrentPassword)
	if err != nil {
		return nil, err
	}
	var offer accounts.MFASetup
	if *in.Method == user.MFATOTP {
		offer, err = d.Accounts.OfferMFA(r.Context(), by, password)
	} else {
		offer.Method, err = user.MFANone, d.Accounts.DropMFA(r.Context(), by, password)
	}
	if err != nil {
		return nil, err
	}
	settle(r.Context(), d.ReadModel)
	return mfaSetup(offer), nil
}
