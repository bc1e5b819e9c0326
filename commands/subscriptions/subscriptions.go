// Package subscriptions makes, changes and ends the subscriptions of workspaces, and
// keeps the secrets that their deliveries are signed with.
package subscriptions

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/subscription"
)

// Addresses refuses addresses that the rules for outgoing requests forbid. It is an
// *egress.Egress.
type Addresses interface {
	Check(ctx context.Context, u *url.URL) error
}

// Subscriptions changes subscriptions. Every field is required.
type Subscriptions struct {
	Engine    *commands.Engine
	Vault     commands.Vault
	Count     func(workspaceID string) (int, error) // of the subscriptions of a workspace
	Addresses Addresses
	Now       func() time.Time
}

// Subscription is a subscription after a command.
type Subscription = commands.Execution[subscription.State]

// keySize is the length of the secrets that are made here, in bytes.
const keySize = 32

// Create makes a subscription. Without a secret it gets one; it is returned, and
// can be read nowhere afterwards.
func (s *Subscriptions) Create(ctx context.Context, workspaceID string, terms subscription.Terms, secret string) (made Subscription, plainSecret string, err error) {
	if err := s.check(ctx, terms.URL); err != nil {
		return made, "", err
	}
	if err := s.checkQuota(workspaceID); err != nil {
		return made, "", err
	}
	id := "sub_" + commands.NewID(ctx, 16)
	keys, secret, err := s.keys(ctx, workspaceID, id, secret)
	if err != nil {
		return made, "", err
	}
	made, err = s.execute(ctx, workspaceID, id, subscription.Create{ID: id, WorkspaceID: workspaceID, Terms: terms, Keys: keys})
	return made, secret, err
}

// Change merges a patch into the terms of a subscription.
func (s *Subscriptions) Change(ctx context.Context, workspaceID, id string, patch subscription.Patch) (Subscription, error) {
	if patch.URL != nil {
		if err := s.check(ctx, *patch.URL); err != nil {
			return Subscription{}, err
		}
	}
	return s.execute(ctx, workspaceID, id, subscription.Change{Patch: patch})
}

// Rotate signs with another secret from now on, one that is made when none is given,
// and with the one before for overlap.
func (s *Subscriptions) Rotate(ctx context.Context, workspaceID, id, secret string, overlap time.Duration) (Subscription, string, error) {
	keys, secret, err := s.keys(ctx, workspaceID, id, secret)
	if err != nil {
		return Subscription{}, "", err
	}
	until := s.Now().UTC().Truncate(time.Millisecond).Add(overlap)
	done, err := s.execute(ctx, workspaceID, id, subscription.Rotate{Sealed: keys.Sealed, Last4: keys.Last4, Until: until})
	return done, secret, err
}

// Delete ends a subscription.
func (s *Subscriptions) Delete(ctx context.Context, workspaceID, id string) error {
	_, err := s.execute(ctx, workspaceID, id, subscription.Delete{})
	return err
}

// Disable stops a subscription whose receiver has failed for too long, and records it in the workspace. It does
// nothing when somebody has enabled the subscription since failed, which is the state that its receiver failed in.
func (s *Subscriptions) Disable(ctx context.Context, failed subscription.State, reason string) error {
	done, err := s.execute(ctx, failed.WorkspaceID, failed.ID, subscription.Disable{Reason: reason, Closed: failed.Closed})
	if err != nil || !done.Changed {
		return err
	}
	return s.Engine.Record(ctx, failed.WorkspaceID, activity.Failure{
		Error: string(domain.CodeUnavailable), Message: "a subscription was disabled: " + reason,
		Details: map[string]any{"reason": "subscription_disabled", "subscriptionId": failed.ID, "url": subscription.PublicURL(done.State.URL)},
	})
}

// Secrets opens what the deliveries of a subscription are signed with at a time: one
// secret, or two during a rotation.
func (s *Subscriptions) Secrets(ctx context.Context, state subscription.State, now time.Time) ([]string, error) {
	sealed := [][]byte{state.Keys.Sealed}
	if len(state.Keys.Previous) > 0 && now.Before(state.Keys.PreviousUntil) {
		sealed = append(sealed, state.Keys.Previous)
	}
	var secrets []string
	for _, text := range sealed {
		plain, err := s.Vault.Open(ctx, state.WorkspaceID, text, purpose(state.ID))
		if err != nil {
			return nil, fmt.Errorf("open the secret of subscription %s: %w", state.ID, err)
		}
		secrets = append(secrets, string(plain))
	}
	return secrets, nil
}

func (s *Subscriptions) execute(ctx context.Context, workspaceID, id string, cmd subscription.Command) (Subscription, error) {
	return commands.Execute(ctx, s.Engine, subscription.Decider, subscription.Stream(workspaceID, id), cmd)
}

// check refuses an address that nothing may be sent to. What is no address at all is
// left to the rules of subscriptions, which tell everything that is wrong at once.
func (s *Subscriptions) check(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	if err := s.Addresses.Check(ctx, u); err != nil {
		return domain.Invalid(domain.FieldError{Field: "url", Message: err.Error()}).Reason("address_forbidden")
	}
	return nil
}

// checkQuota refuses one more subscription than a workspace may have.
func (s *Subscriptions) checkQuota(workspaceID string) error {
	n, err := s.Count(workspaceID)
	if err == nil && n >= subscription.Most {
		err = domain.Refuse(domain.CodeQuota, "a workspace has at most %d subscriptions", subscription.Most)
	}
	return err
}

// purpose is what the secret of a subscription is sealed for.
func purpose(id string) string { return "subscription/" + id }

// keys seals a secret; "" stands for a new one.
func (s *Subscriptions) keys(ctx context.Context, workspaceID, id, secret string) (subscription.Keys, string, error) {
	if secret == "" {
		key := make([]byte, keySize)
		_, _ = rand.Read(key) // never fails: crypto/rand ends the process instead
		secret = subscription.Secret(key)
	}
	if err := subscription.CheckSecret(secret); err != nil {
		return subscription.Keys{}, "", err
	}
	sealed, err := s.Vault.Seal(ctx, workspaceID, []byte(secret), purpose(id))
	return subscription.Keys{Sealed: sealed, Last4: secret[len(secret)-4:]}, secret, err
}
