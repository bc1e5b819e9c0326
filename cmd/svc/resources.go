package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/document"
)

// resourceCommand is a command that is one call of the API: a row of the table below.
type resourceCommand struct {
	use    string // with its arguments in capitals: "get WORKSPACE SLUG"; one in brackets may be left out
	short  string
	long   string
	method string
	route  string // "/workspaces/{WORKSPACE}/automations/{SLUG}": an argument in braces
	params []param
	body   func(ctx context.Context, c *resourceCall) (client.Content, error) // nil: none
	accept string                                                             // what is printed as it comes; "": JSON
	list   []column                                                           // the answer as a table
	done   string                                                             // what is printed after a write: arguments, and members of the answer, in braces
	print  func(*resourceCall, client.Answer) (string, error)                 // when neither says it
	call   func(ctx context.Context, c *resourceCall) (client.Answer, error)  // instead of one call
	admin  bool                                                               // it takes a session of a super admin: see remote.inSession
}

// param is a flag that is sent as a parameter of the address, or that the body is made of.
type param struct {
	name  string // of the flag
	query string // of the parameter; "": the body has it
	usage string
}

// column is a column of a list: its title, and the path of its value.
type column struct{ title, path string }

var pages = []param{{"search", "search", "only what has this text"}, {"page", "page", "which page, from 0"}, {"limit", "limit", "how many on a page (default 20)"}}

