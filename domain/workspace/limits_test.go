package workspace_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// many are n documents in a folder, with slugs of a length.
func many(folder string, n, length int) (entries []workspace.Entry) {
	for i := range n {
		slug := fmt.Sprintf("%05d", i)
		entries = append(entries, workspace.Entry{Path: folder + "/" + slug + strings.Repeat("x", max(0, length-len(slug))), Hash: "h"})
	}
	return entries
}

// One step is one transaction of the read models: what is too much for one must
// be refused before it is recorded, or nothing could be read any more.
func TestWhatOneStepMayChange(t *testing.T) {
	replace := func(s workspace.State, entries []workspace.Entry, deleted []string) error {
		_, err := workspace.Decider.Decide(s, workspace.Replace{
			Switch: workspace.Switch{Entries: entries, Deleted: deleted}, Import: &workspace.Import{},
		})
		return err
	}
	empty := fold(owned()...)
	require.NoError(t, replace(empty, many("pages", workspace.MaxDocuments, 30), nil))
	require.Equal(t, domain.CodeValidation, domain.CodeOf(replace(empty, many("pages", workspace.MaxDocuments+1, 30), nil)))
	require.Equal(t, domain.CodeValidation, domain.CodeOf(replace(empty, many("imports", workspace.MaxInstances+1, 30), nil)))

	full := fold(append(owned(), workspace.Imported{Switch: workspace.Switch{Entries: many("pages", workspace.MaxDocuments, 125)}})...)
	all := slices.Collect(full.Items.Paths())
	require.NoError(t, replace(full, many("automations", workspace.MaxDocuments, 30), all), "all others in place of them")
	require.Equal(t, domain.CodeValidation, domain.CodeOf(replace(full, many("automations", workspace.MaxDocuments, 125), all)))
	_, err := workspace.Decider.Decide(full, workspace.Save{Entry: entry("pages/one-more", "x"), Create: true})
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	_, err = workspace.Decider.Decide(full, workspace.Save{Entry: workspace.Entry{Path: all[0], Hash: "other"}})
	require.NoError(t, err, "what is there can still be changed")
}

func TestAFieldThatMeansNothingHasAShortName(t *testing.T) {
	settings, err := workspace.FromIndex(document.MapOf(document.Pair{Key: "name", Value: "Shop"}, document.Pair{Key: strings.Repeat("k", 70_000), Value: "v"}))
	require.NoError(t, err)
	_, err = workspace.Decider.Decide(workspace.State{}, create(settings))
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
}

func TestCredentialsOfRepositoriesAreReferencesOrSealed(t *testing.T) {
	repository := func(url string, auth ...document.Pair) workspace.Command {
		config := document.MapOf(document.Pair{Key: "url", Value: url}, document.Pair{Key: "auth", Value: document.MapOf(auth...)})
		return patch(document.Pair{Key: "repositories", Value: document.MapOf(document.Pair{
			Key: "origin", Value: document.MapOf(document.Pair{Key: "name", Value: "Origin"}, document.Pair{Key: "config", Value: config}),
		})})
	}
	sealed := repository("https://example.com/r.git", document.Pair{Key: "password", Value: workspace.Mask}).(workspace.Update)
	sealed.Credentials = map[string][]byte{"origin/password": []byte("sealed")}
	other := sealed
	other.Credentials = map[string][]byte{"origin/sshkey": []byte("sealed")}
	for name, c := range map[string]struct {
		when   workspace.Command
		refuse domain.Code
	}{
		"a reference":               {repository("https://example.com/r.git", document.Pair{Key: "password", Value: "{{secret.GIT}}"}), domain.CodeNone},
		"a password":                {repository("https://example.com/r.git", document.Pair{Key: "password", Value: "S3CRET"}), domain.CodeValidation},
		"a key":                     {repository("ssh://git@example.com/r.git", document.Pair{Key: "sshkey", Value: "-----BEGIN"}), domain.CodeValidation},
		"a user in an SSH address":  {repository("ssh://git@example.com/r.git"), domain.CodeNone},
		"a password for SSH":        {repository("ssh://git:S3CRET@example.com/r.git"), domain.CodeValidation},
		"a mask of what is sealed":  {sealed, domain.CodeNone},
		"a mask of something else":  {other, domain.CodeValidation},
		"a mask of nothing":         {repository("https://example.com/r.git", document.Pair{Key: "password", Value: workspace.Mask}), domain.CodeValidation},
		"a password in the address": {repository("https://me:S3CRET@example.com/r.git"), domain.CodeValidation},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := workspace.Decider.Decide(fold(owned()...), c.when)
			require.Equal(t, c.refuse, domain.CodeOf(err), "%v", err)
			if err != nil {
				require.NotContains(t, err.Error(), "S3CRET")
				return
			}
			ev := events[0].(workspace.Updated)
			require.True(t, ev.Aside, "it is no content")
			payload, err := json.Marshal(ev.Payload())
			require.NoError(t, err)
			require.NotContains(t, string(payload), "sealed")
		})
	}
}

func TestSettingsHaveOnlySoManyOfAKind(t *testing.T) {
	mapping := func(n int) *document.Map {
		m := document.MapOf()
		for i := range n {
			m.Set(fmt.Sprintf("k%d", i), document.MapOf())
		}
		return m
	}
	words := func(n int, format string) (all []any) {
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return all
	}
	for field, values := range map[string][2]any{
		"blocks":        {mapping(1000), mapping(1001)},
		"labels":        {words(100, "l%d"), words(101, "l%d")},
		"customDomains": {words(100, "d%d.example.com"), words(101, "d%d.example.com")},
	} {
		state := fold(owned()...)
		_, err := workspace.Decider.Decide(state, patch(document.Pair{Key: field, Value: values[0]}))
		require.NoError(t, err, field)
		_, err = workspace.Decider.Decide(state, patch(document.Pair{Key: field, Value: values[1]}))
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), field)
	}
}

func TestWhatAStepCannotTakeIsNotPutDown(t *testing.T) {
	state := fold(owned()...)
	_, err := workspace.Decider.Decide(state, workspace.Stage{Name: "s", Entries: many("imports", workspace.MaxInstances, 30)})
	require.NoError(t, err)
	state = fold(append(owned(), workspace.Staged{Name: "s", Entries: many("imports", workspace.MaxInstances, 30)})...)
	_, err = workspace.Decider.Decide(state, workspace.Stage{Name: "s", More: true, Entries: many("imports", 1, 30)})
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	_, err = workspace.Decider.Decide(state, workspace.Stage{Name: "other", Entries: many("pages", workspace.MaxDocuments+2, 30)})
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
}
