package settings

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Entry is one effective setting as an operator may see it.
type Entry struct {
	Name   string `json:"name"`
	Value  string `json:"value"` // masked when secret
	Source Origin `json:"source"`
	Part   Part   `json:"part"`
	Live   bool   `json:"live"`
	Secret bool   `json:"secret"`
}

// Entries returns every plain setting and every member of a family that was
// given, in the order of the table.
func (l *Loaded) Entries() []Entry {
	members := map[int][]string{}
	for _, name := range slices.Sorted(maps.Keys(l.given)) {
		v := l.given[name]
		if l.rows[v.row].Family() {
			members[v.row] = append(members[v.row], name)
		}
	}
	var entries []Entry
	for i, row := range l.rows {
		names := []string{row.Name}
		if row.Family() {
			names = members[i]
		}
		for _, name := range names {
			entries = append(entries, l.entry(row, name))
		}
	}
	return entries
}

func (l *Loaded) entry(row Setting, name string) Entry {
	e := Entry{Name: name, Source: OriginDefault, Part: row.Part, Live: row.Live(), Secret: row.isSecretMember(name)}
	v, isGiven := l.given[name]
	derived, isDerived := l.derived[name]
	switch {
	case isGiven:
		e.Value, e.Source = row.displayMember(name, v.written), v.origin
	case isDerived:
		e.Value = derived
	case row.Default != "-":
		e.Value = strings.ReplaceAll(row.Default, "`", "")
	}
	return e
}

// displayedValue is the shown value of name, "" when there is none.
func (l *Loaded) displayedValue(name string) string {
	for _, row := range l.rows {
		if row.Name == name {
			return l.entry(row, name).Value
		}
	}
	if v, ok := l.given[name]; ok {
		return l.rows[v.row].displayMember(name, v.written)
	}
	return ""
}

// Changed returns the entries that are not at their default.
func (l *Loaded) Changed() []Entry {
	return slices.DeleteFunc(l.Entries(), func(e Entry) bool { return e.Source == OriginDefault })
}

// canonicalValue returns name's value so that equal texts mean equal settings. It
// may hold a secret.
func (l *Loaded) canonicalValue(row Setting, name string) string {
	if row.Family() || row.Secret() || row.flags&document != 0 {
		return l.given[name].text
	}
	return row.value.canon()
}

// Digest is equal on two nodes when the settings that must agree do. It covers
// the values that are neither secret nor of one node, and hashes of the secrets;
// with keys of full strength among them nothing can be guessed back from it.
func (l *Loaded) Digest() string {
	sum := sha256.New()
	for _, e := range l.Entries() {
		row := l.rowOf(e.Name)
		if row.PerNode() {
			continue
		}
		text := l.canonicalValue(row, e.Name)
		if e.Secret || row.flags&document != 0 {
			hidden := sha256.Sum256([]byte(e.Name + "\x00" + text))
			text = hex.EncodeToString(hidden[:])
		}
		fmt.Fprintf(sum, "%q=%q\n", e.Name, text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// rowOf returns the row of a plain setting or of a given member.
func (l *Loaded) rowOf(name string) Setting {
	if v, ok := l.given[name]; ok {
		return l.rows[v.row]
	}
	i := slices.IndexFunc(l.rows, func(row Setting) bool { return row.Name == name })
	return l.rows[i]
}

// WriteText writes entries as a table with aligned columns.
func WriteText(w io.Writer, entries []Entry) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "NAME\tVALUE\tSOURCE\tPART") // Flush returns the error of every write
	for _, e := range entries {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\n", e.Name, cmp.Or(quoteControl(e.Value), "-"), e.Source, e.Part)
	}
	return columns.Flush()
}

// quoteControl quotes a text that would break the table.
func quoteControl(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.Quote(text)
	}
	return text
}

// Report is the machine form of a set of settings, as `svc config --json` and
// GET /sys/config give it.
type Report struct {
	Settings []Entry  `json:"settings"`
	Warnings []string `json:"warnings"`
	Digest   string   `json:"digest"`
}

// Report returns the machine form of l with the given entries: Entries, or
// Changed.
func (l *Loaded) Report(entries []Entry) Report {
	return Report{Settings: append([]Entry{}, entries...), Warnings: append([]string{}, l.Warnings...), Digest: l.Digest()}
}

// WriteJSON writes the machine form of l, indented.
func (l *Loaded) WriteJSON(w io.Writer, entries []Entry) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(l.Report(entries))
}