// resources are the groups of commands that are calls of the API.
var resources = []struct {
	name, short string
	commands    []resourceCommand
}{
	{"workspace", "List, make, delete and restore workspaces", []resourceCommand{
		{use: "list", short: "List the workspaces that you may read", method: http.MethodGet, route: "/workspaces",
			params: append([]param{{"dirty", "dirty", "true: with content that was not pushed"}, {"deleted", "deleted", "true: those that were deleted and can be restored"}, {"labels", "labels", "with one of these labels, a comma list"}}, pages...),
			list:   []column{{"ID", "id"}, {"SLUG", "slug"}, {"NAME", "name"}, {"ROLE", "role"}, {"UNPUSHED", "dirty"}, {"CHANGED", "updatedAt"}}},
		{use: "create NAME", short: "Make a workspace", method: http.MethodPost, route: "/workspaces",
			params: []param{{"slug", "", "its slug (default: made of the name)"}},
			body:   jsonBody(func(c *resourceCall) any { return nonEmpty("name", c.args["NAME"], "slug", c.flag("slug")) }), done: "made workspace {slug} ({id})"},
		{use: "delete WORKSPACE", short: "Delete a workspace; `svc workspace undelete` restores it", method: http.MethodDelete, route: "/workspaces/{WORKSPACE}",
			done: "deleted workspace {id}; `svc workspace undelete {id}` restores it"},
		{use: "undelete ID", short: "Restore a workspace that was deleted", method: http.MethodPost, route: "/workspaces/{ID}/undelete",
			params: []param{{"slug", "", "another slug, when its own is taken"}},
			body:   jsonBody(func(c *resourceCall) any { return nonEmpty("slug", c.flag("slug")) }), done: "restored workspace {slug} ({id})"},
	}},
	{"automation", "List, read, save and delete automations", documentCommands("automation")},
	{"page", "List, read, save and delete pages", documentCommands("page")},
	{"secret", "List, set and delete the secrets of a workspace", []resourceCommand{
		{use: "list WORKSPACE", short: "List the secrets, without values", method: http.MethodGet, route: "/workspaces/{WORKSPACE}/security/secrets",
			list: []column{{"NAME", ""}, {"DESCRIPTION", "description"}, {"SET", "updatedAt"}, {"BY", "updatedBy"}}},
		{use: "set WORKSPACE NAME", short: "Set a secret: the value is asked for, or read from standard input", method: http.MethodPatch, route: "/workspaces/{WORKSPACE}/security/secrets",
			params: []param{{"description", "", "what it is for"}}, body: secretBody, done: "set secret {NAME}"},
		{use: "delete WORKSPACE NAME", short: "Delete a secret", method: http.MethodDelete, route: "/workspaces/{WORKSPACE}/security/secrets/{NAME}", done: "deleted secret {NAME}"},
	}},
	{"key", "List, make and delete the API keys of a workspace", []resourceCommand{
		{use: "list WORKSPACE", short: "List the API keys, without values", method: http.MethodGet, route: "/workspaces/{WORKSPACE}/security/apikeys",
			list: []column{{"ID", "id"}, {"NAME", "name"}, {"ENDS WITH", "last4"}, {"USED", "lastUsedAt"}, {"EXPIRES", "expiresAt"}, {"DISABLED", "disabled"}}},
		{use: "create WORKSPACE NAME", short: "Make an API key; its value is printed once, on standard output", method: http.MethodPost, route: "/workspaces/{WORKSPACE}/security/apikeys",
			long: "Make an API key with the rules of --rules: JSON as the API takes it, @FILE, or - for standard input. Its value is printed once.\n" +
				`A key that may run one endpoint: --rules '[{"action":"execute","subject":"automations","conditions":{"slug":"orders"}}]'`,
			params: []param{{"rules", "", "what it may do, as JSON, @FILE or -"}, {"expires", "", "when it ends: a time, or from now such as 720h"}}, body: keyBody, done: "{apiKey}"},
		{use: "delete WORKSPACE ID", short: "Revoke an API key", method: http.MethodDelete, route: "/workspaces/{WORKSPACE}/security/apikeys/{ID}", done: "revoked API key {ID}"},
	}},
	{"runs", "List, look at, replay and cancel runs of automations", []resourceCommand{
		{use: "list WORKSPACE", short: "List the runs, newest first", method: http.MethodGet, route: "/workspaces/{WORKSPACE}/runs",
			params: []param{{"automation", "automation", "that began with this automation"}, {"status", "status", "running, waiting, succeeded, failed or cancelled"}, {"from", "from", "that began at this time or later"}, {"to", "to", "that began before this time"}, {"page", "page", "which page, from 0"}, {"limit", "limit", "how many on a page"}},
			list:   []column{{"RUN", "correlationId"}, {"STARTED", "startedAt"}, {"STATUS", "status"}, {"MS", "duration"}, {"AUTOMATION", "automation"}, {"TRIGGER", "trigger.type"}, {"RECORDED", "recorded"}}},
		{use: "show WORKSPACE RUN", short: "Show a run: its automations, how long each took, and errors", method: http.MethodGet, route: "/workspaces/{WORKSPACE}/runs/{RUN}", print: runText},
		{use: "replay WORKSPACE RUN", short: "Execute a recorded run again, without effects, and compare", method: http.MethodPost, route: "/workspaces/{WORKSPACE}/runs/{RUN}/replay",
			params: []param{{"document", "", "recorded: as it was then (default); current: as it is now"}},
			body:   jsonBody(func(c *resourceCall) any { return nonEmpty("document", c.flag("document")) }), print: replayText},
		{use: "cancel WORKSPACE RUN", short: "Cancel a run", method: http.MethodPost, route: "/workspaces/{WORKSPACE}/runs/{RUN}/cancel", done: "cancelled {cancelled} executions of run {RUN}"},
	}},
	{"app", "List, publish, install and configure apps", []resourceCommand{
		{use: "list", short: "List the apps that are published", method: http.MethodGet, route: "/apps",
			params: []param{{"search", "text", "only what has these words"}, {"page", "page", "which page, from 0"}, {"limit", "limit", "how many on a page (default 20)"}},
			list:   []column{{"SLUG", "slug"}, {"NAME", "name"}, {"WORKSPACE", "workspaceId"}, {"DESCRIPTION", "description"}}},
		{use: "publish WORKSPACE SLUG", short: "Publish a workspace as an app, or a new version of its app", method: http.MethodPost, route: "/apps",
			params: []param{{"name", "", "its name (default: that of the workspace)"}, {"version", "", "a version of the workspace (default: what it has now)"}},
			body: jsonBody(func(c *resourceCall) any {
				return nonEmpty("workspaceId", c.workspace, "slug", c.args["SLUG"], "name", c.flag("name"), "workspaceVersion", c.flag("version"))
			}), done: "published app {slug}"},
		{use: "install WORKSPACE APP", short: "Install an app in a workspace", method: http.MethodPost, route: "/workspaces/{WORKSPACE}/apps",
			params: []param{{"slug", "", "what the instance is called (default: as the app)"}, {"config", "", "its config, as JSON, @FILE or -"}}, body: installBody, done: "installed {appSlug} as {slug}"},
		{use: "config WORKSPACE INSTANCE", short: "Read the config of an app instance, or change it with --set", method: http.MethodGet, route: "/workspaces/{WORKSPACE}/apps/{INSTANCE}/config",
			params: []param{{"set", "", "the fields to change, as JSON, @FILE or -; null removes one"}}, call: configureApp},
	}},
	{"user", "List, invite, deactivate and activate users", []resourceCommand{
		{use: "list", short: "List the users", long: "List the users." + takesSession, admin: true, method: http.MethodGet, route: "/users",
			params: append([]param{{"status", "status", "pending, validated or deactivated"}}, pages...),
			list:   []column{{"ID", "id"}, {"EMAIL", "email"}, {"FIRST NAME", "firstName"}, {"LAST NAME", "lastName"}, {"STATUS", "status"}, {"ROLE", "role"}, {"CREATED", "createdAt"}}},
		{use: "invite EMAIL", short: "Invite somebody: a mail asks to choose a password", long: "Invite somebody: a mail asks to choose a password." + takesSession, admin: true, method: http.MethodPost, route: "/users",
			params: []param{{"first-name", "", "the first name"}, {"last-name", "", "the last name"}, {"language", "", "of mails and screens, such as fr"}, {"password", "", "true: set a password, which is asked for first, instead of sending a mail"}},
			body:   invitationBody, done: "invited {email} ({id})"},
		{use: "deactivate USER", short: "End the sessions of a user, and let them in no more; by id or mail address", long: "End the sessions of a user, and let them in no more. USER is an id or a mail address. What they made stays." + takesSession,
			admin: true, method: http.MethodPatch, route: "/users/{USER}", call: setUserStatus("deactivated"), done: "deactivated {email} ({id}); `svc user activate {id}` lets them in again"},
		{use: "activate USER", short: "Let a user in again who was deactivated; by id or mail address", long: "Let a user in again who was deactivated. USER is an id or a mail address." + takesSession,
			admin: true, method: http.MethodPatch, route: "/users/{USER}", call: setUserStatus("validated"), done: "activated {email} ({id})"},
	}},
	{"data", "List, query, import and export rows of collections", []resourceCommand{
		{use: "list WORKSPACE", short: "List the collections", method: http.MethodGet, route: "/workspaces/{WORKSPACE}/collections",
			params: []param{{"page", "page", "which page, from 0"}, {"limit", "limit", "how many on a page"}},
			list:   []column{{"NAME", "name"}, {"GROUP", "schema"}, {"APP", "appInstance"}, {"ROWS", "rows"}, {"BYTES", "bytes"}}},
		{use: "query WORKSPACE COLLECTION", short: "Find rows", method: http.MethodPost, route: "/workspaces/{WORKSPACE}/collections/{COLLECTION}/query",
			params: []param{{"query", "", "a condition on rows, as JSON, @FILE or -"}, {"sort", "", "a field, -field for the opposite order"}, {"limit", "", "how many at most"}},
			body:   queryBody, print: rowsText},
		{use: "export WORKSPACE COLLECTION", short: "Print all rows, one JSON object in a line", method: http.MethodGet, route: "/workspaces/{WORKSPACE}/collections/{COLLECTION}/rows",
			params: []param{{"query", "query", "a condition on rows, as JSON"}, {"fields", "fields", "only these, a comma list"}}, accept: "application/x-ndjson"},
		{use: "import WORKSPACE COLLECTION FILE", short: "Import rows from a file: CSV, or JSON objects in lines; - for standard input", method: http.MethodPost, route: "/workspaces/{WORKSPACE}/collections/{COLLECTION}/import",
			params: []param{{"match", "onConflictFields", "update rows that are the same in these fields, a comma list"}, {"dry-run", "dryRun", "true: change nothing and say what would change"}},
			body:   rowsBody, print: importedRowsText},
	}},
}

