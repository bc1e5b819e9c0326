package api

import (
	"net/http"
	"strings"

	"svc/commands/accounts"
	"svc/http/gateway"
)

// signupBody is the body of POST /v2/signup.
type signupBody struct {
	Email     *string `json:"email"`
	Password  *string `json:"password"`
	FirstName *string `json:"firstName"`
	LastName  *string `json:"lastName"`
	Language  string  `json:"language"`
}

// signedUp is a new account, and how it becomes valid.
type signedUp struct {
	shownUser
	Validation string `json:"validation"`
}

// signUp handles POST /v2/signup.
func signUp(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in signupBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		err := needed(text{"email", in.Email}, text{"password", in.Password}, text{"firstName", in.FirstName}, text{"lastName", in.LastName})
		if err != nil {
			return nil, err
		}
		made, validation, err := d.Accounts.SignUp(r.Context(), accounts.SignUp{
			Email: *in.Email, Password: *in.Password, FirstName: *in.FirstName, LastName: *in.LastName, Language: in.Language, IP: clientIP(r),
		})
		if err != nil {
			return nil, err
		}
		place := strings.TrimSuffix(strings.TrimRight(r.URL.Path, "/"), "signup") + "users/" + made.ID
		return gateway.Created(signedUp{userAfter(d, r, made), validation}, place), nil
	}
}

// passwordBody is the body of POST /v2/user/password. It has one of three forms,
// told apart by their first field.
type passwordBody struct {
	Email           *string `json:"email"`
	Language        *string `json:"language"` // of the mail
	Token           *string `json:"token"`
	CurrentPassword *string `json:"currentPassword"`
	Password        *string `json:"password"`
}

// setPassword handles POST /v2/user/password.
func setPassword(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in passwordBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		var err error
		switch {
		case in.Email != nil:
			err = unfitting("email", text{"token", in.Token}, text{"currentPassword", in.CurrentPassword}, text{"password", in.Password})
			if err == nil {
				err = d.Accounts.RequestReset(r.Context(), *in.Email, clientIP(r))
			}
		case in.Token != nil:
			err = resetPassword(d, r, in)
		case in.CurrentPassword != nil:
			err = changePassword(d, r, in)
		default:
			err = missing("email")
		}
		settle(r.Context(), d.ReadModel)
		return succeeded, err
	}
}

// resetPassword uses the link of a mail.
func resetPassword(d Deps, r *http.Request, in passwordBody) error {
	err := unfitting("token", text{"language", in.Language}, text{"currentPassword", in.CurrentPassword})
	if err == nil && in.Password == nil {
		err = missing("password")
	}
	if err != nil {
		return err
	}
	return d.Accounts.Reset(r.Context(), *in.Token, *in.Password, clientIP(r))
}

// changePassword replaces the password of whoever is signed in and knows it.
func changePassword(d Deps, r *http.Request, in passwordBody) error {
	caller := gateway.CallerFrom(r.Context())
	if err := mustHaveSession(caller); err != nil {
		return err
	}
	if err := unfitting("currentPassword", text{"language", in.Language}); err != nil {
		return err
	}
	if in.Password == nil {
		return missing("password")
	}
	by, err := callerSession(d, r)
	if err != nil {
		return err
	}
	if err := countGuess(r.Context(), d, caller.UserID); err != nil {
		return err
	}
	return d.Accounts.ChangePassword(r.Context(), by, *in.CurrentPassword, *in.Password)
}

// validateUser handles POST /v2/user/validate.
func validateUser(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in struct {
			Email *string `json:"email"`
			Token *string `json:"token"`
		}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		var err error
		switch {
		case in.Email != nil && in.Token != nil:
			err = unfitting("email", text{"token", in.Token})
		case in.Email != nil:
			err = d.Accounts.RequestValidation(r.Context(), *in.Email)
		case in.Token != nil:
			err = d.Accounts.Validate(r.Context(), *in.Token)
		default:
			err = missing("email")
		}
		settle(r.Context(), d.ReadModel)
		return succeeded, err
	}
}
