package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"
)

func natsCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "nats", Short: "Let programs watch events over NATS",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	user := &cobra.Command{
		Use: "user", Short: "Look after the programs that watch events over NATS",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	user.AddCommand(addNATSUserCommand(w), listNATSUsersCommand(w), removeNATSUserCommand(w))
	c.AddCommand(user)
	return c
}

const natsUsersPath = "/sys/nats/users"

// operatorCommand makes c call a service as a super admin, or as its operator.
func operatorCommand(r *remote, c *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	r.operator = true
	c = r.command(c, run)
	c.Flags().BoolVar(&r.local, "local", false, "ask the service on this host, with its internal key (default when there is no profile)")
	return c
}

// natsUser is a program that watches, as the API tells of it.
type natsUser struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Workspaces []string `json:"workspaces"`
	All        bool     `json:"all"`
	Types      []string `json:"types"`
	ExpiresAt  string   `json:"expiresAt"`
	JWT        string   `json:"jwt"`
	Listening  bool     `json:"listening"`
}

// watching tells what a program may watch.
func (u natsUser) watching() (workspaces, types, until string) {
	workspaces = strings.Join(u.Workspaces, ",")
	if u.All {
		workspaces = "all"
	}
	return workspaces, cmp.Or(strings.Join(u.Types, ","), "all"), cmp.Or(u.ExpiresAt, "for ever")
}

// newNATSUser is how `svc nats user add` is asked.
type newNATSUser struct {
	remote
	workspaces, types  []string
	all, force         bool
	name, expires, out string
}

func addNATSUserCommand(w environment) *cobra.Command {
	u := &newNATSUser{remote: remote{environment: w}}
	c := operatorCommand(&u.remote, &cobra.Command{
		Use: "add --workspace W --out FILE", Short: "Let a program watch events, and write its credentials",
		Long: "Let a program watch the events of workspaces, all types or some, and write the credentials that it connects with. Its key is\n" +
			"made here and goes nowhere else: whoever has the file can watch, and nothing more. Takes a super admin, or the host.",
		Args: func(c *cobra.Command, args []string) error {
			if u.out == "" || u.all == (len(u.workspaces) > 0) {
				return fmt.Errorf("%w: svc nats user add needs --out, and --workspace or --all", errUsage)
			}
			return noArguments(c, args)
		},
	}, u.run)
	c.Flags().StringSliceVar(&u.workspaces, "workspace", nil, "workspace to watch, by its id or slug; may be repeated, or a comma list; platform for what concerns all")
	c.Flags().BoolVar(&u.all, "all", false, "watch all workspaces, those to come too")
	c.Flags().StringSliceVar(&u.types, "type", nil, "event types to watch, such as 'workspaces.bulkPush.*' (default: all)")
	c.Flags().StringVar(&u.name, "name", "", "what the program is (default: the name of the file)")
	c.Flags().StringVar(&u.expires, "expires", "", "how long it may watch, such as 90d, or until when (default: for ever)")
	c.Flags().StringVar(&u.out, "out", "", "file to write the credentials to")
	c.Flags().BoolVar(&u.force, "force", false, "replace the file if there is one")
	return c
}

func (u *newNATSUser) run(ctx context.Context, _ []string) error {
	if _, err := os.Lstat(u.out); err == nil && !u.force {
		return fmt.Errorf("there is a file %s already: choose another --out, or --force", u.out)
	}
	body := nonEmpty("name", cmp.Or(u.name, strings.TrimSuffix(filepath.Base(u.out), ".creds")))
	if u.expires != "" {
		until, ok := fromNow(u.expires, 1)
		if !ok {
			return fmt.Errorf("%w: --expires is a time such as 90d, 12h or 2030-01-31T12:00:00Z", errUsage)
		}
		body["expiresAt"] = until.UTC().Format(time.RFC3339)
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	defer pair.Wipe()
	if body["publicKey"], err = pair.PublicKey(); err != nil {
		return err
	}
	body["workspaces"], body["all"], body["types"] = append([]string{}, u.workspaces...), u.all, append([]string{}, u.types...)
	var made natsUser
	got, err := u.Call(ctx, http.MethodPost, natsUsersPath, body, &made)
	if err != nil {
		return err
	}
	if err := writeCredentials(u.out, u.force, made.JWT, pair); err != nil {
		return fmt.Errorf("%w; without the file the user is of no use: %s", err, u.commandLine("nats", "user", "remove", made.ID))
	}
	return u.printResult(got.Body, func() string { return u.text(made) })
}

func (u *newNATSUser) text(made natsUser) string {
	workspaces, types, until := made.watching()
	text := fmt.Sprintf("%s (%s) may watch: workspaces %s, types %s, until: %s\ncredentials: %s   (they are nowhere else)\n",
		made.ID, clean(made.Name), clean(workspaces), clean(types), until, clean(u.out))
	if !made.Listening {
		text += "the service does not listen yet: set NATS_LISTEN and start it again\n"
	}
	return text
}

// writeCredentials writes a file that NATS clients understand, which its owner alone
// may read: complete, or not there. Without force it takes the place of none.
func writeCredentials(path string, force bool, token string, pair nkeys.KeyPair) error {
	seed, err := pair.Seed()
	if err != nil {
		return err
	}
	text, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".creds-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone already after a rename
	_, err = temp.Write(text)
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(temp.Name(), path)
	}
	return os.Link(temp.Name(), path)
}

func listNATSUsersCommand(w environment) *cobra.Command {
	r := &remote{environment: w}
	return operatorCommand(r, &cobra.Command{
		Use: "list", Short: "List the programs that may watch events", Args: noArguments,
	}, func(ctx context.Context, _ []string) error {
		var all []natsUser
		got, err := r.Call(ctx, http.MethodGet, natsUsersPath, nil, &all)
		if err != nil {
			return err
		}
		rows := [][]string{{"ID", "NAME", "WORKSPACES", "TYPES", "UNTIL"}}
		for _, u := range all {
			workspaces, types, until := u.watching()
			rows = append(rows, []string{u.ID, u.Name, workspaces, types, until})
		}
		return r.printResult(got.Body, func() string { return table(rows...) })
	})
}

func removeNATSUserCommand(w environment) *cobra.Command {
	r := &remote{environment: w}
	return operatorCommand(r, &cobra.Command{
		Use: "remove ID", Short: "Shut a program out: its connections are cut at once",
		Args: requireArguments("a NATS user, by its id"),
	}, func(ctx context.Context, args []string) error {
		var removed struct {
			ID string `json:"id"`
		}
		got, err := r.Call(ctx, http.MethodDelete, natsUsersPath+"/"+url.PathEscape(args[0]), nil, &removed)
		if err != nil {
			return err
		}
		return r.printResult(got.Body, func() string { return fmt.Sprintf("%s is shut out\n", removed.ID) })
	})
}
