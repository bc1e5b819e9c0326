package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/commands/archive"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/document"
	"svc/domain/textdiff"
	"svc/domain/value"
)

// dev is how `svc dev` is asked, and what it knows while it runs.
type dev struct {
	remote
	into, watched, input string
	embedded             bool

	dir      *linkedDirectory
	slug     string            // of the workspace
	refused  map[string]string // checksums of files that cannot be saved, by path
	problem  string            // why the last try to save failed, so that it is said once
	output   []byte            // of the watched automation, the last time
	outputs  chan devRun
	stopRun  context.CancelFunc
	running  sync.WaitGroup
	watching bool      // the files and the workspace are followed
	lastSave time.Time // when the files changed that were saved last
}

// devRun is an execution of the watched automation.
type devRun struct {
	output []byte
	err    error
	took   time.Duration
}

func devCommand(w environment) *cobra.Command {
	d := &dev{remote: remote{environment: w}, refused: map[string]string{}, outputs: make(chan devRun)}
	c := &cobra.Command{
		Use: "dev [DIR]", Short: "Build a workspace in a directory: files are saved as they change, and runs are shown",
		Long: "Keep a directory in the layout of an archive and a workspace the same: a file that is saved is checked and goes to the workspace,\n" +
			"and what is changed in the console comes into the directory. What both change is merged; where that cannot be done, both sides are\n" +
			"written beside the file. Runs, logs and errors are shown as they happen. Ctrl-C ends it.\n\n" +
			"Without a profile, or when its service does not answer, a service starts by itself, on this machine only, with its data in DIR/.svc.\n" +
			"An empty directory gets a workspace to begin with.",
		Args: optionalDirectory,
	}
	d.flags(c)
	c.Flags().StringVar(&d.into, "workspace", "", "the workspace, by its id or slug (default: that of the last time, else the slug in index.yml)")
	c.Flags().BoolVar(&d.embedded, "local", false, "use the service of the directory, whatever the profile says")
	c.Flags().StringVar(&d.watched, "watch-runs", "", "run this automation after each save, and print how its output differs from the last one")
	c.Flags().StringVar(&d.input, "input", "", "arguments for --watch-runs: JSON, or a file with it")
	c.RunE = func(c *cobra.Command, args []string) error {
		err := d.run(c.Context(), directoryOf(args))
		if c.Context().Err() != nil && errors.Is(err, context.Canceled) {
			return nil // Ctrl-C is how it ends
		}
		return d.explain(c.Context(), err)
	}
	return c
}

func (d *dev) run(ctx context.Context, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if d.dir, err = openLinked(dir); err != nil {
		return err
	}
	if d.input != "" && d.watched == "" {
		return fmt.Errorf("%w: --input is for --watch-runs", errUsage)
	}
	if _, err := d.runInput(); err != nil {
		return err
	}
	stop, err := d.connectOrStart(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if d.stopRun != nil {
			d.stopRun()
		}
		d.running.Wait()
		err = errors.Join(err, stop())
	}()
	if err := d.begin(ctx, dir); err != nil {
		return err
	}
	return d.watch(ctx)
}

// connectOrStart finds the service of the profile, or starts one for the directory.
func (d *dev) connectOrStart(ctx context.Context) (stop func() error, err error) {
	none := func() error { return nil }
	named := d.profile+d.env(profileVariable)+d.env(urlVariable)+d.env(tokenVariable) != ""
	if d.embedded && named {
		return none, fmt.Errorf("%w: --local and a profile exclude each other", errUsage)
	}
	linked := d.dir.WorkspaceID != "" && d.dir.URL != ""
	own := d.dir.WorkspaceID != "" && d.dir.URL == "" && !named // the directory has a service of its own
	if !d.embedded && !own {
		err := d.connect()
		if err == nil {
			if _, err = d.Me(ctx); err == nil {
				return none, d.checkService(d.URL)
			}
		}
		_, silent := errors.AsType[*client.Unreachable](err)
		if named || linked || d.Client != nil && !silent {
			return none, err
		}
	}
	if linked {
		return none, d.checkService("")
	}
	if err := d.dir.prepare(); err != nil {
		return none, err
	}
	started, err := startEmbeddedService(ctx, d.dir)
	if err != nil {
		return none, err
	}
	d.Client = started.Client
	return started.stop, nil
}

