package recording_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/recording"
	"svc/commands/seal"
	"svc/commands/vault"
	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/domain/value"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

func openStore(t *testing.T, dir string, now *time.Time) (*recording.Store, *jetstream.Store) {
	t.Helper()
	store := livetest.Store(t, jetstream.Options{Dir: dir})
	bucket, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	return &recording.Store{Data: store.Data, Vault: vault.New(box, bucket), Now: func() time.Time { return *now }}, store
}

// storedRecording is a record of a tree that was given a text.
func storedRecording(t *testing.T, executionID, text string, expires time.Time) recording.StoredRecording {
	t.Helper()
	r := recording.NewRecorder(10_000_000)
	r.Start(recording.Start{WorkspaceID: "w1", CorrelationID: "c1", ExecutionID: executionID, Input: value.NewObject("text", text)})
	return recording.StoredRecording{WorkspaceID: "w1", CorrelationID: "c1", ExecutionID: executionID, Expires: expires, Body: r.Save()}
}

// found returns the trees of a run whose records are there.
func found(t *testing.T, s *recording.Store, workspaceID, executionID string) (ids []string) {
	t.Helper()
	n, err := s.Each(t.Context(), workspaceID, "c1", executionID, func(r *recording.Record) error {
		ids = append(ids, r.ExecutionID)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, ids, n)
	return ids
}

func TestRecordsAreKeptUntilTheyExpire(t *testing.T) {
	t.Parallel()
	now, dir := noon, t.TempDir()
	s, data := openStore(t, dir, &now)
	require.Empty(t, found(t, s, "w1", ""))
	require.NoError(t, s.Put(t.Context(), storedRecording(t, "x1", "confidential", noon.Add(time.Hour))))
	require.NoError(t, s.Put(t.Context(), storedRecording(t, "x2", strings.Repeat("large", 300_000), noon.Add(2*time.Hour))))
	require.NoError(t, s.Put(t.Context(), storedRecording(t, "x2", strings.Repeat("large", 300_000), noon.Add(2*time.Hour))), "the same again is kept once")
	require.Equal(t, []string{"x1", "x2"}, found(t, s, "w1", ""))
	require.Equal(t, []string{"x2"}, found(t, s, "w1", "x2"))
	require.Empty(t, found(t, s, "w1", "x3"))
	require.Empty(t, found(t, s, "w2", ""))
	swept, _, err := s.Sweep(t.Context(), "w1", false)
	require.NoError(t, err)
	require.Zero(t, swept)

	now = noon.Add(time.Hour)
	require.Equal(t, []string{"x2"}, found(t, s, "w1", ""))
	now = noon.Add(2 * time.Hour)
	require.Empty(t, found(t, s, "w1", ""))
	require.True(t, containsText(t, dir, []byte("recordings")), "the search below works")
	require.False(t, containsText(t, dir, []byte("confidential")), "records are sealed")
	for _, step := range []struct {
		workspaceID string
		dry         bool
		want        uint64
	}{{"w1", true, 2}, {"", true, 2}, {"w2", false, 0}, {"", false, 2}, {"", false, 0}} {
		swept, size, err := s.Sweep(t.Context(), step.workspaceID, step.dry)
		require.NoError(t, err)
		require.Equal(t, step.want, swept)
		require.Equal(t, step.want > 0, size > 1_500_000)
	}
	left, err := data.HasWorkspaceData(t.Context(), "w1")
	require.NoError(t, err)
	require.False(t, left)
}

// A run may go on for ever, event by event: what was recorded of it does not stay.
func TestRecordsAreErasedOneByOne(t *testing.T) {
	t.Parallel()
	now := noon
	s, _ := openStore(t, t.TempDir(), &now)
	large := strings.Repeat("large", 300_000)
	for id, text := range map[string]string{"x1": "small", "x2": large, "x3": "small", "x4": large} {
		hours := time.Duration(id[1]-'0') * time.Hour
		require.NoError(t, s.Put(t.Context(), storedRecording(t, id, text, noon.Add(hours))))
	}
	for hours, want := range [][]string{{"x1", "x2", "x3", "x4"}, {"x2", "x3", "x4"}, {"x3", "x4"}, {"x4"}, nil} {
		now = noon.Add(time.Duration(hours) * time.Hour)
		_, _, err := s.Sweep(t.Context(), "", false)
		require.NoError(t, err)
		now = noon
		require.ElementsMatch(t, want, found(t, s, "w1", ""))
	}
}

// containsText reports whether any file below dir holds the text.
func containsText(t *testing.T, dir string, text []byte) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || bytes.Contains(content, text)
		return err
	})
	require.NoError(t, err)
	return found
}

