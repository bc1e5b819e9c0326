package node

import (
	"context"
	"slices"
	"time"

	"svc/commands/seal"
	"svc/projections"
)

// resealPause is between two attempts to seal everything anew.
const resealPause = time.Minute

// reseal puts everything that is sealed under an old master key under the active
// one, and then notes that the old key may go. It has nothing to do unless the
// operator made another key the active one.
func (n *Node) reseal(ctx context.Context) error {
	for {
		err := n.resealAll(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		n.log.Warn("secrets under an old master key are not all sealed anew yet: keep the key", "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(resealPause):
		}
	}
}

func (n *Node) resealAll(ctx context.Context) error {
	active := n.activeKey()
	kids, err := seal.InUse(ctx, n.people.checks)
	old := slices.DeleteFunc(kids, func(kid string) bool { return kid == active })
	if err != nil || len(old) == 0 {
		return err
	}
	if err := n.models.CaughtUp(ctx); err != nil {
		return err
	}
	if _, err := n.people.keys.Upkeep(ctx); err != nil { // its private parts
		return err
	}
	if err := n.places.vault.Reseal(ctx); err != nil { // the keys of workspaces
		return err
	}
	var all []projections.User
	err = n.models.View(func(r projections.Reader) (err error) {
		all, _, err = projections.Users{}.Search(r, projections.UserQuery{})
		return err
	})
	for _, u := range all {
		if err == nil {
			_, err = n.people.accounts.Reseal(ctx, u.ID)
		}
	}
	for _, kid := range old {
		if err == nil {
			err = n.people.box.Forget(ctx, n.people.checks, kid)
		}
		if err == nil {
			n.log.Info("nothing is sealed under this master key any more: it may be dropped", "kid", kid)
		}
	}
	return err
}

// activeKey is the kid of the master key that seals.
func (n *Node) activeKey() string {
	for _, k := range n.config().Core.MasterKeys {
		if k.Active {
			return k.KID
		}
	}
	return ""
}