// checkService refuses to send a directory to another service than the one that it is linked with.
func (d *dev) checkService(address string) error {
	if d.dir.WorkspaceID == "" || d.dir.URL == address {
		return nil
	}
	return fmt.Errorf("%s is linked with workspace %s of %s\nto use another service, delete %s: no file is changed by that", d.dir.path, d.dir.WorkspaceID, cmp.Or(d.dir.URL, "the service in it"), d.dir.inside(""))
}

// begin links the directory with its workspace, and brings both together for the first time.
func (d *dev) begin(ctx context.Context, dir string) error {
	if err := d.dir.prepare(); err != nil {
		return err
	}
	local, err := d.dir.read()
	if err != nil {
		return err
	}
	if d.dir.WorkspaceID == "" && d.into == "" && len(local) == 0 {
		name, err := workspaceName(dir)
		if err != nil {
			return err
		}
		files, err := template("api", name, d.URL)
		if err == nil {
			err = writeTemplate(dir, files)
		}
		if err != nil {
			return err
		}
		d.printLine(devLine{Event: "created", Files: files.Paths(), Message: "a workspace to begin with"})
		local = files
	}
	if err := d.findWorkspace(ctx, local); err != nil {
		return err
	}
	if err := d.sync(ctx, true); err != nil {
		return err
	}
	d.announce()
	return nil
}

// findWorkspace finds the workspace of the directory, or makes it.
func (d *dev) findWorkspace(ctx context.Context, local archive.Tree) (err error) {
	name := cmp.Or(d.into, d.dir.WorkspaceID)
	if name == "" {
		index := local[pathsByPlace(local)[document.Index.Name]]
		if index == nil {
			return fmt.Errorf("%s has no index.yml: write one with a name and a slug, choose an empty directory, or name the workspace with --workspace", d.dir.path)
		}
		name = slugOf(index)
	}
	var found struct {
		ID   string `json:"id"`
		Slug string `json:"slug"`
	}
	if name != "" {
		d.named = name
		if d.workspace, err = d.Workspace(ctx, name); err != nil {
			return err
		}
		err = d.Get(ctx, d.path(""), &found)
		refused, ok := errors.AsType[*client.Error](err)
		missing := ok && (refused.Code == domain.CodeNotFound || refused.Code == domain.CodeWorkspaceDenied)
		if err != nil && (!missing || d.into != "" || d.dir.WorkspaceID != "") {
			return err
		}
	}
	if found.ID == "" {
		var made struct {
			Created []string `json:"createdWorkspaceIds"`
		}
		path := pathsByPlace(local)[document.Index.Name]
		var packed bytes.Buffer
		if err := (archive.Tree{path: local[path]}).WriteZip(&packed); err != nil {
			return err
		}
		if _, err := d.Call(ctx, http.MethodPost, "/workspaces/import", client.Content{Type: "application/zip", Data: packed.Bytes()}, &made); err != nil {
			return err
		}
		d.workspace = made.Created[0]
		if err := d.Get(ctx, d.path(""), &found); err != nil {
			return err
		}
		d.dir.Content = archive.Tree{path: local[path]}
	}
	if d.dir.WorkspaceID != "" && d.dir.WorkspaceID != found.ID {
		return fmt.Errorf("%s is linked with workspace %s\nto link it with another, delete %s: no file is changed by that", d.dir.path, d.dir.WorkspaceID, d.dir.inside("state.json"))
	}
	d.dir.WorkspaceID, d.workspace, d.slug = found.ID, found.ID, found.Slug
	d.named = found.Slug
	if d.dir.Token == "" || d.URL != embeddedURL(d.dir.Port) {
		d.dir.URL = d.URL
	}
	return d.dir.save()
}