func TestARecordThatBecomesTooLargeIsCut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		limit int
		cut   bool
	}{"room enough": {1_000_000, false}, "too little": {5_000, true}, "none": {0, true}}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := recording.NewRecorder(c.limit)
			r.Start(recording.Start{ExecutionID: "x0", At: noon})
			for range 100 {
				r.Turn()
				r.View("run", "c1", value.NewObject("text", strings.Repeat("a", 100)))
			}
			require.Equal(t, c.cut, r.Truncated())
			again := recording.NewRecorder(c.limit)
			require.NoError(t, again.Load(r.Save()))
			require.Equal(t, c.cut, again.Truncated(), "it stays so where the tree goes on")
			_, err := recording.Parse(r.Save())
			require.Equal(t, c.cut, err != nil)
		})
	}
}

func TestAValueThatIsLargerThanItsMemoryIsNotMeasured(t *testing.T) {
	t.Parallel()
	var v any = "a"
	for range 60 { // two to the sixtieth texts
		v = []any{v, v}
	}
	r := recording.NewRecorder(10_000_000)
	r.View("run", "c1", value.NewObject("v", v))
	require.True(t, r.Truncated())
}

func TestNothingIsNotedWithoutARecorder(t *testing.T) {
	t.Parallel()
	var r *recording.Recorder
	r.Start(recording.Start{})
	r.Turn()
	r.View("run", "c1", nil)
	r.Stop(errStopped)
	r.Secrets([]string{"a"})
	r.Console(1, []string{"a"})
	require.NoError(t, r.Load(nil))
	require.Nil(t, r.Save())
	require.False(t, r.Truncated())
}

func TestWhatLeftAnExecutionIsListed(t *testing.T) {
	t.Parallel()
	p := written(t, `{fetch: [{$raise: FetchError}]}`,
		`[{set a: '{{run.date}}'}, {child: {}}, {emit: {event: e}}, {wait: {timeout: 2}}, {wait: {oneOf: [{event: a}, {event: b}]}}, {run: {module: secrets, function: get, parameters: {name: k}}}]`,
		`[{set a: '{% rand() %}'}, {try: {do: [{fetch: {url: 'http://h/hidden', method: post}}]}}]`)
	_, body := p.perform(t, 1)
	r, err := recording.Parse(body)
	require.NoError(t, err)
	got := r.Effects(redact.New("hidden"))
	for _, effects := range got {
		for i, e := range effects {
			require.Equal(t, e.Kind != "clock" && e.Kind != "random", e.At != "", e.Kind)
			effects[i].At, effects[i].Duration = "", 0
		}
	}
	require.Equal(t, map[string][]recording.Effect{
		"x0": {
			{N: 1, Kind: "clock", Instruction: "do[0].set", Summary: "2024-03-31T12:00:00.000Z"},
			{N: 2, Kind: "call", Instruction: "do[1].child", Summary: "child", ExecutionID: "x1"},
			{N: 5, Kind: "emit", Instruction: "do[2].emit", Summary: "e"},
			{N: 6, Kind: "wait", Instruction: "do[3].wait", Summary: "2s"},
			{N: 7, Kind: "wait", Instruction: "do[4].wait", Summary: "a, b"},
			{N: 8, Kind: "module", Instruction: "do[5].run", Summary: "secrets.get"},
		},
		"x1": {
			{N: 3, Kind: "random", Instruction: "do[0].set", Summary: "8 bytes"},
			{N: 4, Kind: "fetch", Instruction: "do[1].try.do[0].fetch", Summary: "POST http://h/REDACTED: FetchError"},
		},
	}, got)
}

func TestWhatCodeSaidIsListed(t *testing.T) {
	t.Parallel()
	r := recording.NewRecorder(10_000)
	r.Start(recording.Start{ExecutionID: "x0", At: noon})
	for id := range uint64(2) {
		ask := machine.Request{Kind: machine.Module, ID: id + 1, Execution: &machine.Execution{ID: "x0"}, Location: machine.Location{Path: "do[0].run"}}
		r.Ask(ask, noon)
		r.Code(ask.ID, noon, 7)
		r.Console(ask.ID, []string{"the key is hidden", `{"a":1}`}[:2*id])
		r.Answer(ask.ID, machine.Answer{Value: 1.0}, noon)
	}
	record, err := recording.Parse(r.Save())
	require.NoError(t, err)
	shown := record.Effects(redact.New("hidden"))["x0"]
	require.Len(t, shown, 2)
	require.Nil(t, shown[0].Logs, "it said nothing")
	require.Equal(t, []string{"the key is REDACTED", `{"a":1}`}, shown[1].Logs)
}
