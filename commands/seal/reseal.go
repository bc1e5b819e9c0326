package seal

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"svc/commands"
	"svc/eventstore"
)

// resealPause is the wait between two attempts to reseal everything.
const resealPause = time.Minute

// Resealing seals everything under the active master key that is sealed under an old one,
// and then records that the old key may be dropped. It has nothing to do unless the operator
// made another key the active one.
type Resealing struct {
	Box    *Box
	Checks eventstore.Bucket // the check values of the master keys
	// Steps reseal what is stored, in this order. Each one may be repeated.
	Steps []func(context.Context) error
	Log   *slog.Logger
}

// Run reseals everything; what fails is repeated until ctx ends.
func (r Resealing) Run(ctx context.Context) error {
	for {
		err := r.reseal(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		r.Log.Warn("secrets under an old master key are not all sealed anew yet: keep the key", "err", err)
		if commands.Sleep(ctx, resealPause) != nil {
			return nil
		}
	}
}

func (r Resealing) reseal(ctx context.Context) error {
	kids, err := InUse(ctx, r.Checks)
	old := slices.DeleteFunc(kids, func(kid string) bool { return kid == r.Box.active.kid })
	if err != nil || len(old) == 0 {
		return err
	}
	for _, step := range r.Steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, kid := range old {
		if err := r.Box.Forget(ctx, r.Checks, kid); err != nil {
			return err
		}
		r.Log.Info("nothing is sealed under this master key any more: it may be dropped", "kid", kid)
	}
	return nil
}