// announce says where everything is.
func (d *dev) announce() {
	ready := devLine{Event: "ready", URL: d.URL, Workspace: d.slug, Console: d.URL + "/console/w/" + d.dir.WorkspaceID}
	if d.dir.URL == "" {
		ready.SignIn = fmt.Sprintf("%s, with the password in %s", localAdmin, d.dir.inside("password"))
	}
	for _, place := range slices.Sorted(maps.Keys(pathsByPlace(d.dir.Content))) {
		path := pathsByPlace(d.dir.Content)[place]
		location, _ := archive.Locate(path)
		doc, err := yamltext.ReadMap(d.dir.Content[path], archive.Usual.Document)
		if err != nil || location.Kind != document.Automation {
			continue
		}
		endpoint := doc.Object("when").At("endpoint")
		if name, ok := endpoint.(string); ok {
			ready.Endpoint = name
		} else if endpoint == true {
			ready.Endpoint = location.Slug
		}
		if ready.Endpoint != "" {
			ready.Endpoint = d.URL + "/v2/workspaces/slug:" + d.slug + "/webhooks/" + ready.Endpoint
			break
		}
	}
	d.printLine(ready)
}

// sync brings the directory and the workspace together, once. With fetch the workspace is asked what it has.
func (d *dev) sync(ctx context.Context, fetch bool) error {
	for {
		tree, revision := d.dir.Content, d.dir.Revision
		if fetch {
			var err error
			if tree, revision, err = d.fetchContent(ctx, d.dir.link); err != nil {
				return err
			}
		}
		merged, err := d.dir.merge(ctx, tree, revision)
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			return err
		}
		d.report(merged)
		again, err := d.push(ctx, merged)
		if err != nil || !again {
			return err
		}
		fetch = true
	}
}

// report says what a merge did to files.
func (d *dev) report(m *mergedDirectory) {
	if len(m.written) > 0 || len(m.removed) > 0 {
		d.printLine(devLine{Event: "received", Files: m.written, Removed: m.removed, Message: "changed in the workspace"})
	}
	for _, c := range m.conflicts {
		what := "both sides changed it"
		if len(c.Keys) > 0 {
			what += " (" + strings.Join(c.Keys, ", ") + ")"
		}
		d.printLine(devLine{Event: "conflict", File: c.Path, Message: fmt.Sprintf("%s: it is not saved. Both versions are in %s: make the file what it is to be, then delete that one", what, c.Path+conflictSuffix)})
	}
	for _, path := range m.settled {
		d.printLine(devLine{Event: "settled", File: path, Message: "the conflict is gone"})
	}
}

