package accesstoken_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/domaintest"
)

type scenario = domaintest.Scenario[accesstoken.State, accesstoken.Command]

var (
	noon    = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	created = accesstoken.Created{ID: "tok_1", Name: "ci", UserID: "u1", ExpiresAt: "2025-03-01T13:00:00.000Z", Hash: "abc"}
	deleted = accesstoken.Deleted{ID: "tok_1", Name: "ci", UserID: "u1", ExpiresAt: "2025-03-01T13:00:00.000Z"}
	made    = []domain.Event{created}
)

func create(name string, at time.Time) accesstoken.Create {
	return accesstoken.Create{ID: "tok_1", UserID: "u1", Name: name, Hash: "abc", ExpiresAt: at, Now: noon}
}

func TestAccessToken(t *testing.T) {
	later := noon.Add(time.Hour)
	for name, sc := range map[string]scenario{
		"a token is made with its expiry": {
			When: create("ci", later), Then: made,
		},
		"an offset is told in UTC": {
			When: create("ci", later.In(time.FixedZone("", 3600))), Then: made,
		},
		"a token is made once": {
			Given: made, When: create("other", later),
		},
		"a token needs a name": {
			When: create(" ", later), Refuse: domain.CodeValidation,
		},
		"a name is at most a hundred characters": {
			When: create(strings.Repeat("é", 101), later), Refuse: domain.CodeValidation,
		},
		"a name is one line": {
			When: create("a\nb", later), Refuse: domain.CodeValidation,
		},
		"a token that has ended is not made": {
			When: create("ci", noon), Refuse: domain.CodeValidation,
		},
		"a token without an end is not made": {
			When: create("ci", time.Time{}), Refuse: domain.CodeValidation,
		},
		"its user deletes it": {
			Given: made, When: accesstoken.Delete{UserID: "u1"}, Then: []domain.Event{deleted},
		},
		"its user deletes it by its value": {
			Given: made, When: accesstoken.Delete{UserID: "u1", Hash: "abc"}, Then: []domain.Event{deleted},
		},
		"another value is another token": {
			Given: made, When: accesstoken.Delete{UserID: "u1", Hash: "abd"}, Refuse: domain.CodeNotFound,
		},
		"nobody else knows it": {
			Given: made, When: accesstoken.Delete{UserID: "u2"}, Refuse: domain.CodeNotFound,
		},
		"it is deleted once": {
			Given: []domain.Event{created, deleted}, When: accesstoken.Delete{UserID: "u1"}, Refuse: domain.CodeNotFound,
		},
		"what was deleted is not made again": {
			Given: []domain.Event{created, deleted}, When: create("ci", later),
		},
		"an unknown command is the operator's fault": {
			Refuse: domain.CodeInternal,
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, accesstoken.Decider) })
	}
}

func TestBothFaultsOfATokenAreNamed(t *testing.T) {
	_, err := accesstoken.Decider.Decide(accesstoken.State{}, create("", noon))
	require.ErrorContains(t, err, "2 fields")
}

func TestAnExpiryIsATime(t *testing.T) {
	at, err := accesstoken.ParseExpiry("2025-03-01T14:00:00+01:00")
	require.NoError(t, err)
	require.True(t, at.Equal(noon.Add(time.Hour)))
	for _, bad := range []string{"", "tomorrow", "2025-03-01", "2025-13-01T00:00:00Z", "1740830400", "9999-12-31T23:59:59-12:00"} {
		_, err := accesstoken.ParseExpiry(bad)
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), "%q", bad)
		require.ErrorContains(t, err, "expiresAt")
	}
}

func TestThePayloadHasNoHash(t *testing.T) {
	body, err := json.Marshal(created.Payload())
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"tok_1","name":"ci","userId":"u1","expiresAt":"2025-03-01T13:00:00.000Z"}`, string(body))
}

func TestAStateSurvivesItsOwnJSON(t *testing.T) {
	s := accesstoken.Decider.Fold(accesstoken.State{}, created)
	require.Equal(t, noon.Add(time.Hour), s.ExpiresAt)
	body, err := json.Marshal(s)
	require.NoError(t, err)
	var again accesstoken.State
	require.NoError(t, json.Unmarshal(body, &again))
	require.Equal(t, s, again)
	require.True(t, accesstoken.Created{ExpiresAt: "x"}.Expiry().IsZero())
	require.Equal(t, domain.StreamID{Scope: domain.Platform, Kind: "accessToken", ID: "x"}, accesstoken.Stream("x"))
}
