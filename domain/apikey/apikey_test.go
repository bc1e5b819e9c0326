package apikey_test

import (
	"testing"
	"time"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/apikey"
	"svc/domain/domaintest"
)

func TestAPIKeys(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	rules := []access.KeyRule{{Action: []string{"create"}, Subject: "files", Conditions: map[string]any{"workspaceId": "w1"}}}
	terms := apikey.Terms{Name: "Uploader", Rules: rules}
	order := apikey.Create{ID: "key_1", WorkspaceID: "w1", Hash: "h", Last4: "abcd", Terms: terms, Now: now}
	shown := apikey.Summary{ID: "key_1", Name: "Uploader", Last4: "abcd", SubjectType: "workspaces", SubjectID: "w1", Rules: rules}
	made := apikey.Created{Summary: shown, Hash: "h"}
	disabled := terms
	disabled.Disabled = true
	for name, sc := range map[string]domaintest.Scenario[apikey.State, apikey.Command]{
		"a key is made":                       {When: order, Then: []domain.Event{made}},
		"an id is used once":                  {Given: []domain.Event{made}, When: order},
		"a key needs a name":                  {When: apikey.Create{ID: "key_1", Terms: apikey.Terms{Rules: rules}, Now: now}, Refuse: domain.CodeValidation},
		"a key needs rules":                   {When: apikey.Create{ID: "key_1", Terms: apikey.Terms{Name: "x"}, Now: now}, Refuse: domain.CodeValidation},
		"a key does not end before it begins": {When: apikey.Create{ID: "key_1", Terms: apikey.Terms{Name: "x", Rules: rules, ExpiresAt: now}, Now: now}, Refuse: domain.CodeValidation},
		"a key is disabled": {
			Given: []domain.Event{made}, When: apikey.Change{Terms: disabled, Now: now},
			Then: []domain.Event{apikey.Updated{Summary: shown, Disabled: true}},
		},
		"the same terms are no event":      {Given: []domain.Event{made}, When: apikey.Change{Terms: terms, Now: now}},
		"a key is revoked":                 {Given: []domain.Event{made}, When: apikey.Delete{}, Then: []domain.Event{apikey.Deleted{Summary: shown}}},
		"a key is revoked once":            {Given: []domain.Event{made, apikey.Deleted{Summary: shown}}, When: apikey.Delete{}, Refuse: domain.CodeNotFound},
		"a revoked key stays so":           {Given: []domain.Event{made, apikey.Deleted{Summary: shown}}, When: apikey.Change{Terms: disabled, Now: now}, Refuse: domain.CodeNotFound},
		"what is not there is not changed": {When: apikey.Change{Terms: disabled, Now: now}, Refuse: domain.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, apikey.Decider) })
	}
}
