package workspace_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
)

// entry is a document that says which it is.
func entry(path, text string) workspace.Entry {
	body, err := document.JSON(document.MapOf(document.Pair{Key: "name", Value: text}))
	if err != nil {
		panic(err)
	}
	return workspace.Entry{Path: path, Hash: workspace.HashOf(body), Checksum: "sha256:" + text, Body: body}
}

func endpoint(e workspace.Entry, path string) workspace.Entry {
	e.Endpoint = path
	return e
}

func TestDocuments(t *testing.T) {
	charge := entry("automations/charge", "one")
	charged := append(owned(), workspace.AutomationCreated{Entry: charge})
	home := entry("pages/home", "one")
	home.ID = "page001"
	homely := append(owned(), workspace.PageCreated{Entry: home})
	renamed := entry("automations/bill", "one")
	renamed.From = "automations/charge"
	moved := entry("pages/home", "two")
	moved.ID = home.ID
	for name, sc := range map[string]scenario{
		"a new automation is created": {
			Given: owned(), When: workspace.Save{Entry: charge, Create: true}, Then: []domain.Event{workspace.AutomationCreated{Entry: charge}},
		},
		"a slug is used once": {
			Given: charged, When: workspace.Save{Entry: charge, Create: true}, Refuse: domain.CodeAlreadyExists,
		},
		"slugs that differ in case only are one to some file systems": {
			Given: charged, When: workspace.Save{Entry: entry("automations/Charge", "x"), Create: true}, Refuse: domain.CodeAlreadyExists,
		},
		"an automation and a page may share a slug": {
			Given: charged, When: workspace.Save{Entry: entry("pages/charge", "x"), Create: true},
			Then: []domain.Event{workspace.PageCreated{Entry: entry("pages/charge", "x")}},
		},
		"an endpoint is answered by one automation": {
			Given:  append(owned(), workspace.AutomationCreated{Entry: endpoint(charge, "pay/:id")}),
			When:   workspace.Save{Entry: endpoint(entry("automations/other", "x"), "pay/:id"), Create: true},
			Refuse: domain.CodeAlreadyExists,
		},
		"what is there is replaced": {
			Given: charged, When: workspace.Save{Entry: entry("automations/charge", "two")},
			Then: []domain.Event{workspace.AutomationUpdated{Entry: entry("automations/charge", "two")}},
		},
		"the same document again is no event": {
			Given: charged, When: workspace.Save{Entry: charge},
		},
		"what is not there is not replaced": {
			Given: owned(), When: workspace.Save{Entry: charge}, Refuse: domain.CodeNotFound,
		},
		"a document is renamed": {
			Given: charged, When: workspace.Save{Entry: renamed}, Then: []domain.Event{workspace.AutomationUpdated{Entry: renamed}},
		},
		"nothing is renamed over another": {
			Given:  append(charged[:len(charged):len(charged)], workspace.AutomationCreated{Entry: entry("automations/bill", "b")}),
			When:   workspace.Save{Entry: renamed},
			Refuse: domain.CodeAlreadyExists,
		},
		"what is not there is not renamed": {
			Given: owned(), When: workspace.Save{Entry: renamed}, Refuse: domain.CodeNotFound,
		},
		"a page keeps its id": {
			Given: homely, When: workspace.Save{Entry: entry("pages/home", "two")}, Then: []domain.Event{workspace.PageUpdated{Entry: moved}},
		},
		"an app instance is installed": {
			Given: owned(), When: workspace.Save{Entry: entry("imports/mail", "x"), Create: true},
			Then: []domain.Event{workspace.Installed{Entry: entry("imports/mail", "x")}},
		},
		"a document is deleted": {
			Given: charged, When: workspace.Remove{Path: "automations/charge"}, Then: []domain.Event{workspace.AutomationDeleted{Slug: "charge"}},
		},
		"what is not there is not deleted": {
			Given: owned(), When: workspace.Remove{Path: "pages/none"}, Refuse: domain.CodeNotFound,
		},
		"what was deleted may come again": {
			Given: append(charged[:len(charged):len(charged)], workspace.AutomationDeleted{Slug: "charge"}),
			When:  workspace.Save{Entry: charge, Create: true}, Then: []domain.Event{workspace.AutomationCreated{Entry: charge}},
		},
		"nothing is saved where there is no workspace": {
			When: workspace.Save{Entry: charge, Create: true}, Refuse: domain.CodeNotFound,
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, workspace.Decider) })
	}
}