// documentCommands are the commands of a sort of documents, whose files are YAML.
func documentCommands(sort string) []resourceCommand {
	all := "/workspaces/{WORKSPACE}/" + sort + "s"
	return []resourceCommand{
		{use: "list WORKSPACE", short: "List the " + sort + "s", method: http.MethodGet, route: all, params: append([]param{{"labels", "labels", "with one of these labels, a comma list"}}, pages...),
			list: []column{{"SLUG", "slug"}, {"NAME", "name"}, {"CHANGED", "updatedAt"}}},
		{use: "get WORKSPACE SLUG", short: "Print a " + sort + " as YAML", method: http.MethodGet, route: all + "/{SLUG}", accept: yamlType},
		{use: "put WORKSPACE SLUG FILE", short: "Save a " + sort + ": from a file in YAML or JSON, or - for standard input; it is made when it is missing", method: http.MethodPut, route: all + "/{SLUG}",
			params: []param{{"dry-run", "dryRun", "true: check it only, and save nothing"}}, body: documentBody, call: putDocument, print: savedText},
		{use: "delete WORKSPACE SLUG", short: "Delete a " + sort, method: http.MethodDelete, route: all + "/{SLUG}", done: "deleted " + sort + " {SLUG}"},
	}
}

// resourceCommands are the commands of the table.
func resourceCommands(w environment) (all []*cobra.Command) {
	for _, group := range resources {
		c := &cobra.Command{Use: group.name, Short: group.short, Args: knownCommand, SuggestionsMinimumDistance: 2, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
		for _, one := range group.commands {
			c.AddCommand(one.command(w))
		}
		all = append(all, c)
	}
	return append(all, runCommand.command(w), exportCommand.command(w), importCommand.command(w))
}

// Commands that stand alone.
var (
	runCommand = resourceCommand{use: "run WORKSPACE SLUG", short: "Run an automation and print its output", method: http.MethodPost, route: "/workspaces/{WORKSPACE}/test/{SLUG}",
		params: []param{{"input", "", "its arguments, as JSON, @FILE or -"}, {"record", "record", "true: record the run, so that it can be replayed"}, {"async", "async", "true: do not wait for its end, and print the id of the run"}},
		body: func(ctx context.Context, c *resourceCall) (client.Content, error) {
			input, err := c.json(ctx, "input")
			if err != nil || input == nil {
				return client.Content{Type: jsonType, Data: []byte("{}")}, err
			}
			return encodeJSON(map[string]any{"payload": input})
		}, accept: "*/*"}
	emitCommand = resourceCommand{use: "emit WORKSPACE TYPE", short: "Emit an event", method: http.MethodPost, route: "/workspaces/{WORKSPACE}/events",
		params: []param{{"payload", "", "its payload, as JSON, @FILE or -"}},
		body: func(ctx context.Context, c *resourceCall) (client.Content, error) {
			payload, err := c.json(ctx, "payload")
			if err != nil {
				return client.Content{}, err
			}
			event := map[string]any{"type": c.args["TYPE"]}
			if payload != nil {
				event["payload"] = payload
			}
			return encodeJSON(map[string]any{"events": []any{event}})
		}, list: []column{{"ID", "id"}, {"TYPE", "type"}, {"SEQ", "seq"}}}
	exportCommand = resourceCommand{use: "export WORKSPACE [FILE]", short: "Save a workspace as an archive (zip); - for standard output", method: http.MethodGet, route: "/workspaces/{WORKSPACE}/export", accept: "application/zip",
		print: func(c *resourceCall, a client.Answer) (string, error) {
			file := cmp.Or(c.args["FILE"], strings.TrimPrefix(c.named, "slug:")+".zip")
			if file == "-" {
				return string(a.Body), nil
			}
			if err := os.WriteFile(file, a.Body, 0o600); err != nil {
				return "", err
			}
			return fmt.Sprintf("saved %s, %d bytes\n", file, len(a.Body)), nil
		}}
	importCommand = resourceCommand{use: "import FILE", short: "Make workspaces of an archive (zip); - for standard input", method: http.MethodPost, route: "/workspaces/import",
		params: []param{{"dry-run", "dryRun", "true: change nothing and say what would change"}},
		body: func(ctx context.Context, c *resourceCall) (client.Content, error) {
			archive, err := c.file(ctx, c.args["FILE"])
			return client.Content{Type: "application/zip", Data: archive}, err
		}, print: importText}
)

const (
	jsonType = "application/json"
	yamlType = "application/yaml"
)

// resourceCall is a command of the table that somebody has given.
type resourceCall struct {
	remote
	resourceCommand
	args  map[string]string
	flags map[string]*string
}

// argumentPattern finds the arguments of a command, and places that are filled in.
var (
	argumentPattern = regexp.MustCompile(`\[?([A-Z]+)\]?`)
	placePattern    = regexp.MustCompile(`\{([A-Za-z0-9.]+)\}`)
)

// command makes the command of a row.
func (rc resourceCommand) command(w environment) *cobra.Command {
	call := &resourceCall{remote: remote{environment: w}, resourceCommand: rc, flags: map[string]*string{}}
	var names []string
	needed := 0
	for _, found := range argumentPattern.FindAllStringSubmatch(rc.use, -1) {
		names = append(names, found[1])
		if !strings.HasPrefix(found[0], "[") {
			needed++
		}
	}
	c := call.remote.command(&cobra.Command{
		Use: rc.use, Short: rc.short, Long: cmp.Or(rc.long, rc.short+"."),
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < needed || len(args) > len(names) {
				return fmt.Errorf("%w: it is %s", errUsage, strings.TrimSpace(strings.TrimSuffix(c.CommandPath(), c.Name())+rc.use))
			}
			return nil
		},
	}, func(ctx context.Context, args []string) error {
		call.args = map[string]string{}
		for i, arg := range args {
			call.args[names[i]] = arg
		}
		return call.do(ctx)
	})
	for _, p := range rc.params {
		call.flags[p.name] = c.Flags().String(p.name, "", p.usage)
		if strings.HasPrefix(p.usage, "true: ") {
			c.Flags().Lookup(p.name).NoOptDefVal = "true"
		}
	}
	return c
}

