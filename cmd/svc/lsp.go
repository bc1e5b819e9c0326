package main

import (
	"github.com/spf13/cobra"

	"svc/cmd/lsp"
)

func lspCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "lsp", Short: "Help editors with the files of workspaces",
		Long: "Serve the Language Server Protocol on standard input and output, for editors. In directories in the layout of an archive it shows\n" +
			"what is wrong while you type, completes keys, values and names, says what they mean, finds automations and events and what uses\n" +
			"them, and renames automations. It calls no service. docs/editors.md has the settings of editors.",
		RunE: func(c *cobra.Command, _ []string) error {
			return lsp.Serve(c.Context(), lsp.Options{In: w.in, Out: w.out, Log: w.log, Version: version})
		},
	}
	c.Flags().Bool("stdio", true, "talk over standard input and output; there is no other way")
	return c
}
