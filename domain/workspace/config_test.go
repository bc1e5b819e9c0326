package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

func configOf(t *testing.T, text string) *document.Map {
	t.Helper()
	v, err := document.ReadJSON([]byte(text), document.FileLimits)
	require.NoError(t, err)
	return v.(*document.Map)
}

const secretSchema = `"schema":{"key":{"type":"string","secret":true},"plain":{"type":"string"},` +
	`"mail":{"type":"object","properties":{"password":{"type":"string","secret":true},"host":{"type":"string"}}}}`

func TestSecretSettingsAreMasked(t *testing.T) {
	shown := func(value string) string {
		body, err := document.JSON(workspace.HideSecrets(configOf(t, `{`+secretSchema+`,"value":`+value+`}`)))
		require.NoError(t, err)
		return string(body)
	}
	require.JSONEq(t, `{`+secretSchema+`,"value":{"plain":"a","key":"********","mail":{"host":"h","password":"********"}}}`,
		shown(`{"plain":"a","key":"hunter2","mail":{"host":"h","password":"hunter3"}}`))
	require.JSONEq(t, `{`+secretSchema+`,"value":{"key":"{{secret.k}}","mail":{"password":""}}}`, shown(`{"key":"{{secret.k}}","mail":{"password":""}}`))
	require.JSONEq(t, `{`+secretSchema+`,"value":{"key":"********","mail":"text"}}`, shown(`{"key":12,"mail":"text"}`), "a value that does not fit its schema is no less secret")
	require.Nil(t, workspace.HideSecrets(nil))
}

func TestASecretReferenceIsNothingElse(t *testing.T) {
	for text, want := range map[string]bool{
		"{{secret.a}}": true, "{{ secret.a-b.c_1 }}": true, "{{secret.}}": false, "x{{secret.a}}": false, "{{secret.a}}x": false,
		"{{config.a}}": false, "secret.a": false, "{{secret.a}}{{secret.b}}": false, "{{secret.a b}}": false, "": false,
	} {
		require.Equal(t, want, workspace.IsSecretReference(text), text)
	}
}

func TestASecretSettingIsNotStored(t *testing.T) {
	made := workspace.Created{Workspace: workspace.Snapshot{ID: "w1", Settings: workspace.Settings{
		Name: "Shop", Config: configOf(t, `{`+secretSchema+`,"value":{"key":"{{secret.k}}","mail":{"password":"imported"}}}`),
	}}}
	state := workspace.Decider.Fold(workspace.State{}, made)
	configured := func(config string) (string, error) {
		events, err := workspace.Decider.Decide(state, workspace.Update{Patch: document.MapOf(document.Pair{Key: "config", Value: configOf(t, config)})})
		if err != nil || len(events) == 0 {
			return "", err
		}
		body, err := document.JSON(events[0].(workspace.Configured).Workspace.Settings.Config)
		require.NoError(t, err)
		return string(body), nil
	}
	stored, err := configured(`{` + secretSchema + `,"value":{"plain":"b","key":"********","mail":{"password":"********"}}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{`+secretSchema+`,"value":{"plain":"b","key":"{{secret.k}}","mail":{"password":"imported"}}}`, stored, "the mask keeps what is there")

	_, err = configured(`{` + secretSchema + `,"value":{"key":"hunter2","mail":{"password":"hunter3"}}}`)
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	require.NotContains(t, err.Error(), "hunter")
	refusal := err.(*domain.Error) //nolint:errorlint // decisions return it unwrapped
	require.Equal(t, "config.value.key", refusal.Details["errors"].([]domain.FieldError)[0].Field)
	require.Equal(t, "config.value.mail.password", refusal.Details["errors"].([]domain.FieldError)[1].Field)

	_, err = workspace.Decider.Decide(workspace.State{}, workspace.Create{ID: "w2", Settings: workspace.Settings{
		Name: "New", Config: configOf(t, `{`+secretSchema+`,"value":{"key":"hunter2"}}`),
	}})
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))

	fresh, err := workspace.Decider.Decide(workspace.State{}, workspace.Create{ID: "w2", Settings: workspace.Settings{
		Name: "New", Config: configOf(t, `{`+secretSchema+`,"value":{"key":"********","plain":"a"}}`),
	}})
	require.NoError(t, err)
	body, err := document.JSON(fresh[0].(workspace.Created).Workspace.Settings.Config)
	require.NoError(t, err)
	require.JSONEq(t, `{`+secretSchema+`,"value":{"plain":"a"}}`, string(body), "the mask of nothing is nothing")
}
