package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"svc/commands"
	"svc/commands/seal"
	"svc/domain"
	"svc/domain/natsuser"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/streams/monitor"
)

// openMonitor opens NATS_LISTEN, where programs of others subscribe to what happens.
func (n *Node) openMonitor(context.Context) error {
	c := n.config()
	if c.Broker.Listen == "" {
		return nil
	}
	serve, err := serverTLS(c.HTTP)
	if err != nil {
		return err
	}
	l, err := jetstream.Listen(jetstream.ListenerOptions{
		Addr: c.Broker.Listen, TLS: serve, Authorize: n.admit, WaitFresh: reads{n.models, n.store.Log}.fresh, Name: c.Core.NodeName, Log: n.log,
	})
	if err != nil {
		return fmt.Errorf("NATS_LISTEN: %w", err)
	}
	if serve == nil && leaves(l.Addr()) {
		n.log.Warn("events leave this host unencrypted: set TLS_CERT_FILE and TLS_KEY_FILE, or let NATS_LISTEN be a loopback address", "address", l.Addr().String())
	}
	n.log.Info("listening for subscribers", "address", l.Addr().String(), "tls", serve != nil)
	n.closeWith("subscribers", l.Close)
	n.work("monitoring", monitor.Monitor{Feed: n.feed, Clients: l, Log: n.log}.Run)
	return nil
}

// leaves reports whether an address can be reached from other hosts.
func leaves(at net.Addr) bool {
	peer, err := netip.ParseAddrPort(at.String())
	return err != nil || !peer.Addr().Unmap().IsLoopback()
}

// admit decides who may subscribe, and to what: what the log says of them, whatever
// they have shown.
func (n *Node) admit(g jetstream.Client) (pass jetstream.Grant, err error) {
	var u projections.NATSUser
	var found bool
	err = n.models.View(func(r projections.Reader) error {
		u, found, err = projections.NATSUsers{}.Get(r, natsuser.IDOf(g.Key))
		return err
	})
	switch {
	case err != nil:
		return pass, err
	case !found || u.PublicKey != g.Key || u.Issuer != g.Issuer || u.All != (len(u.Workspaces) == 0):
		return pass, fmt.Errorf("there is no NATS user with the key %s", g.Key)
	case !u.LiveAt(time.Now()):
		return pass, errors.New("the time of NATS user " + u.ID + " is over")
	}
	return jetstream.Grant{User: u.ID, Workspaces: u.Workspaces, Types: u.Types, Until: u.ExpiresAt}, nil
}

// natsUsers lets programs of others in.
func (n *Node) natsUsers() commands.NATSUsers {
	return commands.NATSUsers{Engine: n.engine, Voucher: voucher{n.people.box}, Now: time.Now}
}

// voucher signs for the keys of those who subscribe, in the name of an account that
// every node with the same master key can speak for. Which account vouched for a user
// is kept with the user, so that another master key shuts nobody out.
type voucher struct{ box *seal.Box }

// Vouch implements commands.Voucher.
func (v voucher) Vouch(publicKey, name string, expires time.Time) (text, issuer string, err error) {
	if !nkeys.IsValidPublicUserKey(publicKey) {
		return "", "", domain.Invalid(domain.FieldError{Field: "publicKey", Message: "must be the public key of a NATS user"})
	}
	account, err := nkeys.FromRawSeed(nkeys.PrefixByteAccount, v.box.Derive("nats users"))
	if err != nil {
		return "", "", err
	}
	if issuer, err = account.PublicKey(); err != nil {
		return "", "", err
	}
	claims := jwt.NewUserClaims(publicKey)
	claims.Name = name
	claims.Pub.Deny.Add(">")
	if !expires.IsZero() {
		claims.Expires = expires.Unix()
	}
	text, err = claims.Encode(account)
	return text, issuer, err
}