// flag returns the value of a flag; "" when it was not given.
func (c *resourceCall) flag(name string) string { return *c.flags[name] }

// do sends the call and prints what it was answered.
func (c *resourceCall) do(ctx context.Context) error {
	send := c.send
	if c.call != nil {
		send = c.call
	}
	got, err := send(ctx, c)
	if refused, ok := errors.AsType[*client.Error](err); ok && c.admin && refused.Code == domain.CodeInsufficientScope {
		err = c.inSession(ctx, func() (err error) {
			got, err = send(ctx, c)
			return err
		})
	}
	if err != nil {
		return err
	}
	if got.Type == "text/event-stream" {
		return nil // it was printed as it came
	}
	if c.asJSON && got.Type == jsonType {
		return c.printResult(got.Body, nil)
	}
	text, failed := c.text(got)
	_, err = io.WriteString(c.out, text)
	return cmp.Or(failed, err)
}

// send sends the call of a row.
func (c *resourceCall) send(ctx context.Context, _ *resourceCall) (client.Answer, error) {
	var body client.Content
	if c.body != nil {
		var err error
		if body, err = c.resourceCommand.body(ctx, c); err != nil {
			return client.Answer{}, err
		}
	}
	return c.request(ctx, c.method, c.route, body)
}

// request sends one request to a route with arguments in it.
func (c *resourceCall) request(ctx context.Context, method, route string, body client.Content) (client.Answer, error) {
	query := url.Values{}
	for _, p := range c.params {
		if value := c.flag(p.name); p.query != "" && value != "" {
			query.Set(p.query, value)
		}
	}
	address := placePattern.ReplaceAllStringFunc(route, func(place string) string {
		name := strings.Trim(place, "{}")
		if name == "WORKSPACE" {
			return url.PathEscape(c.workspace)
		}
		return strings.ReplaceAll(url.PathEscape(c.args[name]), "%2F", "/") // slugs may have parts
	})
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	accept := cmp.Or(c.accept, jsonType)
	if c.asJSON && accept == yamlType {
		accept = jsonType
	}
	return c.Send(ctx, method, address, accept, body, func(f client.Frame) {
		if f.Data != nil {
			_, _ = fmt.Fprintln(c.out, string(f.Data))
		}
	})
}

