package subscriptions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/egress"
	"svc/commands/seal"
	"svc/commands/subscriptions"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/subscription"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// fixture is subscriptions over a real log and a real vault.
type fixture struct {
	*subscriptions.Subscriptions
	store *jetstream.Store
}

func open(t *testing.T, have int) fixture {
	t.Helper()
	store := livetest.Store(t, jetstream.Options{})
	bucket, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: store.Log, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	out, err := egress.New(egress.Options{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}})
	require.NoError(t, err)
	return fixture{&subscriptions.Subscriptions{
		Engine: engine, Vault: vault.New(box, bucket), Count: func(string) (int, error) { return have, nil }, Addresses: out, Now: func() time.Time { return noon },
	}, store}
}

var terms = subscription.Terms{URL: "https://shop.example/hook", Types: []string{"*"}}

func (h fixture) stored(t *testing.T, id string) string {
	t.Helper()
	events, err := h.store.Log.Load(t.Context(), subscription.Stream("w1", id), 0)
	require.NoError(t, err)
	body, err := json.Marshal(events)
	require.NoError(t, err)
	return string(body)
}

func TestASecretIsShownOnceAndSignsUntilItsOverlapEnds(t *testing.T) {
	t.Parallel()
	h := open(t, 0)
	made, secret, err := h.Create(t.Context(), "w1", terms, "")
	require.NoError(t, err)
	require.NoError(t, subscription.CheckSecret(secret))
	require.Equal(t, secret[len(secret)-4:], made.State.Keys.Last4)
	require.NotContains(t, h.stored(t, made.State.ID), strings.TrimPrefix(secret, "whsec_"))

	own := subscription.Secret(bytes.Repeat([]byte{9}, 24))
	rotated, shown, err := h.Rotate(t.Context(), "w1", made.State.ID, own, time.Hour)
	require.NoError(t, err)
	require.Equal(t, own, shown)
	for after, want := range map[time.Duration][]string{0: {own, secret}, time.Hour - time.Millisecond: {own, secret}, time.Hour: {own}} {
		got, err := h.Secrets(t.Context(), rotated.State, noon.Add(after))
		require.NoError(t, err)
		require.Equal(t, want, got, after)
	}
	require.NotContains(t, h.stored(t, made.State.ID), strings.TrimPrefix(own, "whsec_"))

	other := rotated.State
	other.ID = "sub_other"
	_, err = h.Secrets(t.Context(), other, noon)
	require.ErrorIs(t, err, vault.ErrDamaged, "a secret is sealed for its subscription")
	_, _, err = h.Rotate(t.Context(), "w1", made.State.ID, "whsec_short", time.Hour)
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
}

func TestAddressesThatTheRulesForbidAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t, 0)
	bad := terms
	bad.URL = "http://127.0.0.1:9/x"
	h.Addresses = must(egress.New(egress.Options{}))
	_, _, err := h.Create(t.Context(), "w1", bad, "")
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	require.ErrorContains(t, err, "url")
	bad.URL, bad.Types = "nonsense", nil
	_, _, err = h.Create(t.Context(), "w1", bad, "")
	require.ErrorContains(t, err, "2 fields", "all that is wrong, at once")

	ok := open(t, 0)
	made, _, err := ok.Create(t.Context(), "w1", terms, "")
	require.NoError(t, err)
	ok.Addresses = h.Addresses
	inside := "http://10.0.0.1/"
	_, err = ok.Change(t.Context(), "w1", made.State.ID, subscription.Patch{URL: &inside})
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAWorkspaceHasAHundred(t *testing.T) {
	t.Parallel()
	_, _, err := open(t, subscription.Most).Create(t.Context(), "w1", terms, "")
	require.Equal(t, domain.CodeQuota, domain.CodeOf(err))
}

func TestADisabledSubscriptionIsToldInTheWorkspaceOnce(t *testing.T) {
	t.Parallel()
	h := open(t, 0)
	made, _, err := h.Create(t.Context(), "w1", terms, "")
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, h.Disable(t.Context(), made.State, "it failed"))
	}
	ctx, done := context.WithCancel(t.Context())
	var told []activity.Failure
	require.NoError(t, h.store.Log.Subscribe(ctx, domain.Activity, 1, func(b eventstore.Batch) error {
		for _, ev := range b.Events {
			told = append(told, ev.Data.(activity.Failure))
		}
		if b.Pending == 0 {
			done()
		}
		return nil
	}))
	require.Len(t, told, 1)
	require.Equal(t, made.State.ID, told[0].Details["subscriptionId"])
	require.NoError(t, h.Delete(t.Context(), "w1", made.State.ID))
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(h.Disable(t.Context(), made.State, "it failed")))
}
