package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"svc/domain/nearest"
)

// Loaded is a valid set of settings. It is not changed once it is in use.
type Loaded struct {
	Config   Config
	Warnings []string // unknown names that look like settings

	rows    []Setting // bound to Config
	given   map[string]given
	derived map[string]string // text of the derived defaults
	context loadContext
}

// loadContext is what a set of settings depends on besides the given values.
type loadContext struct {
	hostname string
	envFile  string
	stat     func(string) (fs.FileInfo, error)
}

// Load reads every setting from src. Its error is Faults, with every fault at
// once. It creates nothing and prints nothing.
func Load(src Source) (*Loaded, error) {
	src = src.withDefaults()
	found := collect(src, Table())
	loaded, faults := assemble(found.values, loadContext{src.Hostname, found.envFile, src.Stat}, found.faults)
	if err := faults.orNil(); err != nil {
		return nil, err
	}
	loaded.Warnings = append(found.warnings, found.warnUnknown()...)
	return loaded, nil
}

// assembler is one run of assemble.
type assembler struct {
	*Loaded
	faults Faults
}

// assemble parses values into a new Loaded and checks it. Names in known faults are not checked again.
func assemble(values map[string]given, w loadContext, known Faults) (*Loaded, Faults) {
	loaded := &Loaded{given: values, derived: map[string]string{}, context: w}
	loaded.rows = table(&loaded.Config)
	a := &assembler{loaded, known}
	for _, row := range a.rows {
		a.setPlain(row)
	}
	for _, name := range slices.Sorted(maps.Keys(a.given)) {
		a.setMember(a.given[name])
	}
	d := &defaults{cfg: &a.Config, hostname: w.hostname, envFile: w.envFile}
	for _, row := range a.rows {
		a.setDerived(row, d)
	}
	a.crossCheck()
	return loaded, a.faults
}

// setPlain sets the field of row from the given value, or else from its default.
func (a *assembler) setPlain(row Setting) {
	if row.family != nil {
		return
	}
	if v, ok := a.given[row.Name]; ok {
		err := row.value.set(v.text)
		if err == nil {
			return
		}
		a.addFault(row.Name, describeFault(row.value.expect, err))
	}
	if text := row.plainDefault(); text != "" {
		if err := row.value.set(text); err != nil {
			panic("settings: the default of " + row.Name + " is not accepted") // the tests parse each
		}
	}
}

// setMember sets one member of a family.
func (a *assembler) setMember(v given) {
	f := a.rows[v.row].family
	if f == nil {
		return
	}
	rest, _ := f.rest(v.name)
	if err := f.set(rest, v.text); err != nil {
		a.addFault(v.name, describeFault(f.expect, err))
	}
}

// setDerived computes the default of row when nothing usable was given.
func (a *assembler) setDerived(row Setting, d *defaults) {
	if _, ok := a.given[row.Name]; row.derive == nil || ok && !a.hasFault(row.Name) {
		return
	}
	text := row.derive(d)
	if text == "" {
		return
	}
	a.derived[row.Name] = text
	if err := row.value.set(text); err != nil {
		a.faults = append(a.faults, Fault{row.Name, text, describeFault(row.value.expect, err)})
	}
}

// describeFault joins the expectation with the message of the parser.
func describeFault(expect string, err error) string {
	if own, ok := errors.AsType[expected](err); ok {
		return string(own)
	}
	if err.Error() == "" {
		return expect
	}
	return expect + ": " + err.Error()
}

// addFault adds a fault of the setting name.
func (a *assembler) addFault(name, want string) {
	v := a.given[name]
	a.faults = append(a.faults, Fault{name, a.rows[v.row].displayMember(name, v.written), want})
}

// hasFault reports whether one of the names already has a fault.
func (a *assembler) hasFault(names ...string) bool {
	return slices.ContainsFunc(a.faults, func(f Fault) bool {
		return slices.Contains(names, f.Name) || slices.Contains(names, strings.TrimSuffix(f.Name, fileSuffix))
	})
}

// Format implements fmt.Formatter: a Loaded never prints what it holds.
func (l Loaded) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "settings") }

// defaults is what a derived default may read: the settings above it, and
// those that were given.
type defaults struct {
	cfg      *Config
	hostname string
	envFile  string // "" when there is none
}

// fixed is a default that the documentation explains beside it.
func fixed(text string) func(*defaults) string { return func(*defaults) string { return text } }

// noDefault leaves the field at zero; the documentation says what that means.
func noDefault(*defaults) string { return "" }

func defaultConfigFile(d *defaults) string { return d.envFile }

func defaultNodeName(d *defaults) string {
	if d.hostname == "" {
		return "localhost"
	}
	return d.hostname
}

// defaultAPIURL is an HTTPS URL when the listener uses TLS.
func defaultAPIURL(d *defaults) string { return ownURL(d.cfg.HTTP, "localhost") }