// text returns an answer as people read it.
func (c *resourceCall) text(got client.Answer) (string, error) {
	switch {
	case c.print != nil:
		return c.print(c, got)
	case c.list != nil:
		return listText(c.list, got.Body)
	case c.done != "":
		var members map[string]any
		if err := decode(got.Body, &members); err != nil {
			return "", err
		}
		return clean(placePattern.ReplaceAllStringFunc(c.done, func(place string) string {
			name := strings.Trim(place, "{}")
			if arg, ok := c.args[name]; ok {
				return arg
			}
			return valueText(members[name])
		})) + "\n", nil
	case got.Type == jsonType:
		var b bytes.Buffer
		if err := json.Indent(&b, got.Body, "", "  "); err != nil {
			return "", err
		}
		return b.String() + "\n", nil
	}
	if text := string(got.Body); text == "" || strings.HasSuffix(text, "\n") {
		return text, nil
	}
	return string(got.Body) + "\n", nil
}

// listText returns a list, or an object of members, as a table. The name of a member is its column "".
func listText(columns []column, body []byte) (string, error) {
	read, err := document.ReadJSON(body, document.Limits{})
	if err != nil {
		return "", fmt.Errorf("the answer is none that this svc understands: %w", err)
	}
	items, _ := read.([]any)
	if members, ok := read.(*document.Map); ok {
		for name, value := range members.All() {
			if item, ok := value.(*document.Map); ok {
				item.Set("", name)
			}
			items = append(items, value)
		}
	}
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.title
	}
	rows := [][]string{head}
	for _, item := range items {
		row := make([]string, len(columns))
		for i, c := range columns {
			value := item
			for part := range strings.SplitSeq(c.path, ".") {
				object, _ := value.(*document.Map)
				value, _ = object.Get(part)
			}
			row[i] = cmp.Or(valueText(document.Plain(value)), "-")
		}
		rows = append(rows, row)
	}
	return table(rows...), nil
}

