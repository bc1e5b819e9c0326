package projections

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/workspace"
)

// anyText draws texts with characters that are escaped, and some that are no UTF-8.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[a-z<>&"\\]{0,8}`), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
}

func anyNumber() *rapid.Generator[uint64] {
	return rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(0, 1<<60))
}

func anyRecord() *rapid.Generator[Record] {
	return rapid.Custom(func(t *rapid.T) Record {
		text, number := anyText(), anyNumber()
		r := Record{
			ID: text.Draw(t, "id"), Revision: number.Draw(t, "revision"), Seq: number.Draw(t, "seq"), Updated: number.Draw(t, "updated"),
			Meta: Listed{Name: text.Draw(t, "name"), Slug: text.Draw(t, "slug"), Labels: rapid.SliceOf(text).Draw(t, "labels"), CustomDomains: rapid.SliceOfN(text, 1, 3).Draw(t, "domains"), RegisterWorkspace: rapid.Bool().Draw(t, "is registered")},
			Dynamic: Dynamics{
				Dirty: rapid.Bool().Draw(t, "dirty"), ContentRevision: number.Draw(t, "content"), CreatedAt: text.Draw(t, "createdAt"),
				CreatedBy: text.Draw(t, "createdBy"), UpdatedAt: text.Draw(t, "updatedAt"), UpdatedBy: text.Draw(t, "updatedBy"),
			},
			Synced: number.Draw(t, "synced"), LastRepository: text.Draw(t, "last"),
		}
		if rapid.Bool().Draw(t, "is pushed") {
			r.Dynamic.LastPush = &Sync{Version: text.Draw(t, "pushed")}
			r.Repositories = map[string]SyncedContent{text.Draw(t, "repository"): {Revision: number.Draw(t, "synced there")}}
		}
		if rapid.Bool().Draw(t, "is pulled") {
			r.Dynamic.LastPull = &Sync{Digest: text.Draw(t, "pulled")}
		}
		if rapid.Bool().Draw(t, "is locked") {
			r.Dynamic.WriteLock = &WriteLock{Reason: text.Draw(t, "reason"), Epoch: number.Draw(t, "epoch")}
		}
		if rapid.Bool().Draw(t, "is deleted") {
			r.Deleted = &workspace.Gone{}
		}
		return r
	})
}

// A stored record of a workspace says what encoding/json would keep of it, also after it was stored again.
func TestRecordsAreDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := anyRecord().Draw(t, "record")
		body, err := json.Marshal(r)
		require.NoError(t, err)
		stored, err := r.encode()
		require.NoError(t, err)
		var expected Record
		require.NoError(t, json.Unmarshal(body, &expected))
		for range 2 {
			var decoded Record
			require.NoError(t, decoded.decode(stored, true))
			stored, err = decoded.encode()
			require.NoError(t, err)
			decoded.encodedMeta = nil
			require.Equal(t, expected, decoded)
		}
		for n := range stored {
			require.Error(t, new(Record).decode(stored[:n], true))
		}
	})
}

func TestListedSettingsAreEncodedAndDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := anyRecord().Draw(t, "record").Meta
		l.Photo = anyText().Draw(t, "photo")
		if rapid.Bool().Draw(t, "is described") {
			l.Description = document.InEveryLanguage(rapid.String().Draw(t, "description"))
		}
		if rapid.Bool().Draw(t, "has nothing") {
			l.Labels, l.CustomDomains = nil, nil
		}
		want, err := json.Marshal(l)
		require.NoError(t, err)
		o := domain.NewObjectEncoder(nil)
		l.encode(&o)
		got, err := o.End()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		var decoded, expected Listed
		require.NoError(t, decoded.decode(got, true))
		require.NoError(t, json.Unmarshal(want, &expected))
		require.Equal(t, expected, decoded)
	})
}

func TestMetaOfDocumentsIsEncodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := DocumentMeta{Checksum: anyText().Draw(t, "checksum")}
		if rapid.Bool().Draw(t, "has events") {
			m.Events = document.MapOf(document.Pair{Key: rapid.String().Draw(t, "key"), Value: []any{rapid.String().Draw(t, "value"), 1.5, nil}})
		}
		var about []byte
		if rapid.Bool().Draw(t, "is listed") {
			m.About = document.MapOf(document.Pair{Key: "name", Value: rapid.String().Draw(t, "name")})
			var err error
			about, err = workspace.Entry{About: m.About}.DescribeJSON()
			require.NoError(t, err)
		}
		want, err := json.Marshal(m)
		require.NoError(t, err)
		got, err := encodeMeta(m.Checksum, m.Events, about)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		var decoded, brief, expected DocumentMeta
		require.NoError(t, json.Unmarshal(want, &expected))
		require.NoError(t, decoded.decode(want, true))
		require.Equal(t, expected, decoded)
		require.NoError(t, brief.decode(want, false))
		expected.About = nil
		require.Equal(t, expected, brief)
	})
}

func anyRef() *rapid.Generator[Ref] {
	return rapid.Custom(func(t *rapid.T) Ref {
		text := anyText()
		r := Ref{Hash: text.Draw(t, "hash"), Apart: rapid.Bool().Draw(t, "apart"), ID: text.Draw(t, "id"), Public: rapid.Bool().Draw(t, "public")}
		if rapid.Bool().Draw(t, "has secrets") {
			r.Sealed = rapid.MapOf(rapid.String(), rapid.SliceOfN(rapid.Byte(), 1, 4)).Draw(t, "sealed")
			r.HiddenPaths = rapid.SliceOf(rapid.SliceOfN(rapid.String(), 1, 2)).Draw(t, "hidden")
		}
		return r
	})
}

func TestTheHistoryIsEncodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, number, yes := anyText(), anyNumber(), rapid.Bool()
		c := Change{
			Seq: number.Draw(t, "seq"), Workspace: text.Draw(t, "workspace"), At: text.Draw(t, "at"), By: text.Draw(t, "by"), Type: text.Draw(t, "type"),
			Summary: text.Draw(t, "summary"), CorrelationID: text.Draw(t, "correlation"), Content: yes.Draw(t, "content"),
			Parts: rapid.SliceOf(text).Draw(t, "parts"), Many: yes.Draw(t, "many"), Rollback: yes.Draw(t, "rollback"),
		}
		want, err := json.Marshal(c)
		require.NoError(t, err)
		got, err := c.encode()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))

		refs := manifestChange{}
		for range rapid.IntRange(0, 4).Draw(t, "documents") {
			ref := refChange{Ref: anyRef().Draw(t, "now"), Before: number.Draw(t, "before")}
			if yes.Draw(t, "was there") {
				was := anyRef().Draw(t, "was")
				ref.Was = &was
			}
			refs[rapid.String().Draw(t, "path")] = ref
		}
		want, err = json.Marshal(refs)
		require.NoError(t, err)
		got, err = refs.encode()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))

		whole, is, expected := Manifest{}, Manifest{}, Manifest{}
		require.NoError(t, json.Unmarshal(want, &expected))
		require.NoError(t, is.decode(want))
		require.Equal(t, expected, is)
		for path, ref := range refs {
			whole[path] = ref.Ref
		}
		want, err = json.Marshal(whole)
		require.NoError(t, err)
		got, err = whole.encode()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))

		r := anyRef().Draw(t, "ref")
		want, err = json.Marshal(r)
		require.NoError(t, err)
		got, err = r.appendJSON(nil)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		var decoded, expectedRef Ref
		require.NoError(t, json.Unmarshal(want, &expectedRef))
		require.NoError(t, decoded.decode(want))
		require.Equal(t, expectedRef, decoded)
	})
}

func TestProblemsAreDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := anyText()
		body, err := json.Marshal(Problem{
			Field: text.Draw(t, "field"), Message: text.Draw(t, "message"), Warning: rapid.Bool().Draw(t, "warning"), Kind: text.Draw(t, "kind"), Name: text.Draw(t, "name"),
		})
		require.NoError(t, err)
		var decoded, expected Problem
		require.NoError(t, json.Unmarshal(body, &expected))
		require.NoError(t, decoded.decode(body))
		require.Equal(t, expected, decoded)
		paths := rapid.SliceOfN(text, 1, 4).Draw(t, "paths")
		want, err := json.Marshal(paths)
		require.NoError(t, err)
		require.Equal(t, string(want), string(domain.AppendTexts(nil, paths)))

		slices.Sort(paths)
		more := text.Draw(t, "more")
		if with, ok := insertPath(domain.AppendTexts(nil, paths), more); ok {
			if !slices.Contains(paths, more) {
				paths = append(paths, more)
				slices.Sort(paths)
			}
			require.Equal(t, string(domain.AppendTexts(nil, paths)), string(with))
		}
	})
}

func TestReviewsAreEncodedAndDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	text := anyText()
	texts := rapid.OneOf(rapid.Just[[]string](nil), rapid.SliceOfN(text, 0, 3))
	references := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) automation.Reference {
		return automation.Reference{Name: text.Draw(t, "name"), Field: text.Draw(t, "field")}
	}), 0, 3)
	findings := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) automation.Finding {
		return automation.Finding{Field: text.Draw(t, "field"), Message: text.Draw(t, "message"), Warning: rapid.Bool().Draw(t, "warning")}
	}), 0, 3)
	config := rapid.SampledFrom([]string{"", "null", "{}", `{"a":"\"<b>"}`, ` { "a" : 1 } `})
	rapid.Check(t, func(t *rapid.T) {
		f := documentFacts{Review: automation.Review{
			Findings: findings.Draw(t, "findings"), Calls: references.Draw(t, "calls"), Secrets: references.Draw(t, "secrets"), Listens: references.Draw(t, "listens"),
			Bases: references.Draw(t, "bases"), Emits: texts.Draw(t, "emits"), EmitsLike: texts.Draw(t, "emitsLike"),
		}, App: text.Draw(t, "app"), Version: text.Draw(t, "version"), Config: json.RawMessage(config.Draw(t, "config"))}
		want, err := json.Marshal(f)
		require.NoError(t, err)
		got, err := f.encode()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		var expected, decoded documentFacts
		require.NoError(t, json.Unmarshal(want, &expected))
		require.NoError(t, decoded.decode(want))
		require.Equal(t, expected, decoded)
	})
}

func TestListsOfProblemsAreEncodedAndDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	text := anyText()
	rapid.Check(t, func(t *rapid.T) {
		found := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Problem {
			return Problem{Object: text.Draw(t, "object"), Field: text.Draw(t, "field"), Message: text.Draw(t, "message"), Warning: rapid.Bool().Draw(t, "warning"), Kind: text.Draw(t, "kind"), Name: text.Draw(t, "name")}
		}), 1, 4).Draw(t, "found")
		want, err := json.Marshal(found)
		require.NoError(t, err)
		require.Equal(t, string(want), string(encodeProblems(found)))
		var expected []Problem
		require.NoError(t, json.Unmarshal(want, &expected))
		decoded, err := decodeProblems("", want)
		require.NoError(t, err)
		require.Equal(t, expected, decoded)
	})
}