// defaultInternalURL is where this node can reach itself: localhost, unless it
// listens on one address only.
func defaultInternalURL(d *defaults) string {
	host := "localhost"
	if addr, err := netip.ParseAddr(d.cfg.HTTP.Addr); err == nil && !addr.IsUnspecified() && addr != netip.MustParseAddr("127.0.0.1") {
		host = d.cfg.HTTP.Addr
	}
	return ownURL(d.cfg.HTTP, host)
}

func ownURL(h HTTP, host string) string {
	scheme := "http"
	if h.TLSCertFile != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(h.Port)) + "/v2"
}

func defaultConsoleURL(d *defaults) string { return d.cfg.HTTP.Origin() + "/console/" }

func defaultValidation(d *defaults) string {
	if d.cfg.Mail.Host != "" {
		return "email"
	}
	return "manual"
}

func defaultEmbedded(d *defaults) string {
	if len(d.cfg.Broker.URLs) > 0 {
		return "no"
	}
	return "yes"
}

func defaultReplicas(d *defaults) string {
	if d.cfg.Broker.Single() {
		return "1"
	}
	return "3"
}

func defaultCommitterEmail(d *defaults) string {
	u, err := url.Parse(d.cfg.HTTP.APIURL)
	if err != nil || u.Hostname() == "" {
		return "noreply@localhost"
	}
	return "noreply@" + u.Hostname()
}

func defaultUserAgent(d *defaults) string {
	return "svc-crawler/1 (+" + d.cfg.HTTP.Origin() + ")"
}

// Fault is one setting that cannot be used.
type Fault struct {
	Name     string // the setting
	Given    string // what was given, masked when secret; "" when nothing was
	Expected string // what would be accepted
}

// Error implements error. It is one line.
func (f Fault) Error() string {
	if f.Given == "" {
		return fmt.Sprintf("%s: not set; expected %s", f.Name, f.Expected)
	}
	return fmt.Sprintf("%s: got %s; expected %s", f.Name, quote(f.Given), f.Expected)
}

// Faults is every fault of one set of settings.
type Faults []Fault

// Error implements error with one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.Is and errors.As the single faults.
func (f Faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i, fault := range f {
		errs[i] = fault
	}
	return errs
}

// orNil returns f as an error, nil when there is none.
func (f Faults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

const maxQuoted = 100

// quote returns a given value on one line, truncated.
func quote(text string) string {
	if runes := []rune(text); len(runes) > maxQuoted {
		text = string(runes[:maxQuoted]) + "…"
	}
	return strconv.Quote(text)
}

// ourPrefixes are prefixes that only settings of svc have. General ones (GIT_,
// HTTP_, OTEL_, NODE_, LOG_) are left out: other programs use them too.
var ourPrefixes = []string{
	"ACCESS_TOKENS_", "ADDITIONAL_GLOBAL_", "AGENTS_", "APP_CONFIG_", "BADGER_", "BROKER_EMIT_", "BULK_",
	"COLLECTIONS_", "CONTEXT_", "CRAWLER_", "CUSTOM_CODE_", "DISABLE_LOCAL_", "EGRESS_", "EVENTSTORE_", "EVENTS_",
	"EXECUTION_", "FETCH_", "GATEWAY_REQUEST_", "INTERNAL_API_", "JETSTREAM_", "JWKS_", "KNOWLEDGE_", "LLM_",
	"MODEL_", "NATS_", "RATE_LIMIT_", "REQUEST_QUEUES_", "RUN_RECORDING_", "SCHEDULES_", "SECRETS_MASTER_", "SMTP_",
	"STARTUP_IMPORT_", "STREAM_", "SUPER_ADMIN_", "UPLOADS_", "VERSIONING_", "WAIT_", "WEBHOOKS_", "WEBHOOK_",
	"WORKSPACES_", "WORKSPACE_",
}

// warnUnknown warns about unknown variables that are probably misspelt settings.
func (g *collector) warnUnknown() []string {
	var warnings []string
	for _, variable := range g.unknown {
		if g.used[variable] {
			continue
		}
		name, distance := g.nearestName(variable)
		prefix := slices.ContainsFunc(ourPrefixes, func(p string) bool { return strings.HasPrefix(variable, p) })
		if prefix || distance == 1 {
			warnings = append(warnings, fmt.Sprintf("%s is not a setting; did you mean %s?", variable, name))
		}
	}
	return warnings
}

// nearestName returns the known name with the fewest edits to variable.
func (g *collector) nearestName(variable string) (name string, distance int) {
	distance = len(variable) + 100
	for _, row := range g.names.rows {
		for _, known := range append([]string{row.Name}, row.Aliases...) {
			if d := nearest.Distance(variable, known); d < distance {
				name, distance = known, d
			}
		}
	}
	return name, distance
}