// valueText returns a value of JSON as people read it: of texts in several languages the first.
func valueText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any:
		for _, language := range []string{"en", "fr"} {
			if text, ok := v[language].(string); ok {
				return text
			}
		}
	}
	text, _ := json.Marshal(value) // it came from JSON
	return string(text)
}

// takesSession is what the commands of super admins say of the password.
const takesSession = "\nTakes a super admin. An access token may not manage users: the password is asked for, or read from standard input, and opens\n" +
	"a session for this command only."

// invitationBody is that of a new user. A password is asked for once, also when the call is repeated.
func invitationBody(ctx context.Context, c *resourceCall) (client.Content, error) {
	const password = "password of the new account"
	if c.flag("password") == "true" && c.args[password] == "" {
		var err error
		if c.args[password], err = c.ask(ctx, "Password of "+c.args["EMAIL"], true); err != nil {
			return client.Content{}, err
		}
	}
	return encodeJSON(nonEmpty("email", c.args["EMAIL"], "firstName", c.flag("first-name"), "lastName", c.flag("last-name"),
		"language", c.flag("language"), "password", c.args[password]))
}

// setUserStatus gives a user a status. The user is named by an id or a mail address.
func setUserStatus(status string) func(ctx context.Context, c *resourceCall) (client.Answer, error) {
	return func(ctx context.Context, c *resourceCall) (client.Answer, error) {
		body, err := encodeJSON(map[string]string{"status": status})
		if err != nil {
			return client.Answer{}, err
		}
		if email := c.args["USER"]; strings.Contains(email, "@") {
			var found []struct{ ID, Email string }
			if err := c.Get(ctx, "/users?limit=100&search="+url.QueryEscape(email), &found); err != nil {
				return client.Answer{}, err
			}
			i := slices.IndexFunc(found, func(u struct{ ID, Email string }) bool { return strings.EqualFold(u.Email, email) })
			if i < 0 {
				return client.Answer{}, fmt.Errorf("there is no user with the mail address %s: `svc user list --search` finds them", email)
			}
			c.args["USER"] = found[i].ID
		}
		return c.request(ctx, c.method, c.route, body)
	}
}

func jsonBody(value func(*resourceCall) any) func(context.Context, *resourceCall) (client.Content, error) {
	return func(_ context.Context, c *resourceCall) (client.Content, error) { return encodeJSON(value(c)) }
}

func encodeJSON(value any) (client.Content, error) {
	text, err := json.Marshal(value)
	return client.Content{Type: jsonType, Data: text}, err
}

// file reads a file, or standard input when it is called -.
func (c *resourceCall) file(ctx context.Context, name string) ([]byte, error) {
	if name != "-" {
		return os.ReadFile(name)
	}
	if err := readable(ctx, c.in); err != nil {
		return nil, err
	}
	return io.ReadAll(c.in)
}