const docsRules = `# Settings

This page is generated from the table of settings in cmd/settings. Change the table, then run
` + "`go test ./cmd/settings -update`" + `.

## How to set

A setting is read from these sources. The first one that has it wins:

1. the environment: ` + "`NAME=value`" + `;
2. a file: ` + "`NAME_FILE=/path`" + ` reads the content of that file, without one trailing line break. It works for
   every setting, and is the recommended way for secrets. Setting both ` + "`NAME`" + ` and ` + "`NAME_FILE`" + ` is a fault;
3. ` + "`CONFIG_FILE`" + `, by default ` + "`.env`" + ` if it exists: ` + "`NAME=value`" + ` lines, ` + "`#`" + ` comments. A value in
   single quotes is not changed; in double quotes ` + "`\\n`, `\\t`, `\\\"` and `\\\\`" + ` are escapes; both may span lines.
   Variables are not expanded;
4. its default.

## Rules

- An empty value counts as not set (except for ADDR). Booleans are ` + "`yes`, `no`, `true`, `false`, `1`, `0`" + `. Lists are separated by commas.
- Sizes are bytes, or ` + "`500kb`, `10mb`, `1gb`" + ` (1024). Durations are in the unit of the table, or have a suffix:
  ` + "`ms`, `s`, `m`, `h`, `d`" + `. ` + "`-1`" + ` disables a limit where the table says so.
- All faults are reported at once, one line each, and the process ends with exit status 2.
  ` + "`svc config --check`" + ` only does this check.
- An unknown name that is similar to a setting gives a warning with the nearest known name.
- There is no built-in password, key or token. Secrets are masked wherever settings are shown.
- Settings marked L are read again on SIGHUP, and applied only when the whole set is valid. The others need a restart.
- All settings except those marked N must be the same on all nodes of a cluster; readiness warns when they are not.
- In ` + "`WORKSPACE_CONFIG_`, `APP_CONFIG_` and `WORKSPACE_SECRET_`" + ` the first underscore after the prefix ends the slug. A
  name in a family that ends in ` + "`_FILE`" + ` names a file, as above.
- ` + "`WORKSPACE_SECRET_`" + ` sets a default for ` + "`{{secret.name}}`" + ` in automations, config and repositories of the workspace with that
  slug, whoever owns the workspace. A secret that is stored for the workspace wins.
- Of the part knowledge, settings of agents have no effect yet.

| Command | Effect |
|---|---|
| ` + "`svc config`" + ` | effective values: name, value, source, part |
| ` + "`svc config --json`, `--docs`, `--changed`" + ` | JSON; this page; only settings that differ from their default |
| ` + "`svc config --check`" + ` | validate, exit with 0 or 2 |
| ` + "`GET /sys/config`" + ` | the same JSON; super admin or internal key |

## Keys generated at the first start (1.1)

A single node (embedded broker, no cluster) generates a missing ` + "`SECRETS_MASTER_KEYS` or `INTERNAL_API_KEY`" + ` and stores it
in ` + "`DATA_DIR/keys`" + ` (directory 0700, files 0600). Back that directory up: without it every stored secret is lost. The
service does not start if other users can read or own a key file. With a cluster or an external broker both must be set.

This is the format of both. The service refuses these examples; generate your own with ` + "`openssl rand -hex 32`" + `:

` + "```" + `
SECRETS_MASTER_KEYS=[{"kid":"k1","key":"` + exampleMasterKey + `","active":true}]
INTERNAL_API_KEY=` + exampleAPIKey + `
` + "```" + `

To rotate, add a key with a new ` + "`kid`" + `, make it the active one, and restart. Remove the old key when no data key uses it any more.

## Table

Marks: L live, S secret, N may differ between nodes. A name with ` + "`{…}`" + ` stands for a family of settings.

| Name | Default | Unit | Part | Marks | Meaning |
|---|---|---|---|---|---|
`

const docsPlatform = `
## Platform repositories

The fields of ` + "`WORKSPACES_STORAGE_GIT_PLATFORM_{repoId}_{FIELD}`" + `. The name ends in the longest known field, the rest
is the id. An unknown field is a fault.

| Field | Default | Marks | Meaning |
|---|---|---|---|
`

// Docs returns docs/config.md.
func Docs() string {
	var page strings.Builder
	page.WriteString(docsRules)
	for _, s := range Table() {
		fmt.Fprintf(&page, "| %s | %s | %s | %s | %s | %s |\n",
			docsName(s), docsDefault(s), s.Unit, s.Part, docsMarks(s), escapeCell(s.Meaning))
	}
	page.WriteString(docsPlatform)
	for _, s := range platformTable(new(PlatformRepository)) {
		fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", s.Name, docsDefault(s), docsMarks(s), escapeCell(s.Meaning))
	}
	return page.String()
}

func docsName(s Setting) string {
	if len(s.Aliases) == 0 {
		return s.Name
	}
	return s.Name + " (alias " + strings.Join(s.Aliases, ", ") + ")"
}

// docsDefault writes a default that can be typed as code, and prose as it is.
func docsDefault(s Setting) string {
	if text := s.plainDefault(); text != "" {
		return "`" + escapeCell(text) + "`"
	}
	return s.Default
}

func docsMarks(s Setting) string {
	var letters []string
	for _, m := range []struct {
		letter string
		set    bool
	}{{"L", s.Live()}, {"S", s.Secret()}, {"N", s.PerNode()}} {
		if m.set {
			letters = append(letters, m.letter)
		}
	}
	return cmp.Or(strings.Join(letters, " "), "-")
}

// escapeCell keeps a text inside its cell.
func escapeCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
