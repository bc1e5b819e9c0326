package user

import "encoding/json"

// Command is what can be asked of a user.
type Command interface{ userCommand() }

type (
	// Look asks for nothing: whoever executes it learns the latest state.
	Look struct{}
	// SignUp makes the account that somebody asked for themselves.
	SignUp struct {
		ID, Email, FirstName, LastName, Language string
		Password                                 string // hash
		Status                                   Status
		IP                                       string
	}
	// Create makes an account otherwise. An id is used once: creating it again
	// does nothing, also after it was deleted.
	Create struct {
		ID, Email, FirstName, LastName, Photo, Language string
		EmailProven                                     bool
		Groups                                          []string
		Status                                          Status
		Password                                        string   // hash; "": none
		Provider                                        string   // of Identity
		Identity                                        Identity // ID defaults to that of the user
	}
	// Change replaces what its non-nil fields name.
	Change struct {
		FirstName, LastName, Photo, Language *string
		Meta                                 *map[string]json.RawMessage
		Email                                *string
		Status                               *Status
		Groups                               *[]string
		Password                             *string // hash
		DropTOTP                             bool
	}
	// MergeMeta sets keys of the meta data; null removes one.
	MergeMeta struct{ Values map[string]json.RawMessage }
	// Delete ends the account for ever. What belongs to it elsewhere stays.
	Delete struct{}

	// ChangePassword replaces the password whose hash is Was.
	ChangePassword struct{ Was, Password string }
	// ResetPassword sets the password of whoever got a mail at Email, when the
	// password had the fingerprint Was. Validate also ends a pending state.
	ResetPassword struct {
		Email, Was, Password, IP string
		Validate                 bool
	}
	// ProveEmail notes that somebody got a mail at Email. Validate also ends a
	// pending state.
	ProveEmail struct {
		Email    string
		Validate bool
	}
	// Claim gives the account to the operator of the host: it is valid and owns
	// its address. Password, when set, is a new one.
	Claim struct{ Password string }
	// Link adds the identity of a provider that vouches for Email.
	Link struct {
		Provider string
		Identity Identity
		Email    string
	}

	// OfferTOTP keeps a sealed secret until a code confirms it.
	OfferTOTP struct{ Sealed []byte }
	// ConfirmTOTP makes the offered secret count, with the step of its first code.
	ConfirmTOTP struct {
		Sealed []byte
		Step   int64
	}
	// DropTOTP removes the second factor.
	DropTOTP struct{}
	// ResealTOTP replaces sealed secrets by the same ones under another key: Was
	// and Sealed are those of the second factor, or of the offered one.
	ResealTOTP struct{ Was, Sealed []byte }
	// UseCode spends the code of a step. Each step is spent once.
	UseCode struct {
		Step int64
		IP   string
	}
)

func (Look) userCommand()           {}
func (SignUp) userCommand()         {}
func (Create) userCommand()         {}
func (Change) userCommand()         {}
func (MergeMeta) userCommand()      {}
func (Delete) userCommand()         {}
func (ChangePassword) userCommand() {}
func (ResetPassword) userCommand()  {}
func (ProveEmail) userCommand()     {}
func (Claim) userCommand()          {}
func (Link) userCommand()           {}
func (OfferTOTP) userCommand()      {}
func (ConfirmTOTP) userCommand()    {}
func (DropTOTP) userCommand()       {}
func (ResealTOTP) userCommand()     {}
func (UseCode) userCommand()        {}