// json reads the JSON of a flag: as it is, of @FILE, or of standard input (-). It is nil without the flag.
func (c *resourceCall) json(ctx context.Context, flag string) (json.RawMessage, error) {
	text := []byte(c.flag(flag))
	if name, ok := strings.CutPrefix(string(text), "@"); ok || string(text) == "-" {
		var err error
		if text, err = c.file(ctx, cmp.Or(name, "-")); err != nil {
			return nil, err
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(text, new(any)); err != nil {
		return nil, fmt.Errorf("%w: --%s is no JSON: %w", errUsage, flag, err)
	}
	return text, nil
}

func secretBody(ctx context.Context, c *resourceCall) (client.Content, error) {
	value, err := c.ask(ctx, "Value of "+c.args["NAME"], true)
	if err != nil {
		return client.Content{}, err
	}
	return encodeJSON(map[string]any{c.args["NAME"]: nonEmpty("value", value, "description", c.flag("description"))})
}

func keyBody(ctx context.Context, c *resourceCall) (client.Content, error) {
	rules, err := c.json(ctx, "rules")
	if err != nil {
		return client.Content{}, err
	}
	if rules == nil {
		return client.Content{}, fmt.Errorf("%w: --rules says what the key may do; see `svc key create --help`", errUsage)
	}
	key := map[string]any{"name": c.args["NAME"], "rules": rules}
	if text := c.flag("expires"); text != "" {
		at, ok := fromNow(text, 1)
		if !ok {
			return client.Content{}, fmt.Errorf("%w: --expires is a time such as 2027-01-31T12:00:00Z, or from now such as 720h", errUsage)
		}
		key["expiresAt"] = domain.FormatTime(at)
	}
	return encodeJSON(key)
}

func queryBody(ctx context.Context, c *resourceCall) (client.Content, error) {
	condition, err := c.json(ctx, "query")
	if err != nil {
		return client.Content{}, err
	}
	query := nonEmpty("sort", c.flag("sort"))
	if condition != nil {
		query["query"] = condition
	}
	if text := c.flag("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil {
			return client.Content{}, fmt.Errorf("%w: --limit is a number of rows", errUsage)
		}
		query["limit"] = limit
	}
	return encodeJSON(query)
}

func installBody(ctx context.Context, c *resourceCall) (client.Content, error) {
	config, err := c.json(ctx, "config")
	if err != nil {
		return client.Content{}, err
	}
	instance := nonEmpty("appSlug", c.args["APP"], "slug", cmp.Or(c.flag("slug"), c.args["APP"]))
	if config != nil {
		instance["config"] = config
	}
	return encodeJSON(instance)
}

// configureApp changes the config of an app instance when there is something to change, and returns the config.
func configureApp(ctx context.Context, c *resourceCall) (client.Answer, error) {
	change, err := c.json(ctx, "set")
	if err == nil && change != nil {
		_, err = c.request(ctx, http.MethodPatch, c.route, client.Content{Type: jsonType, Data: change})
	}
	if err != nil {
		return client.Answer{}, err
	}
	return c.request(ctx, http.MethodGet, c.route, client.Content{})
}

// rowsBody is a file of rows. What it is follows from its first character: rows in JSON are objects or a list of them.
func rowsBody(ctx context.Context, c *resourceCall) (client.Content, error) {
	rows, err := c.file(ctx, c.args["FILE"])
	kind := "text/csv"
	switch text := bytes.TrimSpace(rows); {
	case bytes.HasPrefix(text, []byte("{")):
		kind = "application/x-ndjson"
	case bytes.HasPrefix(text, []byte("[")):
		kind = jsonType
	}
	return client.Content{Type: kind, Data: rows}, err
}

// documentBody is a file with a document, in YAML or JSON.
func documentBody(ctx context.Context, c *resourceCall) (client.Content, error) {
	text, err := c.file(ctx, c.args["FILE"])
	if json.Valid(text) {
		return client.Content{Type: jsonType, Data: text}, err
	}
	return client.Content{Type: yamlType, Data: text}, err
}

// slugLine finds the slug in the YAML of a document; the value is "" when it is not in the same line.
var slugLine = regexp.MustCompile(`(?m)^(?:\{[ \t]*)?slug[ \t]*:[ \t]*["']?([\w.-]*)`)

// slugOf returns the slug in the YAML of a document, "" when there is none.
func slugOf(text []byte) string {
	if found := slugLine.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// putDocument saves a document, and makes it when it is missing.
func putDocument(ctx context.Context, c *resourceCall) (client.Answer, error) {
	body, err := documentBody(ctx, c)
	if err != nil {
		return client.Answer{}, err
	}
	got, err := c.request(ctx, http.MethodPut, c.route, body)
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || refused.Code != domain.CodeNotFound {
		return got, err
	}
	switch {
	case body.Type == yamlType && !slugLine.Match(body.Data):
		body.Data = append([]byte("slug: "+strconv.Quote(c.args["SLUG"])+"\n"), body.Data...)
	case body.Type == jsonType:
		document := map[string]json.RawMessage{}
		if err := json.Unmarshal(body.Data, &document); err != nil {
			return client.Answer{}, err
		}
		document["slug"], _ = json.Marshal(c.args["SLUG"]) // a string
		if body, err = encodeJSON(document); err != nil {
			return client.Answer{}, err
		}
	}
	return c.request(ctx, http.MethodPost, strings.TrimSuffix(c.route, "/{SLUG}"), body)
}

// savedText says that a document was saved, or what is wrong with one that was only checked.
func savedText(c *resourceCall, got client.Answer) (string, error) {
	var saved struct {
		Slug             string
		Errors, Warnings []struct {
			Field, Message string
			Line           int
		}
	}
	if err := decode(got.Body, &saved); err != nil {
		return "", err
	}
	if c.flag("dry-run") == "" {
		return clean("saved "+cmp.Or(saved.Slug, c.args["SLUG"])) + "\n", nil
	}
	var text strings.Builder
	for i, one := range append(saved.Errors, saved.Warnings...) {
		sort := "error"
		if i >= len(saved.Errors) {
			sort = "warning"
		}
		text.WriteString(clean(fmt.Sprintf("%s:%d: %s: %s: %s", c.args["FILE"], max(one.Line, 1), sort, one.Field, one.Message)) + "\n")
	}
	if len(saved.Errors) > 0 {
		return text.String(), fmt.Errorf("%s has %s", c.args["FILE"], count(len(saved.Errors), "error"))
	}
	return text.String() + "nothing is wrong with it\n", nil
}

// execution is one execution of a run, and those that it called.
type execution struct {
	Slug     string
	Duration *int64
	Error    *struct{ Error, Message string }
	Logs     []string
	Children []execution
}

// runText shows a run as the tree of its executions.
func runText(_ *resourceCall, got client.Answer) (string, error) {
	var run struct {
		CorrelationID, StartedAt, Status, Automation string
		Duration                                     int64
		Tree                                         []execution
	}
	if err := decode(got.Body, &run); err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString(clean(fmt.Sprintf("%s: %s, began %s with %s, took %s", run.CorrelationID, run.Status, run.StartedAt, run.Automation, formatMilliseconds(run.Duration))) + "\n")
	var show func(tree []execution, indent string)
	show = func(tree []execution, indent string) {
		for _, one := range tree {
			line := one.Slug + "  goes on"
			if one.Duration != nil {
				line = one.Slug + "  " + formatMilliseconds(*one.Duration)
			}
			if one.Error != nil {
				line += "  " + one.Error.Error + ": " + one.Error.Message
			}
			text.WriteString(indent + clean(line) + "\n")
			for _, log := range one.Logs {
				text.WriteString(indent + "  | " + clean(log) + "\n")
			}
			show(one.Children, indent+"  ")
		}
	}
	show(run.Tree, "  ")
	return text.String(), nil
}

// replayText says whether a replay did the same, and what differs.
func replayText(_ *resourceCall, got client.Answer) (string, error) {
	var replayed struct {
		Status      string
		Differences []struct {
			Instruction, Kind string
			Expected, Actual  json.RawMessage
		}
	}
	if err := decode(got.Body, &replayed); err != nil {
		return "", err
	}
	text := replayed.Status + "\n"
	for _, one := range replayed.Differences {
		text += "  " + clean(fmt.Sprintf("%s: %s", one.Instruction, one.Kind)) + "\n"
		if one.Expected != nil || one.Actual != nil {
			text += "    " + clean(fmt.Sprintf("recorded %s, now %s", cmp.Or(beginning(string(one.Expected)), "nothing"), cmp.Or(beginning(string(one.Actual)), "nothing"))) + "\n"
		}
	}
	return text, nil
}

// rowsText prints rows, one in a line. How many there are is no result: programs read the lines.
func rowsText(c *resourceCall, got client.Answer) (string, error) {
	var found struct {
		Rows  []json.RawMessage
		Total *int
	}
	if err := decode(got.Body, &found); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, row := range found.Rows {
		text.WriteString(clean(string(row)) + "\n")
	}
	if found.Total != nil {
		fmt.Fprintf(c.log, "%d of %d rows\n", len(found.Rows), *found.Total)
	}
	return text.String(), nil
}

// importedRowsText says what became of rows, and which were refused.
func importedRowsText(_ *resourceCall, got client.Answer) (string, error) {
	var result struct {
		Inserted, Updated, Unchanged, ErrorsCount int
		Errors                                    []struct {
			Line           int
			Field, Message string
		}
	}
	if err := decode(got.Body, &result); err != nil {
		return "", err
	}
	text := fmt.Sprintf("inserted %d, updated %d rows, %d were the same\n", result.Inserted, result.Updated, result.Unchanged)
	for _, one := range result.Errors {
		text += clean(fmt.Sprintf("line %d: %s", one.Line, strings.TrimPrefix(one.Field+": "+one.Message, ": "))) + "\n"
	}
	if refused := max(result.ErrorsCount, len(result.Errors)); refused > 0 {
		return text, fmt.Errorf("%s refused", count(refused, "row"))
	}
	return text, nil
}

// importText says what became of an archive.
func importText(_ *resourceCall, got client.Answer) (string, error) {
	var result struct {
		versioning.PullResult
		Created []string `json:"createdWorkspaceIds"`
		Updated []string `json:"updatedWorkspaceIds"`
	}
	if err := decode(got.Body, &result); err != nil {
		return "", err
	}
	text := withSign("+", result.Imported) + withSign("-", result.Deleted) + items("warning", result.Warnings) + items("error", result.Errors)
	if len(result.Created) > 0 {
		text += "made " + strings.Join(result.Created, ", ") + "\n"
	}
	if len(result.Updated) > 0 {
		text += "changed " + strings.Join(result.Updated, ", ") + "\n"
	}
	if len(result.Errors) > 0 {
		return text, fmt.Errorf("%s could not be imported", count(len(result.Errors), "file"))
	}
	return text, nil
}
