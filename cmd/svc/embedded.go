package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/cmd/client"
	"svc/cmd/node"
	"svc/cmd/process"
	"svc/cmd/settings"
)

// embeddedService is a service of one directory, in this process. Its data are in the directory, and it listens
// on this machine only.
type embeddedService struct {
	*client.Client
	stop func() error
}

// localAdmin is the account of a local service.
const localAdmin = "admin@localhost"

// startEmbeddedService starts the service of a directory. The password of its console is in the file "password".
func startEmbeddedService(ctx context.Context, d *linkedDirectory) (_ *embeddedService, err error) {
	password, err := d.localPassword()
	if err != nil {
		return nil, err
	}
	listener, err := listenOnFreePort(d.Port)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = listener.Close() // most errors come when it is closed already
		}
	}()
	port := portOf(listener)
	loaded, err := settings.Load(settings.Source{Hostname: "localhost", Environ: []string{
		"DATA_DIR=" + d.inside("data"), "ADDR=127.0.0.1", "PORT=" + strconv.Itoa(port), "NODE_NAME=dev",
		"ADMIN_PASSWORD=" + password, "SUPER_ADMIN_EMAILS=" + localAdmin, "ACCOUNT_VALIDATION_METHOD=auto",
		"DISABLE_RATE_LIMIT=yes", "EGRESS_ALLOW_PRIVATE=yes", "JWKS_ALG=ES256", "JWKS_KTY=EC",
		"BADGER_MEMTABLE_MB=16", "BADGER_BLOCK_CACHE_MB=8", "DISK_MIN_FREE_MB=1", "LOG_LEVEL=warn", "LOG_FORMAT=json", "RUN_RECORDING=all",
	}})
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(d.inside("service.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	level := new(slog.LevelVar)
	level.Set(loaded.Config.Obs.LogLevel)
	opened, err := node.Open(ctx, node.Options{
		Settings: settings.NewLive(loaded), Listener: listener, Log: process.NewLog(file, loaded.Config.Obs.LogFormat, level), Level: level, Version: version,
	})
	if err != nil {
		if errors.Is(err, process.ErrDirInUse) {
			err = fmt.Errorf("another `svc dev` runs in %s: end it first", d.path)
		}
		return nil, errors.Join(err, file.Close())
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it ends after everything that calls it
	ended := make(chan error, 1)
	go func() { ended <- opened.Serve(serving) }()
	s := &embeddedService{Client: &client.Client{URL: embeddedURL(port)}}
	s.stop = func() error {
		cancel()
		return errors.Join(<-ended, file.Close())
	}
	if err := s.signIn(ctx, d, password); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	d.Port, d.Token = port, s.Token
	return s, nil
}

// signIn uses the token of the last time, or makes one.
func (s *embeddedService) signIn(ctx context.Context, d *linkedDirectory, password string) (err error) {
	s.Token = d.Token
	if s.Token != "" {
		if _, err := s.Me(ctx); err == nil {
			return nil
		}
		s.Token = ""
	}
	session, err := s.SignIn(ctx, client.Credentials{Email: localAdmin, Password: password})
	if err != nil {
		return fmt.Errorf("sign in to the service of the directory: %w (its password is in %s)", err, d.inside("password"))
	}
	defer func() { err = errors.Join(err, session.SignOut(ctx)) }()
	made, err := session.MakeToken(ctx, "svc dev", time.Now().AddDate(1, 0, 0))
	s.Token = made.Token
	return err
}

// localPassword is that of the account of the local service. It is made at the first start.
func (d *linkedDirectory) localPassword() (string, error) {
	text, err := os.ReadFile(d.inside("password"))
	if errors.Is(err, fs.ErrNotExist) {
		password := rand.Text()
		return password, os.WriteFile(d.inside("password"), []byte(password+"\n"), 0o600)
	}
	return strings.TrimSpace(string(text)), err
}

// embeddedURL is the address of a service on a port of this machine.
func embeddedURL(port int) string { return "http://localhost:" + strconv.Itoa(port) }

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// listenOnFreePort listens on a port of this machine: the wanted one, else the usual one, else any.
func listenOnFreePort(wanted int) (l net.Listener, err error) {
	candidates := []int{usualPort, 0} // 0: any
	if wanted != 0 {
		candidates = slices.Insert(candidates, 0, wanted)
	}
	for _, port := range candidates {
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return l, nil
		}
	}
	return nil, err
}

const usualPort = 3001