func fold(events ...domain.Event) workspace.State {
	return workspace.Decider.Fold(workspace.State{}, events...)
}

// Two revisions of documents are never the same, deleted ones included: an ETag
// that somebody still has must not fit what came after.
func TestRevisionsAreNeverUsedAgain(t *testing.T) {
	first := fold(append(owned(), workspace.AutomationCreated{Entry: entry("automations/a", "1")})...)
	again := workspace.Decider.Fold(first, workspace.AutomationDeleted{Slug: "a"}, workspace.AutomationCreated{Entry: entry("automations/a", "1")})
	require.Greater(t, again.Items.At("automations/a").Revision, first.Items.At("automations/a").Revision)
	require.Equal(t, 1, first.Items.Len(), "a state is never changed, only replaced")
}

func TestARenamedPageKeepsItsShares(t *testing.T) {
	home := entry("pages/home", "one")
	home.ID = "page001"
	bob := user("bob", "editor")
	moved := entry("pages/start", "one")
	moved.From, moved.ID = "pages/home", "page001"
	s := fold(append(owned(), workspace.PageCreated{Entry: home},
		workspace.PageShared{DocumentShare: workspace.DocumentShare{SubjectID: "page001", Path: "pages/home", Target: bob.Target, Permissions: bob.Permissions}},
		workspace.PageUpdated{Entry: moved})...)
	require.Equal(t, []access.Share{bob}, s.Items.At("pages/start").SharesOf("pages"))
	require.False(t, s.Items.Has("pages/home"))
	require.Equal(t, "pages/start", s.PathOf("page001"))
}

func TestSharingAPageWithEveryoneIsContent(t *testing.T) {
	home := entry("pages/home", "one")
	home.ID = "page001"
	public := entry("pages/home", "public")
	public.ID, public.Public = "page001", true
	given := append(owned(), workspace.PageCreated{Entry: home})
	then := workspace.PageShared{DocumentShare: workspace.DocumentShare{
		SubjectID: "page001", Path: "pages/home", Target: workspace.Everyone("pages").Target, Permissions: workspace.Everyone("pages").Permissions, Entry: &public,
	}}
	scenario{
		Given: given, When: workspace.ShareDocument{ID: "page001", Share: *workspace.Everyone("pages"), Entry: &public}, Then: []domain.Event{then},
	}.Check(t, workspace.Decider)
	_, content := workspace.DeltaOf(then)
	require.True(t, content)
	s := fold(append(given, then)...)
	require.True(t, s.Items.At("pages/home").Public)
	scenario{
		Given: append(given, then), When: workspace.Save{Entry: entry("pages/home", "x")}, Refuse: domain.CodeConflict,
	}.Check(t, workspace.Decider)
	scenario{
		Given: given, When: workspace.ShareDocument{ID: "nobody", Share: *workspace.Everyone("pages")}, Refuse: domain.CodeNotFound,
	}.Check(t, workspace.Decider)
	scenario{
		Given: given, When: workspace.UnshareDocument{ID: "page001", Target: "*"}, Refuse: domain.CodeNotFound,
	}.Check(t, workspace.Decider)
}

