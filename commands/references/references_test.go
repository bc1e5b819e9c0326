package references_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands/contexts"
	"svc/commands/references"
	"svc/commands/seal"
	"svc/commands/vault"
	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/catalog"
	"svc/domain/value"
	"svc/eventstore/jetstream"
)

// set are the secrets of a workspace that people set.
type set map[string]string

// All implements references.Secrets.
func (s set) All(context.Context, string) (map[string]string, error) { return s, nil }

func open(t *testing.T) *references.References {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := jetstream.Open(t.Context(), jetstream.Options{Dir: t.TempDir(), Events: catalog.Events(), Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close(context.Background())) })
	bucket, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	v := vault.New(box, bucket)
	return &references.References{
		Values: contexts.New(contexts.Options{Store: store.Data, Vault: v, Log: log}), Secrets: set{"people": "theirs"}, Vault: v,
		Now: time.Now, NewID: func() string { return ulid.Make().String() },
	}
}

func call(t *testing.T, r *references.References, of references.Holder, function string, params ...any) string {
	t.Helper()
	v, err := r.Call(t.Context(), of, function, value.NewObject(params...))
	require.NoError(t, err)
	return value.JSON(v, "")
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	r, of := open(t), references.Holder{WorkspaceID: "w1", UserID: "u1"}
	most := strings.Repeat("é", 32<<10)
	require.Contains(t, call(t, r, of, "set", "name", "large", "value", most), "$secret:")
	require.JSONEq(t, `{"error":"too_large"}`, call(t, r, of, "set", "name", "larger", "value", most+"x"))
	require.JSONEq(t, `{"error":"not_found"}`, call(t, r, of, "get", "name", "larger"))
	change := contexts.Change{Key: contexts.Key{WorkspaceID: "w1", Kind: "secrets", ID: "workspace/"}}
	for i := range 999 {
		op := variable.Op{Kind: variable.Replace, Path: []expr.Step{{Key: fmt.Sprintf("s%d", i)}}, Value: "v"}
		change.Writes = append(change.Writes, contexts.Write{Op: op})
	}
	require.NoError(t, r.Values.Append(t.Context(), r.NewID(), []contexts.Change{change}))
	require.JSONEq(t, `{"error":"too_many"}`, call(t, r, of, "set", "name", "one.more", "value", "v"))
	require.Contains(t, call(t, r, of, "set", "name", "s7", "value", "other"), "$secret:", "one that is there is replaced")
	require.Contains(t, call(t, r, of, "set", "name", "mine", "value", "v", "scope", "user"), "$secret:", "each scope has its own")
	require.Contains(t, call(t, r, references.Holder{WorkspaceID: "w1", Instance: "a"}, "set", "name", "x", "value", "v"), "$secret:")
	require.JSONEq(t, `{"deleted":true}`, call(t, r, of, "delete", "name", "s8"))
	require.Contains(t, call(t, r, of, "set", "name", "one.more", "value", "v"), "$secret:")
}

func TestErrorsAreValues(t *testing.T) {
	t.Parallel()
	r, of := open(t), references.Holder{WorkspaceID: "w1"}
	require.JSONEq(t, `{"error":"not_found"}`, call(t, r, of, "get", "name", "none"))
	require.JSONEq(t, `{"error":"user_required"}`, call(t, r, of, "set", "name", "a", "value", "v", "scope", "user"))
	require.JSONEq(t, `{"error":"forbidden"}`, call(t, r, of, "set", "name", "svc_a", "value", "v"))
	for name, params := range map[string]*value.Object{
		"no name": value.NewObject("value", "v"), "a bad name": value.NewObject("name", "a b", "value", "v"), "no value": value.NewObject("name", "a"),
		"an empty value": value.NewObject("name", "a", "value", ""), "a bad scope": value.NewObject("name", "a", "value", "v", "scope", "x"),
		"a bad ttl": value.NewObject("name", "a", "value", "v", "ttl", 0.0),
	} {
		_, err := r.Call(t.Context(), of, "set", params)
		require.Error(t, err, name)
	}
}

func TestAReferenceIsGoodForItsHolderOnly(t *testing.T) {
	t.Parallel()
	r, of := open(t), references.Holder{WorkspaceID: "w1", UserID: "u1"}
	made, err := r.Call(t.Context(), of, "set", value.NewObject("name", "k", "value", "hunter22", "scope", "user"))
	require.NoError(t, err)
	reference := value.Text(value.At(made, "reference"))
	for _, tt := range []struct {
		of   references.Holder
		want string
	}{
		{of, "Bearer hunter22"}, {references.Holder{WorkspaceID: "w1", UserID: "u2"}, "Bearer " + reference},
		{references.Holder{WorkspaceID: "w2", UserID: "u1"}, "Bearer " + reference},
		{references.Holder{WorkspaceID: "w1", Instance: "a", UserID: "u1"}, "Bearer " + reference},
	} {
		resolved, _, err := r.Resolve(t.Context(), tt.of, "Bearer "+reference)
		require.NoError(t, err)
		require.Equal(t, tt.want, resolved)
	}
}
