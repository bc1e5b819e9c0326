package node

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"time"

	"svc/cmd/settings"
	"svc/commands/accounts"
	"svc/domain/user"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// Upkeep is what can be looked after of a node that is not running.
type Upkeep struct {
	Models *projections.Models
	Search *projections.SearchIndex
}

// Offline opens the log and the read models of a node that is not running,
// follows the log to its end, calls do, and closes everything. It fails with
// process.ErrDirInUse when a node holds the data directory.
func Offline(ctx context.Context, loaded *settings.Loaded, log *slog.Logger, do func(context.Context, Upkeep) (any, error)) (out any, err error) {
	err = offline(ctx, loaded, log, func(n *Node) error {
		if err := n.openSearchIndex(ctx); err != nil {
			return err
		}
		out, err = do(ctx, Upkeep{n.models, n.search})
		return err
	})
	return out, err
}

// offline is Offline with the whole node, as far as it is open.
func offline(ctx context.Context, loaded *settings.Loaded, log *slog.Logger, do func(*Node) error) (err error) {
	n := &Node{opts: Options{Settings: settings.NewLive(loaded)}, log: log}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, n.Close(closing))
	}()
	if err := n.lockData(ctx); err != nil {
		return err
	}
	if err := n.openReadModelStore(); err != nil {
		return err
	}
	o, err := storeOptions(loaded.Config, log)
	if err != nil {
		return err
	}
	if n.store, err = jetstream.Open(ctx, o); err != nil {
		return err
	}
	n.closeWith("log", n.store.Close)
	if err := n.openReadModels(ctx); err != nil {
		return err
	}
	if err := n.models.CaughtUp(ctx); err != nil {
		if _, fault := errors.AsType[*projections.Fault](err); !fault {
			return err
		}
		log.Warn("the read models stopped", "err", err) // do may be there to examine or repair them
	}
	return do(n)
}

// Claim gives the account with an address to whoever has the data directory of a
// node that is not running. It fails with process.ErrDirInUse when a node holds it.
func Claim(ctx context.Context, loaded *settings.Loaded, log *slog.Logger, email string, newPassword bool) (made accounts.NewAccount, super bool, err error) {
	if _, err := settings.EnsureKeys(loaded, rand.Reader); err != nil {
		return made, false, err
	}
	err = offline(ctx, loaded, log, func(n *Node) error {
		if err := n.run(ctx, n.openCommands, n.openBox, n.openSessions, n.openSigning, n.openAccounts); err != nil {
			return err
		}
		made, super, err = n.claim(ctx, email, newPassword)
		return err
	})
	return made, super, err
}

// claim proves an address and reports whether its user is a super admin.
func (n *Node) claim(ctx context.Context, email string, newPassword bool) (made accounts.NewAccount, super bool, err error) {
	made, err = n.identity.accounts.Claim(ctx, email, newPassword)
	super = slices.ContainsFunc(n.config().Auth.SuperAdminEmails, func(admin string) bool { return user.NormalEmail(admin) == made.Email })
	return made, super, err
}

// InternalKey returns the internal API key of this node, reading it from the
// data directory when it was generated there.
func InternalKey(loaded *settings.Loaded) (string, error) {
	if _, err := settings.EnsureKeys(loaded, rand.Reader); err != nil {
		return "", err
	}
	return loaded.Config.Core.InternalAPIKey.Reveal(), nil
}
