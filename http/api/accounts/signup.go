package accounts

import (
	"net/http"
	"strings"

	"svc/commands/accounts"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// signupRequest is the body of POST /v2/signup.
type signupRequest struct {
	Email     *string `json:"email"`
	Password  *string `json:"password"`
	FirstName *string `json:"firstName"`
	LastName  *string `json:"lastName"`
	Language  string  `json:"language"`
}

// signupResponse is a new account, and how it becomes valid.
type signupResponse struct {
	userResponse
	Validation string `json:"validation"`
}

// SignUp handles POST /v2/signup.
func (h *Handlers) SignUp(r *http.Request) (any, error) {
	var in signupRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	err := handler.RequireFields(handler.Text("email", in.Email), handler.Text("password", in.Password), handler.Text("firstName", in.FirstName), handler.Text("lastName", in.LastName))
	if err != nil {
		return nil, err
	}
	made, validation, err := h.Accounts.SignUp(r.Context(), accounts.SignUp{
		Email: *in.Email, Password: *in.Password, FirstName: *in.FirstName, LastName: *in.LastName, Language: in.Language, IP: clientIP(r),
	})
	if err != nil {
		return nil, err
	}
	location := strings.TrimSuffix(strings.TrimRight(r.URL.Path, "/"), "signup") + "users/" + made.ID
	return gateway.Created(signupResponse{h.savedUserResponse(r, made), validation}, location), nil
}

// passwordRequest is the body of POST /v2/user/password. It has one of three forms,
// told apart by their first field.
type passwordRequest struct {
	Email           *string `json:"email"`
	Language        *string `json:"language"` // of the mail
	Token           *string `json:"token"`
	CurrentPassword *string `json:"currentPassword"`
	Password        *string `json:"password"`
}

// SetPassword handles POST /v2/user/password.
func (h *Handlers) SetPassword(r *http.Request) (any, error) {
	var in passwordRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	var err error
	switch {
	case in.Email != nil:
		err = handler.RefuseFieldsWith("email", handler.Text("token", in.Token), handler.Text("currentPassword", in.CurrentPassword), handler.Text("password", in.Password))
		if err == nil {
			err = h.Accounts.RequestReset(r.Context(), *in.Email, clientIP(r))
		}
	case in.Token != nil:
		err = h.resetPassword(r, in)
	case in.CurrentPassword != nil:
		err = h.changePassword(r, in)
	default:
		err = handler.MissingField("email")
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.Success, err
}

// resetPassword uses the link of a mail.
func (h *Handlers) resetPassword(r *http.Request, in passwordRequest) error {
	err := handler.RefuseFieldsWith("token", handler.Text("language", in.Language), handler.Text("currentPassword", in.CurrentPassword))
	if err == nil && in.Password == nil {
		err = handler.MissingField("password")
	}
	if err != nil {
		return err
	}
	return h.Accounts.Reset(r.Context(), *in.Token, *in.Password, clientIP(r))
}

// changePassword replaces the password of whoever is signed in and knows it.
func (h *Handlers) changePassword(r *http.Request, in passwordRequest) error {
	caller := gateway.CallerFrom(r.Context())
	if err := checkSession(caller); err != nil {
		return err
	}
	if err := handler.RefuseFieldsWith("currentPassword", handler.Text("language", in.Language)); err != nil {
		return err
	}
	if in.Password == nil {
		return handler.MissingField("password")
	}
	by, err := h.callerSession(r)
	if err != nil {
		return err
	}
	if err := h.limitAttempts(r.Context(), caller.UserID); err != nil {
		return err
	}
	return h.Accounts.ChangePassword(r.Context(), by, *in.CurrentPassword, *in.Password)
}

// ValidateUser handles POST /v2/user/validate.
func (h *Handlers) ValidateUser(r *http.Request) (any, error) {
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
		err = handler.RefuseFieldsWith("email", handler.Text("token", in.Token))
	case in.Email != nil:
		err = h.Accounts.RequestValidation(r.Context(), *in.Email)
	case in.Token != nil:
		err = h.Accounts.Validate(r.Context(), *in.Token)
	default:
		err = handler.MissingField("email")
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.Success, err
}