// push saves what the directory has changed. again is true when the workspace was changed meanwhile.
func (d *dev) push(ctx context.Context, m *mergedDirectory) (again bool, err error) {
	changed := d.check(m)
	for len(changed) > 0 {
		out, err := d.importChanges(ctx, m, changed)
		if isStale(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if len(out.Errors) > 0 { // nothing was saved: the others are tried without them
			before := len(changed)
			for _, item := range out.Errors {
				d.refuse(fileFault{File: item.Filepath, Line: item.Line, Message: item.Msg}, m.now[item.Filepath])
				maps.DeleteFunc(changed, func(_ string, f localFile) bool { return f.path == item.Filepath })
			}
			if len(changed) == before {
				return false, fmt.Errorf("nothing was saved: %s: %s", out.Errors[0].Filepath, out.Errors[0].Msg)
			}
			continue
		}
		saved := devLine{Event: "saved"}
		for _, place := range slices.Sorted(maps.Keys(changed)) {
			if changed[place].text == nil {
				saved.Removed = append(saved.Removed, changed[place].path)
			} else {
				saved.Files = append(saved.Files, changed[place].path)
			}
		}
		if !d.lastSave.IsZero() {
			saved.Milliseconds = time.Since(d.lastSave).Milliseconds()
		}
		d.printLine(saved)
		for _, item := range out.Warnings {
			d.printLine(devLine{Event: "warning", File: item.Filepath, Line: item.Line, Message: item.Msg})
		}
		d.startRun(ctx)
		return false, d.dir.saved(changed, out.ContentRevision)
	}
	return false, nil
}

// check returns what can be saved of what has changed, and says what is wrong with the rest.
func (d *dev) check(m *mergedDirectory) map[string]localFile {
	changed := map[string]localFile{}
	for _, place := range slices.Sorted(maps.Keys(m.changed)) {
		file := m.changed[place]
		if d.refused[file.path] != "" && d.refused[file.path] == archive.Checksum(file.text) {
			continue
		}
		delete(d.refused, file.path)
		var faults []fileFault
		if file.text != nil {
			faults = checkFile(file.path, file.text)
			for other := range m.now {
				if other != file.path && placeOf(m.now, other) == place {
					faults = append(faults, fileFault{File: file.path, Message: other + " describes the same: delete one of them"})
				}
			}
		}
		good := true
		for _, f := range faults {
			if f.warning {
				d.printLine(devLine{Event: "warning", File: f.File, Line: f.Line, Message: f.Message})
				continue
			}
			good = false
			d.refuse(f, file.text)
		}
		if good {
			changed[place] = file
		}
	}
	return changed
}

// refuse says what is wrong with a file. It is not tried again until it changes.
func (d *dev) refuse(f fileFault, text []byte) {
	d.refused[f.File] = archive.Checksum(text)
	d.printLine(devLine{Event: "invalid", File: f.File, Line: f.Line, Message: f.Message})
}

// The pauses of the loop.
const (
	settle     = 15 * time.Millisecond // after a change: editors write a file in several steps
	tryAgain   = 2 * time.Second       // after something could not be saved
	checkAgain = 15 * time.Second      // for changes of the workspace that no event told of
)

// watch follows the files and the workspace until ctx ends.
func (d *dev) watch(ctx context.Context) error {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }() // nobody listens any more
	if err := d.watchFolders(files); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	frames, ended := make(chan client.Frame), make(chan error, 1)
	if err := d.follow(ctx, frames, ended); err != nil {
		return err
	}
	defer func() { cancel(); <-ended }()
	d.watching = true
	d.startRun(ctx)
	due, fetch := time.NewTimer(settle), true // what changed before the folders were watched
	defer due.Stop()
	poll := time.NewTicker(checkAgain)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			ended <- nil
			return cmp.Or(err, ctx.Err(), errors.New("the stream of events ended"))
		case err := <-files.Errors:
			return err
		case ev := <-files.Events:
			if strings.HasPrefix(filepath.Base(ev.Name), ".") || ev.Op == fsnotify.Chmod {
				continue // no content
			}
			if ev.Has(fsnotify.Create) {
				if err := d.watchFolders(files); err != nil {
					return err
				}
			}
			if d.lastSave.IsZero() {
				d.lastSave = time.Now()
			}
			due.Reset(settle)
		case frame := <-frames:
			if d.handle(frame) {
				fetch = true
				due.Reset(settle)
			}
		case <-poll.C:
			fetch = true
			due.Reset(settle)
		case done := <-d.outputs:
			d.showOutput(done)
		case <-due.C:
			if d.try(ctx, fetch) {
				fetch, d.lastSave = false, time.Time{}
			} else {
				due.Reset(tryAgain)
			}
		}
	}
}

// try is sync that is tried again later when it fails. What is wrong is said once.
func (d *dev) try(ctx context.Context, fetch bool) (done bool) {
	err := d.sync(ctx, fetch)
	if err == nil || ctx.Err() != nil {
		if d.problem != "" {
			d.printLine(devLine{Event: "recovered", Message: "the directory and the workspace are the same again"})
		}
		d.problem = ""
		return true
	}
	text := strings.ReplaceAll(d.explain(ctx, err).Error(), "\n", "; ")
	if text != d.problem {
		d.printLine(devLine{Event: "problem", Message: text + "; nothing is lost, and it is tried again"})
	}
	d.problem = text
	return false
}

// watchFolders watches the directory and its folders of content.
func (d *dev) watchFolders(files *fsnotify.Watcher) error {
	return filepath.WalkDir(d.dir.path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // deleted a moment ago
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case path != d.dir.path && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		}
		return files.Add(path)
	})
}

