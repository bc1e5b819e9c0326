package versioning

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"svc/commands/gitsync"
	"svc/domain/document"
)

// author returns who a commit of a user is by.
func (v *Versioning) author(ctx context.Context, userID string, when time.Time) (gitsync.Signature, error) {
	name, email, err := v.People.Person(ctx, userID)
	if err != nil {
		return gitsync.Signature{}, err
	}
	email = printable(email)
	if email == "" {
		email = cmp.Or(userID, "nobody") + "@users.noreply." + v.Host()
	}
	local, _, _ := strings.Cut(email, "@")
	return gitsync.Signature{Name: cmp.Or(printable(name), local), Email: email, When: when.UTC()}, nil
}

func (v *Versioning) committer(when time.Time) gitsync.Signature {
	name, email := v.Committer()
	return gitsync.Signature{Name: printable(name), Email: printable(email), When: when.UTC()}
}

// printable leaves out what would end a name, or a line, in a commit.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s))
}

// trailers are what commits say about where they come from.
type trailers struct {
	workspace, version, operation string
	revision                      uint64
}

// message is a text with trailers.
func message(text string, t trailers) string {
	text = strings.TrimRight(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""), "\n\r\t ")
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nSvc-Workspace: %s\n", text, t.workspace)
	if t.version != "" {
		fmt.Fprintf(&b, "Svc-Version: %s\n", t.version)
	}
	fmt.Fprintf(&b, "Svc-Operation: %s\nSvc-Revision: %d\n", t.operation, t.revision)
	return b.String()
}

// described is the text of a version's commit: its description, in English where
// there are several.
func described(text document.Localized, version, slug string) string {
	return cmp.Or(text.In("en"), text.First(), fmt.Sprintf("Version %s of %s", version, slug))
}
