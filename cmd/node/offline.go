package node

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"svc/cmd/settings"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// Offline opens the log and the read models of a node that is not running,
// follows the log to its end, calls do, and closes everything. It fails with
// ErrDirInUse when a node holds the data directory.
func Offline(ctx context.Context, loaded *settings.Loaded, log *slog.Logger, do func(context.Context, *projections.Models) (any, error)) (out any, err error) {
	n := &Node{opts: Options{Settings: settings.NewLive(loaded)}, log: log}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, n.Close(closing))
	}()
	if err := n.lockData(ctx); err != nil {
		return nil, err
	}
	o, err := storeOptions(loaded.Config, log)
	if err != nil {
		return nil, err
	}
	if n.store, err = jetstream.Open(ctx, o); err != nil {
		return nil, err
	}
	n.closeWith("log", n.store.Close)
	if err := n.openReadModels(ctx); err != nil {
		return nil, err
	}
	if err := n.models.CaughtUp(ctx); err != nil {
		if _, fault := errors.AsType[*projections.Fault](err); !fault {
			return nil, err
		}
		log.Warn("the read models stopped", "err", err) // what do is here to examine, or to mend
	}
	return do(ctx, n.models)
}

// InternalKey returns the internal API key of this node, reading it from the
// data directory when it was generated there.
func InternalKey(loaded *settings.Loaded) (string, error) {
	if _, err := settings.EnsureKeys(loaded, rand.Reader); err != nil {
		return "", err
	}
	return loaded.Config.Core.InternalAPIKey.Reveal(), nil
}
