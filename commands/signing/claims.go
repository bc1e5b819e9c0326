package signing

import (
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Claims are what a token says of whoever holds it.
type Claims struct {
	SessionID string // svcSessionId
	ID        string // jti; made by Sign when empty
	Subject   string // sub, the user
	IssuedAt  time.Time
	ExpiresAt time.Time // zero, or later than allowed: as late as allowed
	Scope     string    // words divided by blanks; empty: not limited
	ClientID  string    // client_id
	Issuer    string    // default Options.Issuer
	Audience  []string  // default Options.Audience

	// Of the tokens that automations call the API with; see runtime.go.
	WorkspaceID   string // whose automation calls; without Subject: who calls
	CorrelationID string
	Depth         int    // automationDepth of what calls
	Role          string // the role of the workspace that is taken
	Visitor       bool   // nobody signed in: Subject is known by SessionID alone
	Narrow        bool   // it gives no rights in the workspace either; see Acting
}

// wire is the JSON form of Claims.
type wire struct {
	SessionID     string `json:"svcSessionId,omitempty"`
	Scope         string `json:"scope,omitempty"`
	ClientID      string `json:"client_id,omitempty"`
	WorkspaceID   string `json:"workspaceId,omitempty"`
	CorrelationID string `json:"correlationId,omitempty"`
	Depth         int    `json:"automationDepth,omitempty"`
	Role          string `json:"svcRole,omitempty"`
	Visitor       bool   `json:"svcVisitor,omitempty"`
	Narrow        bool   `json:"svcNarrow,omitempty"`
	jwt.RegisteredClaims
}

func (c Claims) wire() wire {
	return wire{
		SessionID: c.SessionID, Scope: c.Scope, ClientID: c.ClientID,
		WorkspaceID: c.WorkspaceID, CorrelationID: c.CorrelationID, Depth: c.Depth, Role: c.Role, Visitor: c.Visitor, Narrow: c.Narrow,
		RegisteredClaims: jwt.RegisteredClaims{
			ID: c.ID, Subject: c.Subject, Issuer: c.Issuer, Audience: c.Audience,
			IssuedAt: jwt.NewNumericDate(c.IssuedAt), ExpiresAt: jwt.NewNumericDate(c.ExpiresAt),
		},
	}
}

func (w wire) claims() Claims {
	return Claims{
		SessionID: w.SessionID, Scope: w.Scope, ClientID: w.ClientID,
		WorkspaceID: w.WorkspaceID, CorrelationID: w.CorrelationID, Depth: w.Depth, Role: w.Role, Visitor: w.Visitor, Narrow: w.Narrow,
		ID: w.ID, Subject: w.Subject, Issuer: w.Issuer, Audience: w.Audience,
		IssuedAt: timeOf(w.IssuedAt), ExpiresAt: timeOf(w.ExpiresAt),
	}
}

func timeOf(d *jwt.NumericDate) time.Time {
	if d == nil {
		return time.Time{}
	}
	return d.UTC()
}