func TestBlocksAndConfigHaveEventsOfTheirOwn(t *testing.T) {
	hero := document.MapOf(document.Pair{Key: "name", Value: "Hero"})
	withHero := shop
	withHero.Blocks = document.MapOf(document.Pair{Key: "hero", Value: hero})
	restyled := shop
	restyled.Blocks = document.MapOf(document.Pair{Key: "hero", Value: document.MapOf(document.Pair{Key: "css", Value: "a{}"})})
	config := document.MapOf(document.Pair{Key: "value", Value: document.MapOf(document.Pair{Key: "a", Value: "b"})})
	configured := shop
	configured.Config = config
	elsewhere := shop
	elsewhere.CustomDomains = []string{"shop.example.com"}
	now := func(s workspace.Settings) workspace.Snapshot { return workspace.Snapshot{ID: id, Settings: s} }
	for name, sc := range map[string]scenario{
		"a block is set": {
			Given: owned(), When: workspace.PutBlock{Slug: "hero", Block: hero}, Then: []domain.Event{workspace.BlocksUpdated{Workspace: now(withHero)}},
		},
		"a block is removed": {
			Given: append(owned(), workspace.BlocksUpdated{Workspace: now(withHero)}), When: workspace.PutBlock{Slug: "hero"},
			Then: []domain.Event{workspace.BlocksUpdated{Workspace: now(shop)}},
		},
		"fields of a block are changed and removed": {
			Given: append(owned(), workspace.BlocksUpdated{Workspace: now(withHero)}),
			When: workspace.PutBlock{Slug: "hero", Merge: true, Block: document.MapOf(
				document.Pair{Key: "css", Value: "a{}"}, document.Pair{Key: "name", Value: nil})},
			Then: []domain.Event{workspace.BlocksUpdated{Workspace: now(restyled)}},
		},
		"what is not there is not changed": {
			Given: owned(), When: workspace.PutBlock{Slug: "hero", Block: hero, Merge: true}, Refuse: domain.CodeNotFound,
		},
		"what is not there is not removed": {
			Given: owned(), When: workspace.PutBlock{Slug: "hero"}, Refuse: domain.CodeNotFound,
		},
		"the config is changed": {
			Given: owned(), When: patch(document.Pair{Key: "config", Value: config}), Then: []domain.Event{workspace.Configured{Workspace: now(configured)}},
		},
		"a host is no content": {
			Given: owned(), When: patch(document.Pair{Key: "customDomains", Value: []any{"shop.example.com"}}),
			Then: []domain.Event{workspace.Updated{Workspace: now(elsewhere), Aside: true}},
		},
		"an address is no host": {
			Given: owned(), When: patch(document.Pair{Key: "customDomains", Value: []any{"127.0.0.1"}}), Refuse: domain.CodeValidation,
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, workspace.Decider) })
	}
}

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func locked(reason string, epoch uint64, op *workspace.Operation) workspace.Locked {
	ev := workspace.Locked{Reason: reason, Epoch: epoch, LockedBy: "ada", LockedAt: noon, Operation: op}
	if reason != workspace.MergeConflict {
		until := noon.Add(30 * time.Minute)
		ev.ExpiresAt = &until
	}
	return ev
}

func acquireLockFor(reason string, at time.Time, op *workspace.Operation) workspace.AcquireLock {
	return workspace.AcquireLock{Reason: reason, By: "ada", Now: at, Timeout: 30 * time.Minute, Operation: op}
}

