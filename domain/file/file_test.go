package file_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/file"
)

var (
	noon    = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	content = file.Content{Mimetype: "image/png", Size: 3, Checksum: strings.Repeat("a", 64)}
	other   = file.Content{Mimetype: "text/plain", Size: 4, Checksum: strings.Repeat("b", 64)}
	order   = file.Upload{ID: "f1", WorkspaceID: "w1", By: "u1", Terms: file.Terms{Name: "a.png"}, Content: content, Now: noon}
	facts   = file.Facts{ID: "f1", WorkspaceID: "w1", Path: "w1/f1.a.png", Terms: file.Terms{Name: "a.png"}, Content: content, CreatedBy: "u1"}
	made    = file.Uploaded{File: facts}
)

// with returns the facts changed.
func with(change func(*file.Facts)) file.Facts {
	f := facts
	change(&f)
	return f
}

func called(name string) file.Upload {
	c := order
	c.Terms.Name = name
	return c
}

func TestFiles(t *testing.T) {
	t.Parallel()
	brief := with(func(f *file.Facts) { f.ExpiresAfter, f.ExpiresAt = 60, noon.Add(time.Minute) })
	passing := file.Uploaded{File: brief}
	sealed := order
	sealed.Token = []byte("sealed")
	temporary := order
	temporary.Terms.ExpiresAfter = 60
	gone := file.Deleted{ID: "f1", Name: "a.png"}
	for name, sc := range map[string]domaintest.Scenario[file.State, file.Command]{
		"a file comes":                       {When: order, Then: []domain.Event{made}},
		"a file comes with a share token":    {When: sealed, Then: []domain.Event{file.Uploaded{File: facts, Share: file.Share{Generation: 1, Sealed: []byte("sealed")}}}},
		"a file comes for a time":            {When: temporary, Then: []domain.Event{passing}},
		"an id is used once":                 {Given: []domain.Event{made}, When: order},
		"a deleted id is not used again":     {Given: []domain.Event{made, gone}, When: order},
		"it is renamed, and its path too":    {Given: []domain.Event{made}, When: file.Change{Name: new("b.png"), Now: noon}, Then: []domain.Event{file.Updated{File: with(func(f *file.Facts) { f.Name, f.Path = "b.png", "w1/f1.b.png" })}}},
		"it is published":                    {Given: []domain.Event{made}, When: file.Change{Public: new(true), Now: noon}, Then: []domain.Event{file.Updated{File: with(func(f *file.Facts) { f.Public = true })}}},
		"its metadata are replaced":          {Given: []domain.Event{made}, When: file.Change{Metadata: &map[string]any{"a": "b"}, Now: noon}, Then: []domain.Event{file.Updated{File: with(func(f *file.Facts) { f.Metadata = map[string]any{"a": "b"} })}}},
		"its time begins anew":               {Given: []domain.Event{made}, When: file.Change{ExpiresAfter: new(int64(60)), Now: noon}, Then: []domain.Event{file.Updated{File: brief}}},
		"it is kept for good":                {Given: []domain.Event{passing}, When: file.Change{ExpiresAfter: new(int64(0)), Now: noon}, Then: []domain.Event{file.Updated{File: facts}}},
		"a new token is a new generation":    {Given: []domain.Event{made}, When: file.Change{Share: &file.Token{Sealed: []byte("x")}, Now: noon}, Then: []domain.Event{file.Updated{File: facts, Share: file.Share{Generation: 1, Sealed: []byte("x")}}}},
		"no token is a new generation":       {Given: []domain.Event{made}, When: file.Change{Share: &file.Token{}, Now: noon}, Then: []domain.Event{file.Updated{File: facts, Share: file.Share{Generation: 1}}}},
		"no change is no event":              {Given: []domain.Event{made}, When: file.Change{Name: new("a.png"), Now: noon}},
		"its content is replaced":            {Given: []domain.Event{made}, When: file.Replace{Content: other, Now: noon}, Then: []domain.Event{file.Updated{File: with(func(f *file.Facts) { f.Content = other })}}},
		"the same content is no event":       {Given: []domain.Event{made}, When: file.Replace{Content: content, Now: noon}},
		"a look changes nothing":             {Given: []domain.Event{made}, When: file.Get{Now: noon}},
		"what is not there is not seen":      {When: file.Get{Now: noon}, Refuse: domain.CodeNotFound},
		"it is deleted":                      {Given: []domain.Event{made}, When: file.Delete{Now: noon}, Then: []domain.Event{gone}},
		"it is deleted once":                 {Given: []domain.Event{made, gone}, When: file.Delete{Now: noon}, Refuse: domain.CodeNotFound},
		"a deleted file does not change":     {Given: []domain.Event{made, gone}, When: file.Change{Public: new(true), Now: noon}, Refuse: domain.CodeNotFound},
		"a deleted file has no content":      {Given: []domain.Event{made, gone}, When: file.Replace{Content: other, Now: noon}, Refuse: domain.CodeNotFound},
		"an expired file is gone":            {Given: []domain.Event{passing}, When: file.Get{Now: noon.Add(time.Minute)}, Refuse: domain.CodeNotFound},
		"an expired file gets no more time":  {Given: []domain.Event{passing}, When: file.Change{ExpiresAfter: new(int64(0)), Now: noon.Add(time.Minute)}, Refuse: domain.CodeNotFound},
		"until then it is there":             {Given: []domain.Event{passing}, When: file.Get{Now: noon.Add(time.Minute - 1)}},
		"an expired file is swept":           {Given: []domain.Event{passing}, When: file.Expire{Now: noon.Add(time.Minute)}, Then: []domain.Event{gone}},
		"before its time it is not swept":    {Given: []domain.Event{passing}, When: file.Expire{Now: noon}},
		"it is swept once":                   {Given: []domain.Event{passing, gone}, When: file.Expire{Now: noon.Add(time.Hour)}},
		"nothing is not swept":               {When: file.Expire{Now: noon}},
		"a name must not be empty":           {When: called(""), Refuse: domain.CodeValidation},
		"a change is held to the same rules": {Given: []domain.Event{made}, When: file.Change{Name: new("a/b"), Now: noon}, Refuse: domain.CodeValidation},
		"an age must not be negative":        {Given: []domain.Event{made}, When: file.Change{ExpiresAfter: new(int64(-1)), Now: noon}, Refuse: domain.CodeValidation},
		"an age must be one":                 {Given: []domain.Event{made}, When: file.Change{ExpiresAfter: new(int64(1) << 62), Now: noon}, Refuse: domain.CodeValidation},
		"metadata must not be large":         {Given: []domain.Event{made}, When: file.Change{Metadata: &map[string]any{"a": strings.Repeat("x", 33<<10)}, Now: noon}, Refuse: domain.CodeValidation},
		"metadata must have names":           {Given: []domain.Event{made}, When: file.Change{Metadata: &map[string]any{"": 1}, Now: noon}, Refuse: domain.CodeValidation},
		"a type must be one":                 {Given: []domain.Event{made}, When: file.Replace{Content: file.Content{Mimetype: "a", Checksum: content.Checksum}, Now: noon}, Refuse: domain.CodeValidation},
		"a content must have a name":         {Given: []domain.Event{made}, When: file.Replace{Content: file.Content{Mimetype: "a/b", Checksum: "x"}, Now: noon}, Refuse: domain.CodeValidation},
		"an unknown command is a fault":      {Refuse: domain.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, file.Decider) })
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "a.png", "résumé (1).pdf", "日本語.txt", ".env", "a..b", "family 👨‍👩‍👧.jpg", strings.Repeat("x", 255)} {
		require.True(t, file.IsName(good), "%q", good)
	}
	for _, bad := range []string{
		"", " ", ".", "..", "a/b", `a\b`, "a\x00b", "a\nb", "a\x7f", "a\u0085", "gpj\u202e.exe", "a\u2066b", "a\u200fb", "a\u061cb", "a\u2028b", "\ufeffa",
		"a\xff", strings.Repeat("x", 256), strings.Repeat("é", 128),
	} {
		require.False(t, file.IsName(bad), "%q", bad)
	}
}

func TestTheTokenIsNotShown(t *testing.T) {
	t.Parallel()
	share := file.Share{Generation: 7, Sealed: []byte("the token, sealed")}
	for _, ev := range []domain.PayloadEvent{file.Uploaded{File: facts, Share: share}, file.Updated{File: facts, Share: share}} {
		payload, err := json.Marshal(ev.Payload())
		require.NoError(t, err)
		require.JSONEq(t, `{"file":{"id":"f1","workspaceId":"w1","path":"w1/f1.a.png","name":"a.png","public":false,"mimetype":"image/png","size":3,"checksum":"`+content.Checksum+`","createdBy":"u1"}}`, string(payload))
		stored, err := json.Marshal(ev)
		require.NoError(t, err)
		require.Contains(t, string(stored), `"generation":7`)
	}
}
