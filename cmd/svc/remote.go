package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/cmd/node"
	"svc/cmd/process"
	"svc/cmd/settings"
)

// The variables that go before what a profile says.
const (
	urlVariable     = "SVC_URL"
	tokenVariable   = "SVC_TOKEN"
	profileVariable = "SVC_PROFILE"
	usualProfile    = "default"
)

// remote is what commands that call a service share.
type remote struct {
	environment
	profile string
	asJSON  bool

	operator bool // a command that the operator can give on the host of the service, too
	local    bool // and does

	*client.Client
	userID    string // who calls; "" when it is not known
	workspace string // as the API calls it
	named     string // as the command line calls it
}

// env returns a variable of the environment; "" for none.
func (w environment) env(name string) (value string) {
	for _, pair := range w.source.Environ {
		if rest, ok := strings.CutPrefix(pair, name+"="); ok {
			value = rest
		}
	}
	return value
}

// command makes c call a service: about a workspace when its first argument names
// one.
func (r *remote) command(c *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	r.flags(c)
	about := strings.Contains(c.Use, " WORKSPACE")
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx := c.Context()
		err := r.connectAny()
		if err == nil && about {
			r.named = args[0]
			r.workspace, err = r.Workspace(ctx, args[0])
		}
		if err == nil {
			err = run(ctx, args)
		}
		return r.explain(ctx, err)
	}
	return c
}

func (r *remote) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.profile, "profile", "", "profile of svc login to use (default $SVC_PROFILE, else \"default\")")
	c.Flags().BoolVar(&r.asJSON, "json", false, "print JSON, and the result only")
}

// requireArguments refuses a command line without exactly these arguments.
func requireArguments(what ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(what) || slices.Contains(args, "") {
			return fmt.Errorf("%w: %s takes %s", errUsage, c.CommandPath(), strings.Join(what, " and "))
		}
		return nil
	}
}

const theWorkspace = "a workspace, by its id or slug"

// profileName is the profile to use.
func (r *remote) profileName() string {
	return cmp.Or(r.profile, r.env(profileVariable), usualProfile)
}

// profilesPath is where profiles are kept.
func (w environment) profilesPath() (string, error) {
	dir := w.env("XDG_CONFIG_HOME")
	if dir == "" && w.env("HOME") != "" {
		dir = filepath.Join(w.env("HOME"), ".config")
	}
	if dir == "" {
		return "", errors.New("profiles are kept in XDG_CONFIG_HOME, or below HOME: set one of them")
	}
	return filepath.Join(dir, "svc", "profiles.json"), nil
}

// connectAny finds out which service is called, and as whom.
func (r *remote) connectAny() error {
	if !r.local {
		err := r.connect()
		asked := r.profile + r.env(profileVariable) + r.env(urlVariable) + r.env(tokenVariable)
		if err == nil || !r.operator || asked != "" {
			return err
		}
		if r.connectLocal() == nil {
			return nil
		}
		return err
	}
	return r.connectLocal()
}

// connectLocal is connect for the operator on the host: the service there, with its
// internal key.
func (r *remote) connectLocal() error {
	loaded, err := settings.Load(r.source)
	if err != nil {
		return err
	}
	if loaded.Config.Core.InternalAPIKey == "" { // then it was made at the first start; a command makes none
		if _, err := os.Stat(filepath.Join(loaded.Config.Core.DataDir, "keys")); err != nil {
			return fmt.Errorf("there is no service here: INTERNAL_API_KEY is not set, and DATA_DIR has no keys: %w", err)
		}
	}
	key, err := node.InternalKey(loaded)
	if err != nil {
		return err
	}
	r.Client = &client.Client{URL: strings.TrimSuffix(loaded.Config.HTTP.InternalAPIURL, "/v2"), Key: key, HTTP: process.Client(loaded.Config.HTTP)}
	return nil
}

// connect finds out which service is called, and with which token.
func (r *remote) connect() error {
	address, token := r.env(urlVariable), r.env(tokenVariable)
	if address != "" {
		var err error
		if address, err = client.ServiceURL(address); err != nil {
			return fmt.Errorf("%w: %s: %w", errUsage, urlVariable, err)
		}
	}
	if address != "" && token != "" {
		r.Client = &client.Client{URL: address, Token: token}
		return nil
	}
	p, err := r.storedProfile()
	if err != nil {
		return err
	}
	if address != "" && address != p.URL {
		return fmt.Errorf("%s is not the service of profile %s, and its token goes nowhere else: set %s too", urlVariable, r.profileName(), tokenVariable)
	}
	r.Client = &client.Client{URL: p.URL, Token: cmp.Or(token, p.Token)}
	if token == "" {
		r.userID = p.UserID
	}
	return nil
}

// storedProfile is the profile to use, as it was kept.
func (r *remote) storedProfile() (p client.Profile, err error) {
	path, err := r.profilesPath()
	if err != nil {
		return p, err
	}
	all, err := client.ReadProfiles(path)
	if err != nil {
		return p, err
	}
	p, ok := all[r.profileName()]
	if !ok {
		err = fmt.Errorf("there is no profile %s: sign in with `%s`, or set %s and %s", r.profileName(), r.commandLine("login"), urlVariable, tokenVariable)
		if names := slices.Sorted(maps.Keys(all)); len(names) > 0 {
			err = fmt.Errorf("%w\nthere are: %s", err, strings.Join(names, ", "))
		}
	}
	return p, err
}

// commandLine is a command line that does something with the same service.
func (r *remote) commandLine(words ...string) string {
	if r.profile != "" {
		words = append(words, "--profile", r.profile)
	}
	return "svc " + strings.Join(words, " ")
}

// path is a path below the workspace.
func (r *remote) path(below string) string {
	return "/workspaces/" + url.PathEscape(r.workspace) + below
}
