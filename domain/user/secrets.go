package user

import (
	"bytes"

	"svc/domain"
)

func changePassword(s State, c ChangePassword) ([]domain.Event, error) {
	if s.Credentials.Password != c.Was {
		return nil, domain.Refuse(domain.CodeInvalidCredentials, "the password was changed meanwhile")
	}
	return updated(s, withPassword(s, c.Password))
}

func resetPassword(s State, c ResetPassword) ([]domain.Event, error) {
	if s.Email == "" || s.Email != c.Email || s.Credentials.Fingerprint() != c.Was || s.Status == Deactivated {
		return nil, spent()
	}
	next, taken := s, !s.Credentials.EmailProven
	if taken {
		next = disowned(next)
	}
	next, err := tidy(proven(withPassword(next, c.Password), c.Validate))
	if err != nil {
		return nil, err
	}
	return []domain.Event{PasswordReset{Email: s.Email, IP: c.IP, User: next.User, Credentials: next.Credentials, Disowned: taken}}, nil
}

func proveEmail(s State, c ProveEmail) ([]domain.Event, error) {
	if s.Email == "" || s.Email != c.Email || s.Status == Deactivated {
		return nil, spent()
	}
	return updated(s, proven(s, c.Validate))
}

// spent is the answer to a mail token that does not fit the account any more.
func spent() error {
	return domain.Invalid(domain.FieldError{Field: "token", Message: "is unknown, used or expired"})
}

// proven returns s with an address that somebody showed to own.
func proven(s State, validate bool) State {
	s.Credentials.EmailProven, s.Credentials.EmailVouched = true, false
	if validate && s.Status == Pending {
		s.Status = Validated
	}
	return s
}

func claim(s State, c Claim) ([]domain.Event, error) {
	if s.Email == "" {
		return nil, domain.Refuse(domain.CodeConflict, "an account without a mail address cannot be claimed")
	}
	next, taken := s, false
	if c.Password != "" {
		taken = !s.Credentials.EmailProven
		if taken {
			next = disowned(next)
		}
		next = withPassword(withoutTOTP(next), c.Password)
	}
	next = proven(next, true)
	next.Status = Validated
	return owned(s, next, taken)
}

func link(s State, c Link) ([]domain.Event, error) {
	if s.Email == "" || s.Email != c.Email || s.Status == Deactivated {
		return nil, domain.Refuse(domain.CodeInvalidCredentials, "this account cannot be used")
	}
	if have, ok := s.AuthData[c.Provider]; ok && have.ID != c.Identity.ID {
		return nil, domain.Refuse(domain.CodePermissionDenied, "the account with this mail address belongs to another identity of this provider").
			Reason("identity_conflict")
	}
	next, taken := s, !s.Credentials.EmailProven
	if taken {
		next = disowned(next)
	}
	return owned(s, withIdentity(proven(next, true), c.Provider, c.Identity), taken)
}

// owned is updated, and tells whether the account has changed hands.
func owned(s, next State, taken bool) ([]domain.Event, error) {
	events, err := updated(s, next)
	if len(events) == 1 && taken {
		e := events[0].(Updated)
		e.Disowned = true
		events[0] = e
	}
	return events, err
}

func offerTOTP(s State, c OfferTOTP) ([]domain.Event, error) {
	next := s
	next.Credentials.OfferedTOTP = c.Sealed
	return updated(s, next)
}

func confirmTOTP(s State, c ConfirmTOTP) ([]domain.Event, error) {
	if len(c.Sealed) == 0 || !bytes.Equal(s.Credentials.OfferedTOTP, c.Sealed) {
		return nil, domain.Refuse(domain.CodeConflict, "another second factor is being set up").Reason("stale")
	}
	next := s
	next.MFA = MFATOTP
	next.Credentials.TOTP, next.Credentials.OfferedTOTP, next.Credentials.TOTPStep = c.Sealed, nil, c.Step
	return updated(s, next)
}

func withoutTOTP(s State) State {
	s.MFA = MFANone
	s.Credentials.TOTP, s.Credentials.OfferedTOTP, s.Credentials.TOTPStep = nil, nil, 0
	return s
}

func resealTOTP(s State, c ResealTOTP) ([]domain.Event, error) {
	next := s
	for _, kept := range []*[]byte{&next.Credentials.TOTP, &next.Credentials.OfferedTOTP} {
		if len(*kept) > 0 && bytes.Equal(*kept, c.Was) {
			*kept = c.Sealed
		}
	}
	return updated(s, next)
}

func useCode(s State, c UseCode) ([]domain.Event, error) {
	if s.MFA != MFATOTP {
		return nil, domain.Refuse(domain.CodeNotFound, "this account has no second factor").With("resource", "mfa")
	}
	if c.Step <= s.Credentials.TOTPStep {
		return nil, domain.Refuse(domain.CodeInvalidCredentials, "this code was used already")
	}
	return []domain.Event{CodeAccepted{UserID: s.ID, Email: s.Email, IP: c.IP, Step: c.Step}}, nil
}