func TestTheWriteLock(t *testing.T) {
	push := &workspace.Operation{ID: "op_1", Kind: "push"}
	byHand := append(owned(), locked("manual", 1, nil))
	pushing := append(owned(), locked(workspace.PushInProgress, 1, push))
	conflict := append(owned(), locked(workspace.MergeConflict, 1, push))
	later := noon.Add(31 * time.Minute)
	second := locked("manual", 2, nil)
	expired := workspace.Unlocked{Reason: "manual", Epoch: 1, Cause: "expired"}
	lateLock := second
	lateUntil := later.Add(30 * time.Minute)
	lateLock.LockedAt, lateLock.ExpiresAt = later, &lateUntil
	for name, sc := range map[string]scenario{
		"it is taken":                               {Given: owned(), When: acquireLockFor("manual", noon, nil), Then: []domain.Event{locked("manual", 1, nil)}},
		"a hand renews the lock of a hand":          {Given: byHand, When: acquireLockFor("manual", noon, nil), Then: []domain.Event{second}},
		"no hand takes the lock of an operation":    {Given: pushing, When: acquireLockFor("manual", noon, nil), Refuse: domain.CodeLocked},
		"no operation takes the lock of a hand":     {Given: byHand, When: acquireLockFor(workspace.PushInProgress, noon, push), Refuse: domain.CodeLocked},
		"it expires":                                {Given: byHand, When: acquireLockFor("manual", later, nil), Then: []domain.Event{expired, lateLock}},
		"a conflict never expires":                  {Given: conflict, When: acquireLockFor("manual", noon.AddDate(1, 0, 0), nil), Refuse: domain.CodeLocked},
		"that it expired is recorded once":          {Given: byHand, When: workspace.Expire{Now: later}, Then: []domain.Event{expired}},
		"it has not expired yet":                    {Given: byHand, When: workspace.Expire{Now: noon}},
		"anybody's lock is cleared":                 {Given: conflict, When: workspace.Clear{}, Then: []domain.Event{workspace.Unlocked{Reason: workspace.MergeConflict, Epoch: 1, Cause: "cleared"}}},
		"clearing what is free does nothing":        {Given: owned(), When: workspace.Clear{}},
		"its holder gives it back":                  {Given: pushing, When: workspace.Release{Epoch: 1, Cause: "completed"}, Then: []domain.Event{workspace.Unlocked{Reason: workspace.PushInProgress, Epoch: 1, Cause: "completed"}}},
		"nobody gives back what somebody else took": {Given: pushing, When: workspace.Release{Epoch: 2}, Refuse: domain.CodeConflict},
		"a reason has a limit":                      {Given: owned(), When: acquireLockFor("a\nb", noon, nil), Refuse: domain.CodeValidation},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, workspace.Decider) })
	}
	require.Error(t, workspace.CheckContent(fold(byHand...), noon))
	require.NoError(t, workspace.CheckContent(fold(byHand...), later))
	require.NoError(t, workspace.CheckContent(fold(pushing...), noon), "content goes on during a push")
	require.Error(t, workspace.CheckVersioning(fold(pushing...), noon))
	require.Error(t, workspace.CheckContent(fold(conflict...), later))
}

func TestDeleting(t *testing.T) {
	gone := workspace.Deleted{ID: id, Name: "Shop", DeletedAt: noon, RestorableUntil: noon.AddDate(0, 0, 30)}
	deleted := append(owned(), gone)
	back := shop
	back.Slug = "other"
	for name, sc := range map[string]scenario{
		"a workspace is deleted": {Given: owned(), When: workspace.Delete{Now: noon, RestorableFor: 30 * 24 * time.Hour}, Then: []domain.Event{gone}},
		"it is gone at once":     {Given: deleted, When: patch(document.Pair{Key: "name", Value: "x"}), Refuse: domain.CodeNotFound},
		"its id is never used again": {
			Given: deleted, When: create(shop), Refuse: domain.CodeAlreadyExists,
		},
		"it comes back": {
			Given: deleted, When: workspace.Undelete{Now: noon.AddDate(0, 0, 29)}, Then: []domain.Event{workspace.Undeleted{ID: id, Name: "Shop"}},
		},
		"it comes back under another slug": {
			Given: deleted, When: workspace.Undelete{Now: noon, Slug: "other"},
			Then: []domain.Event{workspace.Undeleted{ID: id, Slug: "other", Name: "Shop", Settings: &back}},
		},
		"it comes back for a while only":   {Given: deleted, When: workspace.Undelete{Now: noon.AddDate(0, 0, 30)}, Refuse: domain.CodeNotFound},
		"what is there does not come back": {Given: owned(), When: workspace.Undelete{Now: noon}, Refuse: domain.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, workspace.Decider) })
	}
	scenario{
		Given: []domain.Event{createdEvent(domain.Platform, shop)}, When: workspace.Delete{Now: noon}, Refuse: domain.CodeConflict,
	}.Check(t, workspace.Decider)
}

