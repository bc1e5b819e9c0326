package signing

import (
	"context"
	"errors"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/keyring"
)

// Rotate lets the next key sign from now on and makes another one to follow it.
// It returns the kids that came and left. When another node rotates at the same
// moment, one rotation is made, and the other call returns none.
func (k *Keys) Rotate(ctx context.Context) (created, deleted []string, err error) {
	before, err := k.ring(ctx)
	if err != nil {
		return nil, nil, err
	}
	after, changed, err := k.rotate(ctx, before)
	if err != nil || !changed {
		return []string{}, []string{}, err
	}
	k.settle(ctx)
	return missing(after, before), missing(before, after), nil
}

// Revoke drops a key at once: what it signed is refused from now on. The signing
// key is replaced first. An unknown kid is refused.
func (k *Keys) Revoke(ctx context.Context, kid string) error {
	before, err := k.ring(ctx)
	if err != nil {
		return err
	}
	if _, err := k.revoke(ctx, before, kid); err != nil {
		return err
	}
	k.settle(ctx)
	return nil
}

// settle waits until this node knows of the change it has just made, so that
// whoever asked for it sees it. The change is made in any case.
func (k *Keys) settle(ctx context.Context) {
	if _, err := k.refreshed(ctx); err != nil {
		k.o.Log.WarnContext(ctx, "a change of the signing keys is not known here yet", "err", err)
	}
}

// Upkeep rotates the signing key when it is due, drops retired keys whose time is
// over, and tidies what is stored; and it makes the first keys when that was not
// possible at start. It returns when there is something to do next.
func (k *Keys) Upkeep(ctx context.Context) (next time.Time, err error) {
	ring, err := k.ring(ctx)
	if err == nil && !ring.Started() {
		ring, err = k.start(ctx)
	}
	if err != nil {
		return time.Time{}, err
	}
	now := k.now()
	if !now.Before(k.rotatesAt(ring)) {
		ring, _, err = k.rotate(ctx, ring)
	} else if at := ring.NextExpiry(); !at.IsZero() && !now.Before(at) {
		ring, _, err = k.change(ctx, ring, 0, func([]keyring.JWK) keyring.Command { return keyring.Expire{Now: now} })
	}
	if err == nil {
		err = k.tend(ctx, ring)
	}
	next = k.rotatesAt(ring)
	if at := ring.NextExpiry(); !at.IsZero() && at.Before(next) {
		next = at
	}
	return next, err
}

// ring returns the key ring as the log has it. Nothing expires at no time, so
// that this command only looks.
func (k *Keys) ring(ctx context.Context) (keyring.State, error) {
	e, err := k.execute(ctx, keyring.Expire{})
	return e.State, err
}

func (k *Keys) rotate(ctx context.Context, before keyring.State) (after keyring.State, changed bool, err error) {
	return k.change(ctx, before, 1, func(fresh []keyring.JWK) keyring.Command {
		return keyring.Rotate{Signing: before.Signing().JWK.KID, New: fresh[0], Now: k.now(), Keep: k.o.MaxAge}
	})
}

func (k *Keys) revoke(ctx context.Context, before keyring.State, kid string) (keyring.State, error) {
	needed := 0 // a retired key leaves no gap, and an unknown one is refused
	if key, ok := before.Find(kid); ok && key.Stage != keyring.Retired {
		needed = 1
	}
	after, _, err := k.change(ctx, before, needed, func(fresh []keyring.JWK) keyring.Command {
		return keyring.Revoke{KID: kid, New: append(fresh, keyring.JWK{})[0], Now: k.now()}
	})
	return after, err
}

// change runs a command that brings n new keys. Their private parts are kept
// before the command is run, and taken away when it did not use them; those of
// keys that left are taken away after it. While its outcome is unknown the new
// ones stay: they may be on the ring.
func (k *Keys) change(ctx context.Context, before keyring.State, n int, command func(fresh []keyring.JWK) keyring.Command) (keyring.State, bool, error) {
	fresh := make([]keyring.JWK, n)
	for i := range fresh {
		private, public, err := k.alg.generate()
		if err == nil {
			err = k.store(ctx, public.KID, private)
		}
		if err != nil {
			return before, false, err
		}
		fresh[i] = public
	}
	e, err := k.execute(ctx, command(fresh))
	if _, refused := errors.AsType[*domain.Error](err); err != nil && !refused {
		return before, false, err
	}
	for _, public := range fresh {
		if _, used := e.State.Find(public.KID); !used {
			k.drop(ctx, public.KID)
		}
	}
	if err != nil {
		return before, false, err
	}
	k.drop(ctx, missing(before, e.State)...)
	return e.State, e.Changed, nil
}

func (k *Keys) execute(ctx context.Context, cmd keyring.Command) (commands.Execution[keyring.State], error) {
	return commands.Execute(ctx, k.o.Engine, keyring.Decider, keyring.Stream(), cmd)
}

// missing returns the kids of a that are not in b.
func missing(a, b keyring.State) []string {
	kids := []string{}
	for _, key := range a.Keys {
		if _, there := b.Find(key.JWK.KID); !there {
			kids = append(kids, key.JWK.KID)
		}
	}
	return kids
}