// follow follows the events of the workspace from now on.
func (d *dev) follow(ctx context.Context, frames chan<- client.Frame, ended chan<- error) error {
	t := &tail{remote: d.remote, in: d.workspace, from: "now"}
	query := url.Values{}
	if err := t.begin(ctx, d.path("/events"), query); err != nil {
		return err
	}
	go func() {
		ended <- d.Tail(ctx, d.path("/events/stream?"+query.Encode()), func(f client.Frame) bool {
			select {
			case frames <- f:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	return nil
}

// handle shows a run or an error. It reports whether an event can have changed the content.
func (d *dev) handle(f client.Frame) (content bool) {
	var ev struct{ Type string }
	if json.Unmarshal(f.Data, &ev) != nil {
		return false
	}
	if line, ok := runLine(f.Data); ok {
		line.Time = "" // it ends now
		d.printLine(line)
		return false
	}
	return slices.ContainsFunc([]string{"automations.", "agents.", "knowledgeBases.", "pages.", "tests.", "apps.", "blocks.", "events.", "security.", "imported", "restored", "updated", "configured"}, func(part string) bool {
		return strings.HasPrefix(ev.Type, "workspaces."+part)
	})
}

// runLine is the line of an execution that an event tells of.
func runLine(data []byte) (line devLine, ok bool) {
	var ev struct {
		Type, CreatedAt string
		Source          struct{ CorrelationID string }
		Payload         json.RawMessage
	}
	var ended activity.Executed
	var more struct {
		Logs    []string
		Trigger struct{ Type string }
	}
	if json.Unmarshal(data, &ev) != nil || ev.Type != ended.EventType() || json.Unmarshal(ev.Payload, &ended) != nil || json.Unmarshal(ev.Payload, &more) != nil {
		return line, false
	}
	line = devLine{
		Event: "run", Time: ev.CreatedAt, Automation: ended.Slug, Run: ev.Source.CorrelationID, Status: "succeeded", Trigger: more.Trigger.Type,
		Milliseconds: ended.Duration, Logs: more.Logs,
	}
	if ended.Error != nil {
		line.Status, line.Message = "failed", ended.Error.Error+": "+ended.Error.Message
	}
	return line, true
}

// runInput is the input of the watched automation: JSON, or that of a file, which is read each time.
func (d *dev) runInput() (json.RawMessage, error) {
	text := []byte(cmp.Or(d.input, "{}"))
	if name := strings.TrimPrefix(d.input, "@"); name != "" && !json.Valid(text) {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			return nil, fmt.Errorf("%w: --input is neither JSON nor a file: %w", errUsage, err)
		}
	}
	if err := json.Unmarshal(text, new(any)); err != nil {
		return nil, fmt.Errorf("%w: --input is no JSON: %w", errUsage, err)
	}
	return text, nil
}

// startRun runs the watched automation. A run before it that goes on is no longer waited for.
func (d *dev) startRun(ctx context.Context) {
	if d.watched == "" || !d.watching {
		return
	}
	if d.stopRun != nil {
		d.stopRun()
	}
	ctx, d.stopRun = context.WithCancel(ctx)
	began := d.lastSave
	if began.IsZero() {
		began = time.Now()
	}
	path := d.path("/test/" + strings.ReplaceAll(url.PathEscape(d.watched), "%2F", "/"))
	d.running.Go(func() {
		input, err := d.runInput()
		done := devRun{err: err}
		if err == nil {
			var body client.Content
			if body, done.err = encodeJSON(map[string]any{"payload": input}); done.err == nil {
				var got client.Answer
				got, done.err = d.Send(ctx, http.MethodPost, path, "*/*", body, func(f client.Frame) { done.output = append(append(done.output, f.Data...), '\n') })
				done.output = append(done.output, outputText(got)...)
			}
		}
		done.took = time.Since(began)
		if ctx.Err() != nil {
			return // a later one shows what there is now
		}
		select {
		case d.outputs <- done:
		case <-ctx.Done():
		}
	})
}

// outputText is an output with one value in a line, so that it can be compared.
func outputText(got client.Answer) []byte {
	text := bytes.TrimRight(got.Body, "\n")
	if v, end, err := value.ReadJSON(string(text), value.ReadOptions{}); err == nil && end == len(text) {
		if compact, err := document.JSON(v); err == nil {
			var b bytes.Buffer
			if json.Indent(&b, compact, "", "  ") == nil {
				text = b.Bytes()
			}
		}
	}
	return append(text, '\n')
}

// showOutput prints how the output of the watched automation differs from the last one.
func (d *dev) showOutput(run devRun) {
	line := devLine{Event: "output", Automation: d.watched, Milliseconds: run.took.Milliseconds(), Output: string(run.output)}
	switch {
	case run.err != nil:
		line.Output, line.Message = "", strings.ReplaceAll(run.err.Error(), "\n", "; ")
	case d.output == nil:
		d.output = run.output
	default:
		difference := textdiff.Unified("output", d.output, run.output)
		line.Difference = &difference
		d.output = run.output
	}
	d.printLine(line)
}

// devLine is what is said about one thing that happened.
type devLine struct {
	Time         string   `json:"time"`
	Event        string   `json:"event"`
	File         string   `json:"file,omitempty"`
	Line         int      `json:"line,omitempty"`
	Files        []string `json:"files,omitempty"`
	Removed      []string `json:"removed,omitempty"`
	Automation   string   `json:"automation,omitempty"`
	Run          string   `json:"run,omitempty"`
	Status       string   `json:"status,omitempty"`
	Trigger      string   `json:"trigger,omitempty"`
	Milliseconds int64    `json:"ms,omitempty"`
	Message      string   `json:"message,omitempty"`
	Logs         []string `json:"logs,omitempty"`
	Output       string   `json:"output,omitempty"`
	Difference   *string  `json:"difference,omitempty"`
	URL          string   `json:"url,omitempty"`
	Workspace    string   `json:"workspace,omitempty"`
	Console      string   `json:"console,omitempty"`
	SignIn       string   `json:"signIn,omitempty"`
	Endpoint     string   `json:"endpoint,omitempty"`
}

// printLine prints a line: as JSON, or as people read it.
func (r *remote) printLine(line devLine) {
	now := time.Now()
	head := cmp.Or(line.Time, now.Format("15:04:05.000")) + "  " // of what is past the whole time
	line.Time = cmp.Or(line.Time, domain.FormatTime(now))
	if r.asJSON {
		text, _ := json.Marshal(line) // texts and numbers
		fmt.Fprintln(r.out, string(text))
		return
	}
	display := r.newDisplay()
	colour := map[string]string{"saved": green, "ready": green, "invalid": red, "problem": red, "conflict": red, "warning": yellow}[line.Event]
	if line.Status == "failed" {
		colour = red
	}
	if colour == "" {
		head += fmt.Sprintf("%-9s", line.Event)
	} else {
		head += display.paint(colour, fmt.Sprintf("%-9s", line.Event))
	}
	fmt.Fprintln(r.out, strings.TrimRight(head+"  "+clean(line.text()), " "))
	for _, more := range line.more() {
		fmt.Fprintln(r.out, "  "+clean(more))
	}
}

// text is what stands in the line of something that happened.
func (l devLine) text() string {
	words := []string{}
	if l.File != "" {
		words = append(words, fileFault{File: l.File, Line: l.Line, Message: l.Message}.String())
	}
	words = append(words, l.Files...)
	for _, path := range l.Removed {
		words = append(words, "-"+path)
	}
	for _, word := range []string{l.Automation, l.Trigger, l.Status, l.URL, l.Workspace} {
		if word != "" {
			words = append(words, word)
		}
	}
	if l.Milliseconds > 0 {
		words = append(words, "in "+formatMilliseconds(l.Milliseconds))
	}
	if l.File == "" && l.Message != "" {
		words = append(words, "("+l.Message+")")
	}
	return strings.Join(words, "  ")
}

// more are the lines below the line of something that happened.
func (l devLine) more() (lines []string) {
	for _, log := range l.Logs {
		lines = append(lines, "| "+log)
	}
	if l.Console != "" {
		lines = append(lines, "console   "+l.Console)
	}
	if l.SignIn != "" {
		lines = append(lines, "sign in   as "+l.SignIn)
	}
	if l.Endpoint != "" {
		lines = append(lines, "try it    curl "+l.Endpoint)
	}
	if l.Event == "ready" {
		lines = append(lines, "watching the files; Ctrl-C ends it")
	}
	text := l.Output
	if l.Difference != nil {
		text = cmp.Or(*l.Difference, "the output is the same\n")
	}
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines
}