func TestSecretsAreToldByName(t *testing.T) {
	sealed := workspace.Secret{Sealed: []byte("sealed"), Description: "d"}
	set := workspace.SecretsUpdated{Created: []string{"a", "b"}, Values: map[string]workspace.Secret{"a": sealed, "b": sealed}}
	given := append(owned(), set)
	for name, sc := range map[string]scenario{
		"they are set": {
			Given: owned(), When: workspace.SetSecrets{Set: map[string]workspace.Secret{"a": sealed, "b": sealed}}, Then: []domain.Event{set},
		},
		"one replaces all others": {
			Given: append(given, workspace.SecretsUpdated{Created: []string{"svc_key"}, Values: map[string]workspace.Secret{"svc_key": sealed}}),
			When:  workspace.SetSecrets{Set: map[string]workspace.Secret{"a": sealed}, Others: true},
			Then:  []domain.Event{workspace.SecretsUpdated{Updated: []string{"a"}, Deleted: []string{"b"}, Values: map[string]workspace.Secret{"a": sealed}}},
		},
		"what is not there is not removed": {Given: given, When: workspace.SetSecrets{Remove: []string{"c"}}, Refuse: domain.CodeNotFound},
		"a name has no blanks": {
			Given: given, When: workspace.SetSecrets{Set: map[string]workspace.Secret{"a b": sealed}}, Refuse: domain.CodeValidation,
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, workspace.Decider) })
	}
	shown, err := json.Marshal(set.Payload())
	require.NoError(t, err)
	require.JSONEq(t, `{"created":["a","b"],"updated":[],"deleted":[]}`, string(shown))
}

func TestAnImportTakesTheLockAndGivesItBack(t *testing.T) {
	op := &workspace.Operation{ID: "op_1", Kind: "import"}
	lock := acquireLockFor(workspace.ImportInProgress, noon, op)
	told := workspace.Import{OperationID: "op_1", FilesCount: 1}
	to := workspace.Switch{Entries: []workspace.Entry{entry("automations/a", "1")}}
	scenario{
		Given: owned(), When: workspace.Replace{Switch: to, Lock: &lock, Import: &told},
		Then: []domain.Event{
			locked(workspace.ImportInProgress, 1, op), workspace.Imported{Import: told, Switch: to},
			workspace.Unlocked{Reason: workspace.ImportInProgress, Epoch: 1, Cause: "completed"},
		},
	}.Check(t, workspace.Decider)
	scenario{
		Given: append(owned(), locked("manual", 1, nil)), When: workspace.Replace{Switch: to, Lock: &lock, Import: &told}, Refuse: domain.CodeLocked,
	}.Check(t, workspace.Decider)
	scenario{
		Given: owned(), When: workspace.Replace{Switch: to, Epoch: 7, Import: &told}, Refuse: domain.CodeConflict,
	}.Check(t, workspace.Decider)
}

func TestWhatIsStagedShowsWhenItIsTakenUp(t *testing.T) {
	staged := append(owned(),
		workspace.Staged{Name: "old", Entries: []workspace.Entry{entry("automations/never", "x")}},
		workspace.Staged{Name: "s", Entries: []workspace.Entry{entry("automations/a", "1")}},
		workspace.Staged{Name: "s", Entries: []workspace.Entry{entry("automations/b", "2")}})
	s := fold(staged...)
	require.True(t, s.Items.IsZero())
	s = fold(append(staged, workspace.Imported{Switch: workspace.Switch{Stage: "s"}})...)
	require.Equal(t, 2, s.Items.Len())
	require.Empty(t, s.Staged)
	scenario{
		Given: staged, When: workspace.Replace{Switch: workspace.Switch{Stage: "old"}, Import: &workspace.Import{}}, Refuse: domain.CodeConflict,
	}.Check(t, workspace.Decider)
}

func TestTheOrderOfTheSecurityDocumentIsContent(t *testing.T) {
	source := func(keys ...string) *document.Map {
		doc := document.MapOf()
		for _, k := range keys {
			doc.Set(k, "x")
		}
		rule := document.MapOf(document.Pair{Key: "action", Value: "read"}, document.Pair{Key: "subject", Value: "pages"}, document.Pair{Key: "conditions", Value: doc})
		return document.MapOf(document.Pair{Key: "authorizations", Value: document.MapOf(document.Pair{Key: "rules", Value: []any{rule}})})
	}
	read := func(doc *document.Map) (s access.Security) {
		body, err := document.JSON(doc)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(body, &s))
		return s
	}
	a, b := source("labels", "slug"), source("slug", "labels")
	given := append(owned(), workspace.Secured{Security: read(a), Source: a})
	same, err := workspace.Decider.Decide(fold(given...), workspace.Secure{Security: read(a), Source: a})
	require.NoError(t, err)
	require.Empty(t, same)
	other, err := workspace.Decider.Decide(fold(given...), workspace.Secure{Security: read(b), Source: b})
	require.NoError(t, err)
	require.Len(t, other, 1)
}
