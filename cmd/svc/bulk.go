package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func bulkCommand(w world) *cobra.Command {
	c := &cobra.Command{
		Use: "bulk", Short: "Push or import all workspaces of a group",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(bulkPushCommand(w), bulkImportCommand(w))
	return c
}

// bulk is what both runs are asked with.
type bulk struct {
	remote
	groups     []string
	repository string
	dry        bool
}

func newBulk(w world) *bulk {
	return &bulk{remote: remote{world: w, workspace: "platform", named: "platform"}}
}

func (b *bulk) options(c *cobra.Command) {
	c.Flags().StringSliceVar(&b.groups, "group", nil, "group of workspaces; may be repeated, or a comma list")
	c.Flags().StringVar(&b.repository, "repository", "", "id of the platform repository (default: the first that allows it)")
	c.Flags().BoolVar(&b.dry, "dry-run", false, "only tell what would be done")
}

func bulkPushCommand(w world) *cobra.Command {
	b := newBulk(w)
	var name, description string
	var force bool
	c := b.command(&cobra.Command{
		Use: "push --group GROUP", Short: "Push every workspace of the groups to a platform repository",
		Long: "Push every workspace of the groups that has changed to a platform repository, under one version name. One that fails\nstops none of the others. Exit status 1 when one failed, or the run was refused.",
		Args: func(c *cobra.Command, args []string) error {
			if len(b.groups) == 0 {
				return fmt.Errorf("%w: svc bulk push needs --group", errUsage)
			}
			return noArguments(c, args)
		},
	}, func(ctx context.Context, _ []string) error {
		return b.run(ctx, "/workspaces/platform/versions", given("name", name, "description", description), "force", force)
	})
	b.options(c)
	c.Flags().StringVar(&name, "name", "", "name of the version (default: one is made of the time)")
	c.Flags().StringVar(&description, "description", "", "what is new; in Git, the message of the commits")
	c.Flags().BoolVar(&force, "force", false, "push those too that have not changed")
	return c
}

func bulkImportCommand(w world) *cobra.Command {
	b := newBulk(w)
	var again bool
	c := b.command(&cobra.Command{
		Use: "import", Short: "Import the workspaces of a platform repository",
		Long: "Import the workspaces of a platform repository, those of the groups or all, each after those that it depends on.\nWhat was changed here is overwritten. One that fails stops none of the others. Exit status 1 when one failed, or the run was refused.",
		Args: func(c *cobra.Command, args []string) error {
			if len(b.groups) == 0 && b.repository == "" {
				return fmt.Errorf("%w: svc bulk import needs --group or --repository", errUsage)
			}
			return noArguments(c, args)
		},
	}, func(ctx context.Context, _ []string) error {
		return b.run(ctx, "/workspaces/platform/versions/latest/pull", given(), "forceReimport", again)
	})
	b.options(c)
	c.Flags().BoolVar(&again, "force-reimport", false, "import those too whose version is here already, and files with wrong checksums")
	return c
}

// run starts the run and shows it.
func (b *bulk) run(ctx context.Context, path string, body map[string]any, flag string, on bool) error {
	if err := b.known(ctx); err != nil {
		return err
	}
	for name, value := range map[string]bool{flag: on, "dryRun": b.dry} {
		if value {
			body[name] = true
		}
	}
	if len(b.groups) > 0 {
		body["groups"] = b.groups
	}
	if b.repository != "" {
		body["repository"] = map[string]string{"id": b.repository}
	}
	query := "?sse=true"
	if b.dry {
		query = "" // it is no run
	}
	op, err := b.start(ctx, path+query, body)
	if err != nil {
		return err
	}
	return b.ran(op.Result)
}

// known refuses a repository that is none of the platform's: with the name of
// another, or of none, the service would push or pull the workspace platform itself.
func (b *bulk) known(ctx context.Context) error {
	if b.repository == "" {
		return nil
	}
	var platform struct {
		PlatformRepositories map[string]struct{} `json:"platformRepositories"`
	}
	if err := b.Get(ctx, b.path(""), &platform); err != nil {
		return err
	}
	if _, ok := platform.PlatformRepositories[b.repository]; ok {
		return nil
	}
	names := slices.Sorted(maps.Keys(platform.PlatformRepositories))
	if len(names) == 0 {
		return fmt.Errorf("there is no platform repository %s, nor any other: the operator sets them", clean(b.repository))
	}
	return fmt.Errorf("there is no platform repository %s; there are: %s", clean(b.repository), strings.Join(names, ", "))
}
