package session_test

import (
	"testing"
	"time"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/session"
)

func TestASessionEndsOnce(t *testing.T) {
	end := session.End{SessionID: "s1", UserID: "u1", Cause: session.CauseLogout, Expires: time.Unix(1, 0).UTC()}
	domaintest.Scenario[session.State, session.End]{
		When: end, Then: []domain.Event{session.Ended(end)},
	}.Check(t, session.Decider)
	domaintest.Scenario[session.State, session.End]{
		Given: []domain.Event{session.Ended(end)}, When: end,
	}.Check(t, session.Decider)
}
